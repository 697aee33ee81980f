/* Kernels that are built for fewer GPUs than the rest of their library: their source file was compiled with other
 * options than its neighbours.
 *
 * A fat binary is nvcc's output for one source file; its first machine code names the kernels in it. Code for a single
 * architecture or family (sm_90a, sm_100f) is written for it on purpose: files with only such code are ignored. A
 * kernel that is also in other files runs wherever one of them does. Ownership: opc_uneven_clear. Threads, fork: no
 * shared state. The bytes can be anything: unreadable ones are ignored. */
#pragma once

#include "base/status.h"
#include "inspect/fatbin.h"

typedef struct opc_uneven_kernel {
  char *name; /* as registered (mangled) */
  opc_gpu_codes_t codes;
} opc_uneven_kernel_t;

typedef struct opc_uneven {
  opc_uneven_kernel_t *items; /* sorted by name */
  size_t count;
  bool incomplete; /* out of memory */
} opc_uneven_t;

/* `whole`: the codes of the whole section. */
void opc_uneven_read(const unsigned char *bytes, size_t size, const opc_gpu_codes_t *whole, opc_uneven_t *out);
void opc_uneven_clear(opc_uneven_t *uneven);
