/* Calls of CUDA that do not come through the wrappers, seen by CUPTI's callback interface: of the driver, and of
 * runtimes that libraries have linked into them.
 *
 * CUPTI calls us at the beginning and at the end of each function of every runtime in the process and of the driver. A
 * wrapped call is ours already (opc_thread.inside), and what a runtime asks of the driver on the way belongs to the
 * call of the runtime. Who made a call is read off the stack. What a runtime asks of the driver to initialise itself
 * comes before its first function is announced, and is seen as the driver's. Source: CUPTI's documentation, "CUPTI
 * Callback API", and its headers. Threads: any. Fork: before opc_untracked_watch. */
#ifndef OPC_CUDA_CUPTI_UNTRACKED_H
#define OPC_CUDA_CUPTI_UNTRACKED_H

#include "cuda/state/call_log.h"

/* launch.h, watch_unwrapped. */
const char *opc_untracked_watch(bool (*is_own)(const char *library));

/* Who called the function of CUDA that the callback is about. */
typedef struct opc_maker {
  uint64_t
      function;    /* an instruction in that function; for the driver, whose functions are passed over, in its caller */
  uint64_t caller; /* return address into the code that called it */
} opc_maker_t;
/* `driver`: the callback is about a function of the driver. False: the stack cannot be followed so far. */
bool opc_maker_find(bool driver, opc_maker_t *out);
/* The function was entered by way of another that only jumps to it, as __cudaLaunchKernel does, which nvcc's stubs
 * call. */
bool opc_maker_jumped(const opc_maker_t *maker);

/* From now on opc_kernel_find knows the kernel by this key, where the library that has the address `inside` is
 * somebody's own and a fat binary of it says what the kernel's parameters are. */
void opc_untracked_kernel_learn(const void *key, const char *kernel, uint64_t inside);
void opc_untracked_kernels_of(bool (*is_own)(const char *library));

#endif
