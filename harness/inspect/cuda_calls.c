#include "inspect/facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "base/text.h"

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

int opc_cuda_major(const opc_elf_file_t *file) {
  for (size_t i = 0; i < file->needed_count; i++) {
    const char *version = opc_string_begins(file->needed[i], "libcudart") ? strstr(file->needed[i], ".so.") : NULL;
    if (version) return atoi(version + strlen(".so."));
  }
  return 0;
}

int opc_cuda_major_of_torch(const char *folder) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  OPC_SCOPED(opc_scope_free) char *path = opc_string_format("%s/libc10_cuda.so", folder);
  opc_error_t ignored;
  return path && opc_elf_open(path, &file, &ignored) == OPC_OK ? opc_cuda_major(file) : 0;
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
