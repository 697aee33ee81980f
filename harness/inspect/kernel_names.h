/* Names of the GPU kernels in a library, read from its file: the strings that its initialisers register kernels by.
 *
 * A kernel is registered by its mangled name, which stands in .rodata; one that is extern "C" by its own, which an
 * exported function has as well. What is found so may be a device variable or another string: good to choose by, not to
 * count by. Of a template there is one name for all instances. Ownership: opc_kernel_names_clear. Threads, fork: no
 * shared state. The file may be anything. */
#ifndef OPC_INSPECT_KERNEL_NAMES_H
#define OPC_INSPECT_KERNEL_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "inspect/elf_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_kernel_names {
  char **items; /* identifiers, without namespaces and template arguments: "copy_kernel" */
  size_t count;
} opc_kernel_names_t;

/* Adds those that are not there yet; a library without GPU code adds none. */
opc_status_t opc_kernel_names_read(const opc_elf_file_t *file, opc_kernel_names_t *out, opc_error_t *error) OPC_CHECKED;
void opc_kernel_names_clear(opc_kernel_names_t *names);

/* The identifier of a mangled function at namespace scope, where it stands in `mangled`; false: it has none. */
bool opc_kernel_identifier(const char *mangled, const char **out, size_t *out_length);

#ifdef __cplusplus
}
#endif
#endif
