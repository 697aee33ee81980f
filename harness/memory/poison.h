/* Poisoned CPU memory: every new storage is filled with a byte pattern before an operator sees it, so that unwritten
 * elements can be recognised.
 *
 * The pattern is chosen at run time: if two runs of one case with two patterns give different bits, uninitialised
 * memory reached the result. Guarded memory (cpu_memory.h) has the same pattern. */
#pragma once

#include <stddef.h>

void *opc_poison_allocate(size_t bytes, void *context); /* 64-byte aligned; NULL when out of memory or bytes is 0 */
void opc_poison_release(void *data, void *context);
void opc_poison_pattern(unsigned char byte); /* for new storage from now on; default 0xa5 */
unsigned char opc_poison_byte(void);
