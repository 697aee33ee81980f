#include "supervise/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/elf_file.h"

/* Relocatable GPU code is in a section of another name and cannot be loaded: it does not count. */
static bool has_gpu_code(const opc_library_t *library) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  size_t size = 0;
  if (library->package || library->module || opc_elf_open(library->real, &file, NULL) != OPC_OK) return false;
  return opc_elf_section(file, ".nv_fatbin", &size) && size > 0;
}

/* The name depends on the libraries before it, loaded or not. It does not change if one of them fails. */
static char *name_of(const opc_loaded_t *loaded, size_t index) {
  const char *name = opc_base_name(loaded->libraries[index].path);
  size_t number = 1;
  for (size_t i = 0; i < index; i++) number += strcmp(opc_base_name(loaded->libraries[i].path), name) == 0;
  return number == 1 ? opc_string_format("library::%s", name) : opc_string_format("library::%zu:%s", number, name);
}

opc_status_t opc_libraries_take(opc_loaded_t *loaded, opc_error_t *error) {
  loaded->library_operators = calloc(loaded->library_count + 1, sizeof *loaded->library_operators);
  if (!loaded->library_operators) return opc_out_of_memory(error);
  for (size_t i = 0; i < loaded->library_count; i++) {
    opc_library_t *library = &loaded->libraries[i];
    if (library->state != OPC_LIBRARY_LOADED || !(library->changed_state || has_gpu_code(library))) continue;
    OPC_SCOPED(opc_scope_free) char *name = name_of(loaded, i);
    if (!name) return opc_out_of_memory(error);
    OPC_RETURN_IF_ERROR(opc_operator_from_library(name, library->path,
                                                  &loaded->library_operators[loaded->library_operator_count], error));
    library->checked_as = loaded->library_operators[loaded->library_operator_count++].name;
  }
  return OPC_OK;
}

const char *opc_library_file(const opc_loaded_t *loaded, const opc_operator_t *op) {
  for (size_t i = 0; i < loaded->library_count && op->kind == OPC_OPERATOR_LIBRARY; i++) {
    if (loaded->libraries[i].checked_as && strcmp(loaded->libraries[i].checked_as, op->name) == 0)
      return loaded->libraries[i].real;
  }
  return NULL;
}
