/* A line format for objects that contain only strings, real numbers and empty objects, as most results do: a mark that
 * cannot begin JSON, then the key, type and value of each member, each member followed by a separator. Writing and
 * reading JSON examines every character several times: for an operator with 200 cases that took a tenth of all
 * processor time (measured).
 *
 * Ownership: the text and the object are the caller's. Threads: any. The line may come from a hostile process: whatever
 * it contains, reading it gives an object that JSON could represent, or NULL. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { OPC_PLAIN_LINE_MARK = 0x01 };

/* Writes the line, without a newline, and replaces the old content. False: a member has another type, or a string has a
 * control character. */
bool opc_plain_line_write(opc_text_t *out, const json_t *object);
/* Reads the line after the mark; overwrites the bytes. NULL: not such a line, or out of memory. */
json_t *opc_plain_line_read(char *line, size_t length);
