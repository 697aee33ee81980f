/* Signals during a run: SIGINT and SIGTERM are recorded (opc_interrupted); SIGPIPE and SIGXFSZ become errors of the
 * call. Threads: one run per process. */
#pragma once

#include <stdbool.h>

void opc_interrupt_begin(void);
void opc_interrupt_end(void); /* restores the previous handlers */

/* True if SIGINT or SIGTERM came since opc_interrupt_begin; every wait checks this. */
bool opc_interrupted(void);
