#include "bridge/stand_in.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/facts.h"
#include "inspect/symbol_set.h"

/* ---- what kind of symbol it is, by its name ---- */

static bool begins(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static bool ends(const char *text, const char *suffix) {
  const size_t length = strlen(text), size = strlen(suffix);
  return length >= size && strcmp(text + length - size, suffix) == 0;
}

/* Bytes of a variable of Python; 0: a function. The undefined symbol of a library does not say which it is. */
static uint64_t python_size(const char *name) {
  enum { OBJECT = 1024, RUNTIME = 1 << 20 }; /* a type object has some 400 bytes; _PyRuntime some 300 KiB */
  if (strcmp(name, "_PyRuntime") == 0) return RUNTIME;
  if (strcmp(name, "PyObject_Type") == 0) return 0;
  const bool data = begins(name, "PyExc_") || ends(name, "_Type") || ends(name, "Struct") || ends(name, "Flag") || ends(name, "Type_Type") ||
                    begins(name, "_PyWeakref_") || ends(name, "Hook") || ends(name, "_UnnamedField") || strcmp(name, "_Py_RefTotal") == 0 ||
                    strcmp(name, "_Py_EllipsisObject") == 0 || strcmp(name, "_Py_ctype_table") == 0 || strcmp(name, "_Py_ctype_tolower") == 0 ||
                    strcmp(name, "Py_hexdigits") == 0 || strcmp(name, "Py_Version") == 0;
  return data ? OBJECT : 0;
}

/* Virtual tables, type information and guards of C++ are data, whatever they are called. */
static uint64_t other_size(const char *name) {
  enum { TABLE = 4096 };
  return begins(name, "_ZTV") || begins(name, "_ZTI") || begins(name, "_ZTS") || begins(name, "_ZTT") || begins(name, "_ZGV") ? TABLE : 0;
}

/* ---- the lists ---- */

typedef struct filling {
  opc_symbol_set_t *set;
  opc_wanted_symbols_t *out;
  size_t index; /* of the list */
} filling_t;

static void put(filling_t *filling, opc_wanted_symbol_t *wanted, uint64_t size) {
  size_t *count = &filling->out->counts[filling->index];
  filling->out->lists[filling->index][(*count)++] = (opc_inert_symbol_t){.name = wanted->name, .version = wanted->version, .size = size};
  opc_symbol_set_settle(filling->set, wanted);
}

static bool put_defined(const opc_elf_symbol_t *symbol, void *context) {
  filling_t *filling = context;
  opc_wanted_symbol_t *wanted = symbol->defined && symbol->type != STT_TLS ? opc_symbol_set_find(filling->set, symbol->name) : NULL;
  const bool data = symbol->type == STT_OBJECT || symbol->type == STT_COMMON;
  if (wanted != NULL && !wanted->settled) put(filling, wanted, !data ? 0 : symbol->size > 0 ? symbol->size : sizeof(void *));
  return true;
}

static bool belongs(const opc_wanted_symbol_t *wanted, const opc_stand_in_t *stand_in) {
  if (wanted->type == STT_TLS) return false;
  if (wanted->library != NULL) return strcmp(wanted->library, stand_in->soname) == 0;
  return stand_in->real == NULL && opc_symbol_is_accelerator(wanted->name);
}

/* The CUDA runtime of another version does not do. */
static bool is_in_process(const opc_wanted_symbol_t *wanted) {
  return (wanted->version != NULL ? dlvsym(RTLD_DEFAULT, wanted->name, wanted->version) : dlsym(RTLD_DEFAULT, wanted->name)) != NULL;
}

static void fill_lists(opc_symbol_set_t *set, const opc_stand_in_t *stand_ins, size_t count, opc_wanted_symbols_t *out) {
  filling_t filling = {.set = set, .out = out, .index = count};
  for (size_t i = 0; i < set->count; i++) {
    opc_wanted_symbol_t *wanted = &set->items[i];
    if (!wanted->settled && is_in_process(wanted)) opc_symbol_set_settle(set, wanted);
    if (!wanted->settled && wanted->type != STT_TLS && opc_symbol_is_python(wanted->name)) put(&filling, wanted, wanted->called ? 0 : python_size(wanted->name));
  }
  for (filling.index = 0; filling.index < count; filling.index++) {
    const opc_stand_in_t *stand_in = &stand_ins[filling.index];
    if (stand_in->real != NULL) opc_elf_each_symbol(stand_in->real, put_defined, &filling);
    for (size_t i = 0; i < set->count; i++) {
      opc_wanted_symbol_t *wanted = &set->items[i];
      if (!wanted->settled && belongs(wanted, stand_in)) put(&filling, wanted, wanted->called ? 0 : other_size(wanted->name));
    }
  }
}

opc_status_t opc_stand_in_symbols(opc_elf_file_t *const *files, size_t file_count, opc_elf_file_t *const *others, size_t other_count,
                                  const opc_stand_in_t *stand_ins, size_t stand_in_count, opc_wanted_symbols_t *out, opc_error_t *error) {
  opc_symbol_set_t set = {0};
  *out = (opc_wanted_symbols_t){.lists = calloc(stand_in_count + 1, sizeof *out->lists), .counts = calloc(stand_in_count + 1, sizeof *out->counts)};
  for (size_t i = 0; i < file_count; i++) opc_symbol_set_add(&set, files[i]);
  opc_status_t status = opc_symbol_set_close(&set, error);
  if (out->lists == NULL || out->counts == NULL) status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
  for (size_t i = 0; status == OPC_OK && i <= stand_in_count; i++) {
    out->lists[i] = calloc(set.count + 1, sizeof **out->lists);
    if (out->lists[i] == NULL) status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
  }
  if (status == OPC_OK) {
    for (size_t i = 0; i < file_count; i++) opc_symbol_set_settle_by(&set, files[i]);
    for (size_t i = 0; i < other_count; i++) opc_symbol_set_settle_by(&set, others[i]);
    fill_lists(&set, stand_ins, stand_in_count, out);
  } else {
    opc_wanted_symbols_clear(out, stand_in_count);
  }
  opc_symbol_set_clear(&set);
  return status;
}

void opc_wanted_symbols_clear(opc_wanted_symbols_t *wanted, size_t stand_in_count) {
  for (size_t i = 0; wanted->lists != NULL && i <= stand_in_count; i++) free(wanted->lists[i]);
  free(wanted->lists);
  free(wanted->counts);
  *wanted = (opc_wanted_symbols_t){0};
}
