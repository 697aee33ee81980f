/* True if memory of this process is readable. Does not read it, so no signal can occur. One probe per page.
 *
 * Threads: any; another thread may unmap the memory after the answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

bool opc_memory_readable(const void *memory, size_t bytes);
/* True if the number is the address of readable memory in this process. Numbers below 4 GiB never count as
 * addresses. */
bool opc_number_is_address(uint64_t number);

#ifdef __cplusplus
}
#endif
