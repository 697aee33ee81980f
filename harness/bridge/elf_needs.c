#include "bridge/elf_needs.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

static opc_status_t list_add(char ***list, size_t *count, const char *text, opc_error_t *error) {
  /* Grown when the count is a power of two: no capacity to keep. */
  if ((*count & (*count - 1)) == 0) {
    char **grown = realloc(*list, (*count > 0 ? *count * 2 : 1) * sizeof **list);
    if (grown == NULL) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
    *list = grown;
  }
  char *copy = opc_string_copy(text);
  if (copy == NULL) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
  (*list)[(*count)++] = copy;
  return OPC_OK;
}

static opc_status_t read_dynamic(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, opc_elf_needs_t *out, opc_error_t *error) {
  Elf_Data *data = elf_getdata(section, NULL);
  if (data == NULL) return OPC_OK;
  GElf_Dyn entry;
  for (int i = 0; gelf_getdyn(data, i, &entry) != NULL && entry.d_tag != DT_NULL; i++) {
    if (entry.d_tag != DT_NEEDED) continue;
    const char *name = elf_strptr(elf, header->sh_link, entry.d_un.d_val);
    if (name == NULL) continue;
    opc_status_t status = list_add(&out->libraries, &out->library_count, name, error);
    if (status != OPC_OK) return status;
  }
  return OPC_OK;
}

static opc_status_t read_symbols(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, opc_elf_needs_t *out, opc_error_t *error) {
  Elf_Data *data = elf_getdata(section, NULL);
  if (data == NULL) return OPC_OK;
  GElf_Sym symbol;
  for (int i = 1; gelf_getsym(data, i, &symbol) != NULL; i++) {
    if (symbol.st_shndx != SHN_UNDEF || GELF_ST_BIND(symbol.st_info) == STB_WEAK) continue;
    const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
    if (name == NULL || *name == '\0') continue;
    opc_status_t status = list_add(&out->symbols, &out->symbol_count, name, error);
    if (status != OPC_OK) return status;
  }
  return OPC_OK;
}

static opc_status_t read_sections(Elf *elf, const char *path, opc_elf_needs_t *out, opc_error_t *error) {
  GElf_Ehdr file;
  if (elf_kind(elf) != ELF_K_ELF || gelf_getehdr(elf, &file) == NULL) {
    return opc_error_set(error, OPC_ERR_LIBRARY, "%s is no ELF file", path);
  }
  if (file.e_type != ET_DYN) return opc_error_set(error, OPC_ERR_LIBRARY, "%s is an ELF file, but no shared library", path);

  opc_status_t status = OPC_OK;
  Elf_Scn *section = NULL;
  while (status == OPC_OK && (section = elf_nextscn(elf, section)) != NULL) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == NULL) continue;
    if (header.sh_type == SHT_DYNAMIC) status = read_dynamic(elf, section, &header, out, error);
    if (header.sh_type == SHT_DYNSYM) status = read_symbols(elf, section, &header, out, error);
  }
  return status;
}

opc_status_t opc_elf_needs_read(const char *path, opc_elf_needs_t *out, opc_error_t *error) {
  *out = (opc_elf_needs_t){0};
  (void)elf_version(EV_CURRENT);
  Elf *elf = NULL;
  opc_status_t status = OPC_OK;
  /* Not blocking: somebody may name a pipe. */
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat about;
  if (fd < 0 || fstat(fd, &about) != 0) {
    status = opc_error_set(error, OPC_ERR_IO, "%s: %s", path, strerror(errno));
    goto done;
  }
  if (!S_ISREG(about.st_mode)) {
    status = opc_error_set(error, OPC_ERR_LIBRARY, "%s is no regular file", path);
    goto done;
  }
  elf = elf_begin(fd, ELF_C_READ, NULL);
  status = elf != NULL ? read_sections(elf, path, out, error) : opc_error_set(error, OPC_ERR_LIBRARY, "%s: %s", path, elf_errmsg(-1));

done:
  if (status != OPC_OK) opc_elf_needs_clear(out);
  if (elf != NULL) (void)elf_end(elf);
  if (fd >= 0) (void)close(fd);
  return status;
}

static void list_clear(char **list, size_t count) {
  for (size_t i = 0; i < count; i++) free(list[i]);
  free(list);
}

void opc_elf_needs_clear(opc_elf_needs_t *needs) {
  list_clear(needs->libraries, needs->library_count);
  list_clear(needs->symbols, needs->symbol_count);
  *needs = (opc_elf_needs_t){0};
}

bool opc_elf_needs_library(const opc_elf_needs_t *needs, const char *name) {
  for (size_t i = 0; i < needs->library_count; i++) {
    if (strcmp(needs->libraries[i], name) == 0) return true;
  }
  return false;
}
