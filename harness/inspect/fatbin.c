#include "inspect/fatbin.h"

#include <stdlib.h>
#include <string.h>

enum { KIND_PTX = 1, KIND_MACHINE_CODE = 2 };
static const uint32_t container_magic = 0xba55ed50;
static const uint64_t flag_compressed = 0x2000, flag_zstd = 0x8000, flag_specific = 0x100000, flag_family = 0x200000;

/* As they lie in the file; an entry's header may be longer than this. */
typedef struct container {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size; /* of what follows the header */
} container_t;

typedef struct entry {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size; /* of what follows the header, padded */
  uint32_t compressed_size, options;
  uint16_t minor, major;
  uint32_t architecture, name, name_size;
  uint32_t flags[2];
} entry_t;
/* Behind an entry that is long enough for it. */
typedef struct packed {
  uint64_t unused, plain_size;
} packed_t;
_Static_assert(sizeof(container_t) == 16 && sizeof(entry_t) == 48 && sizeof(packed_t) == 16, "as they lie in the file");

static uint64_t flags_of(const entry_t *entry) { return (uint64_t)entry->flags[1] << 32 | entry->flags[0]; }

/* False: there is no room, as no file has so many architectures. */
static bool add(const opc_gpu_code_t *code, opc_gpu_codes_t *out) {
  size_t i = 0;
  while (i < out->count && !(out->items[i].architecture == code->architecture && out->items[i].suffix == code->suffix &&
                             out->items[i].ptx == code->ptx))
    i++;
  if (i == OPC_GPU_CODES_MAX) return false;
  if (i == out->count)
    out->items[out->count++] =
        (opc_gpu_code_t){.architecture = code->architecture, .suffix = code->suffix, .ptx = code->ptx};
  out->items[i].count += code->count;
  out->items[i].compressed += code->compressed;
  out->entries += code->count;
  return true;
}

static void note_image(const entry_t *entry, const unsigned char *at, opc_fatbin_t *out) {
  const uint64_t flags = flags_of(entry);
  packed_t packed = {0};
  if (entry->header_size >= sizeof *entry + sizeof packed) memcpy(&packed, at + sizeof *entry, sizeof packed);
  out->image = at + entry->header_size;
  out->image_size = (size_t)entry->size;
  out->lz4 = (flags & flag_compressed) != 0;
  out->zstd = (flags & flag_zstd) != 0;
  if (!out->lz4 && !out->zstd) return;
  out->plain_size = (size_t)packed.plain_size;
  if (entry->compressed_size != 0 && entry->compressed_size < out->image_size) out->image_size = entry->compressed_size;
}

static void note(const entry_t *entry, const unsigned char *at, opc_fatbin_t *out) {
  const uint64_t flags = flags_of(entry);
  const opc_gpu_code_t code = {.architecture = entry->architecture,
                               .suffix = (flags & flag_specific) != 0 ? 'a'
                                         : (flags & flag_family) != 0 ? 'f'
                                                                      : '\0',
                               .ptx = entry->kind == KIND_PTX,
                               .count = 1,
                               .compressed = (flags & flag_compressed) != 0 || entry->compressed_size != 0};
  if (!add(&code, &out->codes)) out->codes.damaged = true;
  if (entry->kind == KIND_MACHINE_CODE && !out->image) note_image(entry, at, out);
}

static void read_entries(const unsigned char *bytes, size_t size, opc_fatbin_t *out) {
  for (size_t at = 0; size - at >= sizeof(entry_t);) {
    entry_t entry;
    memcpy(&entry, bytes + at, sizeof entry);
    const size_t left = size - at;
    if (entry.header_size < sizeof entry || entry.header_size > left || entry.size > left - entry.header_size) {
      out->codes.damaged = true;
      return;
    }
    if (entry.kind == KIND_PTX || entry.kind == KIND_MACHINE_CODE)
      note(&entry, bytes + at, out); /* others hold relocatable code or options */
    at += entry.header_size + (size_t)entry.size;
  }
}

static int compare(const void *a, const void *b) {
  const opc_gpu_code_t *x = a, *y = b;
  if (x->ptx != y->ptx) return x->ptx ? 1 : -1;
  if (x->architecture != y->architecture) return x->architecture < y->architecture ? -1 : 1;
  return x->suffix - y->suffix;
}

void opc_gpu_codes_add(const opc_gpu_codes_t *more, opc_gpu_codes_t *out) {
  for (size_t i = 0; i < more->count; i++) out->damaged = !add(&more->items[i], out) || out->damaged;
  out->damaged = out->damaged || more->damaged;
  qsort(out->items, out->count, sizeof *out->items, compare);
}

bool opc_fatbin_visit(const unsigned char *bytes, size_t size, void (*visit)(const opc_fatbin_t *fatbin, void *context),
                      void *context) {
  bool damaged = false;
  for (size_t at = 0; size - at >= sizeof(container_t);) {
    container_t container;
    opc_fatbin_t fatbin = {0};
    memcpy(&container, bytes + at, sizeof container);
    if (container.magic != container_magic) { /* between containers lies padding */
      at += 8;
      continue;
    }
    const size_t left = size - at;
    if (container.header_size < sizeof container || container.header_size > left ||
        container.size > left - container.header_size)
      return false;
    read_entries(bytes + at + container.header_size, (size_t)container.size, &fatbin);
    qsort(fatbin.codes.items, fatbin.codes.count, sizeof *fatbin.codes.items, compare);
    damaged = damaged || fatbin.codes.damaged;
    visit(&fatbin, context);
    at += (container.header_size + (size_t)container.size + 7) / 8 * 8;
    if (at > size) break;
  }
  return !damaged;
}

static void gather(const opc_fatbin_t *fatbin, void *context) { opc_gpu_codes_add(&fatbin->codes, context); }

void opc_fatbin_read(const unsigned char *bytes, size_t size, opc_gpu_codes_t *out) {
  *out = (opc_gpu_codes_t){0};
  out->damaged = !opc_fatbin_visit(bytes, size, gather, out) || out->damaged;
}
