#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "model/json/json_read.h"

/* The text is known to be well-formed, because jansson has parsed it. Still, every loop stops at the NUL of a truncated
 * text. */
typedef struct cursor {
  const char *at;
  int line, column;
} cursor_t;

static void step(cursor_t *cursor) {
  if (*cursor->at == '\n') {
    cursor->line++;
    cursor->column = 1;
  } else if ((*cursor->at & 0xc0) != 0x80) { /* a multi-byte character is one column, counted at its first byte */
    cursor->column++;
  }
  cursor->at++;
}

static void json_locate_skip_space(cursor_t *cursor) {
  while (*cursor->at && strchr(" \t\r\n", *cursor->at)) step(cursor);
}

static void skip_string(cursor_t *cursor) {
  step(cursor);
  while (*cursor->at && *cursor->at != '"') {
    if (*cursor->at == '\\' && cursor->at[1]) step(cursor);
    step(cursor);
  }
  if (*cursor->at) step(cursor);
}

static void skip_value(cursor_t *cursor) {
  int depth = 0;
  do {
    char c = *cursor->at;
    if (c == '"') {
      skip_string(cursor);
      continue;
    }
    if (c == '{' || c == '[') depth++;
    if (c == '}' || c == ']') depth--;
    if (depth < 0) return; /* the end of the enclosing value */
    if (depth == 0 && c == ',') return;
    if (c) step(cursor);
  } while (*cursor->at && (depth > 0 || !strchr(",}]", *cursor->at)));
}

/* From the start of a value to that of the next one, or to the end of the list. */
static void skip_item(cursor_t *cursor) {
  skip_value(cursor);
  json_locate_skip_space(cursor);
  if (*cursor->at == ',') step(cursor);
  json_locate_skip_space(cursor);
}

/* One step of a path: a member's name or an index. */
typedef struct component {
  char key[256];
  bool is_index;
  size_t index;
} component_t;

/* Takes the next step from *field; false at its end or if it is malformed. */
static bool next_component(const char **field, component_t *out) {
  const char *at = *field, *begin, *end;
  if (*at == '.') at++;
  if (*at == '[' && isdigit((unsigned char)at[1])) {
    out->is_index = true;
    out->index = (size_t)strtoull(at + 1, (char **)(uintptr_t)&end, 10);
    if (*end != ']') return false;
    *field = end + 1;
    return true;
  }
  out->is_index = false;
  if (at[0] == '[' && at[1] == '"') {
    begin = at + 2;
    end = strstr(begin, "\"]");
    if (!end) return false;
    *field = end + 2;
  } else {
    begin = at;
    end = at + strcspn(at, ".[");
    *field = end;
  }
  size_t length = (size_t)(end - begin);
  if (length == 0 || length >= sizeof out->key) return false;
  memcpy(out->key, begin, length);
  out->key[length] = '\0';
  return true;
}

/* Whether the string literal at `literal` equals key after unescaping. */
static bool literal_is(const char *literal, size_t length, const char *key) {
  json_auto_t *json = json_loadb(literal, length, JSON_DECODE_ANY, NULL);
  bool same = json_is_string(json) && strcmp(json_string_value(json), key) == 0;
  return same;
}

/* Moves the cursor to the value of a member or item; *out_begin: start of the field, for a member its name. */
static bool descend(cursor_t *cursor, const component_t *component, cursor_t *out_begin) {
  if (*cursor->at != (component->is_index ? '[' : '{')) return false;
  step(cursor);
  json_locate_skip_space(cursor);
  for (size_t i = 0; *cursor->at && *cursor->at != ']' && *cursor->at != '}'; i++) {
    cursor_t begin = *cursor;
    bool found = component->is_index && i == component->index;
    if (!component->is_index) {
      skip_string(cursor);
      found = literal_is(begin.at, (size_t)(cursor->at - begin.at), component->key);
      json_locate_skip_space(cursor);
      if (*cursor->at == ':') step(cursor);
      json_locate_skip_space(cursor);
    }
    if (found) {
      *out_begin = begin;
      return true;
    }
    skip_item(cursor);
  }
  return false;
}

void opc_json_locate_item(const char *text, const char *list, size_t index, opc_json_place_t *place) {
  cursor_t cursor = {place->at, place->line, place->column}, begin;
  if (!place->at || place->index > index) {
    component_t first = {.is_index = true}, member = {.is_index = false};
    cursor = (cursor_t){text, 1, 1};
    place->index = 0;
    json_locate_skip_space(&cursor);
    if (!next_component(&list, &member) || !descend(&cursor, &member, &begin) || !descend(&cursor, &first, &begin))
      place->index = index; /* the nearest that there is */
  }
  while (place->index < index && *cursor.at) {
    skip_item(&cursor);
    place->index++;
  }
  place->at = cursor.at;
  place->line = cursor.line;
  place->column = cursor.column;
}

void opc_json_locate(const char *text, const char *field, int *out_line, int *out_column) {
  cursor_t cursor = {text, 1, 1};
  component_t component;
  json_locate_skip_space(&cursor);
  cursor_t begin = cursor;
  while (*field && next_component(&field, &component) && descend(&cursor, &component, &begin)) continue;
  *out_line = begin.line;
  *out_column = begin.column;
}
