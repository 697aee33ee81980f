/* A growing string, for messages and JSON lines.
 *
 * Ownership: the caller owns the text and releases it with opc_text_clear. A zeroed text is empty and valid. Errors:
 * when memory runs out, the text is marked as failed and keeps its content; opc_text_c still returns that content.
 * Threads: one text, one thread. Fork: safe. */
#pragma once

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
void opc_text_add_bytes(opc_text_t *text, const char *bytes, size_t length); /* may contain NUL */
void opc_text_addf(opc_text_t *text, const char *format, ...) OPC_PRINTF(2, 3);
/* Like opc_text_add_bytes, for text of unknown origin: NUL and bytes that are not UTF-8 appear as "\xFF", so that JSON
 * can hold them. */
void opc_text_add_utf8(opc_text_t *text, const char *bytes, size_t length);
void opc_text_reset(opc_text_t *text);          /* empties, keeps the memory */
void opc_text_clear(opc_text_t *text);          /* empties, frees */
const char *opc_text_c(const opc_text_t *text); /* never NULL; owned by the text */
char *opc_text_take(opc_text_t *text);          /* the caller frees; NULL: empty or out of memory */

/* strdup that maps NULL to NULL; the caller frees. */
char *opc_string_copy(const char *string);
/* The same with a status. */
opc_status_t opc_string_copy_to(const char *string, char **out, opc_error_t *error);
bool opc_string_begins(const char *text, const char *beginning);
bool opc_string_ends(const char *text, const char *ending);
/* Copies as much as fits, NUL-terminated. Used for the name of every tensor in every call: printf is ten times as
 * slow. */
void opc_string_put(char *out, size_t size, const char *string);
/* The part of a path after its last slash (a pointer into it); all of it if there is no slash. */
const char *opc_base_name(const char *path);
/* Letters, digits, '_' and '-', one at least: such a word can be part of a case's name. */
bool opc_is_plain_word(const char *text, size_t length);
/* printf into a new string; NULL: out of memory; the caller frees. */
char *opc_string_format(const char *format, ...) OPC_PRINTF(1, 2);

/* Text for people. No verdict may depend on its words: tests/scrambled builds programs in which they are others. */

/* Every message and phrase passes here where it is made. Does nothing, but with OPC_SCRAMBLE_WORDS it replaces each
 * letter by another one: the length and what is not ASCII stay. Text of libtorch that is still to be read
 * (bridge/api/torch_texts.def) does not pass. NULL is accepted. */
void opc_words_out(char *text);

#ifdef __cplusplus
}
#endif
