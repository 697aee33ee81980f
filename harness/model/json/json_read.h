/* Reads JSON written by a person: tracks the path of the current field, names it in errors, and rejects unknown fields.
 *
 * Ownership: a reader borrows everything. Convention: pass the result of enter to leave; do not leave after a failure,
 * so that the path of the error is kept. Threads: one reader, one thread. */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/text.h"

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

/* Reads a member of an object, or an item of a list, by `call`: the path has its name meanwhile. Returns an error from
 * the function. */
#define OPC_JSON_MEMBER(reader, key, call) OPC_JSON_INSIDE(reader, opc_json_enter(reader, key), call)
#define OPC_JSON_ITEM(reader, index, call) OPC_JSON_INSIDE(reader, opc_json_enter_index(reader, index), call)
#define OPC_JSON_INSIDE(reader, enter, call) \
  do {                                       \
    const size_t opc_json_before = (enter);  \
    OPC_RETURN_IF_ERROR(call);               \
    opc_json_leave(reader, opc_json_before); \
  } while (0)

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

/* A JSON file written by a person: its text, its content, and errors as "FILE:LINE:COLUMN: FIELD: what is wrong".
 *
 * Ownership: opc_json_file_close releases everything, including what `top` holds. Threads: one file, one thread. */

/* An item of a list, in the text. */
typedef struct opc_json_place {
  const char *at; /* its first character; NULL: none yet */
  size_t index;
  int line, column; /* from 1 */
} opc_json_place_t;

typedef struct opc_json_file {
  const char *name; /* the caller's */
  opc_text_t text;
  json_t *top;
  char *folder; /* folder of the file, for relative names in it; NULL: the current one */
  opc_error_t *error;
  opc_json_place_t last; /* the item whose place was asked for last */
} opc_json_file_t;

/* kind: "sample file", for messages. OPC_ERR_IO: unreadable; OPC_ERR_INPUT: not JSON, or a duplicate key in an object.
 * Close the file even after a failure. */
opc_status_t opc_json_file_open(opc_json_file_t *file, const char *name, const char *kind,
                                opc_error_t *error) OPC_CHECKED;
void opc_json_file_close(opc_json_file_t *file);

/* OPC_ERR_INPUT for a field given by its path from the top. */
opc_status_t opc_json_file_mistake(const opc_json_file_t *file, const char *field, const char *what);
/* The same inside LIST[index]; field is the path from that item. If `what` begins with field and ": ", as a reader's
 * message does, field is not repeated. */
opc_status_t opc_json_file_item_mistake(const opc_json_file_t *file, const char *list, size_t index, const char *field,
                                        const char *what);
/* The file must be {"format": FORMAT, LIST: […]} and nothing else; *out_items is borrowed. */
opc_status_t opc_json_file_items(const opc_json_file_t *file, const char *format, const char *list,
                                 const json_t **out_items) OPC_CHECKED;
/* "FILE:LINE" of LIST[index]; the caller frees; NULL: out of memory. Items that are asked for in their order cost one
 * walk through the text together. */
char *opc_json_file_place(opc_json_file_t *file, const char *list, size_t index);

/* For messages about files written by people. Line and column (from 1) of a field such as
 * "samples[2].args[1].tensor.shape" in well-formed JSON text. If the field does not exist: of the nearest enclosing
 * field that does. */
void opc_json_locate(const char *text, const char *field, int *out_line, int *out_column);
/* Moves `place` to an item of LIST, a member of the text's object. A place of the same list is gone on from, if it lies
 * before the item; one without `at` begins at the list. */
void opc_json_locate_item(const char *text, const char *list, size_t index, opc_json_place_t *place);
