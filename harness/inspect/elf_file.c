#include "inspect/elf_file.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

/* What visiting the dynamic symbols needs. */
typedef struct opc_elf_inside {
  Elf *elf;
  int fd;
  size_t names; /* section that holds the section names */
  Elf_Scn *dynamic, *symbols, *versions, *wanted, *offered;
  GElf_Addr calls; /* address of the procedure linkage table's relocations; 0: none */
} opc_elf_inside_t;

static const char *string_of(const opc_elf_inside_t *inside, const GElf_Shdr *header, uint64_t offset) {
  return elf_strptr(inside->elf, header->sh_link, offset);
}

static opc_status_t add_needed(opc_elf_file_t *file, const char *name, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(file->needed, file->needed_count)) return opc_out_of_memory(error);
  file->needed[file->needed_count++] = name;
  return OPC_OK;
}

static opc_status_t read_dynamic(opc_elf_file_t *file, opc_error_t *error) {
  opc_elf_inside_t *inside = file->inside;
  GElf_Shdr header;
  Elf_Data *data = inside->dynamic ? elf_getdata(inside->dynamic, NULL) : NULL;
  if (!data || !gelf_getshdr(inside->dynamic, &header)) return OPC_OK;
  GElf_Dyn entry;
  for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
    if (entry.d_tag == DT_JMPREL) inside->calls = entry.d_un.d_ptr;
    if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME && entry.d_tag != DT_RPATH && entry.d_tag != DT_RUNPATH)
      continue;
    const char *text = string_of(inside, &header, entry.d_un.d_val);
    if (!text) continue;
    if (entry.d_tag == DT_NEEDED) OPC_RETURN_IF_ERROR(add_needed(file, text, error));
    else if (entry.d_tag == DT_SONAME) file->soname = text;
    else if (entry.d_tag == DT_RPATH) file->rpath = text;
    else file->runpath = text;
  }
  return OPC_OK;
}

static opc_status_t read_sections(opc_elf_file_t *file, opc_error_t *error) {
  opc_elf_inside_t *inside = file->inside;
  GElf_Ehdr start;
  if (elf_kind(inside->elf) != ELF_K_ELF || !gelf_getehdr(inside->elf, &start)) {
    return opc_error_set(error, OPC_ERR_LIBRARY, "%s is not an ELF file", file->path);
  }
  if (start.e_type != ET_DYN)
    return opc_error_set(error, OPC_ERR_LIBRARY, "%s is an ELF file, but not a shared library", file->path);
  if (elf_getshdrstrndx(inside->elf, &inside->names) != 0) inside->names = 0;
  for (Elf_Scn *section = NULL; (section = elf_nextscn(inside->elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header)) continue;
    if (header.sh_type == SHT_DYNAMIC) inside->dynamic = section;
    if (header.sh_type == SHT_DYNSYM) inside->symbols = section;
    if (header.sh_type == SHT_GNU_versym) inside->versions = section;
    if (header.sh_type == SHT_GNU_verneed) inside->wanted = section;
    if (header.sh_type == SHT_GNU_verdef) inside->offered = section;
  }
  return read_dynamic(file, error);
}

static opc_status_t elf_file_open(opc_elf_file_t *file, opc_error_t *error) {
  opc_elf_inside_t *inside = file->inside;
  struct stat about;
  /* Non-blocking: the path may be a named pipe. */
  inside->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (inside->fd < 0 || fstat(inside->fd, &about) != 0) {
    return opc_error_set(error, OPC_ERR_IO, "%s: %s", file->path, strerror(errno));
  }
  if (!S_ISREG(about.st_mode)) return opc_error_set(error, OPC_ERR_LIBRARY, "%s is not a regular file", file->path);
  file->size = (uint64_t)about.st_size;
  (void)elf_version(EV_CURRENT);
  inside->elf = elf_begin(inside->fd, ELF_C_READ_MMAP, NULL);
  if (!inside->elf) return opc_error_set(error, OPC_ERR_LIBRARY, "%s: %s", file->path, elf_errmsg(-1));
  return read_sections(file, error);
}

opc_status_t opc_elf_open(const char *path, opc_elf_file_t **out, opc_error_t *error) {
  *out = NULL;
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = calloc(1, sizeof *file);
  if (!file) return opc_out_of_memory(error);
  file->path = opc_string_copy(path);
  file->inside = calloc(1, sizeof *file->inside);
  if (file->inside) file->inside->fd = -1;
  if (!file->path || !file->inside) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(elf_file_open(file, error));
  OPC_MOVE(out, file);
  return OPC_OK;
}

void opc_scope_elf_file(opc_elf_file_t **file) { opc_elf_close(*file); }

void opc_elf_close(opc_elf_file_t *file) {
  if (!file) return;
  if (file->inside) {
    if (file->inside->elf) (void)elf_end(file->inside->elf);
    if (file->inside->fd >= 0) (void)close(file->inside->fd);
  }
  free(file->inside);
  free(file->needed);
  free(file->path);
  free(file);
}

bool opc_elf_needs(const opc_elf_file_t *file, const char *name) {
  for (size_t i = 0; i < file->needed_count; i++) {
    if (strcmp(file->needed[i], name) == 0) return true;
  }
  return false;
}

/* ---- symbols ---- */

/* The procedure linkage table's relocations, one bit per symbol; NULL: none, or out of memory. The caller frees. */
static unsigned char *find_called(const opc_elf_inside_t *inside, size_t symbol_count) {
  if (inside->calls == 0) return NULL;
  for (Elf_Scn *section = NULL; (section = elf_nextscn(inside->elf, section));) {
    GElf_Shdr header;
    GElf_Rela relocation;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA || header.sh_addr != inside->calls) continue;
    Elf_Data *data = elf_getdata(section, NULL);
    unsigned char *called = data ? calloc(1, symbol_count / 8 + 1) : NULL;
    for (int i = 0; called && gelf_getrela(data, i, &relocation); i++) {
      const size_t symbol = GELF_R_SYM(relocation.r_info);
      if (symbol < symbol_count) called[symbol / 8] |= (unsigned char)(1U << (symbol % 8));
    }
    return called;
  }
  return NULL;
}

/* The versions that the file needs from other libraries, by number. */
enum { VERSIONS = 1024 }; /* more than any linker wrote: libraries have a few dozen */

typedef struct wanted_version {
  const char *library, *version;
} wanted_version_t;

static bool elf_file_number_wanted(const opc_elf_wanted_t *wanted, void *context) {
  wanted_version_t *numbered = context;
  if (wanted->number < VERSIONS) numbered[wanted->number] = (wanted_version_t){wanted->library, wanted->version};
  return true;
}

void opc_elf_each_wanted(const opc_elf_file_t *file, bool (*visit)(const opc_elf_wanted_t *wanted, void *context),
                         void *context) {
  const opc_elf_inside_t *inside = file->inside;
  GElf_Shdr header;
  Elf_Data *data = inside->wanted ? elf_getdata(inside->wanted, NULL) : NULL;
  if (!data || !gelf_getshdr(inside->wanted, &header)) return;
  GElf_Verneed library;
  for (int at = 0; gelf_getverneed(data, at, &library);) {
    GElf_Vernaux version;
    int next = at + (int)library.vn_aux;
    for (unsigned i = 0; i < library.vn_cnt && gelf_getvernaux(data, next, &version); i++) {
      const opc_elf_wanted_t wanted = {.library = string_of(inside, &header, library.vn_file),
                                       .version = string_of(inside, &header, version.vna_name),
                                       .number = version.vna_other & 0x7fffU,
                                       .optional = (version.vna_flags & VER_FLG_WEAK) != 0};
      if (wanted.library && wanted.version && !visit(&wanted, context)) return;
      if (version.vna_next == 0 || version.vna_next > data->d_size) break;
      next += (int)version.vna_next;
    }
    if (library.vn_next == 0 || library.vn_next > data->d_size) break;
    at += (int)library.vn_next;
  }
}

void opc_elf_each_symbol(const opc_elf_file_t *file, bool (*visit)(const opc_elf_symbol_t *symbol, void *context),
                         void *context) {
  const opc_elf_inside_t *inside = file->inside;
  GElf_Shdr header;
  Elf_Data *data = inside->symbols ? elf_getdata(inside->symbols, NULL) : NULL;
  if (!data || !gelf_getshdr(inside->symbols, &header) || header.sh_entsize == 0) return;
  Elf_Data *versions = inside->versions ? elf_getdata(inside->versions, NULL) : NULL;
  OPC_SCOPED(opc_scope_free) wanted_version_t *wanted = calloc(VERSIONS, sizeof *wanted);
  const size_t count = data->d_size / header.sh_entsize;
  OPC_SCOPED(opc_scope_free) unsigned char *called = find_called(inside, count);
  if (wanted) opc_elf_each_wanted(file, elf_file_number_wanted, wanted);

  GElf_Sym entry;
  bool more = true;
  for (size_t i = 1; more && i < count && gelf_getsym(data, (int)i, &entry); i++) {
    opc_elf_symbol_t symbol = {.name = string_of(inside, &header, entry.st_name),
                               .size = entry.st_size,
                               .type = GELF_ST_TYPE(entry.st_info),
                               .binding = GELF_ST_BIND(entry.st_info),
                               .defined = entry.st_shndx != SHN_UNDEF,
                               .called = called && (called[i / 8] & (1U << (i % 8))) != 0};
    if (!symbol.name || *symbol.name == '\0') continue;
    GElf_Versym version;
    if (!symbol.defined && wanted && versions && gelf_getversym(versions, (int)i, &version) &&
        (version & 0x7fffU) < VERSIONS) {
      symbol.library = wanted[version & 0x7fffU].library;
      symbol.version = wanted[version & 0x7fffU].version;
    }
    more = visit(&symbol, context);
  }
}

bool opc_elf_has_version(const opc_elf_file_t *file, const char *version) {
  const opc_elf_inside_t *inside = file->inside;
  GElf_Shdr header;
  Elf_Data *data = inside->offered ? elf_getdata(inside->offered, NULL) : NULL;
  if (!data || !gelf_getshdr(inside->offered, &header)) return true;
  GElf_Verdef definition;
  GElf_Verdaux word;
  for (int at = 0; gelf_getverdef(data, at, &definition); at += (int)definition.vd_next) {
    const char *name =
        gelf_getverdaux(data, at + (int)definition.vd_aux, &word) ? string_of(inside, &header, word.vda_name) : NULL;
    if (name && strcmp(name, version) == 0) return true;
    if (definition.vd_next == 0 || definition.vd_next > data->d_size) break;
  }
  return false;
}

/* ---- sections ---- */

static Elf_Scn *find_section(const opc_elf_inside_t *inside, const char *name, bool whole, GElf_Shdr *header) {
  const size_t length = strlen(name) + (whole ? 1 : 0);
  for (Elf_Scn *section = NULL; (section = elf_nextscn(inside->elf, section));) {
    const char *own = gelf_getshdr(section, header) ? elf_strptr(inside->elf, inside->names, header->sh_name) : NULL;
    if (own && strncmp(own, name, length) == 0) return section;
  }
  return NULL;
}

const unsigned char *opc_elf_section(const opc_elf_file_t *file, const char *name, size_t *out_size) {
  GElf_Shdr header;
  *out_size = 0;
  Elf_Scn *section = find_section(file->inside, name, true, &header);
  if (!section || header.sh_type == SHT_NOBITS) return NULL;
  const Elf_Data *data = elf_rawdata(section, NULL);
  if (!data || !data->d_buf) return NULL;
  *out_size = data->d_size;
  return data->d_buf;
}

bool opc_elf_has_section(const opc_elf_file_t *file, const char *prefix) {
  GElf_Shdr header;
  return find_section(file->inside, prefix, false, &header);
}
