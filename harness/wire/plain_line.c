#include "wire/channel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  BEHIND_KEY = 0x02,
  BEHIND_MEMBER = 0x03,
  CONTROL_END = 0x20,
  KIND_TEXT = 't',
  KIND_REAL = 'r',
  KIND_EMPTY_OBJECT = 'o'
};

/* Control characters would be read as separators of members or lines. */
static bool is_plain(const char *text, size_t length) {
  bool plain = true;
  for (size_t i = 0; i < length; i++) plain &= (unsigned char)text[i] >= CONTROL_END;
  return plain;
}

/* 0: no kind. */
static char plain_line_kind_of(const json_t *value) {
  if (json_is_real(value)) return KIND_REAL;
  if (json_is_string(value) && is_plain(json_string_value(value), json_string_length(value))) return KIND_TEXT;
  return json_is_object(value) && json_object_size(value) == 0 ? KIND_EMPTY_OBJECT : 0;
}

/* A number is sent as its bits: decimal output depends on the locale, which an operator may have changed. */
static void add_real(opc_text_t *out, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  opc_text_addf(out, "%" PRIx64, bits);
}

static void add_byte(opc_text_t *out, char byte) { opc_text_add_bytes(out, &byte, 1); }

static bool add_member(opc_text_t *out, const char *key, const json_t *value) {
  char kind = plain_line_kind_of(value);
  size_t length = strlen(key);
  if (!kind || !is_plain(key, length)) return false;
  opc_text_add_bytes(out, key, length);
  add_byte(out, BEHIND_KEY);
  add_byte(out, kind);
  if (kind == KIND_TEXT) opc_text_add_bytes(out, json_string_value(value), json_string_length(value));
  if (kind == KIND_REAL) add_real(out, json_real_value(value));
  add_byte(out, BEHIND_MEMBER);
  return true;
}

bool opc_plain_line_write(opc_text_t *out, const json_t *object) {
  const char *key;
  json_t *value;
  opc_text_reset(out);
  add_byte(out, OPC_PLAIN_LINE_MARK);
  json_object_foreach((json_t *)object, key, value) if (!add_member(out, key, value)) return false;
  return true;
}

static json_t *read_real(const char *digits, const char *end) {
  char *after;
  double number;
  uint64_t bits = strtoull(digits, &after, 16);
  if (after != end) return NULL;
  memcpy(&number, &bits, sizeof number);
  return json_real(number); /* NULL: infinite or NaN */
}

static json_t *read_value(char kind, const char *value, const char *end) {
  if (kind == KIND_TEXT) return json_stringn(value, (size_t)(end - value));
  if (kind == KIND_REAL) return read_real(value, end);
  return kind == KIND_EMPTY_OBJECT && value == end ? json_object() : NULL;
}

json_t *opc_plain_line_read(char *line, size_t length) {
  json_t *object = json_object();
  char *end = line + length;
  for (char *key = line, *kind, *after; object && key < end; key = after + 1) {
    kind = memchr(key, BEHIND_KEY, (size_t)(end - key));
    after = memchr(key, BEHIND_MEMBER, (size_t)(end - key));
    if (!kind || !after || kind + 1 >= after) goto failed;
    *kind++ = *after = '\0';
    if (json_object_set_new(object, key, read_value(*kind, kind + 1, after)) != 0) goto failed;
  }
  return object;

failed:
  json_decref(object);
  return NULL;
}
