/* How long a run still takes, as learned from its own operators: how many were done in how many seconds.
 *
 * Threads: one. */
#pragma once

#include <stdint.h>

/* A zeroed value is a run that begins at the first call of opc_time_left. */
typedef struct opc_time_left {
  double began, end; /* end: of the run, as estimated; 0: not yet */
  uint64_t done;     /* operators, when `end` was estimated */
} opc_time_left_t;

/* Seconds; 0: nothing to say, because too little is done, or the run takes longer than estimated. now: opc_clock. The
 * estimate follows what each operator took slowly, so that the number does not jump. */
double opc_time_left(opc_time_left_t *left, double now, uint64_t done, uint64_t total);
