/* What an operator's calls did to the process before the check that reports it runs. Some effects occur only in the
 * first call, which is made by whichever check runs first.
 *
 * Ownership: nothing to free. Threads: one. A child has one watch, because it serves one operator. */
#pragma once

#include "base/process_use.h"
#include "checks/framework/global_state.h"
#include "model/case/case.h"

/* Before the first call of the child; later ones do nothing. */
void opc_first_call_begin(void);
/* After every case. Restores the global state if its calls changed it. After the first case that called the operator,
 * the whole state is compared and changes are recorded (15 us); after others only settings and floating-point control
 * are compared (under 1 us). */
void opc_first_call_case(const char *case_id);

typedef struct opc_first_call {
  char case_id[OPC_CASE_ID_SIZE]; /* the first case that called the operator; "": none so far */
  opc_state_changes_t changes;    /* made by that case */
  opc_process_use_t use;          /* at the beginning; zeroes: unknown */
} opc_first_call_t;
const opc_first_call_t *opc_first_call_changes(void);
