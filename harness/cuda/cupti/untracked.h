/* CUDA calls that bypass the wrappers, tracked through CUPTI's callback interface: calls of the driver and of
 * statically linked runtimes.
 *
 * CUPTI invokes the callback at the begin and end of each function of the driver and of every runtime in the process.
 * Wrapped calls are skipped (opc_thread.inside), and driver calls inside a runtime call belong to that call. The caller
 * is found by unwinding the stack. Driver calls by which a runtime initialises itself come before its first callback,
 * and are recorded as calls of the driver. Source: CUPTI's documentation, "CUPTI Callback API", and its headers.
 * Threads: any. Fork: before opc_untracked_watch. */
#pragma once

#include "cuda/state/cudart_table.h"

/* watch_untracked in launch.h. */
const char *opc_untracked_watch(bool (*is_own)(const char *library));

/* The caller of the CUDA function that the callback is about. */
typedef struct opc_maker {
  uint64_t function; /* an instruction in that function; for the driver, whose own frames are skipped, in its caller */
  uint64_t caller;   /* return address into the code that called it */
} opc_maker_t;
/* `driver`: the callback is about a function of the driver. False: the stack cannot be unwound that far. */
bool opc_maker_find(bool driver, opc_maker_t *out);
/* True: the function was entered through another one that only jumps to it, such as __cudaLaunchKernel, called by
 * nvcc's stubs. */
bool opc_maker_jumped(const opc_maker_t *maker);

/* From now on opc_kernel_find finds the kernel by this key, if the library that contains the address `inside` is under
 * test and one of its fat binaries describes the kernel's parameters. */
void opc_untracked_kernel_learn(const void *key, const char *kernel, uint64_t inside);
void opc_untracked_kernels_of(bool (*is_own)(const char *library));
