/* Memory that may be gone: read without a fault.
 *
 * Threads: any. */
#ifndef OPC_MEMORY_SAFE_READ_H
#define OPC_MEMORY_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>

/* Copies the bytes of this process at `address`. False: not all of them can be read; what `out` holds then is
 * undefined. */
bool opc_memory_safe_read(const void *address, void *out, size_t bytes);

#endif
