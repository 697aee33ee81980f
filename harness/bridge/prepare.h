/* Before a library is loaded: what it needs of libtorch is loaded first, and what cannot work is told in words.
 *
 * Wheels need libtorch.so and its siblings without saying where they are: here they come from the folder of this process's
 * libtorch_cpu.so. Many need libtorch_python.so and use nothing of it: an empty library of that name (target opc_python_stub)
 * stands in; so it does for libtorch.so where nothing of CUDA is needed. What is registered by what is loaded here is nobody's.
 * Threads: one. Call it in the process that will load the library. */
#ifndef OPC_BRIDGE_PREPARE_H
#define OPC_BRIDGE_PREPARE_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* stub_folder holds the empty libraries. OPC_ERR_LIBRARY: the library cannot be loaded, and why; OPC_ERR_IO: it cannot be read. */
opc_status_t opc_bridge_prepare(const char *library_path, const char *stub_folder, opc_error_t *error) OPC_CHECKED;

/* Folder of the libtorch_cpu.so of this process; NULL when it has none. Kept for the process's life. */
const char *opc_bridge_torch_folder(void);

#ifdef __cplusplus
}
#endif
#endif
