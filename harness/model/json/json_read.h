/* Reads JSON written by a person: tracks the path of the current field, names it in errors, and rejects unknown fields.
 *
 * Ownership: a reader borrows everything. Convention: pass the result of enter to leave; do not leave after a failure,
 * so that the path of the error is kept. Threads: one reader, one thread. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { OPC_FIELD_SIZE = 256 };

typedef struct opc_json_reader {
  char path[OPC_FIELD_SIZE]; /* "args[1].tensor.shape[0]"; truncated if too long */
  const char *folder;        /* base of relative file names; NULL: the current folder */
  opc_error_t *error;        /* may be NULL */
  /* Constructors to check objects against; NULL: objects are accepted unchecked. */
  const struct opc_class *(*find_class)(const char *name, void *context);
  void *context;
} opc_json_reader_t;

size_t opc_json_enter(opc_json_reader_t *reader, const char *key);
size_t opc_json_enter_index(opc_json_reader_t *reader, size_t index);
void opc_json_leave(opc_json_reader_t *reader, size_t before);

/* OPC_ERR_INPUT, "PATH: what is wrong". */
opc_status_t opc_json_fail(opc_json_reader_t *reader, const char *format, ...) OPC_PRINTF(2, 3);
/* Fails if the object has a field that is not in `known` (NULL-terminated); the message suggests the nearest known
 * one. */
opc_status_t opc_json_check_fields(opc_json_reader_t *reader, const json_t *object,
                                   const char *const *known) OPC_CHECKED;
/* The entry of `known` (NULL-terminated) most similar to word; NULL: none is similar. */
const char *opc_json_nearest(const char *word, const char *const *known);
/* Describes the value for "…, not WHAT": `"abc"`, `3`, `null`, `a list`, `an object`. Returns out. */
const char *opc_json_what(const json_t *json, char *out, size_t size);

opc_status_t opc_json_read_integer(opc_json_reader_t *reader, const json_t *json, int64_t lowest,
                                   int64_t *out) OPC_CHECKED;
opc_status_t opc_json_read_boolean(opc_json_reader_t *reader, const json_t *json, bool *out) OPC_CHECKED;
opc_status_t opc_json_read_string(opc_json_reader_t *reader, const json_t *json,
                                  const char **out) OPC_CHECKED; /* borrowed */
