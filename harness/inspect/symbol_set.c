#include "inspect/symbol_search.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"

typedef struct adding {
  opc_symbol_set_t *set;
  const opc_elf_file_t *file;
} adding_t;

static bool add_undefined(const opc_elf_symbol_t *symbol, void *context) {
  const adding_t *adding = context;
  opc_symbol_set_t *set = adding->set;
  if (symbol->defined || symbol->binding == STB_WEAK) return true;
  set->failed |= !OPC_ARRAY_GROW(set->items, set->count);
  if (set->failed) return false;
  set->items[set->count++] = (opc_wanted_symbol_t){.name = symbol->name,
                                                   .library = symbol->library,
                                                   .version = symbol->version,
                                                   .by = adding->file,
                                                   .type = symbol->type,
                                                   .called = symbol->called};
  return true;
}

void opc_symbol_set_add(opc_symbol_set_t *set, const opc_elf_file_t *file) {
  adding_t adding = {set, file};
  opc_elf_each_symbol(file, add_undefined, &adding);
}

static int symbol_set_compare(const void *a, const void *b) {
  return strcmp(((const opc_wanted_symbol_t *)a)->name, ((const opc_wanted_symbol_t *)b)->name);
}

opc_status_t opc_symbol_set_close(opc_symbol_set_t *set, opc_error_t *error) {
  if (set->failed) return opc_out_of_memory(error);
  if (set->count == 0) return OPC_OK;
  qsort(set->items, set->count, sizeof *set->items, symbol_set_compare);
  size_t kept = 0;
  for (size_t i = 1; i < set->count; i++) {
    if (strcmp(set->items[kept].name, set->items[i].name) == 0) set->items[kept].called |= set->items[i].called;
    else set->items[++kept] = set->items[i];
  }
  set->left = set->count = kept + 1;
  return OPC_OK;
}

opc_wanted_symbol_t *opc_symbol_set_find(const opc_symbol_set_t *set, const char *name) {
  const opc_wanted_symbol_t key = {.name = name};
  return set->count > 0 ? bsearch(&key, set->items, set->count, sizeof *set->items, symbol_set_compare) : NULL;
}

void opc_symbol_set_settle(opc_symbol_set_t *set, opc_wanted_symbol_t *symbol) {
  set->left -= !symbol->settled;
  symbol->settled = true;
}

static bool settle_defined(const opc_elf_symbol_t *symbol, void *context) {
  opc_symbol_set_t *set = context;
  opc_wanted_symbol_t *wanted = symbol->defined ? opc_symbol_set_find(set, symbol->name) : NULL;
  if (wanted) opc_symbol_set_settle(set, wanted);
  return set->left > 0;
}

void opc_symbol_set_settle_by(opc_symbol_set_t *set, const opc_elf_file_t *file) {
  if (set->left > 0) opc_elf_each_symbol(file, settle_defined, set);
}

typedef struct lookup {
  const opc_symbol_set_t *set;
  bool found;
} lookup_t;

static bool symbol_set_look_up(const opc_elf_symbol_t *symbol, void *context) {
  lookup_t *lookup = context;
  lookup->found = symbol->defined && symbol->binding == STB_GLOBAL && opc_symbol_set_find(lookup->set, symbol->name);
  return !lookup->found;
}

bool opc_symbol_set_served_by(const opc_symbol_set_t *set, const opc_elf_file_t *file) {
  lookup_t lookup = {.set = set};
  opc_elf_each_symbol(file, symbol_set_look_up, &lookup);
  return lookup.found;
}

void opc_symbol_set_clear(opc_symbol_set_t *set) {
  free(set->items);
  *set = (opc_symbol_set_t){0};
}
