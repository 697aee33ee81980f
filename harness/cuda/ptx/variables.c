/* The memory of a module's variables, and finding one by an address. */
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

enum { GAP = 64 };
static const uint64_t variables_most = UINT64_C(1) << 30;

static bool has_memory(const opc_ptx_symbol_t *symbol) {
  return (symbol->space == OPC_PTX_SPACE_GLOBAL || symbol->space == OPC_PTX_SPACE_CONST) && !symbol->external;
}

static void relocate(const opc_ptx_symbol_t *symbol) {
  const opc_ptx_relocation_t *relocations = symbol->relocations.items;
  for (uint32_t i = 0; i < symbol->relocations.count; i++) {
    const opc_ptx_relocation_t *at = &relocations[i];
    const uint64_t value = opc_ptx_variable_address(at->symbol) + at->addend;
    if (at->offset + at->bytes <= symbol->size)
      memcpy(symbol->memory + at->offset, &value, at->bytes < sizeof value ? at->bytes : sizeof value);
  }
}

bool opc_ptx_variables_make(opc_ptx_module_t *module) {
  opc_ptx_symbol_t **symbols = module->symbols.items;
  uint64_t total = 0, at = 0;
  for (uint32_t i = 0; i < module->symbols.count; i++) {
    if (has_memory(symbols[i])) total += symbols[i]->size + symbols[i]->align + GAP;
    if (total > variables_most) return false;
  }
  if (total == 0) return true;
  unsigned char *memory = opc_ptx_arena_take(&module->arena, total);
  if (!memory) return false;
  for (uint32_t i = 0; i < module->symbols.count; i++) {
    opc_ptx_symbol_t *symbol = symbols[i];
    if (!has_memory(symbol)) continue;
    const uint64_t align = symbol->align, misplaced = ((uintptr_t)memory + at) & (align - 1);
    at += misplaced != 0 ? align - misplaced : 0;
    symbol->memory = memory + at;
    if (symbol->contents) memcpy(symbol->memory, symbol->contents, symbol->size);
    at += symbol->size + GAP;
    opc_ptx_symbol_t **place = opc_ptx_list_add(&module->arena, &module->variables, sizeof *place);
    if (!place) return false;
    *place = symbol;
  }
  for (uint32_t i = 0; i < module->symbols.count; i++)
    if (symbols[i]->memory) relocate(symbols[i]);
  return true;
}

uint64_t opc_ptx_variable_address(const opc_ptx_symbol_t *symbol) { return (uintptr_t)symbol->memory; }

bool opc_ptx_variable_find(const opc_ptx_module_t *module, uint64_t address, opc_ptx_range_t *out) {
  opc_ptx_symbol_t *const *variables = module->variables.items;
  uint32_t low = 0, high = module->variables.count;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (opc_ptx_variable_address(variables[middle]) <= address) low = middle + 1;
    else high = middle;
  }
  if (low == 0) return false;
  out->begin = opc_ptx_variable_address(variables[low - 1]);
  out->end = out->begin + variables[low - 1]->size;
  return address < out->end;
}

void *opc_ptx_module_variable(const opc_ptx_module_t *module, const char *name, size_t *out_size) {
  opc_ptx_symbol_t *const *variables = module->variables.items;
  const size_t length = strlen(name);
  for (uint32_t i = 0; i < module->variables.count; i++) {
    const opc_ptx_symbol_t *symbol = variables[i];
    if (symbol->name.length != length || memcmp(symbol->name.at, name, length) != 0) continue;
    *out_size = symbol->size;
    return symbol->memory;
  }
  return NULL;
}
