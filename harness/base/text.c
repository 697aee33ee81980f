#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool text_reserve(opc_text_t *text, size_t more) {
  if (text->failed) return false;
  size_t needed = text->length + more + 1;
  if (needed <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 64;
  while (capacity < needed) capacity *= 2;
  char *data = realloc(text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void opc_text_add_bytes(opc_text_t *text, const char *bytes, size_t length) {
  if (!text_reserve(text, length)) return;
  if (length) memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void opc_text_add(opc_text_t *text, const char *string) {
  if (string) opc_text_add_bytes(text, string, strlen(string));
}

static void text_addv(opc_text_t *text, const char *format, va_list arguments) {
  va_list again;
  if (!text_reserve(text, 0)) return;
  size_t room = text->capacity - text->length;
  va_copy(again, arguments);
  int length = vsnprintf(text->data + text->length, room, format, again); /* most texts fit at the first try */
  va_end(again);
  if (length >= 0 && (size_t)length >= room && text_reserve(text, (size_t)length))
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
  if (length < 0 || text->failed) text->data[text->length] = '\0';
  else text->length += (size_t)length;
}

void opc_text_addf(opc_text_t *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  text_addv(text, format, arguments);
  va_end(arguments);
}

/* Length of the UTF-8 sequence at `bytes`; 0: none starts there. Shortest forms only, no surrogates, at most U+10FFFF
 * (RFC 3629). */
static size_t utf8_sequence(const unsigned char *bytes, size_t length) {
  unsigned char first = bytes[0];
  if (first < 0x80) return first != 0;
  size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || size > length) return 0;
  for (size_t i = 1; i < size; i++)
    if ((bytes[i] & 0xc0) != 0x80) return 0;
  if ((first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f) || (first == 0xf0 && bytes[1] < 0x90) ||
      (first == 0xf4 && bytes[1] > 0x8f))
    return 0;
  return size;
}

void opc_text_add_utf8(opc_text_t *text, const char *bytes, size_t length) {
  size_t good = 0; /* start of the valid bytes that are not yet added */
  for (size_t i = 0; i < length;) {
    size_t size = utf8_sequence((const unsigned char *)bytes + i, length - i);
    if (size) {
      i += size;
      continue;
    }
    opc_text_add_bytes(text, bytes + good, i - good);
    opc_text_addf(text, "\\x%02X", (unsigned char)bytes[i]);
    good = ++i;
  }
  opc_text_add_bytes(text, bytes + good, length - good);
}

void opc_text_reset(opc_text_t *text) {
  text->length = 0;
  text->failed = false;
  if (text->data) text->data[0] = '\0';
}

void opc_text_clear(opc_text_t *text) {
  free(text->data);
  *text = (opc_text_t){0};
}

const char *opc_text_c(const opc_text_t *text) { return text->data ? text->data : ""; }

char *opc_text_take(opc_text_t *text) {
  char *data = text->failed ? NULL : text->data;
  if (text->failed) free(text->data);
  *text = (opc_text_t){0};
  return data;
}

char *opc_string_copy(const char *string) { return string ? strdup(string) : NULL; }

opc_status_t opc_string_copy_to(const char *string, char **out, opc_error_t *error) {
  *out = opc_string_copy(string);
  return *out || !string ? OPC_OK : opc_out_of_memory(error);
}

bool opc_string_begins(const char *text, const char *beginning) {
  return strncmp(text, beginning, strlen(beginning)) == 0;
}

bool opc_string_ends(const char *text, const char *ending) {
  const size_t length = strlen(text), size = strlen(ending);
  return length >= size && strcmp(text + length - size, ending) == 0;
}

void opc_string_put(char *out, size_t size, const char *string) {
  size_t length = strnlen(string, size - 1);
  memcpy(out, string, length);
  out[length] = '\0';
}

char *opc_string_format(const char *format, ...) {
  opc_text_t text = {0};
  va_list arguments;
  va_start(arguments, format);
  text_addv(&text, format, arguments);
  va_end(arguments);
  return opc_text_take(&text);
}

const char *opc_base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool opc_is_plain_word(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-') return false;
  return length > 0;
}
