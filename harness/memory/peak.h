/* How much physical memory a call takes at its peak: VmHWM, which the system keeps for the process.
 *
 * Memory that is allocated and never touched does not count. Ownership: nothing. Threads: one measures at a time;
 * memory of all threads counts. Fork: the child has its own peak. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What a process may have: --memory. Unless this is called, 4 GiB. */
void opc_peak_limit(size_t bytes);
/* A quarter of the limit: what one call on a small sample should stay below. */
size_t opc_peak_allowed(void);

/* False: the system does not measure it. */
bool opc_peak_begin(void);
/* Bytes at the peak since the beginning, beyond what the process had then; 0 also if the system does not say. */
size_t opc_peak_bytes(void);
