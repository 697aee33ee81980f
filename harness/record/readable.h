/* Whether memory of this process can be read, without reading it: no signal where it cannot. A page a probe.
 *
 * Threads: any; another thread may unmap the memory after the answer. */
#ifndef OPC_RECORD_READABLE_H
#define OPC_RECORD_READABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

bool opc_memory_readable(const void *memory, size_t bytes);
/* The number is an address of something in this process. Below 4 GiB numbers are taken for numbers. */
bool opc_number_is_address(uint64_t number);

#ifdef __cplusplus
}
#endif
#endif
