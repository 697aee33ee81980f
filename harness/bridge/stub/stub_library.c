#include "bridge/stub/stub_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/owned.h"
#include "base/text.h"

/* ---- calls ---- */

static void (*on_call)(const char *symbol, const char *library);

/* Sonames of the stub libraries, by their paths: the loader knows them by the path of a descriptor. Never freed. */
typedef struct loaded_stub {
  const struct loaded_stub *next;
  const void *base;
  char soname[];
} loaded_stub_t;
static const loaded_stub_t *libraries;

_Noreturn static void called(const void *function) {
  Dl_info info = {0};
  const char *symbol = "a function", *library = "a stub library";
  if (dladdr(function, &info) != 0) {
    if (info.dli_sname) symbol = info.dli_sname;
    for (const loaded_stub_t *at = libraries; at; at = at->next) {
      if (at->base == info.dli_fbase) library = at->soname;
    }
  }
  if (on_call) on_call(symbol, library);
  fprintf(stderr, "%s of %s was called, which is not here\n", symbol, library);
  abort();
}

void opc_stub_on_call(void (*function)(const char *symbol, const char *library)) { on_call = function; }

/* ---- harmless answers ---- */

enum { CUDA_NO_DEVICE = 100 }; /* cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE, hipErrorNoDevice */

static void *answer_zero(void) { return NULL; }
static int answer_no_device(int *out) {
  if (out) *out = 0;
  return CUDA_NO_DEVICE;
}
static int answer_cuda_init(void) { return CUDA_NO_DEVICE; }
static void *answer_handle(void) {
  static void *handle[16]; /* a handle of registered GPU code belongs to the CUDA runtime, which is not here */
  return handle;
}
static const char *answer_error_text(void) { return "there is no CUDA device"; }

/* ISO C cannot convert a function's address to a number; POSIX can, and so can the loader. */
#define ANSWER(name, function) \
  { name, (uintptr_t)(function) }
static const struct {
  const char *name;
  uintptr_t function;
} answers[] = {
    ANSWER("Py_IsInitialized", answer_zero),
    ANSWER("Py_IsFinalizing", answer_zero),
    ANSWER("_Py_IsFinalizing", answer_zero),
    ANSWER("PyGILState_Check", answer_zero),
    ANSWER("PyGILState_GetThisThreadState", answer_zero),
    ANSWER("_PyThreadState_UncheckedGet", answer_zero),
    ANSWER("PyThreadState_GetUnchecked", answer_zero),
    ANSWER("__cudaRegisterFatBinary", answer_handle),
    ANSWER("__cudaRegisterFatBinaryEnd", answer_zero),
    ANSWER("__cudaUnregisterFatBinary", answer_zero),
    ANSWER("__cudaRegisterFunction", answer_zero),
    ANSWER("__cudaRegisterVar", answer_zero),
    ANSWER("__cudaRegisterManagedVar", answer_zero),
    ANSWER("__cudaRegisterHostVar", answer_zero),
    ANSWER("__cudaRegisterTexture", answer_zero),
    ANSWER("__cudaRegisterSurface", answer_zero),
    ANSWER("__cudaInitModule", answer_zero),
    ANSWER("__hipRegisterFatBinary", answer_handle),
    ANSWER("__hipUnregisterFatBinary", answer_zero),
    ANSWER("__hipRegisterFunction", answer_zero),
    ANSWER("__hipRegisterVar", answer_zero),
    ANSWER("__hipRegisterManagedVar", answer_zero),
    ANSWER("cudaGetDeviceCount", answer_no_device),
    ANSWER("hipGetDeviceCount", answer_no_device),
    ANSWER("cuDeviceGetCount", answer_no_device),
    ANSWER("cuInit", answer_cuda_init),
    ANSWER("hipInit", answer_cuda_init),
    ANSWER("cudaGetLastError", answer_zero),
    ANSWER("cudaPeekAtLastError", answer_zero),
    ANSWER("cudaGetErrorString", answer_error_text),
    ANSWER("cudaGetErrorName", answer_error_text),
};

static opc_stub_target_t stub_library_target_of(const char *name) {
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    if (strcmp(answers[i].name, name) == 0) return (opc_stub_target_t){.address = answers[i].function};
  }
  return (opc_stub_target_t){.address = (uintptr_t)called, .named = true};
}

/* ---- loading ---- */

static opc_status_t stub_library_write_all(int fd, const unsigned char *bytes, size_t size, opc_error_t *error) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot write a memory file: %s", strerror(errno));
    bytes += written;
    size -= (size_t)written;
  }
  return OPC_OK;
}

/* If memory files must not be executable (vm.memfd_noexec), a file whose name has been removed. */
static int temporary_file(void) {
  const char *folder = getenv("TMPDIR");
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/opcheck-c-XXXXXX", folder && *folder != '\0' ? folder : "/tmp") >=
      (int)sizeof path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  const int fd = mkostemp(path, O_CLOEXEC);
  if (fd >= 0) (void)unlink(path);
  return fd;
}

/* The loader treats two files with the same path as one, and the path is the descriptor's: each gets its own number. */
static int numbered(int low) {
  static int next = 300;
  const int fd = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, next) : -1;
  if (low >= 0) (void)close(low);
  if (fd >= 0) next = fd + 1;
  return fd;
}

static opc_status_t stub_library_load_from(int fd_of_image, const unsigned char *image, size_t size, void **out_handle,
                                           opc_error_t *error) {
  char path[64];
  OPC_SCOPED(opc_scope_close) int fd = fd_of_image;
  *out_handle = NULL;
  if (fd < 0) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot make a memory file: %s", strerror(errno));
  OPC_RETURN_IF_ERROR(stub_library_write_all(fd, image, size, error));
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  *out_handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (*out_handle) return OPC_OK;
  const char *why = dlerror();
  return opc_error_set(error, OPC_ERR_SYSTEM, "a stub library does not load: %s", why ? why : "no reason given");
}

opc_status_t opc_stub_load(const char *soname, const opc_stub_symbol_t *symbols, size_t count, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) unsigned char *image = NULL;
  size_t size = 0;
  void *handle = NULL;
  struct link_map *map = NULL;
  OPC_SCOPED(opc_scope_free) loaded_stub_t *library = malloc(sizeof *library + strlen(soname) + 1);
  if (!library) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_stub_image(soname, symbols, count, stub_library_target_of, &image, &size, error));
  if (stub_library_load_from(numbered(memfd_create(soname, MFD_CLOEXEC)), image, size, &handle, error) != OPC_OK)
    OPC_RETURN_IF_ERROR(stub_library_load_from(numbered(temporary_file()), image, size, &handle, error));
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) return OPC_OK;
  *library = (loaded_stub_t){.next = libraries, .base = (const void *)map->l_addr};
  memcpy(library->soname, soname, strlen(soname) + 1);
  OPC_MOVE(&libraries, library);
  return OPC_OK;
}
