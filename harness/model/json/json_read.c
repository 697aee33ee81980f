#include "model/json/json_read.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static bool is_identifier(const char *key) {
  if (!*key || isdigit((unsigned char)*key)) return false;
  for (; *key; key++)
    if (!isalnum((unsigned char)*key) && *key != '_') return false;
  return true;
}

size_t opc_json_enter(opc_json_reader_t *reader, const char *key) {
  size_t before = strlen(reader->path), room = sizeof reader->path - before;
  if (is_identifier(key)) snprintf(reader->path + before, room, "%s%s", before ? "." : "", key);
  else snprintf(reader->path + before, room, "[\"%s\"]", key);
  return before;
}

size_t opc_json_enter_index(opc_json_reader_t *reader, size_t index) {
  size_t before = strlen(reader->path);
  snprintf(reader->path + before, sizeof reader->path - before, "[%zu]", index);
  return before;
}

void opc_json_leave(opc_json_reader_t *reader, size_t before) { reader->path[before] = '\0'; }

opc_status_t opc_json_fail(opc_json_reader_t *reader, const char *format, ...) {
  if (!reader->error) return OPC_ERR_INPUT;
  char what[OPC_ERROR_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  return opc_error_set(reader->error, OPC_ERR_INPUT, "%s%s%s", reader->path, reader->path[0] ? ": " : "", what);
}

/* Levenshtein distance, ignoring case; words longer than the row count as completely different. */
static size_t word_distance(const char *left, const char *right) {
  enum { LONGEST = 64 };
  size_t row[LONGEST + 1], left_length = strlen(left), right_length = strlen(right);
  if (left_length > LONGEST || right_length > LONGEST) return LONGEST;
  for (size_t j = 0; j <= right_length; j++) row[j] = j;
  for (size_t i = 1; i <= left_length; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= right_length; j++) {
      size_t replaced = diagonal + (tolower((unsigned char)left[i - 1]) != tolower((unsigned char)right[j - 1]));
      size_t shifted = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);
      diagonal = row[j];
      row[j] = replaced < shifted ? replaced : shifted;
    }
  }
  return row[right_length];
}

/* Like "eps" and "epsilon": one is a prefix of the other. */
static bool is_short_for(const char *left, const char *right) {
  size_t left_length = strlen(left), right_length = strlen(right),
         shorter = left_length < right_length ? left_length : right_length;
  return shorter >= 3 && strncasecmp(left, right, shorter) == 0;
}

const char *opc_json_nearest(const char *word, const char *const *known) {
  const char *nearest = NULL;
  size_t best = (strlen(word) + 1) / 2 + 1; /* if half of the word is wrong, it is another word */
  for (; *known; known++) {
    size_t distance = is_short_for(word, *known) ? 1 : word_distance(word, *known);
    if (distance < best && distance < strlen(*known)) {
      best = distance;
      nearest = *known;
    }
  }
  return nearest;
}

opc_status_t opc_json_check_fields(opc_json_reader_t *reader, const json_t *object, const char *const *known) {
  for (void *at = json_object_iter((json_t *)(uintptr_t)object); at;
       at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
    const char *key = json_object_iter_key(at);
    size_t i = 0;
    while (known[i] && strcmp(known[i], key) != 0) i++;
    if (known[i]) continue;

    OPC_SCOPED(opc_text_clear) opc_text_t all = {0};
    for (i = 0; known[i]; i++) opc_text_addf(&all, "%s%s", i ? ", " : "", known[i]);
    const char *nearest = opc_json_nearest(key, known);
    opc_json_enter(reader, key);
    return nearest ? opc_json_fail(reader, "no such field, did you mean \"%s\"? (known here: %s)", nearest,
                                   opc_text_c(&all))
                   : opc_json_fail(reader, "no such field (known here: %s)", opc_text_c(&all));
  }
  return OPC_OK;
}

const char *opc_json_what(const json_t *json, char *out, size_t size) {
  if (!json) snprintf(out, size, "nothing");
  else if (json_is_null(json)) snprintf(out, size, "null");
  else if (json_is_boolean(json)) snprintf(out, size, "%s", json_is_true(json) ? "true" : "false");
  else if (json_is_integer(json)) snprintf(out, size, "%" JSON_INTEGER_FORMAT, json_integer_value(json));
  else if (json_is_real(json)) snprintf(out, size, "%.17g", json_real_value(json));
  else if (json_is_string(json)) snprintf(out, size, "\"%.40s\"", json_string_value(json));
  else if (json_is_array(json)) snprintf(out, size, "a list");
  else snprintf(out, size, "an object");
  return out;
}

opc_status_t opc_json_read_integer(opc_json_reader_t *reader, const json_t *json, int64_t lowest, int64_t *out) {
  char what[64];
  if (!json_is_integer(json))
    return opc_json_fail(reader, "expected an integer, not %s", opc_json_what(json, what, sizeof what));
  *out = json_integer_value(json);
  if (*out >= lowest) return OPC_OK;
  if (lowest == 0) return opc_json_fail(reader, "%lld is negative", (long long)*out);
  return opc_json_fail(reader, "%lld is too small, the least is %lld", (long long)*out, (long long)lowest);
}

opc_status_t opc_json_read_boolean(opc_json_reader_t *reader, const json_t *json, bool *out) {
  char what[64];
  if (!json_is_boolean(json))
    return opc_json_fail(reader, "expected true or false, not %s", opc_json_what(json, what, sizeof what));
  *out = json_is_true(json);
  return OPC_OK;
}

opc_status_t opc_json_read_string(opc_json_reader_t *reader, const json_t *json, const char **out) {
  char what[64];
  if (!json_is_string(json))
    return opc_json_fail(reader, "expected a string, not %s", opc_json_what(json, what, sizeof what));
  *out = json_string_value(json);
  return OPC_OK;
}
