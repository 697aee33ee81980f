/* Prepares the loading of a library: provides its dependencies, so that it loads in a process without Python and, if
 * CUDA is not installed, without CUDA.
 *
 * - libtorch's own libraries come from the folder of this process's libtorch_cpu.so, CUDA's from the folders next to
 * it: wheels need both without saying where they are.
 * - libtorch_python and libpython are replaced by stub libraries (stub_library.h), and so are missing parts of CUDA.
 * Stubs have only the symbols that the library and its siblings leave undefined. libtorch_cuda costs 0.3 s and 350 MB,
 * and much more under Valgrind: it is replaced even if it is installed, unless the process is for a CUDA device.
 * Libraries loaded with --preload are never replaced.
 * - Siblings, which are next to the library where the loader would not look, are listed in the order in which they must
 * be loaded with it. What they register counts as the library's. Other missing dependencies are left to the loader,
 * which reports them.
 * Threads: one. Call it in the process that will load the library. */
#pragma once

#include <stdbool.h>

#include "base/text.h"

typedef struct opc_prepared {
  char **siblings; /* paths, each after those it needs itself */
  size_t sibling_count;
  opc_text_t note; /* which libraries are stubs, as text; empty: none */
} opc_prepared_t;

/* cuda: the process is for a CUDA device. OPC_ERR_LIBRARY: not a shared library, or a library of libtorch that it needs
 * does not load; OPC_ERR_IO: it cannot be read. */
opc_status_t opc_bridge_prepare(const char *library_path, bool cuda, opc_prepared_t *out,
                                opc_error_t *error) OPC_CHECKED;
void opc_prepared_clear(opc_prepared_t *prepared);

/* Folder of the libtorch_cpu.so of this process; NULL when it has none. Kept for the process's life. */
const char *opc_bridge_torch_folder(void);
