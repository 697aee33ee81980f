/* Case ids and the text of verdicts. */
#include "unit.h"

#include <string.h>

#include "model/case/case.h"

static void test_round_trip(void **state) {
  (void)state;
  static const char *const ids[] = {
      "my_ops::copy/alias/cpu/float32/image/plain",
      "ns::op.overload/registration/-/-/-/-",
      "ns::op/stride/cuda-sim/bfloat16/s-0123abcd/x.transposed+y.sliced",
      "ns::op/stride/cpu/int64/a name: with spaces/tensors[1].expanded0",
  };
  for (size_t i = 0; i < COUNT(ids); i++) {
    opc_case_id_t id;
    opc_error_t error = {0};
    char text[OPC_CASE_ID_SIZE];
    assert_ok(opc_case_id_parse(ids[i], &id, &error), error);
    opc_case_id_format(&id, text);
    assert_string_equal(text, ids[i]);
  }
  opc_case_id_t id;
  assert_int_equal(opc_case_id_parse(ids[1], &id, NULL), OPC_OK);
  assert_string_equal(id.operator_name, "ns::op.overload");
  assert_string_equal(id.check, "registration");
  assert_string_equal(id.sample, ""); /* "-" means none */
}

static void test_a_name_with_slashes(void **state) {
  (void)state;
  opc_case_id_t id;
  assert_int_equal(opc_case_id_parse("ns::a/b/c/alias/cpu/-/-/-", &id, NULL), OPC_OK);
  assert_string_equal(id.operator_name, "ns::a/b/c");
  assert_string_equal(id.check, "alias");
}

static void test_mistakes(void **state) {
  (void)state;
#define FORM "ns::op.overload/check/device/dtype/SAMPLE/VARIANT, \"-\" for a part that does not apply"
  static const struct {
    const char *text, *message;
  } rows[] = {
      {NULL, "no case id; it looks like " FORM},
      {"", "case id \"\" has 1 parts, not 6; it looks like " FORM},
      {"ns::op/alias", "case id \"ns::op/alias\" has 2 parts, not 6; it looks like " FORM},
      {"ns::op//cpu/-/-/-", "the check of the case id is empty; it looks like " FORM},
      {"op/a/b/c/d/e", "\"op\" is not an operator's name; a case id looks like " FORM},
      {"-/a/b/c/d/e", "\"-\" is not an operator's name; a case id looks like " FORM},
      {"ns::op/alias/0123456789abcdef/-/-/-", "the device of the case id has 16 characters, more than the 15 that fit"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_case_id_t id;
    opc_error_t error = {0};
    assert_int_equal(opc_case_id_parse(rows[i].text, &id, &error), OPC_ERR_USAGE);
    assert_string_equal(error.message, rows[i].message);
  }
}

static void test_changed_arguments(void **state) {
  (void)state;
  static const struct {
    const char *variant;
    size_t length;
  } rows[] = {{"x.sliced", 1},
              {"tensors[1].sliced+x.offset", 7},
              {"tensors[1]", 7},
              {"all.sliced", 0},
              {"allowed.sliced", 7},
              {"add.called", 0},
              {"plain", 0},
              {"used", 0},
              {"", 0}};
  for (size_t i = 0; i < COUNT(rows); i++)
    if (opc_case_changed_argument(rows[i].variant) != rows[i].length) fail_msg("%s", rows[i].variant);
}

static void test_words(void **state) {
  (void)state;
  for (int i = 0; i < OPC_VERDICT_COUNT; i++)
    assert_int_equal(opc_verdict_find(opc_verdict_name((opc_verdict_kind_t)i)), i);
  assert_int_equal(opc_verdict_find("passed"), -1);
  assert_int_equal(opc_verdict_find(NULL), -1);
  assert_string_equal(opc_skip_reason_name(OPC_SKIP_FAKE_IN_PYTHON), "fake_in_python");
  assert_string_equal(opc_skip_reason_name(OPC_SKIP_NONE), "");
  assert_string_equal(opc_severity_name(OPC_SEVERITY_WARNING), "warning");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_a_name_with_slashes),
                                     cmocka_unit_test(test_mistakes), cmocka_unit_test(test_changed_arguments),
                                     cmocka_unit_test(test_words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
