/* Whether an operator computes by means of others that it calls, such as libtorch's own.
 *
 * Threads: calls of this thread only. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Between the two, calls of this thread are watched. Making, viewing and copying tensors is no work. */
void opc_bridge_inner_work_begin(void);
/* True: an operator that was called has called another one that computes. */
bool opc_bridge_inner_work_end(void);

#ifdef __cplusplus
}
#endif
