/* Names of the GPU kernels in a library, read from its file: the strings under which its initialisers register kernels.
 *
 * A kernel is registered under its mangled name, which is in .rodata. An extern "C" kernel is registered under its
 * plain name, which an exported function also has. A name found this way can be a device variable or another string:
 * use names to choose, not to count. All instances of a template share one name. Ownership: opc_kernel_names_clear.
 * Threads, fork: no shared state. The file can contain anything. */
#pragma once

#include "inspect/elf_file.h"

typedef struct opc_kernel_names {
  char **items; /* identifiers, without namespaces and template arguments: "copy_kernel" */
  size_t count;
} opc_kernel_names_t;

/* Adds names that are not in *out yet; a library without GPU code adds none. */
opc_status_t opc_kernel_names_read(const opc_elf_file_t *file, opc_kernel_names_t *out, opc_error_t *error) OPC_CHECKED;
void opc_kernel_names_clear(opc_kernel_names_t *names);

/* Finds the identifier in the mangled name of a function at namespace scope; *out points into `mangled`. False: it has
 * none. */
bool opc_kernel_identifier(const char *mangled, const char **out, size_t *out_length);
