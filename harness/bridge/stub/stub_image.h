/* The file of a stub library (stub_library.h) as bytes: ELF, for the processor that this was compiled for.
 *
 * Ownership: the caller frees *out. Threads, fork: no shared state. */
#pragma once

#include <stdbool.h>

#include "bridge/stub/stub_library.h"

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
