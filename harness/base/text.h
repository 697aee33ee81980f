/* A growing string, for messages and JSON lines.
 *
 * Ownership: the caller owns the text and ends it with opc_text_clear. A zeroed text is empty and valid.
 * Errors: when memory runs out the text is marked failed and stays as it was; opc_text_c then returns what
 * there is. Threads: one text, one thread. Fork: safe. */
#ifndef OPC_BASE_TEXT_H
#define OPC_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/owned.h"
#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_text {
  char *data; /* NUL-terminated once something was added; may be NULL */
  size_t length, capacity;
  bool failed;
} opc_text_t;

void opc_text_add(opc_text_t *text, const char *string);                     /* NULL adds nothing */
void opc_text_add_bytes(opc_text_t *text, const char *bytes, size_t length); /* may hold NUL */
void opc_text_addf(opc_text_t *text, const char *format, ...) OPC_PRINTF(2, 3);
/* As opc_text_add_bytes, for words of unknown origin: what is no UTF-8 (or NUL) is shown as "\xFF", so that JSON can
 * carry it. */
void opc_text_add_utf8(opc_text_t *text, const char *bytes, size_t length);
void opc_text_reset(opc_text_t *text);          /* empties, keeps the memory */
void opc_text_clear(opc_text_t *text);          /* empties, frees */
const char *opc_text_c(const opc_text_t *text); /* never NULL; owned by the text */
char *opc_text_take(opc_text_t *text);          /* the caller frees; NULL when nothing was added or memory ran out */

/* strdup that maps NULL to NULL; the caller frees. */
char *opc_string_copy(const char *string);
/* As much of it as fits, NUL-terminated. What names every tensor of every call: printf takes ten times as long. */
void opc_string_put(char *out, size_t size, const char *string);
/* What follows the last slash of a path, inside it; all of it where there is none. */
const char *opc_base_name(const char *path);
/* printf into a new string; NULL when memory ran out; the caller frees. */
char *opc_string_format(const char *format, ...) OPC_PRINTF(1, 2);

#ifdef __cplusplus
}
#endif
#endif
