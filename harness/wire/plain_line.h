/* Objects of texts, real numbers and empty objects alone, which most results are, as a line of their own kind: a mark
 * that no JSON begins with, then for each member its key, what kind it is of and its value, each member closed by a
 * separator. To write and to read JSON looks at every character several times: of an operator's battery of 200 cases
 * that was a tenth of all its processor time (measured).
 *
 * Ownership: the text and the object are the caller's. Threads: any. The line may come from a hostile process: whatever
 * it holds, reading it gives an object as JSON could have held it, or NULL. */
#ifndef OPC_WIRE_PLAIN_LINE_H
#define OPC_WIRE_PLAIN_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { OPC_PLAIN_LINE_MARK = 0x01 };

/* Writes the line, without a newline, in the place of what was there. False: a member is of another kind, or a text has
 * a control character. */
bool opc_plain_line_write(opc_text_t *out, const json_t *object);
/* What stands behind the mark; the bytes are overwritten. NULL: it is no such line, or memory ran out. */
json_t *opc_plain_line_read(char *line, size_t length);

#endif
