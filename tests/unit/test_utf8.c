/* Text of unknown origin becomes text for JSON: invalid UTF-8 is made visible, valid UTF-8 stays unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

static void bad_bytes_are_shown(void **state) {
  static const struct {
    const char *bytes;
    size_t length;
    const char *shown;
  } rows[] = {
      {"plain", 5, "plain"},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
       "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"}, /* two, three and four bytes */
      {"a\xff"
       "b",
       3, "a\\xFFb"},
      {"\x80", 1, "\\x80"},                            /* a continuation alone */
      {"\xc0\xaf", 2, "\\xC0\\xAF"},                   /* longer than necessary */
      {"\xe0\x80\xaf", 3, "\\xE0\\x80\\xAF"},          /* the same in three */
      {"\xf0\x80\x80\xaf", 4, "\\xF0\\x80\\x80\\xAF"}, /* and four */
      {"\xed\xa0\x80", 3, "\\xED\\xA0\\x80"},          /* a surrogate */
      {"\xf4\x90\x80\x80", 4, "\\xF4\\x90\\x80\\x80"}, /* beyond U+10FFFF */
      {"\xe2\x82", 2, "\\xE2\\x82"},                   /* cut off */
      {"\xe2\x82z", 3, "\\xE2\\x82z"},                 /* broken off */
      {"a\0b", 3, "a\\x00b"},
      {"", 0, ""},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    opc_text_t text = {0};
    opc_text_add_utf8(&text, rows[i].bytes, rows[i].length);
    assert_string_equal(opc_text_c(&text), rows[i].shown);
    assert_int_equal(text.length, strlen(rows[i].shown));
    opc_text_clear(&text);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {cmocka_unit_test(bad_bytes_are_shown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
