/* The two packings of fat binaries: zstd, and LZ4 blocks.
 * Ownership: what is unpacked is the caller's, until opc_image_unpacked_free. Threads, fork: no shared state but
 * libzstd, which is loaded once, where it is needed. */
#ifndef OPC_CUDA_IMAGE_UNPACK_IMAGE_H
#define OPC_CUDA_IMAGE_UNPACK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

/* plain_size: as the entry's header says. NULL: it is damaged, or libzstd is not there. */
unsigned char *opc_image_unpack(bool zstd, const unsigned char *packed, size_t size, size_t plain_size,
                                size_t *out_size);
void opc_image_unpacked_free(unsigned char *plain, size_t size);

#endif
