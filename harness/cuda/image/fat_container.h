/* The container of GPU code in a library (section .nv_fatbin) and in memory: entries of machine code and PTX.
 *
 * Ownership: none, everything is read in place. Threads, fork: no shared state. The input is untrusted: reading stops
 * at damaged data. Source of the layout: files written by nvcc 13, compared with the output of cuobjdump. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OPC_FAT_PTX = 1, OPC_FAT_MACHINE_CODE = 2 }; /* other kinds hold relocatable code or options */
enum { OPC_FAT_LZ4 = 0x2000, OPC_FAT_ZSTD = 0x8000, OPC_FAT_SPECIFIC = 0x100000, OPC_FAT_FAMILY = 0x200000 };
#define OPC_FAT_MAGIC UINT32_C(0xba55ed50)

/* The layout in the file. */
typedef struct opc_fat_container {
  uint32_t magic;
  uint16_t version, header_size;
  uint64_t size; /* of the data after the header */
} opc_fat_container_t;

typedef struct opc_fat_header {
  uint16_t kind, version;
  uint32_t header_size;
  uint64_t size; /* of the data after the header, padded */
  uint32_t compressed_size, options;
  uint16_t minor, major;
  uint32_t architecture, name, name_size;
  uint32_t flags[2];
  uint64_t unused, plain_size; /* of compressed data; a short header ends before these fields */
} opc_fat_header_t;

typedef struct opc_fat_entry {
  opc_fat_header_t header; /* zeros where the file's header is shorter */
  uint64_t flags;          /* OPC_FAT_… */
  const unsigned char *bytes;
  size_t size; /* as stored, possibly compressed */
} opc_fat_entry_t;

/* Reads a container's header. False: these bytes have no header, or the container is longer than they are. */
bool opc_fat_container_read(const unsigned char *bytes, size_t size, opc_fat_container_t *out);

typedef enum opc_fat_end { OPC_FAT_END = 0, OPC_FAT_STOPPED, OPC_FAT_DAMAGED } opc_fat_end_t;
/* True: stop. */
typedef bool opc_fat_visit_t(const opc_fat_entry_t *entry, void *context);
/* Visits each entry of a container that opc_fat_container_read has accepted. */
opc_fat_end_t opc_fat_visit(const unsigned char *bytes, opc_fat_visit_t *visit, void *context);
