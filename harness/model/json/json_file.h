/* A JSON file written by a person: its text, its content, and errors as "FILE:LINE:COLUMN: FIELD: what is wrong".
 *
 * Ownership: opc_json_file_close releases everything, including what `top` holds. Threads: one file, one thread. */
#pragma once

#include "base/text.h"
#include "model/json/json_read.h"

typedef struct opc_json_file {
  const char *name; /* the caller's */
  opc_text_t text;
  json_t *top;
  char *folder; /* folder of the file, for relative names in it; NULL: the current one */
  opc_error_t *error;
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
/* "FILE:LINE" of LIST[index]; the caller frees; NULL: out of memory. */
char *opc_json_file_place(const opc_json_file_t *file, const char *list, size_t index);

/* For messages about files written by people. Line and column (from 1) of a field such as
 * "samples[2].args[1].tensor.shape" in well-formed JSON text. If the field does not exist: of the nearest enclosing
 * field that does. */
void opc_json_locate(const char *text, const char *field, int *out_line, int *out_column);
