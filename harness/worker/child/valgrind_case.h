/* What Valgrind saw in a case or a try, where the child runs under it.
 *
 * Ownership: nothing is kept but counts. Threads: one. */
#ifndef OPC_WORKER_CHILD_VALGRIND_CASE_H
#define OPC_WORKER_CHILD_VALGRIND_CASE_H

#include <jansson.h>
#include <stdint.h>

/* number: the case's or try's in its child (opc_crash_record_t). */
void opc_valgrind_case_begin(uint64_t number);
/* Ends what was begun; "memcheck" of the message says what was seen, if anything was. */
void opc_valgrind_case_end(uint64_t number, json_t *message);

#endif
