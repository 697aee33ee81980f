/* Stub libraries: shared libraries made in memory, without a compiler, that define the symbols that a library under
 * test needs, without an implementation. So a library that uses Python, or CUDA where there is none, loads with all its
 * symbols bound (RTLD_NOW), and its operators that need neither can be checked.
 *
 * A call of a stub function ends in the function set by opc_stub_on_call, which does not return. A few stub functions
 * return a harmless, correct answer: no interpreter is initialised, there is no CUDA device, GPU code was registered.
 * Stub data are zeros and writable. Threads: one while loading; calls from any. Fork: safe. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_stub_symbol {
  const char *name;    /* the caller's */
  const char *version; /* the caller's; NULL: none */
  uint64_t size;       /* bytes of data; 0: a function */
} opc_stub_symbol_t;

/* Makes a library and loads it globally (RTLD_GLOBAL) for the life of the process. It satisfies libraries that need
 * `soname`. */
opc_status_t opc_stub_load(const char *soname, const opc_stub_symbol_t *symbols, size_t count,
                           opc_error_t *error) OPC_CHECKED;

/* called: must throw or end the process; `library` is the soname. */
void opc_stub_on_call(void (*called)(const char *symbol, const char *library));

/* stub_image.c: the file of a stub library as bytes: ELF, for the processor that this was compiled for.
 *
 * Ownership: the caller frees *out. Threads, fork: no shared state. */

/* The target of a function's calls; the addresses are written into the file, which is only for this process. */
typedef struct opc_stub_target {
  uintptr_t address;
  bool
      named; /* the target gets the function's address as first argument; otherwise it gets the arguments of the call */
} opc_stub_target_t;

/* target(symbol name) is called for each function. */
opc_status_t opc_stub_image(const char *soname, const opc_stub_symbol_t *symbols, size_t count,
                            opc_stub_target_t (*target)(const char *name), unsigned char **out, size_t *out_size,
                            opc_error_t *error) OPC_CHECKED;

#ifdef __cplusplus
}
#endif
