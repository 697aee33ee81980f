/* The arguments of a schema available only as text, such as those of a class's methods. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "model/schema/schema.h"

/* Length up to the first of `ends` outside parentheses and quotes. */
static size_t length_until(const char *text, const char *ends) {
  size_t length = 0;
  char quote = 0;
  for (int depth = 0; text[length]; length++) {
    char c = text[length];
    if (quote) {
      if (c == '\\' && text[length + 1]) length++;
      else if (c == quote) quote = 0;
      continue;
    }
    if (depth == 0 && strchr(ends, c)) break;
    if (c == '"' || c == '\'') quote = c;
    else if (strchr("([{", c)) depth++;
    else if (strchr(")]}", c)) depth--;
  }
  return length;
}

/* "Type name=default" */
static opc_status_t schema_text_read_argument(const char *text, size_t length, opc_argument_t *out,
                                              opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *whole = strndup(text, length);
  if (!whole) return opc_out_of_memory(error);
  size_t declared = length_until(whole, "=");
  if (whole[declared]) {
    out->has_default = true;
    out->default_text = opc_string_copy(whole + declared + 1);
    whole[declared] = '\0';
  }
  char *name = strrchr(whole, ' ');
  if (name) *name++ = '\0';
  out->name = opc_string_copy(name ? name : "");
  out->type_text = opc_string_copy(whole);
  if (!out->name || !out->type_text || (out->has_default && !out->default_text)) return opc_out_of_memory(error);
  return opc_type_parse(out->type_text, &out->type, error);
}

opc_status_t opc_schema_arguments(const char *schema, opc_operator_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_operator_clear) opc_operator_t op = {0};
  *out = op;
  const char *at = schema + strcspn(schema, "(");
  if (!*at) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "a schema without arguments: %.200s", schema);
  op.schema = opc_string_copy(schema);
  op.arguments = calloc(strlen(at) + 1, sizeof *op.arguments); /* an upper bound */
  if (!op.schema || !op.arguments) return opc_out_of_memory(error);
  bool kwarg_only = false;
  while (*at && *at != ')') {
    at += 1 + strspn(at + 1, " ");
    size_t length = length_until(at, ",)");
    if (length == 1 && *at == '*') {
      kwarg_only = true;
    } else if (length) {
      opc_argument_t *argument = &op.arguments[op.argument_count++];
      argument->kwarg_only = kwarg_only;
      OPC_RETURN_IF_ERROR(schema_text_read_argument(at, length, argument, error));
    }
    at += length;
  }
  OPC_MOVE(out, op);
  return OPC_OK;
}

static const struct {
  const char *names, *words;
} rows[] = {
#define OPC_ARGUMENT_WORDS(names, words) {names, words},
#include "model/schema/argument_words.def"
#undef OPC_ARGUMENT_WORDS
};

/* The word begins here, and a part of the name ends after it. A search asks this a thousand times a try: the first
 * letter decides most of it. */
static bool begins_with(const char *part, const char *word, size_t size) {
  return tolower((unsigned char)part[0]) == tolower((unsigned char)word[0]) && strncasecmp(part, word, size) == 0 &&
         (part[size] == '_' || part[size] == '\0');
}

bool opc_argument_is_named(const char *name, const char *words) {
  for (const char *word = words; *word;) {
    size_t size = 0;
    while (word[size] && word[size] != ' ') size++;
    for (const char *part = name, *end; part; part = end ? end + 1 : NULL) {
      if (begins_with(part, word, size)) return true;
      end = strchr(part, '_');
    }
    word += size;
    word += strspn(word, " ");
  }
  return false;
}

const char *opc_argument_words(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (opc_argument_is_named(name, rows[i].names)) return rows[i].words;
  return NULL;
}
