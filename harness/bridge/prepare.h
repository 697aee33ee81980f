/* Before a library is loaded: what it needs is made ready, so that it loads in a process without Python and, where CUDA is not installed, without CUDA.
 *
 * - libtorch's own libraries come from the folder of this process's libtorch_cpu.so, CUDA's from beside it: wheels need both without saying where they are.
 * - libtorch_python and libpython are replaced by inert libraries (inert.h), and so are parts of CUDA that are not here; they have just the symbols that
 *   the library and its siblings leave undefined. A libpython that was loaded with --preload counts. libtorch.so, which holds nothing and draws
 *   in libtorch_cuda (0.3 s, 350 MB), is replaced where nothing of CUDA is wanted.
 * - Siblings that lie beside the library, where the loader would not look, are named in the order in which they are to be loaded with it: what they register
 *   is the library's.
 * What cannot be made ready is left to the loader, which says what is missing.
 * Threads: one. Call it in the process that will load the library. */
#ifndef OPC_BRIDGE_PREPARE_H
#define OPC_BRIDGE_PREPARE_H

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_prepared {
  char **siblings; /* paths, each behind those that it needs itself */
  size_t sibling_count;
  opc_text_t note; /* what is inert, in words; empty: nothing */
} opc_prepared_t;

/* OPC_ERR_LIBRARY: no shared library, or something of libtorch that it needs does not load; OPC_ERR_IO: it cannot be read. */
opc_status_t opc_bridge_prepare(const char *library_path, opc_prepared_t *out, opc_error_t *error) OPC_CHECKED;
void opc_prepared_clear(opc_prepared_t *prepared);

/* Folder of the libtorch_cpu.so of this process; NULL when it has none. Kept for the process's life. */
const char *opc_bridge_torch_folder(void);

#ifdef __cplusplus
}
#endif
#endif
