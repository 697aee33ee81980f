/* Reads memory that may be unmapped, without a fault.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Copies the bytes of this process at `address`. False: some of them are unreadable; `out` is then undefined. */
bool opc_memory_safe_read(const void *address, void *out, size_t bytes);
