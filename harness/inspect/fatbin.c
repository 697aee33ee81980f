#include "inspect/fatbin.h"

#include <stdlib.h>
#include <string.h>

enum { KIND_PTX = 1, KIND_MACHINE_CODE = 2 };
static const uint32_t container_magic = 0xba55ed50;
static const uint64_t flag_compressed = 0x2000, flag_specific = 0x100000, flag_family = 0x200000;

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
_Static_assert(sizeof(container_t) == 16 && sizeof(entry_t) == 48, "as they lie in the file");

static uint64_t flags_of(const entry_t *entry) { return (uint64_t)entry->flags[1] << 32 | entry->flags[0]; }

static void note(opc_gpu_codes_t *out, const entry_t *entry) {
  const uint64_t flags = flags_of(entry);
  const char suffix = (flags & flag_specific) != 0 ? 'a' : (flags & flag_family) != 0 ? 'f' : '\0';
  const bool ptx = entry->kind == KIND_PTX;
  size_t i = 0;
  while (i < out->count && !(out->items[i].architecture == entry->architecture && out->items[i].suffix == suffix && out->items[i].ptx == ptx)) i++;
  if (i == OPC_GPU_CODES_MAX) {
    out->damaged = true; /* there are not so many architectures */
    return;
  }
  if (i == out->count) out->items[out->count++] = (opc_gpu_code_t){.architecture = entry->architecture, .suffix = suffix, .ptx = ptx};
  out->items[i].count++;
  out->items[i].compressed += (flags & flag_compressed) != 0 || entry->compressed_size != 0;
  out->entries++;
}

static void read_entries(const unsigned char *bytes, size_t size, opc_gpu_codes_t *out) {
  for (size_t at = 0; size - at >= sizeof(entry_t);) {
    entry_t entry;
    memcpy(&entry, bytes + at, sizeof entry);
    const size_t left = size - at;
    if (entry.header_size < sizeof entry || entry.header_size > left || entry.size > left - entry.header_size) {
      out->damaged = true;
      return;
    }
    if (entry.kind == KIND_PTX || entry.kind == KIND_MACHINE_CODE) note(out, &entry); /* others hold relocatable code or options */
    at += entry.header_size + (size_t)entry.size;
  }
}

static int compare(const void *a, const void *b) {
  const opc_gpu_code_t *x = a, *y = b;
  if (x->ptx != y->ptx) return x->ptx ? 1 : -1;
  if (x->architecture != y->architecture) return x->architecture < y->architecture ? -1 : 1;
  return x->suffix - y->suffix;
}

void opc_fatbin_read(const unsigned char *bytes, size_t size, opc_gpu_codes_t *out) {
  *out = (opc_gpu_codes_t){0};
  for (size_t at = 0; size - at >= sizeof(container_t);) {
    container_t container;
    memcpy(&container, bytes + at, sizeof container);
    if (container.magic != container_magic) { /* between containers lies padding */
      at += 8;
      continue;
    }
    const size_t left = size - at;
    if (container.header_size < sizeof container || container.header_size > left || container.size > left - container.header_size) {
      out->damaged = true;
      break;
    }
    read_entries(bytes + at + container.header_size, (size_t)container.size, out);
    at += (container.header_size + (size_t)container.size + 7) / 8 * 8;
    if (at > size) break;
  }
  qsort(out->items, out->count, sizeof *out->items, compare);
}
