#include "report_journal.h"

static json_t *report_of(const char *journal) {
  opc_journal_reader_t *reader = journal_of(journal);
  char *text = report_text(&opc_report_json, reader, OPC_OK);
  json_error_t error;
  json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);
  if (!json) fail_msg("line %d: %s\n%s", error.line, error.text, text);
  free(text);
  opc_journal_reader_close(reader);
  return json;
}

/* A member of a member; for a list, of its first item. */
static json_t *at(json_t *json, const char *outer, const char *inner) {
  json_t *member = json_object_get(json, outer);
  if (inner && json_is_array(member)) member = json_array_get(member, 0);
  if (inner) member = json_object_get(member, inner);
  if (!member) fail_msg("no %s.%s", outer, inner ? inner : "");
  return member;
}

static void the_format_is_whole(void **state) {
  (void)state;
  json_t *json = report_of(RUN_LINE TOOL_LINE LIBRARY_LINE("l.so") OPERATOR_LINE(
      "n::a",
      "l.so") "{\"t\":\"class\",\"name\":\"n.C\",\"library\":\"l.so\",\"methods\":[{\"name\":\"f\",\"schema\":\"f() -> "
              "int\"}]}\n"
              "{\"t\":\"sample_source\",\"operator\":\"n::a\",\"source\":\"recorded\",\"detail\":\"calls.json\"}\n"
              "{\"t\":\"note\",\"message\":\"look\"}\n" FAIL_LINE("n::a", "meta", "cpu/-/s/plain", "meta.stride")
                               END_LINE(1));
  assert_string_equal(json_string_value(at(json, "format", NULL)), "opcheck-c/report/1");
  assert_string_equal(json_string_value(at(json, "tool", "version")), "9.9");
  assert_string_equal(json_string_value(at(json, "tool", "torch")), "2.11.0");
  assert_int_equal(json_integer_value(at(json, "run", "seed")), 7);
  assert_true(json_is_true(at(json, "run", "complete")));
  assert_true(json_number_value(at(json, "run", "seconds")) == 1.5);
  assert_true(json_number_value(at(json, "run", "loading_cpu_seconds")) == 0.25);
  assert_int_equal(json_array_size(at(json, "run", "argv")), 2);
  assert_string_equal(json_string_value(at(json, "operators", "sample_source")), "recorded");
  assert_string_equal(json_string_value(at(json, "operators", "sample_detail")), "calls.json");
  assert_int_equal(json_integer_value(at(json, "operators", "extra")), 1);
  assert_string_equal(json_string_value(at(json, "classes", "name")), "n.C");
  assert_string_equal(json_string_value(at(json, "libraries", "status")), "loaded");
  assert_string_equal(json_string_value(json_array_get(at(json, "notes", NULL), 0)), "look");
  assert_int_equal(json_integer_value(at(json, "summary", "fail")), 1);
  assert_string_equal(json_string_value(at(json, "results", "rule")), "meta.stride");
  assert_true(json_is_null(at(json, "results", "reason")));
  assert_true(json_is_null(at(json, "results", "standing")));
  assert_string_equal(json_string_value(at(json, "problems", "rule")), "meta.stride");
  assert_int_equal(json_integer_value(at(json, "summary", "problems")), 1);
  assert_int_equal(json_integer_value(at(json, "summary", "checked")), 1);
  assert_true(json_is_object(at(json, "results", "evidence")));
  assert_null(json_object_get(json_array_get(at(json, "results", NULL), 0), "t"));
  assert_null(json_object_get(json_array_get(at(json, "results", NULL), 0), "confirmed"));
  json_decref(json);
}

static void an_early_report_says_incomplete(void **state) {
  (void)state;
  json_t *json = report_of("");
  assert_true(json_is_false(json_object_get(json_object_get(json, "run"), "complete")));
  static const char *const lists[] = {"libraries", "operators", "classes", "results", "problems"};
  for (size_t i = 0; i < 5; i++) {
    assert_true(json_is_array(json_object_get(json, lists[i])));
    assert_int_equal(json_array_size(json_object_get(json, lists[i])), 0);
  }
  json_decref(json);
}

static void missing_fields_are_filled(void **state) {
  (void)state;
  json_t *json = report_of(RUN_LINE
                           "{\"t\":\"suspect\",\"operator\":\"n::a\",\"case\":\"n::a/c/cpu/-/s/"
                           "plain\",\"verdict\":\"fail\",\"rule\":\"leak.tensor\",\"message\":\"\"}\n");
  json_t *result = json_array_get(json_object_get(json, "results"), 0);
  static const char *const fields[] = {"operator", "check",   "case",     "verdict",  "severity", "rule",
                                       "reason",   "message", "standing", "evidence", "repro",    "seconds"};
  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (!json_object_get(result, fields[i])) fail_msg("no %s", fields[i]);
  assert_true(json_is_false(json_object_get(result, "confirmed")));
  json_decref(json);
}

/* Most results of a run are passes and skips: they are written as short as their fields allow. */
static void only_findings_say_how_to_repeat_them(void **state) {
  (void)state;
  json_t *json = report_of(RUN_LINE PASS_LINE("n::a", "stride", "cpu/-/s/plain")
                               SKIP_LINE("n::a", "stride", "cpu/-/s/x.sliced", "rejected")
                                   FAIL_LINE("n::a", "meta", "cpu/-/s/plain", "meta.stride") END_LINE(1));
  json_t *results = json_object_get(json, "results");
  assert_null(json_object_get(json_array_get(results, 0), "repro"));
  assert_null(json_object_get(json_array_get(results, 1), "repro"));
  assert_string_equal(json_string_value(json_object_get(json_array_get(results, 2), "repro")),
                      "opcheck-c run --case X lib");
  assert_true(json_number_value(json_object_get(json_array_get(results, 0), "seconds")) == 0.25);
  assert_int_equal(json_object_size(json_array_get(results, 0)), 11);
  json_decref(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_format_is_whole),
      cmocka_unit_test(an_early_report_says_incomplete),
      cmocka_unit_test(missing_fields_are_filled),
      cmocka_unit_test(only_findings_say_how_to_repeat_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
