/* Machine code: an ELF file with one section .nv.info.KERNEL per kernel, which consists of records (format, attribute,
 * size or value, bytes). Source: the output of nvcc 13, compared with `cuobjdump -elf` and with the sizes of kernels
 * whose parameters are known. */
#include <elf.h>
#include <string.h>

#include "cuda/image/kernel_image.h"

enum {
  FORMAT_BYTES = 4,
  ATTRIBUTE_MAX_THREADS = 0x05,
  ATTRIBUTE_PARAMETER = 0x17,
  ATTRIBUTE_PARAMETER_BYTES = 0x19,
  ATTRIBUTE_REGISTERS = 0x2f,
  ATTRIBUTE_LARGE_PARAMETER = 0x45,
  SHARED_RESERVED = 1024
};

typedef struct image {
  const unsigned char *bytes;
  size_t size;
  Elf64_Ehdr header;
  const char *names;
  size_t names_size;
} image_t;

static bool section_at(const image_t *image, size_t i, Elf64_Shdr *out) {
  const uint64_t at = image->header.e_shoff + i * sizeof *out;
  if (i >= image->header.e_shnum || at > image->size || image->size - at < sizeof *out) return false;
  memcpy(out, image->bytes + at, sizeof *out);
  return out->sh_type == SHT_NOBITS || (out->sh_offset <= image->size && out->sh_size <= image->size - out->sh_offset);
}

static bool image_open(image_t *image) {
  Elf64_Shdr names;
  if (image->size < sizeof image->header) return false;
  memcpy(&image->header, image->bytes, sizeof image->header);
  if (memcmp(image->header.e_ident, ELFMAG, SELFMAG) != 0 || image->header.e_ident[EI_CLASS] != ELFCLASS64 ||
      image->header.e_shentsize != sizeof names || image->header.e_shoff > image->size ||
      !section_at(image, image->header.e_shstrndx, &names) || names.sh_type != SHT_STRTAB)
    return false;
  image->names = (const char *)image->bytes + names.sh_offset;
  image->names_size = (size_t)names.sh_size;
  return true;
}

/* Whether the section's name is prefix + kernel. */
static bool called(const image_t *image, const Elf64_Shdr *section, const char *prefix, const char *kernel) {
  const size_t first = strlen(prefix), second = strlen(kernel);
  if (section->sh_name >= image->names_size || image->names_size - section->sh_name < first + second + 1) return false;
  const char *name = image->names + section->sh_name;
  return memcmp(name, prefix, first) == 0 && memcmp(name + first, kernel, second + 1) == 0;
}

static uint32_t u32(const unsigned char *at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static uint16_t u16(const unsigned char *at) {
  uint16_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

/* index (4), ordinal (2), offset (2), then bits: 18 for alignment, space and bank, 14 for the size. For kernels with
 * more than 4 KiB of parameters: the size (2). */
static bool parameter_add(const unsigned char *at, size_t size, bool large, opc_kernel_image_t *out) {
  if (size < 12) return false;
  const size_t ordinal = u16(at + 4);
  if (ordinal >= OPC_KERNEL_PARAMETERS) return false;
  out->parameters[ordinal] = (opc_parameter_t){.offset = u16(at + 6), .size = large ? u16(at + 8) : u32(at + 8) >> 18};
  if (ordinal >= out->parameter_count) out->parameter_count = ordinal + 1;
  return true;
}

/* Each byte of the parameter space belongs to one parameter or is padding: inconsistent data is rejected. */
static bool adds_up(const opc_kernel_image_t *image, size_t records, uint32_t bytes) {
  uint32_t end = 0;
  if (records != image->parameter_count) return false;
  for (size_t i = 0; i < image->parameter_count; i++) {
    if (image->parameters[i].size == 0 || image->parameters[i].offset < end) return false;
    end = image->parameters[i].offset + image->parameters[i].size;
  }
  return end == bytes;
}

static void info_read(const unsigned char *bytes, size_t size, opc_kernel_image_t *out) {
  size_t records = 0;
  uint32_t total = 0;
  bool sound = true;
  for (size_t at = 0; size - at >= 4;) {
    const unsigned char format = bytes[at], attribute = bytes[at + 1];
    const size_t value = u16(bytes + at + 2);
    at += 4;
    if (format != FORMAT_BYTES) { /* only the value */
      if (attribute == ATTRIBUTE_PARAMETER_BYTES) total = (uint32_t)value;
      continue;
    }
    if (value > size - at) return;
    if (attribute == ATTRIBUTE_PARAMETER || attribute == ATTRIBUTE_LARGE_PARAMETER) {
      sound &= parameter_add(bytes + at, value, attribute == ATTRIBUTE_LARGE_PARAMETER, out);
      records++;
    } else if (attribute == ATTRIBUTE_MAX_THREADS && value >= 12) {
      out->max_threads = u32(bytes + at) * u32(bytes + at + 4) * u32(bytes + at + 8);
    }
    at += value;
  }
  out->parameters_known = sound && adds_up(out, records, total);
}

/* The global .nv.info has the registers of each kernel, by its symbol index; .nv.info.KERNEL names that symbol's
 * section. */
static void registers_read(const unsigned char *bytes, size_t size, uint32_t symbol, opc_kernel_image_t *out) {
  for (size_t at = 0; size - at >= 4;) {
    const unsigned char format = bytes[at], attribute = bytes[at + 1];
    const size_t value = u16(bytes + at + 2);
    at += 4;
    if (format != FORMAT_BYTES) continue;
    if (value > size - at) return;
    if (attribute == ATTRIBUTE_REGISTERS && value >= 8 && u32(bytes + at) == symbol)
      out->registers = u32(bytes + at + 4);
    at += value;
  }
}

/* The symbol at the start of a kernel's code: a function in its section. */
static uint32_t symbol_of(const image_t *image, size_t text) {
  Elf64_Shdr table;
  Elf64_Sym symbol;
  for (size_t i = 0; section_at(image, i, &table); i++) {
    if (table.sh_type != SHT_SYMTAB) continue;
    for (size_t n = 0; (n + 1) * sizeof symbol <= table.sh_size; n++) {
      memcpy(&symbol, image->bytes + table.sh_offset + n * sizeof symbol, sizeof symbol);
      if (symbol.st_shndx == text && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) return (uint32_t)n;
    }
  }
  return 0;
}

bool opc_cubin_visit(const unsigned char *bytes, size_t size, void (*visit)(const char *kernel, void *context),
                     void *context) {
  static const char prefix[] = ".nv.constant0."; /* a kernel has parameters; other functions have none */
  image_t image = {.bytes = bytes, .size = size};
  Elf64_Shdr section;
  if (!image_open(&image)) return false;
  for (size_t i = 0; section_at(&image, i, &section); i++) {
    if (section.sh_name >= image.names_size || image.names_size - section.sh_name <= sizeof prefix) continue;
    const char *name = image.names + section.sh_name;
    if (memcmp(name, prefix, sizeof prefix - 1) != 0 || !memchr(name, '\0', image.names_size - section.sh_name))
      continue;
    visit(name + sizeof prefix - 1, context);
  }
  return true;
}

bool opc_cubin_read(const unsigned char *bytes, size_t size, const char *kernel, opc_kernel_image_t *out) {
  image_t image = {.bytes = bytes, .size = size};
  Elf64_Shdr section;
  bool found = false, reserved = false;
  uint32_t symbol = 0;
  if (!image_open(&image)) return false;
  memset(out, 0, sizeof *out);
  for (size_t i = 0; section_at(&image, i, &section); i++) {
    if (called(&image, &section, ".nv.info.", kernel) && section.sh_type != SHT_NOBITS) {
      info_read(bytes + section.sh_offset, (size_t)section.sh_size, out);
      found = true;
    } else if (called(&image, &section, ".nv.shared.", kernel)) {
      out->shared_static = (uint32_t)section.sh_size;
    } else if (called(&image, &section, ".nv.shared.reserved.0", "")) {
      reserved = true; /* from sm_90 on, the system's reserved part is included */
    } else if (called(&image, &section, ".text.", kernel)) {
      symbol = symbol_of(&image, i);
    }
  }
  if (reserved) out->shared_static -= out->shared_static < SHARED_RESERVED ? out->shared_static : SHARED_RESERVED;
  for (size_t i = 0; found && symbol != 0 && section_at(&image, i, &section); i++)
    if (called(&image, &section, ".nv.info", "") && section.sh_type != SHT_NOBITS)
      registers_read(bytes + section.sh_offset, (size_t)section.sh_size, symbol, out);
  return found;
}
