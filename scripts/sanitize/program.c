/* What every program of an OPC_SANITIZE build has in it besides its own sources: the sanitizers' options, so that a
 * worker has them however it was started (ASAN_OPTIONS and UBSAN_OPTIONS of the environment go before these), and what
 * glibc's malloc and loader have and theirs lack. */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOOK __attribute__((used, visibility("default"), no_sanitize("address", "undefined")))

HOOK const char *__asan_default_options(void);
HOOK const char *__asan_default_suppressions(void);
HOOK const char *__ubsan_default_options(void);
HOOK void __ubsan_on_report(void);
HOOK void __sanitizer_malloc_hook(const volatile void *block, size_t bytes);
void *__interceptor_calloc(size_t count, size_t bytes);
void *__interceptor_dlopen(const char *name, int mode);

/* 99 is a status that no test expects. quarantine_size_mb: less than a child may have. allocator_may_return_null: as
 * every malloc does; else an operator that asks for too much is an error. alloc_dealloc_mismatch: libcusparseLt exports
 * a part of the C++ library of its own, which frees what operator new gave. verify_asan_link_order: the wrappers of
 * CUDA's runtime are preloaded in front of the sanitizer, and define nothing of it. */
const char *__asan_default_options(void) {
  return "log_path=" OPC_SANITIZER_REPORTS
         "/asan:exitcode=99:strict_string_checks=1:detect_stack_use_after_return=1:"
         "quarantine_size_mb=64:allocator_may_return_null=1:alloc_dealloc_mismatch=0:verify_asan_link_order=0";
}

/* What an operator does wrong is opcheck-c's to find: where a fixture calls memcpy or write, and where the bytes of a
 * result are read, whose memory the operator may have freed. */
const char *__asan_default_suppressions(void) {
  return "interceptor_via_lib:/fixtures/\ninterceptor_via_fun:opc_tensor_logical_bytes\n";
}

const char *__ubsan_default_options(void) { return "exitcode=99:print_stacktrace=1"; }

/* In a process with both, UndefinedBehaviorSanitizer's log_path has no effect: what it is about to print goes to a file
 * from here. */
void __ubsan_on_report(void) {
  mkdir(OPC_SANITIZER_REPORTS, 0777);
  dup2(open(OPC_SANITIZER_REPORTS "/ubsan", O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
}

/* ---- M_PERTURB ---- */

static volatile unsigned char perturb_byte;
static __thread bool is_calloc; /* which clears what is not fresh from the system, and may do so first */

HOOK int mallopt(int parameter, int value) {
  if (parameter == M_PERTURB) perturb_byte = (unsigned char)value;
  return 1;
}

void __sanitizer_malloc_hook(const volatile void *block, size_t bytes) {
  if (perturb_byte && !is_calloc) memset((void *)block, (unsigned char)~perturb_byte, bytes);
}

HOOK void *calloc(size_t count, size_t bytes) {
  is_calloc = true;
  void *block = __interceptor_calloc(count, bytes);
  is_calloc = false;
  return block;
}

/* ---- dlopen ---- */

/* A library without a folder is looked for where the library that asks for it says; through the sanitizer's dlopen it
 * is the sanitizer that asks. Libtorch's (libtorch_cuda_linalg.so) are looked for beside libtorch. */
HOOK void *dlopen(const char *name, int mode) {
  void *library = __interceptor_dlopen(name, mode);
  if (library || !name || strchr(name, '/')) return library;
  void *torch = __interceptor_dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  char folder[PATH_MAX] = "", path[2 * PATH_MAX];
  if (torch && dlinfo(torch, RTLD_DI_ORIGIN, folder) == 0) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (access(path, R_OK) == 0) library = __interceptor_dlopen(path, mode);
  }
  if (torch) dlclose(torch);
  return library;
}
