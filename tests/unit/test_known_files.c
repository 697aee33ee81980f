/* The files of known failures: reading a baseline and an xfail file, writing a baseline, dropping lines. */
#include <time.h>

#include "report_journal.h"
#include "reports/baseline.h"
#include "supervise/common/run_options.h"

#define ID "0123456789abcdef"

static void put_file(char path[32], const char *text) {
  strcpy(path, "/tmp/opcheck-c-unit-XXXXXX");
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
  close(file);
}

/* The message without the file's name. */
static void expect_message(const opc_error_t *error, const char *path, const char *message) {
  if (strncmp(error->message, path, strlen(path)) != 0 || !strstr(error->message + strlen(path), message))
    fail_msg("\"%s\" is missing in: %s", message, error->message);
}

/* ---- a baseline ---- */

static void test_baseline(void **state) {
  char path[32];
  opc_error_t error;
  json_t *records;
  (void)state;
  put_file(path, "# known\n\n" ID " ns::a stride.wrong_result  a (a.cpp)\r\n  fedcba9876543210\tns::b\tsignal.SIGSEGV");
  if (opc_baseline_read(path, &records, &error) != OPC_OK) fail_msg("%s", error.message);
  unlink(path);
  assert_int_equal(json_array_size(records), 2);
  const json_t *second = json_array_get(records, 1);
  assert_string_equal(opc_record_text(second, "problem"), "fedcba9876543210");
  assert_string_equal(opc_record_text(second, "operator"), "ns::b");
  assert_string_equal(opc_record_text(second, "rule"), "signal.SIGSEGV");
  assert_int_equal(json_integer_value(json_object_get(second, "line")), 4);
  json_decref(records);
}

static void test_baseline_mistakes(void **state) {
  static const char *const mistakes[][2] = {
      {"ns::a stride.wrong_result\n", ":1:1: a line begins with the id of a problem"},
      {"#\n  0123456789ABCDEF ns::a rule\n", ":2:3: a line begins with the id of a problem"},
      {"<<<<<<< ours\n", ":1:1: a line begins with the id of a problem"},
      {ID "\n", ":1:17: the operator, as my_ops::scale, comes after the id"},
      {ID " stride.wrong_result ns::a\n", ":1:18: the operator, as my_ops::scale, comes after the id"},
      {ID " ns::a \n", ":1:24: the rule comes after the operator"},
      {ID " ns::a r.s\n" ID " ns::a r.s\n", ":2:1: the same problem is in an earlier line"}};
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    char path[32];
    opc_error_t error;
    json_t *records;
    put_file(path, mistakes[i][0]);
    assert_int_equal(opc_baseline_read(path, &records, &error), OPC_ERR_INPUT);
    unlink(path);
    expect_message(&error, path, mistakes[i][1]);
    assert_null(records);
  }
}

/* By operator and rule; without lines of code and addresses. */
static void test_baseline_text(void **state) {
  static const char frame[] =
      "{\"t\":\"result\",\"case\":\"n::b/memory/cpu/-/s/plain\",\"verdict\":\"error\",\"severity\":\"error\","
      "\"rule\":\"signal.SIGSEGV\",\"message\":\"m\",\"evidence\":{\"frames\":[{\"module\":\"/x/"
      "l.so\",\"offset\":\"0x10\","
      "\"symbol\":\"ns::gather(int)\",\"file\":\"/src/ops.cpp\",\"line\":33}]}}\n";
  OPC_SCOPED(opc_text_clear) opc_text_t journal = {0};
  opc_text_addf(&journal, "%s%s%s",
                RUN_LINE LIBRARY_LINE("/x/l.so") OPERATOR_LINE("n::b", "/x/l.so") OPERATOR_LINE("n::a", "/x/l.so"),
                frame,
                FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced", "stride.wrong_result")
                    FAIL_LINE("n::a", "mutation", "cpu/-/s/plain", "mutation.undeclared") END_LINE(1));
  opc_journal_reader_t *reader = journal_of(opc_text_c(&journal));
  char *text = report_text(&opc_report_baseline, reader, OPC_OK), *rest = text, *lines[5], path[32];
  json_t *records;
  opc_error_t error;
  (void)state;
  for (int i = 0; i < 5; i++) lines[i] = strsep(&rest, "\n");
  assert_string_equal(rest, "");
  assert_string_equal(lines[1], "# id, operator, rule, where");
  assert_string_equal(lines[2] + 16, " n::a mutation.undeclared");
  assert_string_equal(lines[3] + 16, " n::a stride.wrong_result");
  assert_string_equal(lines[4] + 16, " n::b signal.SIGSEGV  ns::gather (ops.cpp)");
  for (size_t i = 0; i < 4; i++) lines[i][strlen(lines[i])] = '\n';
  put_file(path, text);
  if (opc_baseline_read(path, &records, &error) != OPC_OK) fail_msg("%s", error.message);
  assert_int_equal(json_array_size(records), 3);
  json_decref(records);
  unlink(path);
  free(text);
  opc_journal_reader_close(reader);
}

/* The other lines stay byte for byte, the last one without a newline, too. */
static void test_rewrite(void **state) {
  char path[32], *text = NULL;
  size_t length = 0;
  opc_error_t error;
  (void)state;
  put_file(path, "# one\r\n\ttwo\nthree\n\n\xff five");
  json_auto_t *lines = json_pack("{s:n, s:n}", "2", "4");
  const opc_rewrite_t change = {.file = path, .lines = lines};
  const opc_report_source_t source = {.rewrite = &change};
  FILE *stream = open_memstream(&text, &length);
  assert_int_equal(opc_report_rewrite.write(&source, stream, &error), OPC_OK);
  fclose(stream);
  assert_string_equal(text, "# one\r\nthree\n\xff five");
  free(text);
  unlink(path);
}

/* ---- an xfail file ---- */

static void test_xfail(void **state) {
  static const char text[] =
      "ns::a/* expires=2000-01-31 rule=stride.wrong_result  too old\n"
      "ns::a/*  still fails\n"
      "problem=" ID
      " expires=2999-12-31  issue 7\n"
      "expires=2000-02-29 problem=" ID " issue 8\n";
  char path[32];
  opc_xfail_t *list;
  opc_error_t error;
  (void)state;
  put_file(path, text);
  if (opc_xfail_read(path, &list, &error) != OPC_OK) fail_msg("%s", error.message);
  unlink(path);
  assert_int_equal(list->count, 4);
  assert_true(list->entries[0].expired);
  assert_int_equal(list->entries[0].rule, OPC_RULE_stride_wrong_result);
  assert_string_equal(list->entries[2].problem, ID);
  assert_false(list->entries[2].expired);
  assert_true(list->entries[3].expired);
  assert_string_equal(list->entries[3].reason, "issue 8");
  /* One that has not expired comes before one that has, and a line of a problem matches no case. */
  assert_ptr_equal(opc_xfail_match(list, "ns::a/stride/cpu/-/s/plain", OPC_RULE_stride_wrong_result),
                   &list->entries[1]);
  assert_null(opc_xfail_match(list, "ns::b/stride/cpu/-/s/plain", OPC_RULE_stride_wrong_result));
  opc_xfail_free(list);
}

/* Which lines a skipped case may need, and which operators a pattern is of. */
static void test_xfail_of_other_runs(void **state) {
  static const char text[] =
      "ns::a/* one\n"
      "ns::a/stride/cpu/-/large/plain two\n"
      "ns::*large/plain three\n"
      "ns::* four\n"
      "problem=" ID " five\n";
  static const bool of[][5] = {{true, true, true, true, false}, {false, false, true, true, false}, {false}};
  static const char *const operators[] = {"ns::a", "ns::b", "other::a"};
  char path[32];
  opc_xfail_t *list;
  opc_error_t error;
  (void)state;
  put_file(path, text);
  if (opc_xfail_read(path, &list, &error) != OPC_OK) fail_msg("%s", error.message);
  unlink(path);
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    for (size_t k = 0; k < 4; k++)
      if (opc_xfail_is_of(&list->entries[k], operators[i]) != of[i][k])
        fail_msg("%s and %s", list->entries[k].pattern, operators[i]);
  opc_xfail_skip(list, "ns::a/stride/cpu/-/large/plain", OPC_SKIP_NOT_APPLICABLE);
  opc_xfail_skip(list, "ns::a/stride/cpu/-/large/plain", OPC_SKIP_REJECTED);
  for (size_t k = 0; k < 5; k++) assert_false(list->entries[k].skipped);
  opc_xfail_skip(list, "ns::a/stride/cpu/-/large/plain", OPC_SKIP_BUDGET);
  for (size_t k = 0; k < 5; k++) assert_int_equal(list->entries[k].skipped, of[0][k]);
  for (size_t k = 0; k < 5; k++) assert_false(list->entries[k].used);
  opc_xfail_free(list);
}

/* A line holds on its last day. */
static void test_today(void **state) {
  char path[32], text[64];
  opc_xfail_t *list;
  opc_error_t error;
  struct tm day;
  const time_t now = time(NULL);
  (void)state;
  strftime(text, sizeof text, "ns::a/* expires=%Y-%m-%d slow\n", gmtime_r(&now, &day));
  put_file(path, text);
  assert_int_equal(opc_xfail_read(path, &list, &error), OPC_OK);
  unlink(path);
  const time_t later = time(NULL);
  if (later / 86400 == now / 86400) assert_false(list->entries[0].expired);
  opc_xfail_free(list);
}

static void test_xfail_mistakes(void **state) {
  static const char *const mistakes[][2] = {
      {"ns::a slow\n", ":1:1: \"ns::a\" is neither a case id"},
      {"\n  ns::a/*\n", ":2:10: no reason after ns::a/*"},
      {"ns::a/* rule=stride.wrong_resul slow\n", ":1:14: no rule is called \"stride.wrong_resul\"; did you mean"},
      {"ns::a/* slow rule=exit\n", ":1:14: rule= comes right after the pattern"},
      {"ns::a/* rule=exit rule=exit slow\n", ":1:19: rule= is given twice"},
      {"ns::a/* problem=" ID " slow\n", ":1:1: problem=ID stands for a pattern and a rule"},
      {"problem=" ID " rule=exit slow\n", ":1:1: problem=ID stands for a pattern and a rule"},
      {"problem=12 slow\n", ":1:9: \"12\" is no id of a problem"},
      {"expires=2026-01-31 slow\n", ":1:1: a pattern, or problem=ID, comes first"},
      {"ns::a/* expires=2026-02-30 slow\n", ":1:17: \"2026-02-30\" is no date: write expires=2026-01-31"},
      {"ns::a/* expires=tomorrow slow\n", ":1:17: \"tomorrow\" is no date"},
      {"ns::a/* expires=2026-1-1 slow\n", ":1:17: \"2026-1-1\" is no date"},
      {"ns::a/* expires= slow\n", ":1:17: \"\" is no date"}};
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
    char path[32];
    opc_error_t error;
    opc_xfail_t *list;
    put_file(path, mistakes[i][0]);
    if (opc_xfail_read(path, &list, &error) != OPC_ERR_INPUT) fail_msg("accepted: %s", mistakes[i][0]);
    unlink(path);
    expect_message(&error, path, mistakes[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_baseline),       cmocka_unit_test(test_baseline_mistakes),
      cmocka_unit_test(test_baseline_text),  cmocka_unit_test(test_rewrite),
      cmocka_unit_test(test_xfail),          cmocka_unit_test(test_today),
      cmocka_unit_test(test_xfail_mistakes), cmocka_unit_test(test_xfail_of_other_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
