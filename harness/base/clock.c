#include "base/system.h"

double opc_clock_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double opc_clock(void) { return opc_clock_of(CLOCK_MONOTONIC); }
