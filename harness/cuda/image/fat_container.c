#include "cuda/image/kernel_image.h"

#include <string.h>

enum { SHORT_HEADER = offsetof(opc_fat_header_t, unused) };
_Static_assert(sizeof(opc_fat_container_t) == 16 && SHORT_HEADER == 48 && sizeof(opc_fat_header_t) == 64,
               "as they lie in the file");

bool opc_fat_container_read(const unsigned char *bytes, size_t size, opc_fat_container_t *out) {
  if (size < sizeof *out) return false;
  memcpy(out, bytes, sizeof *out);
  return out->magic == OPC_FAT_MAGIC && out->header_size >= sizeof *out && out->header_size <= size &&
         out->size <= size - out->header_size;
}

opc_fat_end_t opc_fat_visit(const unsigned char *bytes, opc_fat_visit_t *visit, void *context) {
  opc_fat_container_t container;
  memcpy(&container, bytes, sizeof container);
  const unsigned char *at = bytes + container.header_size, *const end = at + container.size;
  while (end - at >= SHORT_HEADER) {
    opc_fat_entry_t entry = {0};
    opc_fat_header_t *header = &entry.header;
    memcpy(header, at, SHORT_HEADER);
    const size_t left = (size_t)(end - at);
    if (header->header_size < SHORT_HEADER || header->header_size > left || header->size > left - header->header_size)
      return OPC_FAT_DAMAGED;
    if (header->header_size >= sizeof *header) memcpy(header, at, sizeof *header);
    entry.flags = (uint64_t)header->flags[1] << 32 | header->flags[0];
    entry.bytes = at + header->header_size;
    entry.size = (size_t)header->size;
    const bool packed = (entry.flags & (OPC_FAT_LZ4 | OPC_FAT_ZSTD)) != 0 && header->compressed_size != 0;
    if (packed && header->compressed_size < entry.size) entry.size = header->compressed_size;
    if (visit(&entry, context)) return OPC_FAT_STOPPED;
    at = entry.bytes + header->size;
  }
  return OPC_FAT_END;
}
