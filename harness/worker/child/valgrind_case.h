/* Valgrind's errors in a case or a try, if the child runs under Valgrind.
 *
 * Ownership: only counts are kept. Threads: one. */
#pragma once

#include <jansson.h>
#include <stdint.h>

/* number: of the case or try within its child (opc_crash_record_t). */
void opc_valgrind_case_begin(uint64_t number);
/* Ends the case or try; errors, if any, go to "memcheck" of the message. */
void opc_valgrind_case_end(uint64_t number, json_t *message);
