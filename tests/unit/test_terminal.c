#include "base/text.h"
#include "report_journal.h"
#include "reports/terminal/terminal.h"

static char *shown_as(const char *journal, int width, opc_terminal_view_t view) {
  opc_journal_reader_t *reader = journal_of(journal);
  opc_problems_t problems;
  char *text = NULL;
  size_t length = 0;
  opc_error_t error = {0};
  FILE *stream = open_memstream(&text, &length);
  opc_screen_t screen = {.stream = stream, .width = width};
  assert_int_equal(opc_problems_make(reader, &problems, &error), OPC_OK);
  assert_int_equal(opc_terminal_report(&problems, &screen, &view, &error), OPC_OK);
  opc_terminal_end(&problems, &screen, &view);
  fclose(stream);
  opc_problems_clear(&problems);
  opc_journal_reader_close(reader);
  return text;
}

/* Every problem and every operator. */
static char *shown(const char *journal, int width, int exit_code) {
  return shown_as(journal, width, (opc_terminal_view_t){.exit_code = exit_code, .verbose = true});
}

#define HEAD RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so")

/* The text with every "@" replaced by a number, repeated for 0 to `count` - 1. */
static void repeat(opc_text_t *out, const char *text, int count) {
  for (int i = 0; i < count; i++) {
    for (const char *at = text; *at; at++) {
      if (*at == '@') opc_text_addf(out, "%d", i);
      else opc_text_add_bytes(out, at, 1);
    }
  }
}

static int count_of(const char *text, const char *what) {
  int count = 0;
  for (const char *at = strstr(text, what); at; at = strstr(at + 1, what)) count++;
  return count;
}

static void a_problem_has_all_its_cases(void **state) {
  (void)state;
  char *text = shown(HEAD FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced+x.offset", "stride.wrong_result")
                         FAIL_LINE("n::a", "stride", "cpu/float16/s/plain", "stride.wrong_result")
                             FAIL_LINE("n::a", "stride", "cpu/-/s/plain", "stride.wrong_result")
                                 FAIL_LINE("n::a", "stride", "cpu/-/t/plain", "stride.wrong_result") END_LINE(1),
                     0, 1);
  assert_contains(text, "what        wrong at cpu/-/s/plain\n");
  assert_contains(text, ", 3 more cases\n      cases ");
  assert_int_equal(strspn(strstr(text, "problem     ") + 12, "0123456789abcdef"), 16);
  assert_contains(text, "cases       n::a/stride/cpu/-/s/plain\n                  n::a/stride/cpu/-/t/plain\n");
  assert_contains(text, "                  n::a/stride/cpu/-/s/x.sliced+x.offset\n");
  assert_contains(text, "FAIL  n::a  (l.so)  4 fail\n");
  assert_contains(text,
                  "found       n::a/stride/cpu/-/t/plain\n"
                  "                  stride.wrong_result: wrong at cpu/-/t/plain\n");
  assert_contains(text, "FAILED: 1 problem (1 error) in 1 operator; 1 of 1 operators and classes checked\n");
  free(text);
}

static void an_operator_lists_the_first_cases_of_each_rule(void **state) {
  (void)state;
  opc_text_t journal = {0};
  opc_text_add(&journal, HEAD);
  repeat(&journal, FAIL_LINE("n::a", "stride", "cpu/-/s@/plain", "stride.wrong_result"), 9);
  opc_text_add(&journal, FAIL_LINE("n::a", "dtype", "cpu/int8/s/plain", "dtype.wrong_result") END_LINE(1));
  char *text = shown(opc_text_c(&journal), 0, 1);
  assert_int_equal(count_of(text, "found       n::a/stride/"), 5);
  assert_int_equal(count_of(text, "found       n::a/dtype/"), 1);
  assert_contains(text, "and         4 more cases with findings of these rules: --json FILE keeps them\n");
  free(text);
  opc_text_clear(&journal);
}

static void failures_come_before_warnings(void **state) {
  (void)state;
  char *text = shown(HEAD WARN_LINE("n::a", "registration", "-/-/-/-", "registration.no_meta_kernel")
                         FAIL_LINE("n::a", "stride", "cpu/-/s/plain", "stride.wrong_result") END_LINE(1),
                     0, 1);
  const char *fail = strstr(text, "FAIL  n::a"), *warn = strstr(text, "WARN  n::a");
  assert_true(fail && warn && fail < warn);
  free(text);
}

static void a_crash_may_be_a_warning(void **state) {
  (void)state;
  char *text = shown(HEAD MILD_LINE("n::a", "launch", "cuda-sim/-/s/all.huge7", "timeout") END_LINE(0), 0, 0);
  assert_contains(text, "WARN  n::a");
  assert_contains(text, "warn  n::a  (l.so)  1 warning\n");
  assert_contains(text, "0 error, 1 warning,");
  assert_lacks(text, "FAILED");
  free(text);
}

/* A warning whose input has this standing. */
#define STANDING_LINE(check, rest, rule, standing)                                                  \
  "{\"t\":\"result\",\"operator\":\"n::a\",\"check\":\"" check "\",\"case\":\"n::a/" check "/" rest \
  "\",\"verdict\":\"fail\",\"severity\":\"warning\",\"rule\":\"" rule                               \
  "\",\"reason\":null,\"message\":\"odd\",\"standing\":\"" standing                                 \
  "\",\"evidence\":{},\"repro\":\"opcheck-c run --case X lib\",\"seconds\":0.25}\n"

static void the_last_line_counts_what_lacks_a_sample(void **state) {
  (void)state;
#define SHAPE_LINE STANDING_LINE("meta", "cpu/-/s/plain", "meta.shape", "searched/same_values")
#define OTHER_DTYPE_LINE STANDING_LINE("meta", "cpu/int64/s/plain", "meta.dtype", "searched/related")
#define ALONE_LINE STANDING_LINE("vmap", "cpu/-/s/x.scalar", "vmap.wrong_result", "searched/alone")
#define DECLARED_LINE STANDING_LINE("dtype", "cpu/-/s/x.nan", "dtype.wrong_result", "declared/alone")
#define LINT_LINE STANDING_LINE("equivalent", "cpu/-/s/x.other_width", "equivalent.index_dtype", "searched/same_values")
  char *text = shown(HEAD SHAPE_LINE END_LINE(0), 0, 0);
  assert_contains(text, "checked; 1 warning; 1 finding would be an error with a sample\n");
  free(text);
  text =
      shown(HEAD SHAPE_LINE STANDING_LINE("vmap", "cpu/-/s/plain", "vmap.wrong_result", "searched/related") END_LINE(0),
            0, 0);
  assert_contains(text, "checked; 2 warnings; 2 findings would be errors with a sample\n");
  free(text);
  text = shown(HEAD OTHER_DTYPE_LINE ALONE_LINE DECLARED_LINE LINT_LINE END_LINE(0), 0, 0);
  assert_lacks(text, "with a sample");
  free(text);
}

static void a_skip_does_not_look_like_a_pass(void **state) {
  (void)state;
  char *text = shown(HEAD PASS_LINE("n::a", "registration", "-/-/-/-")
                         SKIP_LINE("n::a", "stride", "cpu/-/-/-", "no_sample") END_LINE(5),
                     0, 5);
  assert_contains(text, "----  n::a  (l.so)  1 pass, 1 no_sample; no call of it proved anything\n");
  assert_contains(text, "skipped     1 no_sample: because\n");
  assert_contains(text, "NOTHING CHECKED");
  assert_lacks(text, "ok");
  free(text);
}

static void what_broke_off_says_so(void **state) {
  (void)state;
  char *text = shown(HEAD SUSPECT_LINE("n::a", "stride", "cpu/-/s/plain", "stride.wrong_result"), 0, 3);
  assert_contains(text, "INCOMPLETE  the run stopped early");
  assert_contains(text, "not confirmed");
  free(text);
  text = shown(HEAD PASS_LINE("n::a", "stride", "cpu/-/s/plain"), 0, 3);
  assert_lacks(text, "PASSED");
  free(text);
}

static void strict_is_said(void **state) {
  (void)state;
  const char *journal = HEAD PASS_LINE("n::a", "stride", "cpu/-/s/plain")
      WARN_LINE("n::a", "registration", "-/-/-/-", "registration.no_meta_kernel") END_LINE(0);
  char *text = shown(journal, 0, 0);
  assert_contains(text, "PASSED: 1 of 1 operators and classes checked; 1 warning\n");
  free(text);
  text = shown(journal, 0, 1);
  assert_contains(text, "FAILED: warnings count (--strict); 1 problem (1 warning) in 1 operator; 1 of 1 ");
  free(text);
}

static void many_operators_are_a_line_each(void **state) {
  (void)state;
  char *lines = NULL;
  size_t length = 0;
  FILE *journal = open_memstream(&lines, &length);
  fputs(HEAD, journal);
  for (char name = 'b'; name < 'b' + 21; name++) {
    char own[] =
        PASS_LINE("n::@", "stride", "cpu/-/s/plain") SKIP_LINE("n::@", "dtype", "cpu/int8/s/plain", "rejected");
    for (char *at = own; *at; at++)
      if (*at == '@') *at = name;
    fputs(own, journal);
  }
  fputs(FAIL_LINE("n::a", "stride", "cpu/-/s/plain", "stride.wrong_result") END_LINE(1), journal);
  fclose(journal);
  char *text = shown(lines, 0, 1);
  assert_contains(text, "FAIL  n::a  (l.so)  1 fail\n");
  assert_contains(text, "ok    n::c  1 pass, 1 rejected\n");
  assert_contains(text, "repro       opcheck-c run");
  assert_lacks(text, "skipped  ");
  free(lines);
  free(text);
}

static void a_report_that_failed_is_said(void **state) {
  (void)state;
  char *text = shown(HEAD PASS_LINE("n::a", "stride", "cpu/-/s/plain") END_LINE(0), 0, 3);
  assert_contains(text, "FAILED: not all files could be written; 1 of 1 operators and classes checked\n");
  free(text);
}

static void lines_fit_the_width_but_for_those_to_paste(void **state) {
  (void)state;
  char *text = shown(HEAD FAIL_LINE("n::a", "mutation", "cpu/-/s/plain", "mutation.undeclared") END_LINE(1), 60, 1);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    if (strstr(line, "FAIL") || strstr(line, "repro") || strstr(line, "n::a/") || strstr(line, "explain") ||
        strstr(line, " fail, ") || strstr(line, "checked"))
      continue;
    if (strlen(line) > 60) fail_msg("%zu columns: %s", strlen(line), line);
  }
  free(text);
}

static void control_characters_do_not_reach_the_terminal(void **state) {
  (void)state;
  char *text = shown(HEAD RECORD_LINE("result", "n::a", "c", "cpu/-/1/plain", "fail", "error", "\"leak.tensor\"",
                                      "null", "\\u001b]0;owned\\u0007a\\u0008b") END_LINE(1),
                     0, 1);
  assert_null(strchr(text, '\x1b'));
  assert_contains(text, "what        a\\x08b\n");
  free(text);
}

static void many_problems_are_all_shown(void **state) {
  (void)state;
  opc_text_t journal = {0};
  opc_text_add(&journal, RUN_LINE LIBRARY_LINE("l.so"));
  repeat(&journal, OPERATOR_LINE("n::a@", "l.so") FAIL_LINE("n::a@", "stride", "cpu/-/s/plain", "stride.wrong_result"),
         40);
  repeat(&journal, WARN_LINE("n::a@", "registration", "-/-/-/-", "registration.no_meta_kernel"), 5);
  repeat(&journal, OPERATOR_LINE("n::b@", "l.so") PASS_LINE("n::b@", "stride", "cpu/-/s/plain"), 7);
  opc_text_add(&journal, OPERATOR_LINE("n::c", "l.so") "{\"t\":\"sample_source\",\"operator\":\"n::c\",\"source\":\"none\",\"detail\":\"not found in 9 tries\"}\n"
                             SKIP_LINE("n::c", "stride", "cpu/-/-/-", "no_sample") END_LINE(1));
  char *text = shown(opc_text_c(&journal), 0, 1);
  assert_int_equal(count_of(text, "cases       n::a"), 30);
  assert_contains(text, "FAIL  n::a39  stride.wrong_result: ");
  assert_contains(text, "      case        n::a39/stride/cpu/-/s/plain\n");
  assert_contains(text, "found       n::a39/stride/cpu/-/s/plain\n");
  assert_contains(text, "ok    n::b3  (l.so)  1 pass\n");
  assert_contains(text,
                  "----  n::c  (l.so)  1 no_sample; no call of it proved anything\n"
                  "      inputs      none: not found in 9 tries\n"
                  "      skipped     1 no_sample: because\n");
  assert_contains(text, "WARN  n::a0 and 4 more  registration.no_meta_kernel");
  assert_contains(
      text,
      "FAILED: 41 problems (40 errors, 1 warning) in 40 operators; 47 of 48 operators and classes checked, 1 without "
      "inputs\n");
  free(text);
  opc_text_clear(&journal);
}

/* ---- problems ---- */

static char *summed(const char *journal, opc_terminal_view_t view) { return shown_as(journal, 0, view); }

static int lines_of(const char *text) {
  int lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines;
}

/* torch::RegisterOperators gives no file: libtorch's own text is shown. */
static void where_without_a_file(void **state) {
  (void)state;
  char *text = summed(
      RUN_LINE LIBRARY_LINE("l.so")
          "{\"t\":\"operator\",\"name\":\"n::a\",\"schema\":\"n::a(Tensor x) -> Tensor\",\"library\":\"l.so\","
          "\"registered_at\":\"registered by RegisterOperators\",\"dispatch_keys\":[\"CPU\"],\"tags\":[],"
          "\"defined_here\":true}\n" FAIL_LINE("n::a", "stride", "cpu/-/s/plain", "stride.wrong_result") END_LINE(1),
      (opc_terminal_view_t){.exit_code = 1});
  assert_contains(text, "where       registered by RegisterOperators in l.so\n");
  free(text);
}

/* The case passed: its layout is not the cause. */
static void an_unexpected_pass_is_no_matter_of_layout(void **state) {
  (void)state;
  char *text = summed(HEAD FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced", "xfail.unexpected_pass") END_LINE(1),
                      (opc_terminal_view_t){.exit_code = 1});
  assert_contains(text, "what        wrong at cpu/-/s/x.sliced\n");
  free(text);
}

static void the_summary_comes_first_and_the_verdict_last(void **state) {
  (void)state;
  char *text = summed(HEAD FAIL_LINE("n::a", "stride", "cpu/-/s/x.sliced", "stride.wrong_result")
                          WARN_LINE("n::a", "registration", "-/-/-/-", "registration.no_meta_kernel") END_LINE(1),
                      (opc_terminal_view_t){.exit_code = 1});
  static const char first[] = "1 of 1 operators and classes checked\n2 cases: 0 pass, 1 fail, ";
  assert_int_equal(strncmp(text, first, sizeof first - 1), 0);
  const char *error = strstr(text, "FAIL  n::a  stride.wrong_result: "), *warning = strstr(text, "WARN  n::a");
  assert_true(error && warning && error < warning);
  assert_contains(text, "what        depends on the layout of `x`: wrong at cpu/-/s/x.sliced\n");
  assert_contains(text, "where       registered at a.cpp:1 in l.so\n");
  assert_contains(text, "repro       opcheck-c run --case X lib\n");
  static const char last[] =
      "FAILED: 2 problems (1 error, 1 warning) in 1 operator; 1 of 1 operators and classes checked\n";
  assert_string_equal(text + strlen(text) - (sizeof last - 1), last);
  free(text);
}

static void expected_failures_are_counted(void **state) {
  (void)state;
  char *text = summed(HEAD SKIP_LINE("n::a", "stride", "cpu/-/s/plain", "xfail")
                          SKIP_LINE("n::a", "stride", "cpu/-/s/x.sliced", "not_applicable")
                              PASS_LINE("n::a", "memory", "cpu/-/s/plain") END_LINE(0),
                      (opc_terminal_view_t){0});
  assert_contains(text, "3 cases: 1 pass, 0 fail, 0 error, 0 warnings, 2 skipped (1 expected failure), in");
  free(text);
}

static void why_nothing_was_checked_is_said(void **state) {
  (void)state;
  static const struct {
    const char *journal, *text;
  } rows[] = {
      {RUN_LINE LIBRARY_LINE("l.so") END_LINE(5),
       "NOTHING CHECKED: there are no operators, or none is selected; 0 of 0"},
      {HEAD SKIP_LINE("n::a", "alias", "cpu/-/s/plain", "not_applicable") END_LINE(5),
       "NOTHING CHECKED: nothing that was selected applies to these operators"},
      {HEAD SKIP_LINE("n::a", "alias", "cpu/-/-/-", "no_kernel") END_LINE(5),
       "NOTHING CHECKED: no operator could be called; 0 of 1"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *text = summed(rows[i].journal, (opc_terminal_view_t){.exit_code = 5});
    assert_contains(text, rows[i].text);
    free(text);
  }
}

/* Of many problems with one rule, which form an entry, the one is shown that needs no change of the sample. */
static void the_unmodified_sample_stands_for_an_entry(void **state) {
  (void)state;
  opc_text_t journal = {0};
  opc_text_add(&journal, RUN_LINE LIBRARY_LINE("l.so"));
  repeat(&journal, OPERATOR_LINE("n::a@", "l.so") FAIL_LINE("n::a@", "meta", "cpu/int64/s/plain", "meta.dtype"), 9);
  opc_text_add(&journal, OPERATOR_LINE("n::last", "l.so") FAIL_LINE("n::last", "meta", "cpu/-/s/plain", "meta.dtype")
                             END_LINE(1));
  char *text = summed(opc_text_c(&journal), (opc_terminal_view_t){.exit_code = 1});
  assert_contains(text, "FAIL  n::last and 9 more  meta.dtype: the Meta kernel");
  assert_contains(text, "what        wrong at cpu/-/s/plain\n");
  free(text);
  opc_text_clear(&journal);
}

static void what_was_not_called_is_said(void **state) {
  (void)state;
  const char *journal = RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so") OPERATOR_LINE("n::b", "l.so")
      PASS_LINE("n::a", "stride", "cpu/-/s/plain") PASS_LINE("n::b", "registration", "-/-/-/-")
          SKIP_LINE("n::b", "stride", "cpu/-/-/-", "no_sample") END_LINE(0);
  char *text = summed(journal, (opc_terminal_view_t){0});
  assert_contains(text, "1 not checked: --samples FILE");
  assert_contains(text, "operators   n::b\n");
  assert_contains(text, "\nPASSED: 1 of 2 operators and classes checked, 1 without inputs\n");
  free(text);
  text = summed(journal, (opc_terminal_view_t){.exit_code = 1, .required = 60});
  assert_contains(
      text, "\nFAILED: 1 of 2 operators and classes checked, 1 without inputs; --require-checked 60 asks for 2\n");
  free(text);
  text = summed(RUN_LINE LIBRARY_LINE("l.so") OPERATOR_LINE("n::a", "l.so") PASS_LINE("n::a", "registration", "-/-/-/-")
                    END_LINE(0),
                (opc_terminal_view_t){0});
  assert_contains(text, "\nPASSED: 1 of 1 operators and classes checked\n"); /* nothing else was requested */
  free(text);
}

/* Reads out of bounds, each in a line of its own, are an entry each; what else all operators do is one. */
static void three_hundred_operators_fit_on_three_screens(void **state) {
  (void)state;
  enum { SCREENS = 150 };
  opc_text_t journal = {0};
  opc_text_add(&journal, RUN_LINE LIBRARY_LINE("l.so"));
  repeat(&journal,
         OPERATOR_LINE(
             "n::a@",
             "l.so") "{\"t\":\"result\",\"operator\":\"n::a@\",\"check\":\"memory\",\"case\":\"n::a@/memory/cpu/-/s/plain\","
                     "\"verdict\":\"fail\",\"severity\":\"error\",\"rule\":\"memory.out_of_bounds_read\",\"message\":\"m\","
                     "\"evidence\":{\"frames\":[{\"module\":\"l.so\",\"offset\":\"0x@\"}]},\"repro\":\"r\"}\n",
         300);
  repeat(&journal, WARN_LINE("n::a@", "registration", "-/-/-/-", "registration.no_meta_kernel"), 300);
  opc_text_add(&journal, END_LINE(1));
  char *text = summed(opc_text_c(&journal), (opc_terminal_view_t){.exit_code = 1, .whole = "r.json"});
  if (lines_of(text) > SCREENS) fail_msg("%d lines", lines_of(text));
  assert_int_equal(count_of(text, "FAIL  "), 30);
  assert_contains(text, "\nand 271 more in r.json\n");
  assert_contains(text, "FAILED: 301 problems (300 errors, 1 warning) in 300 operators; 300 of 300 ");
  free(text);
  text = summed(opc_text_c(&journal), (opc_terminal_view_t){.exit_code = 1});
  assert_contains(text, "and 271 more: --verbose shows all of them, --json FILE keeps them\n");
  free(text);
  opc_text_clear(&journal);
}

static void one_rule_in_many_operators_is_one_entry(void **state) {
  (void)state;
  opc_text_t journal = {0};
  opc_text_add(&journal, RUN_LINE LIBRARY_LINE("l.so"));
  repeat(&journal,
         OPERATOR_LINE("n::a@", "l.so") FAIL_LINE("n::a@", "stride", "cpu/-/s/x.sliced", "stride.wrong_result"), 9);
  opc_text_add(&journal, END_LINE(1));
  char *text = summed(opc_text_c(&journal), (opc_terminal_view_t){.exit_code = 1});
  assert_int_equal(count_of(text, "FAIL  "), 1);
  assert_contains(text, "FAIL  n::a0 and 8 more  stride.wrong_result");
  assert_contains(text, "operators   n::a0, a1, a2, a3, a4, a5, a6, a7, a8\n");
  assert_contains(text, ", 8 more problems, 8 more cases\n");
  assert_contains(text, "FAILED: 9 problems (9 errors) in 9 operators");
  assert_lacks(text, "--verbose shows");
  free(text);
  opc_text_clear(&journal);
}

/* Their message starts with the argument, so each argument has an entry of its own. */
static void unchecked_arguments_share_an_entry_by_name(void **state) {
  (void)state;
  opc_text_t journal = {0};
  opc_text_add(&journal, RUN_LINE LIBRARY_LINE("l.so"));
#define LOOSE_LINE(argument)                                                                                           \
  "{\"t\":\"result\",\"operator\":\"n::a@\",\"check\":\"memory\",\"case\":\"n::a@/memory/cpu/-/s/" argument            \
  ".empty0\",\"verdict\":\"fail\",\"severity\":\"warning\",\"rule\":\"memory.unchecked_arguments\",\"message\":\"m\"," \
  "\"evidence\":{\"argument\":\"" argument "\",\"seen\":\"crash\"},\"repro\":\"r\"}\n"
  repeat(&journal, OPERATOR_LINE("n::a@", "l.so") LOOSE_LINE("x") LOOSE_LINE("y"), 9);
  opc_text_add(&journal, END_LINE(0));
  char *text = summed(opc_text_c(&journal), (opc_terminal_view_t){0});
  assert_int_equal(count_of(text, "WARN  n::a0 and 8 more  memory.unchecked_arguments"), 2);
  assert_contains(text, "does not check `x`: crashes (1 input)");
  assert_contains(text, "does not check `y`: crashes (1 input)");
  free(text);
  opc_text_clear(&journal);
}

static void notes_do_not_fill_the_screen(void **state) {
  (void)state;
  opc_text_t journal = {0};
  opc_text_add(&journal, HEAD);
  repeat(&journal, "{\"t\":\"note\",\"message\":\"n@\"}\n", 10);
  opc_text_add(&journal, PASS_LINE("n::a", "stride", "cpu/-/s/plain") END_LINE(0));
  char *text = summed(opc_text_c(&journal), (opc_terminal_view_t){0});
  assert_contains(text, "note: n7\nand 2 more notes: --verbose shows them\n");
  free(text);
  text = shown(opc_text_c(&journal), 0, 0);
  assert_contains(text, "note: n9\n\n");
  free(text);
  opc_text_clear(&journal);
}

static void one_warning_of_many_operators_is_one_entry(void **state) {
  (void)state;
  opc_text_t journal = {0};
  opc_text_add(&journal, RUN_LINE LIBRARY_LINE("l.so"));
  repeat(&journal,
         OPERATOR_LINE("n::a@", "l.so") WARN_LINE("n::a@", "registration", "-/-/-/-", "registration.no_meta_kernel"),
         40);
  opc_text_add(&journal, END_LINE(0));
  char *text = summed(opc_text_c(&journal), (opc_terminal_view_t){0});
  assert_contains(text, "WARN  n::a0 and 39 more  registration.no_meta_kernel\n");
  assert_int_equal(count_of(text, "WARN"), 1);
  assert_contains(text, "; 1 warning\n");
  assert_lacks(text, " more in ");
  free(text);
  opc_text_clear(&journal);
}

static void a_problem_takes_twelve_lines_of_a_hundred_columns(void **state) {
  (void)state;
  opc_text_t journal = {0}, words = {0};
  repeat(&words, "long@ ", 200);
  opc_text_addf(
      &journal,
      HEAD
      "{\"t\":\"result\",\"operator\":\"n::a\",\"check\":\"stride\",\"case\":\"n::a/stride/cpu/-/s/x.sliced\","
      "\"verdict\":\"fail\",\"severity\":\"error\",\"rule\":\"stride.wrong_result\",\"message\":\"%s\","
      "\"standing\":\"declared/same_values\",\"evidence\":{\"why\":\"%s\",\"input\":{\"x\":\"%s\"}},"
      "\"repro\":\"again\"}\n" END_LINE(1),
      opc_text_c(&words), opc_text_c(&words), opc_text_c(&words));
  char *text = summed(opc_text_c(&journal), (opc_terminal_view_t){.exit_code = 1});
  if (lines_of(text) > 3 + 1 + 12 + 2 + 1 + 1) fail_msg("%d lines:\n%s", lines_of(text), text);
  assert_contains(text, "tried       a declared sample, because long0");
  assert_contains(text, " …\n");
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
    if (strlen(line) > 102) fail_msg("%zu bytes: %s", strlen(line), line); /* "…" has three */
  free(text);
  opc_text_clear(&journal);
  opc_text_clear(&words);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_problem_has_all_its_cases),
      cmocka_unit_test(an_operator_lists_the_first_cases_of_each_rule),
      cmocka_unit_test(failures_come_before_warnings),
      cmocka_unit_test(a_crash_may_be_a_warning),
      cmocka_unit_test(the_last_line_counts_what_lacks_a_sample),
      cmocka_unit_test(a_skip_does_not_look_like_a_pass),
      cmocka_unit_test(what_broke_off_says_so),
      cmocka_unit_test(strict_is_said),
      cmocka_unit_test(many_operators_are_a_line_each),
      cmocka_unit_test(many_problems_are_all_shown),
      cmocka_unit_test(a_report_that_failed_is_said),
      cmocka_unit_test(lines_fit_the_width_but_for_those_to_paste),
      cmocka_unit_test(control_characters_do_not_reach_the_terminal),
      cmocka_unit_test(the_summary_comes_first_and_the_verdict_last),
      cmocka_unit_test(where_without_a_file),
      cmocka_unit_test(an_unexpected_pass_is_no_matter_of_layout),
      cmocka_unit_test(what_was_not_called_is_said),
      cmocka_unit_test(expected_failures_are_counted),
      cmocka_unit_test(why_nothing_was_checked_is_said),
      cmocka_unit_test(the_unmodified_sample_stands_for_an_entry),
      cmocka_unit_test(three_hundred_operators_fit_on_three_screens),
      cmocka_unit_test(one_rule_in_many_operators_is_one_entry),
      cmocka_unit_test(unchecked_arguments_share_an_entry_by_name),
      cmocka_unit_test(notes_do_not_fill_the_screen),
      cmocka_unit_test(one_warning_of_many_operators_is_one_entry),
      cmocka_unit_test(a_problem_takes_twelve_lines_of_a_hundred_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
