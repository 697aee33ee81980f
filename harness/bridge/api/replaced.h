/* Libtorch's CUDA kernels have no PTX, so they do not run on the simulated CUDA device. What an operator under test
 * calls of libtorch there is computed by libtorch's CPU kernels.
 *
 * Threads: those that libtorch lets continue the caller's work, such as autograd's. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* From now on, in this process and its forks. Nothing on any other device. */
void opc_bridge_replace_kernels(void);

#ifdef __cplusplus
}
#endif
