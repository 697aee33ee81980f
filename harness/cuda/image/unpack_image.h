/* The two compression formats of fat binaries: zstd, and LZ4 blocks.
 * Ownership: the caller frees the unpacked data with opc_image_unpacked_free. Threads, fork: no shared state except
 * libzstd, which is loaded once, on demand. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* plain_size: from the entry's header. NULL: damaged data, or libzstd is not installed. */
unsigned char *opc_image_unpack(bool zstd, const unsigned char *packed, size_t size, size_t plain_size,
                                size_t *out_size);
void opc_image_unpacked_free(unsigned char *plain, size_t size);
