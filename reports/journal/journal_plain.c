/* Most lines of a journal are results that passed or were skipped: objects of short texts, and of an object of numbers
 * that says what a pass rests on. Jansson takes ten microseconds for one, and a report reads each line twice. */
#include <stdlib.h>
#include <string.h>

#include "reports/journal/journal_index.h"

enum { KEY_LONGEST = 32, NUMBER_LONGEST = 40, DIGITS_OF_INTEGERS = 15, DEPTH_MOST = 3 };

typedef struct plain_reader {
  const char *at, *end;
} plain_reader_t;

static bool plain_take(plain_reader_t *reader, char expected) {
  if (reader->at >= reader->end || *reader->at != expected) return false;
  reader->at++;
  return true;
}

static bool plain_take_word(plain_reader_t *reader, const char *word) {
  const size_t length = strlen(word);
  if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
  reader->at += length;
  return true;
}

/* ASCII without escapes. */
static bool plain_take_text(plain_reader_t *reader, const char **out, size_t *out_length) {
  if (!plain_take(reader, '"')) return false;
  *out = reader->at;
  while (reader->at < reader->end && *reader->at >= 0x20 && *reader->at < 0x7f && *reader->at != '"' &&
         *reader->at != '\\')
    reader->at++;
  *out_length = (size_t)(reader->at - *out);
  return plain_take(reader, '"');
}

static size_t plain_take_digits(plain_reader_t *reader) {
  const char *first = reader->at;
  while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') reader->at++;
  return (size_t)(reader->at - first);
}

/* Without a sign; NULL: it is no such number. */
static json_t *plain_take_number(plain_reader_t *reader) {
  char text[NUMBER_LONGEST + 1];
  const char *first = reader->at;
  bool real = false;
  const size_t digits = plain_take_digits(reader);
  if (digits == 0 || digits > DIGITS_OF_INTEGERS || (*first == '0' && digits > 1)) return NULL;
  if (plain_take(reader, '.')) {
    real = true;
    if (plain_take_digits(reader) == 0) return NULL;
  }
  if (plain_take(reader, 'e') || plain_take(reader, 'E')) {
    real = true;
    if (!plain_take(reader, '-')) (void)plain_take(reader, '+');
    if (plain_take_digits(reader) == 0) return NULL;
  }
  const size_t length = (size_t)(reader->at - first);
  if (length > NUMBER_LONGEST) return NULL;
  memcpy(text, first, length);
  text[length] = '\0';
  return real ? json_real(strtod(text, NULL)) : json_integer(strtoll(text, NULL, 10));
}

static json_t *plain_take_object(plain_reader_t *reader, int depth);

static json_t *plain_take_value(plain_reader_t *reader, int depth) {
  const char *text;
  size_t length;
  if (reader->at < reader->end && *reader->at == '"')
    return plain_take_text(reader, &text, &length) ? json_stringn_nocheck(text, length) : NULL;
  if (plain_take_word(reader, "{}")) return json_object();
  if (plain_take(reader, '{')) return plain_take_object(reader, depth + 1);
  if (plain_take_word(reader, "null")) return json_null();
  if (plain_take_word(reader, "true")) return json_true();
  if (plain_take_word(reader, "false")) return json_false();
  return plain_take_number(reader);
}

static bool plain_take_member(plain_reader_t *reader, json_t *object, int depth) {
  const char *text;
  size_t length;
  char key[KEY_LONGEST + 1];
  if (!plain_take_text(reader, &text, &length) || length > KEY_LONGEST || !plain_take(reader, ':')) return false;
  memcpy(key, text, length);
  key[length] = '\0';
  if (json_object_get(object, key)) return false; /* the JSON report copies lines: a member may not come twice */
  return json_object_set_new_nocheck(object, key, plain_take_value(reader, depth)) == 0;
}

/* Behind its first bracket; NULL: it has no member, or one that is not plain. */
static json_t *plain_take_object(plain_reader_t *reader, int depth) {
  json_t *object = depth > DEPTH_MOST ? NULL : json_object();
  bool plain = object && plain_take_member(reader, object, depth);
  while (plain && plain_take(reader, ',')) plain = plain_take_member(reader, object, depth);
  if (plain && plain_take(reader, '}')) return object;
  json_decref(object);
  return NULL;
}

json_t *opc_journal_parse_plain(const char *line, size_t length) {
  plain_reader_t reader = {line, line + length};
  json_t *object = plain_take(&reader, '{') ? plain_take_object(&reader, 0) : NULL;
  if (object && reader.at == reader.end) return object;
  json_decref(object);
  return NULL;
}
