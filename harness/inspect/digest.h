/* Digests of files: files with the same bytes have the same digest, and hardly any others.
 *
 * Threads, fork: no shared state. */
#pragma once

#include "base/status.h"

enum { OPC_DIGEST_SIZE = 33 }; /* 128 bits as hexadecimal digits */

void opc_digest_text(const char *text, char out[OPC_DIGEST_SIZE]);

/* OPC_ERR_IO: it cannot be read. */
opc_status_t opc_digest_file(const char *path, char out[OPC_DIGEST_SIZE], opc_error_t *error) OPC_CHECKED;
/* Of a library, and of those that it needs in turn, where the loader would find them. What libtorch and CUDA bring is
 * left out: their version says which they are. torch_folder: libtorch's lib/; "": not known. */
opc_status_t opc_digest_library(const char *path, const char *torch_folder, char out[OPC_DIGEST_SIZE],
                                opc_error_t *error) OPC_CHECKED;
