/* Reads a clock in seconds, to measure intervals. Threads: any. Fork: safe. */
#pragma once

#include <time.h>

/* clock: CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID… */
double opc_clock_of(clockid_t clock);
double opc_clock(void); /* CLOCK_MONOTONIC */
