#include "inspect/facts.h"

#include <string.h>

/* ---- the runtime ---- */

typedef struct fatbin_use {
  bool registered, defined;
} fatbin_use_t;

static bool see_fatbin(const opc_elf_symbol_t *symbol, void *context) {
  fatbin_use_t *use = context;
  if (strcmp(symbol->name, "__cudaRegisterFatBinary") != 0) return true;
  if (symbol->defined) use->defined = true;
  else use->registered = true;
  return true;
}

opc_gpu_runtime_t opc_cuda_runtime_of(const opc_elf_file_t *file) {
  fatbin_use_t use = {0};
  size_t size = 0;
  opc_elf_each_symbol(file, see_fatbin, &use);
  if (use.registered) return OPC_GPU_RUNTIME_SHARED;
  return use.defined || opc_elf_section(file, ".nv_fatbin", &size) ? OPC_GPU_RUNTIME_STATIC : OPC_GPU_RUNTIME_NONE;
}

/* ---- the driver ---- */

static const char *const works[] = {"cuLaunchKernel",   "cuLaunchCooperativeKernel",
                                    "cuGraphLaunch",    "cuMemcpy",
                                    "cuMemset",         "cuMemAlloc",
                                    "cuMemHostAlloc",   "cuMemFree",
                                    "cuCtxSynchronize", "cuStreamSynchronize"};
enum { WORKS = sizeof works / sizeof *works };

static bool see_work(const opc_elf_symbol_t *symbol, void *context) {
  bool *found = context;
  for (size_t i = 0; i < WORKS && !symbol->defined && !*found; i++)
    *found = strncmp(symbol->name, works[i], strlen(works[i])) == 0;
  return !*found;
}

bool opc_cuda_driver_works(const opc_elf_file_t *file) {
  bool found = false;
  size_t size = 0;
  opc_elf_each_symbol(file, see_work, &found);
  const unsigned char *data = opc_elf_section(file, ".rodata", &size);
  for (size_t i = 0; i < WORKS && data && !found; i++) found = memmem(data, size, works[i], strlen(works[i]));
  return found;
}
