/* The kernels in a library's GPU code, and which of them the PTX machine (cuda/ptx) can run.
 *
 * A fat binary is nvcc's output for one source file. Its newest PTX is read; kernels that are only in its first machine
 * code cannot be run without a GPU. Ownership: opc_gpu_kernels_clear. Threads, fork: no shared state. The bytes can be
 * anything: what cannot be read is reported. */
#pragma once

#include "cuda/ptx/ptx.h"
#include "inspect/fatbin.h"

typedef struct opc_gpu_kernel {
  char *name;       /* as registered (mangled) */
  size_t image;     /* which fat binary of the library has it, from 1 */
  unsigned ptx;     /* architecture of the PTX; 0: machine code only */
  bool runs, exact; /* on the PTX machine; exact: none of its instructions is an approximation */
  size_t instructions;
  opc_ptx_problem_t problem; /* why it does not run */
} opc_gpu_kernel_t;

typedef struct opc_gpu_kernels {
  opc_gpu_kernel_t *items;
  size_t count;
  size_t unread;             /* PTX images that cannot be read at all */
  opc_ptx_problem_t problem; /* of the first of them */
} opc_gpu_kernels_t;

opc_status_t opc_gpu_kernels_read(const unsigned char *bytes, size_t size, opc_gpu_kernels_t *out,
                                  opc_error_t *error) OPC_CHECKED;
void opc_gpu_kernels_clear(opc_gpu_kernels_t *kernels);
