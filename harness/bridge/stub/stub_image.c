#include "bridge/stub/stub_library.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
/* lea rdi, [rip - 7]: its own address · jmp [rip + 3] · 3 x int3 · the target. A variant that passes its arguments
 * through starts with a 7-byte nop. */
static const unsigned char own_address[] = {0x48, 0x8d, 0x3d, 0xf9, 0xff, 0xff, 0xff};
static const unsigned char nothing[] = {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00};
static const unsigned char jump[] = {0xff, 0x25, 0x03, 0x00, 0x00, 0x00, 0xcc, 0xcc, 0xcc};
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
/* adr x0, . (or nop) · ldr x16, .+12 · br x16 · nop · the target */
static const unsigned char own_address[] = {0x00, 0x00, 0x00, 0x10};
static const unsigned char nothing[] = {0x1f, 0x20, 0x03, 0xd5};
static const unsigned char jump[] = {0x70, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6, 0x1f, 0x20, 0x03, 0xd5};
enum { MACHINE = EM_AARCH64 };
#else
#error "write the jump of a stub function for this processor"
#endif

enum {
  FUNCTION_SIZE = sizeof own_address + sizeof jump + sizeof(uint64_t),
  ALIGNMENT = 64, /* of data */
  SEGMENTS = 4,
  DYNAMIC_ENTRIES = 10,
  FIRST_VERSION = 2 /* 0 is local, 1 is the file itself */
};
_Static_assert(sizeof own_address == sizeof nothing && FUNCTION_SIZE % 8 == 0,
               "each function has the same size, and its target is aligned");

/* Offsets in the file, which are also addresses; `data` and `end` are past its end: the loader provides zeros there. */
typedef struct layout {
  size_t symbols, hash, symbol_versions, versions, names, names_size, code, dynamic, file_end, data, end;
} layout_t;

/* The versions of the symbols, each once. */
typedef struct versions {
  const char **names;
  size_t count;
} versions_t;

static size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

/* Its index in the file; 1: no version. */
static uint16_t version_number(const versions_t *versions, const char *version) {
  size_t i = 0;
  while (version && i < versions->count && strcmp(versions->names[i], version) != 0) i++;
  return !version ? 1 : (uint16_t)(FIRST_VERSION + i);
}

static bool collect_versions(const opc_stub_symbol_t *symbols, size_t count, versions_t *out) {
  *out = (versions_t){.names = calloc(count + 1, sizeof *out->names)};
  for (size_t i = 0; out->names && i < count; i++) {
    if (symbols[i].version && version_number(out, symbols[i].version) == FIRST_VERSION + out->count)
      out->names[out->count++] = symbols[i].version;
  }
  return out->names;
}

/* One for the file itself, and one per version. */
static size_t definition_count(const versions_t *versions) { return versions->count > 0 ? versions->count + 1 : 0; }

static layout_t image_lay_out(const char *soname, const opc_stub_symbol_t *symbols, size_t count,
                              const versions_t *versions) {
  layout_t at = {0};
  size_t names = 1 + strlen(soname) + 1, functions = 0, data = 0;
  for (size_t i = 0; i < count; i++) {
    names += strlen(symbols[i].name) + 1;
    functions += symbols[i].size == 0;
    data += round_up(symbols[i].size, ALIGNMENT);
  }
  for (size_t i = 0; i < versions->count; i++) names += strlen(versions->names[i]) + 1;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  at.symbols = sizeof(Elf64_Ehdr) + SEGMENTS * sizeof(Elf64_Phdr);
  at.hash = at.symbols + (count + 1) * sizeof(Elf64_Sym);
  at.symbol_versions = at.hash + (2 + 2 * (count + 1)) * sizeof(uint32_t);
  at.versions = round_up(at.symbol_versions + (count + 1) * sizeof(Elf64_Versym), 8);
  at.names = at.versions + definition_count(versions) * (sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux));
  at.names_size = names;
  at.code = round_up(at.names + names, 16);
  at.dynamic = round_up(at.code + functions * FUNCTION_SIZE, page);
  at.file_end = at.dynamic + DYNAMIC_ENTRIES * sizeof(Elf64_Dyn);
  at.data = round_up(at.file_end, ALIGNMENT);
  at.end = at.data + data;
  return at;
}

static void put_headers(unsigned char *image, const layout_t *at) {
  Elf64_Ehdr file = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                     .e_type = ET_DYN,
                     .e_machine = MACHINE,
                     .e_version = EV_CURRENT,
                     .e_phoff = sizeof file,
                     .e_ehsize = sizeof file,
                     .e_phentsize = sizeof(Elf64_Phdr),
                     .e_phnum = SEGMENTS,
                     .e_shentsize = sizeof(Elf64_Shdr)};
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), code_end = at->dynamic;
  const Elf64_Phdr segments[SEGMENTS] = {
      {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = code_end, .p_memsz = code_end, .p_align = page},
      {.p_type = PT_LOAD,
       .p_flags = PF_R | PF_W,
       .p_offset = at->dynamic,
       .p_vaddr = at->dynamic,
       .p_paddr = at->dynamic,
       .p_filesz = at->file_end - at->dynamic,
       .p_memsz = at->end - at->dynamic,
       .p_align = page},
      {.p_type = PT_DYNAMIC,
       .p_flags = PF_R | PF_W,
       .p_offset = at->dynamic,
       .p_vaddr = at->dynamic,
       .p_paddr = at->dynamic,
       .p_filesz = at->file_end - at->dynamic,
       .p_memsz = at->file_end - at->dynamic,
       .p_align = sizeof(uint64_t)},
      {.p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16},
  };
  memcpy(image, &file, sizeof file);
  memcpy(image + sizeof file, segments, sizeof segments);
}

static void put_dynamic(unsigned char *image, const layout_t *at, size_t soname, const versions_t *versions) {
  Elf64_Dyn dynamic[DYNAMIC_ENTRIES] = {
      {.d_tag = DT_SONAME, .d_un.d_val = soname},        {.d_tag = DT_HASH, .d_un.d_ptr = at->hash},
      {.d_tag = DT_SYMTAB, .d_un.d_ptr = at->symbols},   {.d_tag = DT_STRTAB, .d_un.d_ptr = at->names},
      {.d_tag = DT_STRSZ, .d_un.d_val = at->names_size}, {.d_tag = DT_SYMENT, .d_un.d_val = sizeof(Elf64_Sym)},
  };
  if (versions->count > 0) {
    dynamic[6] = (Elf64_Dyn){.d_tag = DT_VERSYM, .d_un.d_ptr = at->symbol_versions};
    dynamic[7] = (Elf64_Dyn){.d_tag = DT_VERDEF, .d_un.d_ptr = at->versions};
    dynamic[8] = (Elf64_Dyn){.d_tag = DT_VERDEFNUM, .d_un.d_val = definition_count(versions)};
  }
  memcpy(image + at->dynamic, dynamic, sizeof dynamic);
}

/* The hash of the System V ABI. */
static uint32_t stub_image_hash_of(const char *name) {
  uint32_t hash = 0;
  for (; *name != '\0'; name++) {
    hash = (hash << 4) + (unsigned char)*name;
    const uint32_t high = hash & 0xf0000000U;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

static size_t put_name(unsigned char *image, const layout_t *at, size_t *used, const char *name) {
  const size_t offset = *used, length = strlen(name) + 1;
  memcpy(image + at->names + offset, name, length);
  *used += length;
  return offset;
}

/* If the loader looks for a version in a file of that name, the file must define it. */
static void put_versions(unsigned char *image, const layout_t *at, size_t *used, const char *soname,
                         size_t soname_offset, const versions_t *versions) {
  const size_t size = sizeof(Elf64_Verdef) + sizeof(Elf64_Verdaux), count = definition_count(versions);
  for (size_t i = 0; i < count; i++) {
    const char *name = i == 0 ? soname : versions->names[i - 1];
    const Elf64_Verdef definition = {.vd_version = VER_DEF_CURRENT,
                                     .vd_flags = i == 0 ? VER_FLG_BASE : 0,
                                     .vd_ndx = (Elf64_Half)(i + 1),
                                     .vd_cnt = 1,
                                     .vd_hash = stub_image_hash_of(name),
                                     .vd_aux = sizeof definition,
                                     .vd_next = i + 1 < count ? (Elf64_Word)size : 0};
    const Elf64_Verdaux word = {.vda_name = (Elf64_Word)(i == 0 ? soname_offset : put_name(image, at, used, name))};
    memcpy(image + at->versions + i * size, &definition, sizeof definition);
    memcpy(image + at->versions + i * size + sizeof definition, &word, sizeof word);
  }
}

static void put_function(unsigned char *place, opc_stub_target_t target) {
  const uint64_t address = target.address;
  memcpy(place, target.named ? own_address : nothing, sizeof own_address);
  memcpy(place + sizeof own_address, jump, sizeof jump);
  memcpy(place + sizeof own_address + sizeof jump, &address, sizeof address);
}

opc_status_t opc_stub_image(const char *soname, const opc_stub_symbol_t *symbols, size_t count,
                            opc_stub_target_t (*target)(const char *name), unsigned char **out, size_t *out_size,
                            opc_error_t *error) {
  versions_t versions;
  if (!collect_versions(symbols, count, &versions)) return opc_out_of_memory(error);
  const layout_t at = image_lay_out(soname, symbols, count, &versions);
  unsigned char *image = calloc(1, at.file_end);
  uint32_t *hash = calloc(2 + 2 * (count + 1), sizeof *hash);
  if (!image || !hash) {
    free(image);
    free(hash);
    free(versions.names);
    return opc_out_of_memory(error);
  }
  const uint32_t buckets = (uint32_t)count + 1;
  uint32_t *bucket = hash + 2, *chain = bucket + buckets;
  size_t names = 1, code = at.code, data = at.data;
  hash[0] = hash[1] = buckets;
  put_headers(image, &at);
  const size_t soname_offset = put_name(image, &at, &names, soname);
  put_dynamic(image, &at, soname_offset, &versions);
  put_versions(image, &at, &names, soname, soname_offset, &versions);
  for (size_t i = 0; i < count; i++) {
    const bool function = symbols[i].size == 0;
    const Elf64_Sym symbol = {.st_name = (Elf64_Word)put_name(image, &at, &names, symbols[i].name),
                              .st_info = ELF64_ST_INFO(STB_GLOBAL, function ? STT_FUNC : STT_OBJECT),
                              .st_shndx = 1, /* any index except 0: there are no sections */
                              .st_value = function ? code : data,
                              .st_size = function ? FUNCTION_SIZE : symbols[i].size};
    const uint32_t number = (uint32_t)i + 1, place = stub_image_hash_of(symbols[i].name) % buckets;
    memcpy(image + at.symbols + number * sizeof symbol, &symbol, sizeof symbol);
    const Elf64_Versym version = version_number(&versions, symbols[i].version);
    memcpy(image + at.symbol_versions + number * sizeof version, &version, sizeof version);
    chain[number] = bucket[place];
    bucket[place] = number;
    if (function) {
      put_function(image + code, target(symbols[i].name));
      code += FUNCTION_SIZE;
    } else {
      data += round_up(symbols[i].size, ALIGNMENT);
    }
  }
  memcpy(image + at.hash, hash, (2 + 2 * (size_t)buckets) * sizeof *hash);
  free(hash);
  free(versions.names);
  *out = image;
  *out_size = at.file_end;
  return OPC_OK;
}
