#include "report_journal.h"

typedef struct seen {
  char cases[512];
  int count, stop_after;
} seen_t;

static bool note_result(const opc_case_result_t *result, void *context) {
  seen_t *seen = context;
  snprintf(seen->cases + strlen(seen->cases), sizeof seen->cases - strlen(seen->cases), "%s ", result->case_id);
  return ++seen->count != seen->stop_after;
}

static opc_journal_summary_t summary_of(opc_journal_reader_t *reader) {
  opc_journal_summary_t summary;
  opc_journal_reader_summary(reader, &summary);
  return summary;
}

static void results_are_grouped_by_operator(void **state) {
  (void)state;
  opc_journal_reader_t *reader = journal_of(
      RUN_LINE OPERATOR_LINE("n::a", "l.so") OPERATOR_LINE("n::b", "l.so") PASS_LINE("n::b", "c", "cpu/-/1/plain")
          PASS_LINE("n::a", "c", "cpu/-/1/plain") PASS_LINE("n::b", "c", "cpu/-/2/plain")
              PASS_LINE("n::a", "c", "cpu/-/2/plain") PASS_LINE("n::none", "c", "cpu/-/1/plain") END_LINE(0));
  seen_t seen = {0};
  opc_error_t error;
  assert_int_equal(opc_journal_reader_all_results(reader, note_result, &seen, &error), OPC_OK);
  assert_string_equal(
      seen.cases,
      "n::a/c/cpu/-/1/plain n::a/c/cpu/-/2/plain n::b/c/cpu/-/1/plain n::b/c/cpu/-/2/plain n::none/c/cpu/-/1/plain ");
  assert_int_equal(opc_journal_reader_operator_count(reader), 3);
  assert_string_equal(opc_journal_reader_operator(reader, 1)->library, "l.so");
  assert_null(opc_journal_reader_operator(reader, 2)->library);
  seen = (seen_t){.stop_after = 1};
  assert_int_equal(opc_journal_reader_results(reader, 1, note_result, &seen, &error), OPC_OK);
  assert_string_equal(seen.cases, "n::b/c/cpu/-/1/plain ");
  opc_journal_summary_t summary = summary_of(reader);
  assert_int_equal(summary.pass, 5);
  assert_int_equal(summary.operators, 2);
  assert_true(summary.complete);
  assert_int_equal(summary.exit_code, 0);
  opc_journal_reader_close(reader);
}

static void every_verdict_is_counted_once(void **state) {
  (void)state;
  opc_journal_reader_t *reader = journal_of(
      RUN_LINE OPERATOR_LINE("n::a", "l.so") PASS_LINE("n::a", "c", "cpu/-/1/plain")
          FAIL_LINE("n::a", "c", "cpu/-/2/plain", "leak.tensor") WARN_LINE("n::a", "c", "cpu/-/3/plain", "leak.memory")
              ERROR_LINE("n::a", "c", "cpu/-/4/plain", "timeout") SKIP_LINE("n::a", "c", "cpu/-/5/plain", "rejected")
                  END_LINE(1));
  opc_journal_summary_t summary = summary_of(reader);
  assert_int_equal(summary.pass, 1);
  assert_int_equal(summary.fail, 1);
  assert_int_equal(summary.warnings, 1);
  assert_int_equal(summary.error, 1);
  assert_int_equal(summary.skip, 1);
  assert_int_equal(summary.exit_code, 1);
  assert_true(opc_journal_reader_operator(reader, 0)->seconds == 1.25);
  opc_journal_reader_close(reader);
}

static void a_crash_may_be_a_warning(void **state) {
  (void)state;
  opc_journal_reader_t *reader =
      journal_of(RUN_LINE OPERATOR_LINE("n::a", "l.so") MILD_LINE("n::a", "c", "cpu/-/1/plain", "timeout") END_LINE(0));
  opc_journal_summary_t summary = summary_of(reader);
  assert_int_equal(summary.warnings, 1);
  assert_int_equal(summary.error, 0);
  opc_journal_reader_close(reader);
}

static void a_suspect_counts_until_its_result_comes(void **state) {
  (void)state;
  opc_journal_reader_t *reader =
      journal_of(RUN_LINE OPERATOR_LINE("n::a", "l.so") SUSPECT_LINE("n::a", "c", "cpu/-/1/plain", "leak.tensor")
                     SUSPECT_LINE("n::a", "c", "cpu/-/2/plain", "leak.tensor") PASS_LINE("n::a", "c", "cpu/-/1/plain"));
  seen_t seen = {0};
  opc_error_t error;
  assert_int_equal(opc_journal_reader_all_results(reader, note_result, &seen, &error), OPC_OK);
  assert_string_equal(seen.cases, "n::a/c/cpu/-/2/plain n::a/c/cpu/-/1/plain ");
  opc_journal_summary_t summary = summary_of(reader);
  assert_int_equal(summary.fail, 1);
  assert_int_equal(summary.pass, 1);
  assert_false(summary.complete);
  assert_int_equal(summary.exit_code, -1);
  opc_journal_reader_close(reader);
}

/* Truncated anywhere, a journal gives what its complete lines say, and never claims to be complete. */
static void a_torn_journal_is_readable_at_every_byte(void **state) {
  (void)state;
  const char *text = RUN_LINE OPERATOR_LINE("n::a", "l.so") PASS_LINE("n::a", "c", "cpu/-/1/plain")
      FAIL_LINE("n::a", "c", "cpu/-/2/plain", "leak.tensor") END_LINE(1);
  uint64_t most = 0;
  for (size_t length = 0; length < strlen(text); length++) {
    opc_journal_reader_t *reader = NULL;
    opc_error_t error = {0};
    if (journal_try(text, length, &reader, &error) != OPC_OK) fail_msg("%zu bytes: %s", length, error.message);
    opc_journal_summary_t summary = summary_of(reader);
    assert_false(summary.complete);
    assert_int_equal(summary.damaged, 0);
    assert_true(summary.pass + summary.fail >= most);
    most = summary.pass + summary.fail;
    opc_journal_reader_close(reader);
  }
  assert_int_equal(most, 2);
}

static void damaged_lines_make_it_incomplete(void **state) {
  (void)state;
  opc_journal_reader_t *reader = journal_of(RUN_LINE
                                            "{\"t\":\"resu\n"
                                            "[1]\n\n"
                                            "{\"t\":\"result\",\"verdict\":\"maybe\"}\n"
                                            "{\"t\":\"of_the_future\"}\n" END_LINE(0));
  opc_journal_summary_t summary = summary_of(reader);
  assert_int_equal(summary.damaged, 3);
  assert_false(summary.complete);
  opc_journal_reader_close(reader);
}

static void what_is_no_journal_is_refused(void **state) {
  (void)state;
  opc_journal_reader_t *reader = NULL;
  opc_error_t error = {0};
  assert_int_equal(journal_try("hello\n", 6, &reader, &error), OPC_ERR_INPUT);
  assert_null(reader);
  assert_contains(error.message, "is not a journal");
  assert_int_equal(opc_journal_reader_open("/nowhere/at/all", &reader, &error), OPC_ERR_IO);
  assert_int_equal(opc_journal_reader_open("/tmp", &reader, &error), OPC_ERR_IO);
  opc_journal_reader_close(NULL);
}

static void the_defining_library_owns_an_operator(void **state) {
  (void)state;
  opc_journal_reader_t *reader =
      journal_of(RUN_LINE "{\"t\":\"operator\",\"name\":\"n::a\",\"library\":\"guest.so\",\"defined_here\":false}\n" OPERATOR_LINE(
          "n::a",
          "owner.so") "{\"t\":\"operator\",\"name\":\"n::a\",\"library\":\"late.so\",\"defined_here\":false}\n"
                      "{\"t\":\"sample_source\",\"operator\":\"n::a\",\"source\":\"file\",\"detail\":\"x\"}\n");
  json_t *record = NULL;
  opc_error_t error;
  assert_int_equal(opc_journal_reader_operator_count(reader), 1);
  assert_string_equal(opc_journal_reader_operator(reader, 0)->library, "owner.so");
  assert_int_equal(opc_journal_reader_operator_record(reader, 0, &record, &error), OPC_OK);
  assert_string_equal(opc_record_text(record, "library"), "owner.so");
  json_decref(record);
  json_t *source;
  assert_int_equal(opc_journal_reader_sample_source(reader, "n::a", &source, &error), OPC_OK);
  assert_string_equal(opc_record_text(source, "source"), "file");
  json_decref(source);
  assert_int_equal(opc_journal_reader_sample_source(reader, "n::b", &source, &error), OPC_OK);
  assert_null(source);
  opc_journal_reader_close(reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_grouped_by_operator),
      cmocka_unit_test(every_verdict_is_counted_once),
      cmocka_unit_test(a_crash_may_be_a_warning),
      cmocka_unit_test(a_suspect_counts_until_its_result_comes),
      cmocka_unit_test(a_torn_journal_is_readable_at_every_byte),
      cmocka_unit_test(damaged_lines_make_it_incomplete),
      cmocka_unit_test(what_is_no_journal_is_refused),
      cmocka_unit_test(the_defining_library_owns_an_operator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
