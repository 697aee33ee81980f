#include "inspect/fatbin.h"

#include <stdlib.h>

#include "cuda/image/kernel_image.h"

/* False: no room, as no file has so many architectures. */
static bool fatbin_add(const opc_gpu_code_t *code, opc_gpu_codes_t *out) {
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

static void note_image(const opc_fat_entry_t *entry, opc_fatbin_image_t *out) {
  *out = (opc_fatbin_image_t){.bytes = entry->bytes,
                              .size = entry->size,
                              .lz4 = (entry->flags & OPC_FAT_LZ4) != 0,
                              .zstd = (entry->flags & OPC_FAT_ZSTD) != 0,
                              .architecture = entry->header.architecture};
  if (out->lz4 || out->zstd) out->plain_size = (size_t)entry->header.plain_size;
}

const unsigned char *opc_fatbin_image_plain(const opc_fatbin_image_t *image, size_t *out_size,
                                            unsigned char **out_unpacked) {
  *out_unpacked = NULL;
  *out_size = image->size;
  if (!image->lz4 && !image->zstd) return image->bytes;
  return *out_unpacked = opc_image_unpack(image->zstd, image->bytes, image->size, image->plain_size, out_size);
}

static bool fatbin_note(const opc_fat_entry_t *entry, void *context) {
  opc_fatbin_t *out = context;
  const opc_fat_header_t *header = &entry->header;
  const opc_gpu_code_t code = {.architecture = header->architecture,
                               .suffix = (entry->flags & OPC_FAT_SPECIFIC) != 0 ? 'a'
                                         : (entry->flags & OPC_FAT_FAMILY) != 0 ? 'f'
                                                                                : '\0',
                               .ptx = header->kind == OPC_FAT_PTX,
                               .count = 1,
                               .compressed = (entry->flags & OPC_FAT_LZ4) != 0 || header->compressed_size != 0};
  if (header->kind != OPC_FAT_PTX && header->kind != OPC_FAT_MACHINE_CODE) return false;
  if (!fatbin_add(&code, &out->codes)) out->codes.damaged = true;
  if (header->kind == OPC_FAT_MACHINE_CODE && !out->machine.bytes) note_image(entry, &out->machine);
  if (header->kind == OPC_FAT_PTX && (!out->ptx.bytes || header->architecture > out->ptx.architecture))
    note_image(entry, &out->ptx);
  return false;
}

static int fatbin_compare(const void *a, const void *b) {
  const opc_gpu_code_t *x = a, *y = b;
  if (x->ptx != y->ptx) return x->ptx ? 1 : -1;
  if (x->architecture != y->architecture) return x->architecture < y->architecture ? -1 : 1;
  return x->suffix - y->suffix;
}

void opc_gpu_codes_add(const opc_gpu_codes_t *more, opc_gpu_codes_t *out) {
  for (size_t i = 0; i < more->count; i++) out->damaged = !fatbin_add(&more->items[i], out) || out->damaged;
  out->damaged = out->damaged || more->damaged;
  qsort(out->items, out->count, sizeof *out->items, fatbin_compare);
}

bool opc_fatbin_visit(const unsigned char *bytes, size_t size, void (*visit)(const opc_fatbin_t *fatbin, void *context),
                      void *context) {
  bool damaged = false;
  for (size_t at = 0; size - at >= sizeof(opc_fat_container_t);) {
    opc_fat_container_t container;
    opc_fatbin_t fatbin = {0};
    if (!opc_fat_container_read(bytes + at, size - at, &container)) {
      if (container.magic == OPC_FAT_MAGIC) return false;
      at += 8; /* padding between containers */
      continue;
    }
    if (opc_fat_visit(bytes + at, fatbin_note, &fatbin) == OPC_FAT_DAMAGED) fatbin.codes.damaged = true;
    qsort(fatbin.codes.items, fatbin.codes.count, sizeof *fatbin.codes.items, fatbin_compare);
    damaged = damaged || fatbin.codes.damaged;
    visit(&fatbin, context);
    at += (container.header_size + (size_t)container.size + 7) / 8 * 8;
    if (at > size) break;
  }
  return !damaged;
}

static void fatbin_gather(const opc_fatbin_t *fatbin, void *context) { opc_gpu_codes_add(&fatbin->codes, context); }

void opc_fatbin_read(const unsigned char *bytes, size_t size, opc_gpu_codes_t *out) {
  *out = (opc_gpu_codes_t){0};
  out->damaged = !opc_fatbin_visit(bytes, size, fatbin_gather, out) || out->damaged;
}
