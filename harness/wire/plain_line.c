#include "wire/channel.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
  BEHIND_KEY = 0x02,
  BEHIND_VALUE = 0x03,
  BEHIND_GROUP = 0x04, /* the last value of an object or an array */
  CONTROL_END = 0x20,
  KIND_TEXT = 't',
  KIND_REAL = 'r',
  KIND_INTEGER = 'i',
  KIND_WORD = 'w', /* true, false or null: T, F or N */
  KIND_OBJECT = 'o',
  KIND_ARRAY = 'a',
  DEPTH_MAX = 64
};

/* ---- writing ---- */

/* Control characters would be read as separators of values or lines. */
static bool is_plain(const char *text, size_t length) {
  bool plain = true;
  for (size_t i = 0; i < length; i++) plain &= (unsigned char)text[i] >= CONTROL_END;
  return plain;
}

static void add_byte(opc_text_t *out, char byte) { opc_text_add_bytes(out, &byte, 1); }

/* A number is sent as its bits: decimal output depends on the locale, which an operator may have changed. */
static void plain_line_add_bits(opc_text_t *out, char kind, uint64_t bits) {
  char text[1 + 16];
  size_t at = sizeof text;
  do text[--at] = "0123456789abcdef"[bits & 15];
  while ((bits >>= 4) != 0);
  text[--at] = kind;
  opc_text_add_bytes(out, text + at, sizeof text - at);
}

static bool add_text(opc_text_t *out, const char *text, size_t length) {
  opc_text_add_bytes(out, text, length);
  return is_plain(text, length);
}

static bool plain_line_add_value(opc_text_t *out, const json_t *value, int depth);

static bool add_members(opc_text_t *out, const json_t *object, int depth) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)object, key, value) {
    if (!add_text(out, key, strlen(key))) return false;
    add_byte(out, BEHIND_KEY);
    if (!plain_line_add_value(out, value, depth)) return false;
  }
  return true;
}

static bool add_items(opc_text_t *out, const json_t *array, int depth) {
  for (size_t i = 0; i < json_array_size(array); i++)
    if (!plain_line_add_value(out, json_array_get(array, i), depth)) return false;
  return true;
}

static bool plain_line_add_value(opc_text_t *out, const json_t *value, int depth) {
  uint64_t bits;
  double number;
  bool plain = depth < DEPTH_MAX;
  switch (json_typeof(value)) {
    case JSON_STRING:
      add_byte(out, KIND_TEXT);
      plain &= add_text(out, json_string_value(value), json_string_length(value));
      break;
    case JSON_REAL:
      number = json_real_value(value);
      memcpy(&bits, &number, sizeof bits);
      plain_line_add_bits(out, KIND_REAL, bits);
      break;
    case JSON_INTEGER:
      plain_line_add_bits(out, KIND_INTEGER, (uint64_t)json_integer_value(value));
      break;
    case JSON_OBJECT:
      add_byte(out, KIND_OBJECT);
      plain = plain && add_members(out, value, depth + 1);
      add_byte(out, BEHIND_GROUP);
      return plain;
    case JSON_ARRAY:
      add_byte(out, KIND_ARRAY);
      plain = plain && add_items(out, value, depth + 1);
      add_byte(out, BEHIND_GROUP);
      return plain;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
      add_byte(out, KIND_WORD);
      add_byte(out, json_is_true(value) ? 'T' : json_is_false(value) ? 'F' : 'N');
  }
  add_byte(out, BEHIND_VALUE);
  return plain;
}

bool opc_plain_line_write(opc_text_t *out, const json_t *object) {
  opc_text_reset(out);
  add_byte(out, OPC_PLAIN_LINE_MARK);
  return add_members(out, object, 0);
}

/* ---- reading ---- */

typedef struct plain_reader {
  char *at, *end;
} plain_reader_t;

/* The text up to the separator, which becomes NUL; the reader stands behind it. NULL: there is none. */
static char *plain_line_cut(plain_reader_t *reader, char separator, size_t *out_length) {
  char *text = reader->at, *found = memchr(text, separator, (size_t)(reader->end - text));
  if (!found) return NULL;
  *found = '\0';
  *out_length = (size_t)(found - text);
  reader->at = found + 1;
  return text;
}

static json_t *read_number(char kind, const char *digits, size_t length) {
  char *after;
  double number;
  const uint64_t bits = strtoull(digits, &after, 16);
  if (length == 0 || length > 16 || strspn(digits, "0123456789abcdef") != length || after != digits + length)
    return NULL;
  memcpy(&number, &bits, sizeof number);
  return kind == KIND_REAL ? json_real(number) /* NULL: infinite or NaN */ : json_integer((json_int_t)bits);
}

static json_t *plain_line_read_word(const char *word, size_t length) {
  if (length != 1) return NULL;
  return *word == 'T' ? json_true() : *word == 'F' ? json_false() : *word == 'N' ? json_null() : NULL;
}

static json_t *plain_line_read_value(plain_reader_t *reader, int depth);

/* The group ends here; the reader goes on behind its end. */
static bool ends_group(plain_reader_t *reader, int depth) {
  if (depth == 0) return reader->at == reader->end;
  if (reader->at == reader->end || *reader->at != BEHIND_GROUP) return false;
  reader->at++;
  return true;
}

static json_t *read_members(plain_reader_t *reader, int depth) {
  json_auto_t *object = json_object();
  while (object && !ends_group(reader, depth)) {
    size_t length;
    const char *key = plain_line_cut(reader, BEHIND_KEY, &length);
    if (!key || !is_plain(key, length) || json_object_set_new(object, key, plain_line_read_value(reader, depth)) != 0)
      return NULL;
  }
  return json_incref(object);
}

static json_t *plain_line_read_items(plain_reader_t *reader, int depth) {
  json_auto_t *array = json_array();
  while (array && !ends_group(reader, depth))
    if (json_array_append_new(array, plain_line_read_value(reader, depth)) != 0) return NULL;
  return json_incref(array);
}

static json_t *plain_line_read_value(plain_reader_t *reader, int depth) {
  if (reader->at == reader->end || depth >= DEPTH_MAX) return NULL;
  const char kind = *reader->at++;
  if (kind == KIND_OBJECT) return read_members(reader, depth + 1);
  if (kind == KIND_ARRAY) return plain_line_read_items(reader, depth + 1);
  size_t length;
  const char *value = plain_line_cut(reader, BEHIND_VALUE, &length);
  if (!value || !is_plain(value, length)) return NULL;
  if (kind == KIND_TEXT) return json_stringn(value, length);
  if (kind == KIND_WORD) return plain_line_read_word(value, length);
  return kind == KIND_REAL || kind == KIND_INTEGER ? read_number(kind, value, length) : NULL;
}

json_t *opc_plain_line_read(char *line, size_t length) {
  plain_reader_t reader = {.at = line, .end = line + length};
  return read_members(&reader, 0);
}
