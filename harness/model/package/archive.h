/* Reads zip files whose entries are stored uncompressed, as libtorch writes all its files: packages, exported programs,
 * tensors. Uses libzip.
 *
 * The file can contain anything: malformed parts give an error with a message, and every stated size is compared with
 * the file's size before use. Ownership: opc_archive_close. Threads: one. */
#pragma once

#include <jansson.h>
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

/* Reads the few pickle opcodes that encode tensors in tuples, lists and dictionaries. Nothing that a pickle names is
 * executed.
 *
 * A value becomes JSON. Numbers, strings, true, false and null stay as they are; tuples and lists become arrays.
 * Others become {"dict": [key, value, …]}, {"global": "module name"}, {"call": "module name", "args": […]},
 * {"persistent": id}. Ownership: the value is the caller's. Threads: any. Source: Python, Lib/pickletools.py. */

/* OPC_ERR_UNSUPPORTED: an unknown opcode, or too many. OPC_ERR_INPUT: malformed. */
opc_status_t opc_pickle_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) OPC_CHECKED;

/* Reads tensors from a file that torch.save wrote: a zip file with a pickle that describes the tensors, and their
 * bytes. No libtorch and no Python: knows only the pickle opcodes for tensors, tuples, lists and dictionaries;
 * nothing that the pickle names is executed.
 *
 * Ownership: the array is the caller's. Threads: any. Source: torch/serialization.py, torch/_utils.py; Python,
 * Lib/pickletools.py. */

/* *out: VALUEs of the sample format, one per tensor, in the order of torch.utils._pytree: lists and tuples by index,
 * dictionaries in insertion order. Skips numbers, strings and None. If all tensors together have more elements than a
 * 224 by 224 RGB image, some have no fill. OPC_ERR_UNSUPPORTED: the file has other content. OPC_ERR_INPUT:
 * malformed. */
opc_status_t opc_torch_saved_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) OPC_CHECKED;
