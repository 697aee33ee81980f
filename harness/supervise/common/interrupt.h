/* Signals during a run: SIGINT and SIGTERM are noted (opc_interrupted), SIGPIPE and SIGXFSZ become errors of the call.
 * Threads: one run a process. */
#ifndef OPC_SUPERVISE_COMMON_INTERRUPT_H
#define OPC_SUPERVISE_COMMON_INTERRUPT_H

#include <stdbool.h>

void opc_interrupt_begin(void);
void opc_interrupt_end(void); /* what was there before is there again */

/* A SIGINT or SIGTERM came since opc_interrupt_begin; every wait asks. */
bool opc_interrupted(void);

#endif
