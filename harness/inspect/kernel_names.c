#include "inspect/fatbin.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 4096, NAME_MAX_LENGTH = 4096 };

bool opc_kernel_identifier(const char *mangled, const char **out, size_t *out_length) {
  bool found = false;
  if (mangled[0] != '_' || mangled[1] != 'Z') return false;
  const char *at = mangled + 2;
  bool nested = *at == 'N';
  if (nested) at++;
  if (*at == 'L') at++; /* internal linkage */
  while (isdigit((unsigned char)*at)) {
    char *name;
    unsigned long length = strtoul(at, &name, 10);
    if (length == 0 || strnlen(name, length) < length) return false;
    *out = name;
    *out_length = length;
    found = true;
    at = name + length;
    if (!nested) break;
    if (*at == 'L') at++;
  }
  return found;
}

static opc_status_t kernel_names_add(opc_kernel_names_t *names, const char *name, size_t length, opc_error_t *error) {
  for (size_t i = 0; i < names->count; i++) {
    if (strlen(names->items[i]) == length && memcmp(names->items[i], name, length) == 0) return OPC_OK;
  }
  if (names->count == NAMES_MAX) return OPC_OK;
  if (!OPC_ARRAY_GROW(names->items, names->count)) return opc_out_of_memory(error);
  names->items[names->count] = strndup(name, length);
  if (!names->items[names->count]) return opc_out_of_memory(error);
  names->count++;
  return OPC_OK;
}

/* ---- kernels that are extern "C" ---- */

typedef struct search {
  const char *bytes;
  size_t size;
  opc_kernel_names_t *names;
  opc_status_t status;
  opc_error_t *error;
} search_t;

/* Whether the section contains the whole string. */
static bool has_string(const search_t *search, const char *text) {
  size_t length = strlen(text) + 1; /* with its NUL */
  const char *at = search->bytes, *end = search->bytes + search->size;
  while ((at = memmem(at, (size_t)(end - at), text, length))) {
    if (at == search->bytes || at[-1] == '\0') return true;
    at++;
  }
  return false;
}

static bool kernel_names_visit(const opc_elf_symbol_t *symbol, void *context) {
  enum { FUNCTION = 2 }; /* STT_FUNC */
  search_t *search = context;
  bool plain =
      symbol->defined && symbol->type == FUNCTION && strncmp(symbol->name, "_Z", 2) != 0 && symbol->name[0] != '_';
  if (plain && has_string(search, symbol->name))
    search->status = kernel_names_add(search->names, symbol->name, strlen(symbol->name), search->error);
  return !search->status;
}

/* ---- all ---- */

static bool kernel_names_is_name(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '$' && text[i] != '.') return false;
  }
  return true;
}

opc_status_t opc_kernel_names_read(const opc_elf_file_t *file, opc_kernel_names_t *out, opc_error_t *error) {
  size_t size, code;
  const char *bytes = (const char *)opc_elf_section(file, ".rodata", &size);
  if (!opc_elf_section(file, ".nv_fatbin", &code) || !bytes) return OPC_OK;
  for (size_t at = 0; at < size;) {
    size_t length = strnlen(bytes + at, size - at);
    const char *name;
    size_t name_length;
    bool whole = at + length < size && length > 2 &&
                 length < NAME_MAX_LENGTH; /* otherwise the string continues past the section */
    if (whole && kernel_names_is_name(bytes + at, length) && opc_kernel_identifier(bytes + at, &name, &name_length))
      OPC_RETURN_IF_ERROR(kernel_names_add(out, name, name_length, error));
    at += length + 1;
  }
  search_t search = {.bytes = bytes, .size = size, .names = out, .error = error};
  opc_elf_each_symbol(file, kernel_names_visit, &search);
  return search.status;
}

void opc_kernel_names_clear(opc_kernel_names_t *names) {
  for (size_t i = 0; i < names->count; i++) free(names->items[i]);
  free(names->items);
  *names = (opc_kernel_names_t){0};
}
