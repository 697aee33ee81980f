#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "reports/journal/journal_index.h"

/* What is read at all is what jansson reads. */
static void plain_lines_are_read_as_jansson_reads_them(void **state) {
  (void)state;
  static const char *const lines[] = {
      "{\"t\":\"result\",\"case\":\"n::op/meta/cpu/-/s/plain\",\"message\":\"fine, and 'so' on\",\"evidence\":{}}",
      "{\"a\":0,\"b\":12,\"c\":123456789012345,\"d\":0.5,\"e\":0.0044457799995143432,\"f\":1e3,\"g\":2.5E-7,\"h\":3e+"
      "2}",
      "{\"a\":null,\"b\":true,\"c\":false,\"\":\"\"}",
      "{\"evidence\":{\"calls\":3,\"compared\":12},\"seconds\":0.25}",
      "{\"a\":{\"b\":{\"c\":{\"d\":{}}}}}",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    json_t *ours = opc_journal_parse_plain(lines[i], strlen(lines[i])), *theirs = json_loads(lines[i], 0, NULL);
    assert_non_null(ours);
    assert_true(json_equal(ours, theirs));
    json_decref(ours);
    json_decref(theirs);
  }
}

static void other_lines_are_left_to_jansson(void **state) {
  (void)state;
  static const char *const lines[] = {
      "",
      "{",
      "{}",
      "[]",
      "{\"a\"}",
      "{\"a\":}",
      "{\"a\":1",
      "{\"a\":1}x",
      "{\"a\":1,}",
      "{\"a\": 1}",
      "{\"a\":1,\"a\":2}",
      "{\"a\":01}",
      "{\"a\":-1}",
      "{\"a\":1.}",
      "{\"a\":1e}",
      "{\"a\":.5}",
      "{\"a\":1e999}",
      "{\"a\":nul}",
      "{\"a\":[]}",
      "{\"a\":{\"b\":1}",
      "{\"a\":{\"b\":1,}}",
      "{\"a\":{\"b\":[]}}",
      "{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":1}}}}}}",
      "{\"a\":\"\\n\"}",
      "{\"a\":\"\x01\"}",
      "{\"a\":\"\xc3\xa9\"}",
      "{\"a\":1234567890123456}",
  };
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
    if (opc_journal_parse_plain(lines[i], strlen(lines[i]))) fail_msg("%s", lines[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_lines_are_read_as_jansson_reads_them),
      cmocka_unit_test(other_lines_are_left_to_jansson),
  };
  return cmocka_run_group_tests_name("plain lines of a journal", tests, NULL, NULL);
}
