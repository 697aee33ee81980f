/* The real runtime: its library, and its functions in the tables of cudart_table.h. */
#include <dlfcn.h>
#include <stdio.h>

#include "cuda/state/cudart_table.h"

#define OPC_TEXT_OF(x) #x
#define OPC_TEXT(x) OPC_TEXT_OF(x)
static const char real_name[] = "libcudart.so." OPC_TEXT(OPC_CUDART_MAJOR);

static cudaError_t absent(void) { return cudaErrorNotSupported; }
static cudaError_t unloadable(void) { return cudaErrorSharedObjectInitFailed; }

static void *library;
static void library_find(void) {
  /* The caller links it, so it is already loaded; if it has its own path, that comes from the caller. */
  library = dlopen(real_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) library = dlopen(real_name, RTLD_LAZY);
  if (!library) fprintf(stderr, "opcheck-c: the CUDA runtime cannot be loaded: %s\n", dlerror());
}

/* The real library's handle; NULL in simulated mode. */
static void *real_library(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (opc_runtime.simulated) return NULL;
  pthread_once(&once, library_find);
  return library;
}

void *opc_real_function(const char *name) {
  cudaError_t (*fallback)(void) = absent;
  void *handle = real_library();
  void *found = handle ? dlsym(handle, name) : NULL;
  if (!handle) fallback = unloadable;
  return found ? found : *(void **)&fallback;
}

opc_real_t opc_real;

void opc_real_fill(void) {
#define OPC_CUDART_ONE(name) *(void **)&opc_real.name = opc_real_function(#name);
#define OPC_CUDART_PTSZ(name) \
  OPC_CUDART_ONE(name) * (void **)&opc_real.name##_second = opc_real_function(#name "_ptsz");
#define OPC_CUDART_PTDS(name) \
  OPC_CUDART_ONE(name) * (void **)&opc_real.name##_second = opc_real_function(#name "_ptds");
#define OPC_CUDART(when, kind, variant, name, parameters, arguments, note, track) OPC_CUDART_##variant(name)
#include "cuda/state/cudart.def"
#undef OPC_CUDART_ONE
#undef OPC_CUDART_PTSZ
#undef OPC_CUDART_PTDS
}

const char opc_unknown_error[] = "unrecognized error code";
opc_real_errors_t opc_real_errors;
opc_real_registry_t opc_real_registry;

static const char *no_text(cudaError_t error) {
  (void)error;
  return opc_unknown_error;
}

/* As opc_real_function, for functions that return a text. */
static void *real_text_function(const char *name) {
  const char *(*fallback)(cudaError_t) = no_text;
  void *handle = real_library(), *found = handle ? dlsym(handle, name) : NULL;
  return found ? found : *(void **)&fallback;
}

void opc_real_special_fill(void) {
  *(void **)&opc_real_errors.last = opc_real_function("cudaGetLastError");
  *(void **)&opc_real_errors.peek = opc_real_function("cudaPeekAtLastError");
  *(void **)&opc_real_errors.name = real_text_function("cudaGetErrorName");
  *(void **)&opc_real_errors.text = real_text_function("cudaGetErrorString");
  *(void **)&opc_real_registry.push = opc_real_function("__cudaPushCallConfiguration");
  *(void **)&opc_real_registry.binary = opc_real_function("__cudaRegisterFatBinary");
  *(void **)&opc_real_registry.end = opc_real_function("__cudaRegisterFatBinaryEnd");
  *(void **)&opc_real_registry.unregister = opc_real_function("__cudaUnregisterFatBinary");
  *(void **)&opc_real_registry.function = opc_real_function("__cudaRegisterFunction");
  *(void **)&opc_real_registry.variable = opc_real_function("__cudaRegisterVar");
  *(void **)&opc_real_registry.managed = opc_real_function("__cudaRegisterManagedVar");
  *(void **)&opc_real_registry.init = opc_real_function("__cudaInitModule");
}

int opc_device_now(void) {
  int device = -1;
  if (opc_runtime.simulated) return opc_thread.device;
  return opc_real.cudaGetDevice(&device) == cudaSuccess ? device : -1;
}
