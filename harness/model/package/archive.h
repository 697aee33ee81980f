/* Reads zip files whose entries are stored uncompressed, as libtorch writes all its files: packages, exported programs,
 * tensors. Uses libzip.
 *
 * The file can contain anything: malformed parts give an error with a message, and every stated size is compared with
 * the file's size before use. Ownership: opc_archive_close. Threads: one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct opc_archive_entry {
  const char *name; /* owned by the archive */
  uint64_t index;   /* libzip's */
  uint64_t size;
  bool stored; /* false: compressed; cannot be read here */
} opc_archive_entry_t;

typedef struct opc_archive {
  struct zip *zip;
  uint64_t size; /* file size in bytes */
  opc_archive_entry_t *entries;
  size_t count;
} opc_archive_t;

/* OPC_ERR_IO: unreadable. OPC_ERR_UNSUPPORTED: not a zip file. OPC_ERR_INPUT: a damaged one; the message says how. */
opc_status_t opc_archive_open(const char *path, opc_archive_t *out, opc_error_t *error) OPC_CHECKED;
/* The same for a zip file that is an entry of another one. The caller keeps the bytes, unchanged, until
 * opc_archive_close. */
opc_status_t opc_archive_open_bytes(const char *bytes, size_t size, opc_archive_t *out, opc_error_t *error) OPC_CHECKED;
/* Reads an entry and verifies its checksum; a NUL follows the bytes; the caller frees. OPC_ERR_UNSUPPORTED:
 * compressed. */
opc_status_t opc_archive_read(const opc_archive_t *archive, const opc_archive_entry_t *entry, char **out,
                              opc_error_t *error) OPC_CHECKED;
void opc_archive_close(opc_archive_t *archive);
