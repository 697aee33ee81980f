/* How the code in a library's file calls CUDA.
 *
 * Ownership: none. Threads, fork: no shared state. */
#pragma once

#include "inspect/elf_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_gpu_runtime {
  OPC_GPU_RUNTIME_NONE = 0,
  OPC_GPU_RUNTIME_SHARED,
  OPC_GPU_RUNTIME_STATIC
} opc_gpu_runtime_t;

opc_gpu_runtime_t opc_cuda_runtime_of(const opc_elf_file_t *file);
/* True if the file names CUDA driver functions that launch, copy, allocate or wait: as symbols, or as strings to be
 * looked up at run time. A static runtime does so too. */
bool opc_cuda_driver_works(const opc_elf_file_t *file);

#ifdef __cplusplus
}
#endif
