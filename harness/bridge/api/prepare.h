/* Before a library is loaded: what it needs is made ready, so that it loads in a process without Python and, where CUDA
 * is not installed, without CUDA.
 *
 * - libtorch's own libraries come from the folder of this process's libtorch_cpu.so, CUDA's from beside it: wheels need
 * both without saying where they are.
 * - libtorch_python and libpython are replaced by stub libraries (stub_library.h), and so are parts of CUDA that are
 * not here; they have just the symbols that the library and its siblings leave undefined. libtorch_cuda costs 0.3 s and
 * 350 MB, and much more under Valgrind: it is replaced even where it is here, unless the process is for a CUDA device.
 * What was loaded with --preload is never replaced.
 * - Siblings that lie beside the library, where the loader would not look, are named in the order in which they are to
 * be loaded with it: what they register is the library's. What cannot be made ready is left to the loader, which says
 * what is missing. Threads: one. Call it in the process that will load the library. */
#ifndef OPC_BRIDGE_API_PREPARE_H
#define OPC_BRIDGE_API_PREPARE_H

#include <stdbool.h>

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_prepared {
  char **siblings; /* paths, each behind those that it needs itself */
  size_t sibling_count;
  opc_text_t note; /* what is inert, in words; empty: nothing */
} opc_prepared_t;

/* cuda: the process is for a CUDA device. OPC_ERR_LIBRARY: no shared library, or something of libtorch that it needs
 * does not load; OPC_ERR_IO: it cannot be read. */
opc_status_t opc_bridge_prepare(const char *library_path, bool cuda, opc_prepared_t *out,
                                opc_error_t *error) OPC_CHECKED;
void opc_prepared_clear(opc_prepared_t *prepared);

/* Folder of the libtorch_cpu.so of this process; NULL when it has none. Kept for the process's life. */
const char *opc_bridge_torch_folder(void);

#ifdef __cplusplus
}
#endif
#endif
