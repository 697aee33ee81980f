/* The words that an error message names as values of a string argument. */
#include "search/repair/search_repair.h"

#include "base/text.h"
#include "unit.h"

static void add_word(const char *word, size_t length, void *context) {
  opc_text_addf(context, "%.*s|", (int)length, word);
}

static void test_words(void **state) {
  (void)state;
  static const struct {
    const char *message, *words;
  } rows[] = {
      {"mode must be 'nearest', 'up' or 'down'", "nearest|, |up| or |down|nearest|down|"},
      {"expected \"mean\", got \"x\"", "mean|, got |x|"},
      {"reduce must be either add or multiply", "add|multiply|either|add|multiply|"},
      {"unknown activation", ""},
      {"it's wrong", ""},
      {"", ""},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_text_t words = {0};
    opc_refusal_words(rows[i].message, add_word, &words);
    assert_string_equal(opc_text_c(&words), rows[i].words);
    opc_text_clear(&words);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
