#include <ctype.h>
#include <string.h>
#include <xxhash.h>

#include "reports/problems/problem_merge.h"

static bool is_habit_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* How many bytes of `at`, which may be in a word, are this whole name; 0: it is another. */
static size_t name_at(const char *text, const char *at, const char *name) {
  const size_t length = strlen(name);
  if (length == 0 || strncmp(at, name, length) != 0 || is_habit_word(at[length])) return 0;
  return at == text || !is_habit_word(at[-1]) ? length : 0;
}

/* "[2, 3]" */
static size_t numbers_at(const char *at) {
  const size_t length = *at == '[' ? 1 + strspn(at + 1, "0123456789-, ") : 0;
  return length && at[length] == ']' ? length + 1 : 0;
}

void opc_habit_say(const opc_case_result_t *result, opc_text_t *out) {
  const char *operator_name = result->id.operator_name, *base = strstr(operator_name, "::"), *text = result->message;
  char without_overload[sizeof result->id.operator_name];
  snprintf(without_overload, sizeof without_overload, "%.*s", (int)strcspn(operator_name, "."), operator_name);
  const char *const names[] = {operator_name, without_overload, base ? base + 2 : "",
                               base ? without_overload + (base + 2 - operator_name) : "",
                               result->argument ? result->argument : ""};
  opc_text_add(out, "habit\n");
  for (const char *at = text; *at;) {
    size_t length = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names && length == 0; i++) length = name_at(text, at, names[i]);
    if (length) opc_text_add(out, "~");
    else if ((length = numbers_at(at))) opc_text_add(out, "[]");
    else opc_text_add_bytes(out, at, length = 1);
    at += length;
  }
}

uint64_t opc_habit_key(const opc_text_t *habit, const char *library) {
  const uint64_t key = XXH3_64bits_withSeed(opc_text_c(habit), habit->length, XXH3_64bits(library, strlen(library)));
  return key ? key : 1;
}
