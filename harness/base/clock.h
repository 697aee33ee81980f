/* Reads a clock in seconds, to measure intervals. Threads: any. Fork: safe. */
#ifndef OPC_BASE_CLOCK_H
#define OPC_BASE_CLOCK_H

#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* clock: CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID… */
double opc_clock_of(clockid_t clock);
double opc_clock(void); /* CLOCK_MONOTONIC */

#ifdef __cplusplus
}
#endif
#endif
