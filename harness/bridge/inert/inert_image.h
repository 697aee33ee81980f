/* The file of an inert library (inert.h), as bytes: ELF, for the processor that this was compiled for.
 *
 * Ownership: the caller frees *out. Threads, fork: no shared state. */
#ifndef OPC_BRIDGE_INERT_INERT_IMAGE_H
#define OPC_BRIDGE_INERT_INERT_IMAGE_H

#include <stdbool.h>

#include "bridge/inert/inert.h"

/* Where a function goes when it is called; the addresses are written into the file, which is for this process alone. */
typedef struct opc_inert_target {
  uintptr_t address;
  bool named; /* the target's first argument becomes the function's own address; otherwise it gets the arguments of the
                 call */
} opc_inert_target_t;

/* target(symbol's name) is asked for each function. */
opc_status_t opc_inert_image(const char *soname, const opc_inert_symbol_t *symbols, size_t count,
                             opc_inert_target_t (*target)(const char *name), unsigned char **out, size_t *out_size,
                             opc_error_t *error) OPC_CHECKED;

#endif
