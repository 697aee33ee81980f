/* libcuda.so.1 for the simulated devices: ATen loads a library of this name, which does not exist on a machine without
 * a GPU. Each function is found when first looked up; driver_stub.c implements it. */
#include <cuda_runtime_api.h>
#include <stddef.h>

typedef void function_t(void);

static function_t *entry(const char *name) {
  void *found = NULL;
  (void)cudaGetDriverEntryPointByVersion(name, &found, CUDART_VERSION, cudaEnableDefault, NULL);
  function_t *function;
  *(void **)&function = found;
  return function;
}

#define OPC_DRIVER(name)                                        \
  static function_t *find_##name(void) { return entry(#name); } \
  void name(void) __attribute__((ifunc("find_" #name)));
#include "cuda/wrapper/driver_exports.def"

#define OPC_LIBRARY(how, name)                                  \
  static function_t *find_##name(void) { return entry(#name); } \
  void name(void) __attribute__((ifunc("find_" #name)));
#include "cuda/simulated/kernel_libraries.def"
