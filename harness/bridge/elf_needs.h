/* What a shared library asks of its surroundings, read from the file and not by loading it.
 *
 * Ownership: opc_elf_needs_clear. Threads, fork: no shared state. The file may be anything: what cannot be read is an error. */
#ifndef OPC_BRIDGE_ELF_NEEDS_H
#define OPC_BRIDGE_ELF_NEEDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

typedef struct opc_elf_needs {
  char **libraries; /* DT_NEEDED, in order */
  size_t library_count;
  char **symbols; /* undefined, not weak */
  size_t symbol_count;
} opc_elf_needs_t;

/* OPC_ERR_IO: unreadable. OPC_ERR_LIBRARY: not a shared library in ELF format for this kind of machine. */
opc_status_t opc_elf_needs_read(const char *path, opc_elf_needs_t *out, opc_error_t *error) OPC_CHECKED;
void opc_elf_needs_clear(opc_elf_needs_t *needs);
bool opc_elf_needs_library(const opc_elf_needs_t *needs, const char *name);

#endif
