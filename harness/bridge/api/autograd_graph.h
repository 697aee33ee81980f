/* What is left out of a tensor's graph.
 *
 * Ownership: none. Threads: one. */
#pragma once

#include "bridge/api/bridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The graph has an operator without a derivative, where libtorch's fallback warns once, and backward goes on without
 * that part. */
bool opc_autograd_falls_back(const opc_tensor_t *tensor);

#ifdef __cplusplus
}
#endif
