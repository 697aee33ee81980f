/* Builds JSON: from text that may not be UTF-8, and with members that may fail. Ownership: results are new references;
 * arguments are consumed, NULL included. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A JSON string; null for NULL. Bytes that are not UTF-8 (a file name, an operator's exception) appear as \xFF. NULL:
 * out of memory. */
json_t *opc_json_text(const char *text);
/* The same, but "" for NULL. */
json_t *opc_json_string(const char *text);

/* The string value of a member; NULL: none. Owned by the object. */
const char *opc_json_text_of(const json_t *object, const char *key);

/* An object under construction: becomes NULL once a member could not be created, and stays NULL in all later steps. */
void opc_json_put(json_t **object, const char *key, json_t *value);
void opc_json_append(json_t **array, json_t *value);
/* A list of `count` integers. */
json_t *opc_json_integers(const int64_t *values, size_t count);
