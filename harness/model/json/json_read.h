/* Reading JSON that a person wrote: the path of the field under the cursor, errors that name it, and fields nobody
 * knows.
 *
 * Ownership: a reader borrows everything. Convention: enter returns what leave takes; after a failure nobody leaves, so
 * that the path of the mistake stays. Threads: one reader, one thread. */
#ifndef OPC_MODEL_JSON_JSON_READ_H
#define OPC_MODEL_JSON_JSON_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { OPC_FIELD_SIZE = 256 };

typedef struct opc_json_reader {
  char path[OPC_FIELD_SIZE]; /* "args[1].tensor.shape[0]"; cut when longer */
  const char *folder;        /* relative files are taken from here; NULL: the current folder */
  opc_error_t *error;        /* may be NULL */
  /* Constructors that objects are checked against; NULL: they are taken as they stand. */
  const struct opc_class *(*find_class)(const char *name, void *context);
  void *context;
} opc_json_reader_t;

size_t opc_json_enter(opc_json_reader_t *reader, const char *key);
size_t opc_json_enter_index(opc_json_reader_t *reader, size_t index);
void opc_json_leave(opc_json_reader_t *reader, size_t before);

/* OPC_ERR_INPUT, "PATH: what is wrong". */
opc_status_t opc_json_fail(opc_json_reader_t *reader, const char *format, ...) OPC_PRINTF(2, 3);
/* A field of the object that is not among `known` (ends with NULL) is a mistake; it is named with the nearest known
 * one. */
opc_status_t opc_json_check_fields(opc_json_reader_t *reader, const json_t *object,
                                   const char *const *known) OPC_CHECKED;
/* The entry of `known` (ends with NULL) that is most like word; NULL where none is like it at all. */
const char *opc_json_nearest(const char *word, const char *const *known);
/* What stands there, for "…, not WHAT": `"abc"`, `3`, `null`, `a list`, `an object`. Returns out. */
const char *opc_json_what(const json_t *json, char *out, size_t size);

opc_status_t opc_json_read_integer(opc_json_reader_t *reader, const json_t *json, int64_t lowest,
                                   int64_t *out) OPC_CHECKED;
opc_status_t opc_json_read_boolean(opc_json_reader_t *reader, const json_t *json, bool *out) OPC_CHECKED;
opc_status_t opc_json_read_string(opc_json_reader_t *reader, const json_t *json,
                                  const char **out) OPC_CHECKED; /* borrowed */

#endif
