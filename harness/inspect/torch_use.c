/* What a library needs of libtorch, and which libtorches have it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "base/text.h"
#include "inspect/requirement.h"

static const char *const torches[] = {
#define OPC_STABLE_TORCH(version) version,
#define OPC_STABLE_SYMBOL(name, first, last)
#include "inspect/stable_symbols.def"
#undef OPC_STABLE_TORCH
#undef OPC_STABLE_SYMBOL
};

static const opc_stable_symbol_t stable_symbols[] = {
#define OPC_STABLE_TORCH(version)
#define OPC_STABLE_SYMBOL(name, first, last) {#name, first, last},
#include "inspect/stable_symbols.def"
#undef OPC_STABLE_TORCH
#undef OPC_STABLE_SYMBOL
};

const char *opc_stable_oldest(void) { return torches[0]; }
const char *opc_stable_newest(void) { return torches[sizeof torches / sizeof *torches - 1]; }

static int compare_stable(const void *a, const void *b) {
  return strcmp(((const opc_stable_symbol_t *)a)->name, ((const opc_stable_symbol_t *)b)->name);
}

const opc_stable_symbol_t *opc_stable_symbol_find(const char *name) {
  const opc_stable_symbol_t key = {.name = name};
  return bsearch(&key, stable_symbols, sizeof stable_symbols / sizeof *stable_symbols, sizeof *stable_symbols,
                 compare_stable);
}

unsigned opc_version_number(const char *version) {
  unsigned major = 0, minor = 0;
  int length = 0;
  const bool digits = version[strspn(version, ".0123456789")] == '\0';
  if (!digits || sscanf(version, "%3u.%3u%n", &major, &minor, &length) != 2 || version[length] != '\0') return 0;
  return major * 1000 + minor;
}

/* libtorch_python's own C names: THPVariableClass. */
static bool is_torch_python(const char *name) {
  return opc_string_begins(name, "THP") && name[3] >= 'A' && name[3] <= 'Z';
}

static opc_status_t torch_use_add(const opc_wanted_symbol_t *symbol, opc_torch_use_t *out, opc_error_t *error) {
  const bool stable = opc_symbol_is_stable(symbol->name);
  if (!stable && !opc_symbol_is_torch_cpp(symbol->name) && !is_torch_python(symbol->name)) return OPC_OK;
  if (!OPC_ARRAY_GROW(out->items, out->count)) return opc_out_of_memory(error);
  const opc_stable_symbol_t *known = stable ? opc_stable_symbol_find(symbol->name) : NULL;
  out->items[out->count++] = (opc_torch_symbol_t){.name = symbol->name, .by = symbol->by, .known = known};
  out->stable += stable;
  out->other += !stable;
  if (!known) return OPC_OK;
  if (!out->lowest || opc_version_number(known->first) > opc_version_number(out->lowest)) out->lowest = known->first;
  if (strcmp(known->last, opc_stable_newest()) == 0) return OPC_OK;
  if (!out->highest || opc_version_number(known->last) < opc_version_number(out->highest)) out->highest = known->last;
  return OPC_OK;
}

opc_status_t opc_torch_use_read(const opc_symbol_search_t *search, opc_torch_use_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_symbol_set_clear) opc_symbol_set_t symbols = {0};
  OPC_SCOPED(opc_torch_use_clear) opc_torch_use_t use = {0};
  *out = (opc_torch_use_t){0};
  for (size_t i = 0; i < search->part_count; i++) opc_symbol_set_add(&symbols, search->files[i]);
  OPC_RETURN_IF_ERROR(opc_symbol_set_close(&symbols, error));
  for (size_t i = 0; i < search->part_count; i++) opc_symbol_set_settle_by(&symbols, search->files[i]);
  for (size_t i = 0; i < symbols.count; i++)
    if (!symbols.items[i].settled) OPC_RETURN_IF_ERROR(torch_use_add(&symbols.items[i], &use, error));
  OPC_MOVE(out, use);
  return OPC_OK;
}

void opc_torch_use_clear(opc_torch_use_t *use) {
  free(use->items);
  *use = (opc_torch_use_t){0};
}

void opc_torch_range(const char *path, const char **out_lowest, const char **out_highest) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  OPC_SCOPED(opc_symbol_search_clear) opc_symbol_search_t search = {0};
  OPC_SCOPED(opc_torch_use_clear) opc_torch_use_t use = {0};
  opc_error_t ignored;
  *out_lowest = *out_highest = NULL;
  if (opc_elf_open(path, &file, &ignored) != OPC_OK || opc_symbol_search_run(file, NULL, &search, &ignored) != OPC_OK ||
      opc_torch_use_read(&search, &use, &ignored) != OPC_OK || use.other > 0)
    return;
  *out_lowest = use.lowest;
  *out_highest = use.highest;
}
