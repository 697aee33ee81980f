/* What an operator's calls did to the process before the check that asks about it had its turn. Many a thing is done in
 * the first call only, and that is made by whichever check comes first.
 *
 * Ownership: nothing to free. Threads: one. A child has one watch, for it serves one operator. */
#ifndef OPC_CHECKS_FRAMEWORK_FIRST_CALL_H
#define OPC_CHECKS_FRAMEWORK_FIRST_CALL_H

#include "base/process_use.h"
#include "checks/framework/global_state.h"
#include "model/case/case.h"

/* Before the first call of the child; later ones do nothing. */
void opc_first_call_begin(void);
/* After every case. What its calls left changed of the global state is put right. After the first case that called it
 * is looked at closely and noted (15 us), after others only settings and floating-point control are looked at (under 1
 * us). */
void opc_first_call_case(const char *case_id);

typedef struct opc_first_call {
  char case_id[OPC_CASE_ID_SIZE]; /* the first that called; "": none so far */
  opc_state_changes_t changes;    /* that it made */
  opc_process_use_t use;          /* at the beginning; zeroes: unknown */
} opc_first_call_t;
const opc_first_call_t *opc_first_call_changes(void);

#endif
