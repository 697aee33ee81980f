#include "supervise/symbols/symbolise_kernel.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "base/system.h"
#include "base/text.h"
#include "supervise/symbols/kernel_name.h"
#include "supervise/symbols/symbol_table.h"

/* ---- symbols ---- */

typedef struct symbol_search {
  const opc_kernel_name_t *name;
  char part[128];             /* of the mangled name: demangling is slow, and a library has many symbols */
  GElf_Addr address, by_name; /* 0: not found; by_name: with other arguments, so one of several overloads */
} symbol_search_t;

static void look_at_symbol(symbol_search_t *search, const char *symbol, GElf_Addr address) {
  if (strncmp(symbol, "_Z", 2) != 0 || !strstr(symbol, search->part) || strstr(symbol, ".cold")) return;
  OPC_SCOPED(opc_scope_free) char *plain = opc_demangle_part(symbol);
  if (!plain || !opc_kernel_name_is(search->name, plain, false)) return;
  /* A function itself before the parts that the compiler made of it ("….part.0"). */
  if (search->by_name == 0 || !strchr(symbol, '.')) search->by_name = address;
  if (opc_kernel_name_is(search->name, plain, true) && (search->address == 0 || !strchr(symbol, '.')))
    search->address = address;
}

static void look_at_symbols(symbol_search_t *search, Elf *elf) {
  if (gelf_getclass(elf) != ELFCLASS64) return;
  for (Elf_Scn *section = NULL; search->address == 0 && (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)) continue;
    Elf_Data *data = elf_getdata(section, NULL);
    const Elf64_Sym *symbols = data ? data->d_buf : NULL;
    for (size_t i = 0; symbols && i < data->d_size / sizeof *symbols; i++) {
      const Elf64_Sym *symbol = &symbols[i];
      if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF) continue;
      const char *name = elf_strptr(elf, header.sh_link, symbol->st_name);
      if (name) look_at_symbol(search, name, symbol->st_value);
    }
  }
}

/* 0: no symbol has this name. */
static GElf_Addr address_of(Elf *elf, const opc_kernel_name_t *name) {
  symbol_search_t search = {.name = name};
  const char *own = opc_kernel_name_short(name);
  snprintf(search.part, sizeof search.part, "%.*s", (int)strcspn(own, "<("), own);
  if (strcmp(search.part, "operator") == 0) snprintf(search.part, sizeof search.part, "cl"); /* as it is mangled */
  look_at_symbols(&search, elf);
  return search.address ? search.address : search.by_name;
}

/* ---- debug information ---- */

static bool take_line_of(Dwarf_Die *die, opc_frame_t *out) {
  const char *file = dwarf_decl_file(die);
  if (!file || opc_is_library_header(file) || dwarf_decl_line(die, &out->line) != 0) return false;
  opc_string_put(out->file, sizeof out->file, file);
  return true;
}

/* GCC says of a lambda's function only where its parameters are. */
static bool take_definition(Dwarf_Die *function, opc_frame_t *out) {
  Dwarf_Die child;
  if (take_line_of(function, out)) return true;
  for (bool more = dwarf_child(function, &child) == 0; more; more = dwarf_siblingof(&child, &child) == 0)
    if (dwarf_tag(&child) == DW_TAG_formal_parameter && take_line_of(&child, out)) return true;
  return false;
}

/* The first function of this name that was inlined below `die`, and is of no library's header. */
static bool take_inlined(Dwarf_Die *die, const char *name, opc_frame_t *out) {
  Dwarf_Die child;
  for (bool more = dwarf_child(die, &child) == 0; more; more = dwarf_siblingof(&child, &child) == 0) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) continue;
    const char *own = tag == DW_TAG_inlined_subroutine ? dwarf_diename(&child) : NULL;
    if (own && strcmp(own, name) == 0 && take_definition(&child, out)) return true;
    if (take_inlined(&child, name, out)) return true;
  }
  return false;
}

/* The function that has the address, not one that was inlined into it. False: the debug information knows none. */
static bool function_at(Dwfl_Module *module, GElf_Addr address, Dwarf_Die *out) {
  Dwarf_Addr bias = 0;
  Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias), *innermost = NULL, *scopes = NULL;
  int count = unit ? dwarf_getscopes(unit, address - bias, &innermost) : 0;
  bool found = false;
  /* After an inlined function the first list continues at its definition. */
  count = count > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
  for (int i = count - 1; i >= 0 && !found; i--) {
    found = dwarf_tag(&scopes[i]) == DW_TAG_subprogram;
    if (found) *out = scopes[i];
  }
  free(innermost);
  free(scopes);
  return found;
}

static bool is_scope(int tag) {
  return tag == DW_TAG_namespace || tag == DW_TAG_structure_type || tag == DW_TAG_class_type;
}

/* The function of this whole name in a unit, or in a scope of it that is called `prefix`: a definition before a
 * declaration. Equal functions may share one's code, and then have neither address nor inlined body. */
static bool take_named(Dwarf_Die *scope, const char *prefix, const char *name, opc_frame_t *out) {
  Dwarf_Die child;
  bool declared = false;
  for (bool more = dwarf_child(scope, &child) == 0; more; more = dwarf_siblingof(&child, &child) == 0) {
    const int tag = dwarf_tag(&child);
    if (tag != DW_TAG_subprogram && !is_scope(tag)) continue;
    const char *own = dwarf_diename(&child);
    if (!own) own = tag == DW_TAG_namespace ? "(anonymous namespace)" : "";
    if (tag == DW_TAG_subprogram) {
      if (strcmp(own, name + strlen(prefix)) != 0 || !take_definition(&child, out)) continue;
      declared = true;
      if (!dwarf_hasattr(&child, DW_AT_declaration)) return true;
      continue;
    }
    OPC_SCOPED(opc_scope_free) char *inner = opc_string_format("%s%s::", prefix, own);
    if (inner && opc_string_begins(name, inner) && take_named(&child, inner, name, out)) return true;
  }
  return declared;
}

static bool take_named_in_unit(Dwfl_Module *module, GElf_Addr address, const opc_kernel_name_t *name,
                               opc_frame_t *out) {
  Dwarf_Addr bias = 0;
  Dwarf_Die *unit = dwfl_module_addrdie(module, address, &bias);
  return unit && !name->lambda && take_named(unit, "", opc_text_c(&name->name), out);
}

/* ---- kernels ---- */

static void take_name(const opc_kernel_name_t *name, opc_frame_t *out) {
  if (name->lambda) snprintf(out->symbol, sizeof out->symbol, "lambda");
  else snprintf(out->symbol, sizeof out->symbol, "%s%s", opc_text_c(&name->name), opc_text_c(&name->arguments));
}

/* out->offset: of the code that calls the kernel. */
static void take_called(Dwfl_Module *module, Elf *elf, GElf_Addr bias, const opc_kernel_name_t *name,
                        opc_frame_t *out) {
  Dwarf_Die function;
  const GElf_Addr caller = out->offset + bias, own = address_of(elf, name);
  const char *wanted = opc_kernel_name_short(name);
  take_name(name, out);
  if (own) out->offset = own;
  if (own && function_at(module, own + bias, &function)) {
    const char *there = dwarf_diename(&function);
    if (there && strcmp(there, wanted) == 0 && take_definition(&function, out)) return;
  }
  if (function_at(module, caller, &function) && take_inlined(&function, wanted, out)) return;
  (void)take_named_in_unit(module, caller, name, out);
}

/* "my::Functor" for "N2my7FunctorE", as the symbol of its name is demangled. */
static char *type_name(const char *mangled) {
  static const char before[] = "typeinfo name for ";
  OPC_SCOPED(opc_scope_free) char *symbol = opc_string_format("_ZTS%s", mangled);
  OPC_SCOPED(opc_scope_free) char *plain = symbol ? opc_demangle(symbol) : NULL;
  return opc_string_copy(plain && opc_string_begins(plain, before) ? plain + sizeof before - 1 : mangled);
}

static char *symbol_name_at(Elf *elf, GElf_Addr address) {
  const char *symbol = opc_symbol_covering(elf, address);
  return symbol ? opc_demangle_part(symbol) : NULL;
}

void opc_symbolise_kernel(Dwfl_Module *module, Elf *elf, GElf_Addr bias, const opc_symbolise_question_t *question,
                          opc_frame_t *out) {
  OPC_SCOPED(opc_kernel_name_clear) opc_kernel_name_t name = {0};
  OPC_SCOPED(opc_scope_free)
  char *plain = *question->functor ? type_name(question->functor) : symbol_name_at(elf, question->place);
  out->offset = question->place;
  const bool called = plain && (*question->functor ? opc_kernel_name_of_functor(plain, &name)
                                                   : opc_kernel_name_of_caller(plain, &name));
  if (called) {
    take_called(module, elf, bias, &name, out);
    return;
  }
  Dwarf_Die function;
  if (plain && !*question->functor) opc_string_put(out->symbol, sizeof out->symbol, plain);
  if (function_at(module, question->place + bias, &function)) (void)take_definition(&function, out);
}
