/* Reads a zip file whose entries are stored, not compressed, as libtorch writes all of its own: packages, exported
 * programs, tensors. By libzip.
 *
 * The file may be anything: what is not as it should be is an error in words, and no size that it states is believed
 * before it was compared with the file's own. Ownership: opc_archive_close. Threads: one. */
#ifndef OPC_MODEL_PACKAGE_ARCHIVE_H
#define OPC_MODEL_PACKAGE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_archive_entry {
  const char *name; /* of the archive */
  uint64_t index;   /* libzip's */
  uint64_t size;
  bool stored; /* false: compressed, and not to be read here */
} opc_archive_entry_t;

typedef struct opc_archive {
  struct zip *zip;
  uint64_t size; /* of the file, in bytes */
  opc_archive_entry_t *entries;
  size_t count;
} opc_archive_t;

/* OPC_ERR_IO: it cannot be read. OPC_ERR_UNSUPPORTED: it is no zip file. OPC_ERR_INPUT: it is a broken one, and the
 * message says how. */
opc_status_t opc_archive_open(const char *path, opc_archive_t *out, opc_error_t *error) OPC_CHECKED;
/* The same of a zip file that is an entry of another one; the bytes stay the caller's, and as they are until
 * opc_archive_close. */
opc_status_t opc_archive_open_bytes(const char *bytes, size_t size, opc_archive_t *out, opc_error_t *error) OPC_CHECKED;
/* The entry's bytes with a NUL behind them, which the caller frees, compared with their checksum. OPC_ERR_UNSUPPORTED:
 * it is compressed. */
opc_status_t opc_archive_read(const opc_archive_t *archive, const opc_archive_entry_t *entry, char **out,
                              opc_error_t *error) OPC_CHECKED;
void opc_archive_close(opc_archive_t *archive);

#ifdef __cplusplus
}
#endif
#endif
