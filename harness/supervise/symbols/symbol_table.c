#include "supervise/symbols/symbol_table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"
#include "base/system.h"

static int binding_rank(const Elf64_Sym *symbol) {
  int binding = ELF64_ST_BIND(symbol->st_info);
  return binding == STB_GLOBAL ? 2 : binding == STB_WEAK;
}

const char *opc_symbol_covering(Elf *elf, GElf_Addr address) {
  const Elf64_Sym *best = NULL;
  size_t strings = 0;
  bool whole = false; /* .symtab was read, which also has the symbols of .dynsym */
  if (gelf_getclass(elf) != ELFCLASS64) return NULL;
  for (Elf_Scn *section = NULL; !whole && (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)) continue;
    Elf_Data *data = elf_getdata(section, NULL);
    const Elf64_Sym *symbols = data ? data->d_buf : NULL;
    whole = header.sh_type == SHT_SYMTAB;
    for (size_t i = 0; symbols && i < data->d_size / sizeof *symbols; i++) {
      const Elf64_Sym *symbol = &symbols[i];
      if (address - symbol->st_value >= symbol->st_size || symbol->st_shndx == SHN_UNDEF || symbol->st_name == 0)
        continue;
      bool better = !best || symbol->st_value > best->st_value ||
                    (symbol->st_value == best->st_value && binding_rank(symbol) > binding_rank(best));
      if (!better) continue;
      best = symbol;
      strings = header.sh_link;
    }
  }
  return best ? elf_strptr(elf, strings, best->st_name) : NULL;
}

/* "_Z6kernelv._omp_fn.0": the compiler turned this part into a function of its own. */
char *opc_demangle_part(const char *name) {
  OPC_SCOPED(opc_scope_free) char *whole = strndup(name, strcspn(name, "."));
  char *plain = whole ? opc_demangle(whole) : NULL;
  if (plain && *plain != '\0') return plain;
  free(plain);
  return strdup(name);
}
