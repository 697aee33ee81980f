/* What `report compare` says of two runs of one library. */
#include "reports/compare/comparison.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "report_journal.h"

#define LIB "/x/lib.so"
#define RUN(lines)                     \
  RUN_LINE TOOL_LINE LIBRARY_LINE(LIB) \
  lines END_LINE(0)
#define OP(name) OPERATOR_LINE(name, LIB)
#define WRONG(name) FAIL_LINE(name, "stride", "cpu/float32/s/x.transposed", "stride.wrong_result")
#define RIGHT(name) PASS_LINE(name, "stride", "cpu/float32/s/x.transposed")

typedef struct compared {
  char files[2][32];
  opc_compare_run_t runs[2];
  opc_comparison_t comparison;
  opc_error_t error;
  char *text;
} compared_t;

static void write_bytes(char *path, const char *bytes, size_t length) {
  strcpy(path, "/tmp/opcheck-c-unit-XXXXXX");
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file, bytes, length), (ssize_t)length);
  close(file);
}

static opc_status_t read_both(compared_t *compared, const char *before, const char *now) {
  opc_status_t status = OPC_OK;
  write_bytes(compared->files[0], before, strlen(before));
  write_bytes(compared->files[1], now, strlen(now));
  for (size_t i = 0; i < 2 && !status; i++)
    status =
        opc_compare_run_read(compared->files[i], i ? &compared->runs[0] : NULL, &compared->runs[i], &compared->error);
  for (size_t i = 0; i < 2; i++) unlink(compared->files[i]);
  if (!status)
    status = opc_comparison_make(&compared->runs[0], &compared->runs[1], &compared->comparison, &compared->error);
  return status;
}

static void show(compared_t *compared) {
  size_t length = 0;
  FILE *stream = open_memstream(&compared->text, &length);
  const opc_screen_t screen = {.stream = stream, .width = 80};
  assert_non_null(stream);
  opc_compare_show(&compared->comparison, &screen, false);
  fclose(stream);
}

static void compare(compared_t *compared, const char *before, const char *now) {
  *compared = (compared_t){0};
  if (read_both(compared, before, now) != OPC_OK) fail_msg("%s", compared->error.message);
  show(compared);
}

static void compared_clear(compared_t *compared) {
  opc_comparison_clear(&compared->comparison);
  for (size_t i = 0; i < 2; i++) opc_compare_run_clear(&compared->runs[i]);
  free(compared->text);
}

/* The whole JSON report of a journal. */
static char *report_of(const char *journal) {
  opc_journal_reader_t *reader = journal_of(journal);
  char *text = report_text(&opc_report_json, reader, OPC_OK);
  opc_journal_reader_close(reader);
  return text;
}

/* Expects so many problems of each kind, new, worse, fixed, changed and gone, and a part of the text. */
static void expect(const char *before, const char *now, const char *counts, const char *text) {
  const char *const journals[] = {before, now};
  char *reports[] = {report_of(before), report_of(now)}, found[32];
  for (int i = 0; i < 4; i++) { /* both formats, in each order */
    compared_t compared;
    compare(&compared, i & 1 ? reports[0] : journals[0], i & 2 ? reports[1] : journals[1]);
    const size_t *count = compared.comparison.counts;
    snprintf(found, sizeof found, "%zu %zu %zu %zu %zu", count[0], count[1], count[2], count[3], count[4]);
    if (strcmp(found, counts) != 0) fail_msg("%s, not %s:\n%s", found, counts, compared.text);
    assert_contains(compared.text, text);
    assert_int_equal(opc_comparison_is_worse(&compared.comparison), count[0] + count[1] > 0);
    compared_clear(&compared);
  }
  for (int i = 0; i < 2; i++) free(reports[i]);
}

static void test_the_same(void **state) {
  (void)state;
  expect(RUN(OP("ns::a") OP("ns::b") WRONG("ns::a")), RUN(OP("ns::b") OP("ns::a") WRONG("ns::a")), "0 0 0 0 0",
         "NOT WORSE: the same problems\n");
}

static void test_new(void **state) {
  (void)state;
  expect(RUN(OP("ns::a") RIGHT("ns::a")), RUN(OP("ns::a") WRONG("ns::a")), "1 0 0 0 0",
         "NEW     ns::a  stride.wrong_result\n      what        depends on the layout of `x`: wrong at");
  expect(RUN(OP("ns::a")), RUN(OP("ns::a") WRONG("ns::a")), "1 0 0 0 0", "stride (cpu) was not checked before\n");
  expect(RUN(OP("ns::b")), RUN(OP("ns::a") OP("ns::b") WRONG("ns::a")), "1 0 0 0 0", "a new operator\n");
}

static void test_worse(void **state) {
  (void)state;
  expect(RUN(OP("ns::a") WARN_LINE("ns::a", "stride", "cpu/-/s/x.transposed", "stride.wrong_result")),
         RUN(OP("ns::a") FAIL_LINE("ns::a", "stride", "cpu/-/s/x.transposed", "stride.wrong_result")), "0 1 0 0 0",
         "it was a warning\n");
  expect(RUN(OP("ns::a") FAIL_LINE("ns::a", "stride", "cpu/-/s/x.transposed", "stride.wrong_result")),
         RUN(OP("ns::a") WARN_LINE("ns::a", "stride", "cpu/-/s/x.transposed", "stride.wrong_result")), "0 0 0 1 0",
         "it was an error, and is a warning\n");
}

/* What nobody tried again is not fixed. */
static void test_fixed_and_gone(void **state) {
  (void)state;
  expect(RUN(OP("ns::a") WRONG("ns::a")), RUN(OP("ns::a") RIGHT("ns::a")), "0 0 1 0 0", "passes now\n");
  expect(RUN(OP("ns::a") WRONG("ns::a")),
         RUN(OP("ns::a") SKIP_LINE("ns::a", "stride", "cpu/float32/s/x.transposed", "rejected")), "0 0 1 0 0",
         "its input is refused, and nothing is found\n");
  expect(RUN(OP("ns::a") WRONG("ns::a")),
         RUN(OP("ns::a") SKIP_LINE("ns::a", "stride", "cpu/float32/s/x.transposed", "budget")), "0 0 0 0 1",
         "not known: its cases were skipped (budget)\n");
  expect(RUN(OP("ns::a") WRONG("ns::a")),
         RUN(OP("ns::a") SKIP_LINE("ns::a", "stride", "cpu/float32/s/x.transposed", "xfail")), "0 0 0 0 1",
         "a line of --xfail excuses it now\n");
  expect(RUN(OP("ns::a") WRONG("ns::a")), RUN(OP("ns::a")), "0 0 0 0 1", "not known: none of its cases ran\n");
  /* The other case was left out, and has no result. */
  expect(RUN(OP("ns::a") WRONG("ns::a") FAIL_LINE("ns::a", "stride", "cpu/float32/t/x.sliced", "stride.wrong_result")),
         RUN_LINE TOOL_LINE LIBRARY_LINE(LIB) OP("ns::a") RIGHT("ns::a")
             "{\"t\":\"end\",\"seconds\":1,\"exit_code\":0,\"complete\":true,"
             "\"budget\":{\"seconds\":1,\"left_out\":{\"cases\":7,\"operators\":1}}}\n",
         "0 0 0 0 1", "not known: some of its cases were skipped (budget)\n");
  static const char *const reasons[] = {"budget", "after_crash", "no_device", "no_sample", "off"};
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t now = {0}, why = {0};
    opc_text_addf(&now, RUN("%s" SKIP_LINE("ns::a", "stride", "cpu/float32/t/x.transposed", "%s") "%s"), OP("ns::a"),
                  reasons[i], RIGHT("ns::a"));
    opc_text_addf(&why, "not known: some of its cases were skipped (%s)\n", reasons[i]);
    expect(RUN(OP("ns::a") WRONG("ns::a")
                   FAIL_LINE("ns::a", "stride", "cpu/float32/t/x.transposed", "stride.wrong_result")),
           opc_text_c(&now), "0 0 0 0 1", opc_text_c(&why));
  }
  expect(RUN(OP("ns::a") OP("ns::b") WRONG("ns::a")), RUN(OP("ns::b")), "0 0 0 0 1", "the operator was removed\n");
}

/* Another search finds other samples: the same variant of any of them counts, but not of a sample with a name. */
static void test_other_samples(void **state) {
  (void)state;
  expect(RUN(OP("ns::a") FAIL_LINE("ns::a", "stride", "cpu/-/s-01/x.transposed", "stride.wrong_result")),
         RUN(OP("ns::a") PASS_LINE("ns::a", "stride", "cpu/-/s-02/x.transposed")), "0 0 1 0 0", "passes now\n");
  expect(RUN(OP("ns::a") FAIL_LINE("ns::a", "stride", "cpu/-/small/x.transposed", "stride.wrong_result")),
         RUN(OP("ns::a") PASS_LINE("ns::a", "stride", "cpu/-/large/x.transposed")), "0 0 0 0 1", "none of its cases");
}

/* Another rule on the same case: a second defect may hide the first. */
static void test_another_rule(void **state) {
  (void)state;
  expect(RUN(OP("ns::a") WRONG("ns::a")),
         RUN(OP("ns::a") ERROR_LINE("ns::a", "stride", "cpu/float32/s/x.transposed", "signal.SIGSEGV")), "1 0 0 0 1",
         "its cases fail by another rule now\n");
}

/* One cause, which another of its symptoms names now. */
static void test_changed(void **state) {
  (void)state;
  expect(RUN(OP("ns::a") FAIL_LINE("ns::a", "meta", "cpu/-/s/plain", "meta.stride")),
         RUN(OP("ns::a") FAIL_LINE("ns::a", "meta", "cpu/-/s/plain", "meta.stride")
                 FAIL_LINE("ns::a", "meta", "cpu/-/t/plain", "meta.shape")),
         "0 0 0 1 0", "its rule was meta.stride\n");
  expect(RUN(OP("ns::a") FAIL_LINE("ns::a", "empty", "cpu/-/s/x.empty0", "empty.shape")),
         RUN(OP("ns::a") FAIL_LINE("ns::a", "empty", "cpu/-/s/x.empty0", "empty.shape")
                 ERROR_LINE("ns::a", "memory", "cpu/-/s/x.empty0", "signal.SIGSEGV")),
         "0 1 0 0 0", "its rule was empty.shape\n");
}

static void test_operators(void **state) {
  compared_t compared;
  (void)state;
  compare(
      &compared, RUN(OP("ns::a") OP("ns::b")),
      RUN("{\"t\":\"operator\",\"name\":\"ns::a\",\"schema\":\"ns::a(Tensor x, int n=1) -> Tensor\",\"library\":\"" LIB
          "\",\"dispatch_keys\":[\"Meta\",\"CPU\"],\"tags\":[\"core\"]}\n" OP("ns::c")));
  assert_int_equal(compared.comparison.operator_count, 3);
  assert_contains(compared.text,
                  "operator changed: ns::a\n      schema      ns::a(Tensor x) -> Tensor\n"
                  "      is now      ns::a(Tensor x, int n=1) -> Tensor\n"
                  "      tags        +core\n      keys        +Meta\n");
  assert_contains(compared.text, "operator removed: ns::b\n");
  assert_contains(compared.text, "operator added: ns::c\n");
  assert_contains(compared.text, "NOT WORSE: the same problems; 3 operators differ\n");
  assert_false(opc_comparison_is_worse(&compared.comparison));
  compared_clear(&compared);
}

static void test_no_longer_checked(void **state) {
  compared_t compared;
  (void)state;
  compare(&compared,
          RUN(OP("ns::a") OP("ns::b") RIGHT("ns::a") PASS_LINE("ns::a", "meta", "cpu/-/s-1/plain")
                  PASS_LINE("ns::b", "meta", "cpu/-/small/plain") RIGHT("ns::b")),
          RUN(OP("ns::a") OP("ns::b") RIGHT("ns::a") SKIP_LINE("ns::a", "meta", "cpu/-/s-1/plain", "budget")));
  assert_int_equal(compared.comparison.lost_count, 2);
  assert_contains(compared.text,
                  "                  meta (cpu), 1 operator, budget: ns::a\n"
                  "                  all checks, 1 operator, no case ran: ns::b\n");
  compared_clear(&compared);
  compare(&compared, RUN(OP("ns::a") PASS_LINE("ns::a", "meta", "cpu/-/small/plain") RIGHT("ns::a")),
          RUN(OP("ns::a") PASS_LINE("ns::a", "meta", "cpu/-/large/plain") RIGHT("ns::a")));
  assert_contains(compared.text, "sample small, 1 operator, no case ran: ns::a\n");
  compared_clear(&compared);
}

/* A library's file may have another name in another version of it. */
static void test_renamed_library(void **state) {
#define RENAMED(lines)                                                                                      \
  RUN_LINE TOOL_LINE LIBRARY_LINE("/x/lib.abi3.so") OPERATOR_LINE("ns::a", "/x/lib.abi3.so") RIGHT("ns::a") \
      lines END_LINE(0)
  static const char before[] = RUN(OP("ns::a") RIGHT("ns::a") PASS_LINE("library::lib.so", "architecture", "-/-/-/-"));
  static const char fails[] =
      RUN(OP("ns::a") RIGHT("ns::a") FAIL_LINE("library::lib.so", "architecture", "-/-/-/-", "architecture.no_image"));
  compared_t compared;
  (void)state;
  compare(&compared, before, RENAMED(PASS_LINE("library::lib.abi3.so", "architecture", "-/-/-/-")));
  assert_string_equal(strstr(compared.text, "NOT WORSE"), "NOT WORSE: the same problems\n");
  compared_clear(&compared);
  compare(&compared, before, RUN(OP("ns::a") RIGHT("ns::a")));
  assert_contains(compared.text, "architecture, 1 operator, no case ran: library::lib.so\n");
  compared_clear(&compared);
  expect(fails, RENAMED(""), "0 0 0 0 1", "there is no library of this name any more\n");
  expect(RENAMED(""), fails, "1 0 0 0 0", "a new library\n");
  expect(RUN(OP("ns::a")), fails, "1 0 0 0 0", "architecture was not checked before\n");
#undef RENAMED
}

/* A schema that libtorch made up has the names _0, _1; a later version may say better ones. */
static void test_renamed_argument(void **state) {
#define NAMED(arguments)                                                                                    \
  "{\"t\":\"operator\",\"name\":\"ns::a\",\"schema\":\"ns::a(" arguments ") -> Tensor\",\"library\":\"" LIB \
  "\",\"dispatch_keys\":[\"CPU\"],\"tags\":[]}\n"
#define UNCHECKED(argument) WARN_LINE("ns::a", "memory", "cpu/-/s-1/" argument ".scalar", "memory.unchecked_arguments")
  static const char before[] = RUN(NAMED("Tensor _0, Tensor _1") UNCHECKED("_1"));
  (void)state;
  expect(before, RUN(NAMED("Tensor x, Tensor y") UNCHECKED("y")), "0 0 0 1 0", "its argument was called `_1`\n");
  expect(before, RUN(NAMED("Tensor x, Tensor y") UNCHECKED("x")), "1 0 0 0 1", "none of its cases ran\n");
  expect(before, RUN(NAMED("Tensor x, Tensor y") UNCHECKED("x") UNCHECKED("y")), "1 0 0 1 0", "CHANGED ns::a");
  expect(before, RUN(NAMED("Tensor _0, Tensor _1") UNCHECKED("_0")), "1 0 0 0 1", "GONE    ns::a");
#undef UNCHECKED
#undef NAMED
}

static void test_no_longer_loaded(void **state) {
  static const char now[] = RUN_LINE TOOL_LINE
      "{\"t\":\"library\",\"path\":\"/y/lib.so\",\"status\":\"failed\",\"error\":{\"kind\":\"abi\",\"message\":\"it is "
      "of "
      "another time\"}}\n" END_LINE(4);
  compared_t compared;
  (void)state;
  compare(&compared, RUN(OP("ns::a") WRONG("ns::a")), now);
  assert_true(opc_comparison_is_worse(&compared.comparison));
  assert_int_equal(compared.comparison.operator_count, 0);
  assert_contains(compared.text,
                  "LOAD    /y/lib.so can no longer be loaded\n      what        it is of another time\n");
  assert_contains(compared.text, "not known: the library could not be loaded\n");
  compared_clear(&compared);
}

static void test_json(void **state) {
  compared_t compared;
  (void)state;
  compare(&compared, RUN(OP("ns::a") OP("ns::b") RIGHT("ns::b")), RUN(OP("ns::a") WRONG("ns::a")));
  const opc_report_source_t source = {.comparison = &compared.comparison};
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  assert_int_equal(opc_report_compare_json.write(&source, stream, &compared.error), OPC_OK);
  fclose(stream);
  json_t *json = json_loads(text, 0, NULL);
  assert_non_null(json);
  const json_t *problem = json_array_get(json_object_get(json, "problems"), 0);
  assert_string_equal(opc_record_text(json, "format"), "opcheck-c/compare/1");
  assert_string_equal(opc_record_text(problem, "kind"), "new");
  assert_true(json_is_null(json_object_get(problem, "old")));
  assert_string_equal(opc_record_text(json_object_get(problem, "new"), "rule"), "stride.wrong_result");
  assert_string_equal(opc_record_text(json_array_get(json_object_get(json, "operators"), 0), "kind"), "removed");
  assert_true(json_is_true(json_object_get(json_object_get(json, "summary"), "is_worse")));
  json_decref(json);
  free(text);
  compared_clear(&compared);
}

static void expect_mistake(const char *before, const char *now, const char *message) {
  compared_t compared = {0};
  assert_int_equal(read_both(&compared, before, now), OPC_ERR_INPUT);
  assert_contains(compared.error.message, message);
  compared_clear(&compared);
}

static void test_bad_input(void **state) {
  static const char good[] = RUN(OP("ns::a"));
  (void)state;
  expect_mistake(good,
                 RUN_LINE TOOL_LINE LIBRARY_LINE("/x/other.so") OPERATOR_LINE("other::a", "/x/other.so") END_LINE(0),
                 "about lib.so and ");
  expect_mistake(good, "", "is neither a JSON report nor a journal of opcheck-c");
  expect_mistake(good, "hello", "is neither a JSON report nor a journal of opcheck-c");
  expect_mistake(good, "[1]", "is neither a JSON report nor a journal of opcheck-c");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/1\", 7}", "the name of a field is missing");
  expect_mistake(good, "{\"a\": 1}", "is neither a JSON report nor a journal of opcheck-c");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/2\"}",
                 "has the format opcheck-c/report/2, and this opcheck-c reads");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/1\", \"results\": [{\"a\"",
                 "is cut off after item 0 of \"results\": copy it again");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/1\", \"operators\": [{\"a\": 1}, {\"a\"",
                 "is cut off after item 1 of \"operators\": copy it again");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/1\", \"operators\": [{} {}]}",
                 "a comma or a bracket is missing");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/1\", \"notes\": [{\"a\" 1}]}", "item 1 of \"notes\": ");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/1\", \"results\": [{\"case\": \"x\"}]}",
                 "has no verdict or no case");
  expect_mistake(good, "{\"format\": \"opcheck-c/report/1\"} {}", "something is left after the end");
  expect_mistake(good, RUN_LINE, "stopped before a library was loaded");
}

/* A report that somebody else wrote, or edited. */
static void test_other_lists(void **state) {
#define REPORT(problem) "{\"format\": \"opcheck-c/report/1\", \"problems\": [{\"id\": \"x\", " problem "}]}"
  static const char *const operators[] = {"\"operators\": [1, 2]", "\"operators\": [\"ns::a\", null]",
                                          "\"operators\": \"ns::a\"", "\"operators\": []", "\"rule\": 7"};
  static const char good[] = RUN(OP("ns::a"));
  (void)state;
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t report = {0};
    opc_text_addf(&report, REPORT("\"cases\": [\"ns::a/meta/-/-/-/-\"], %s"), operators[i]);
    expect_mistake(good, opc_text_c(&report), ": \"operators\" of the problem \"x\" is no list of texts");
  }
  expect_mistake(good, REPORT("\"operators\": [\"ns::a\"], \"cases\": [1]"),
                 ": \"cases\" of the problem \"x\" is no list of texts");
  compared_t compared;
  compare(&compared, good,
          "{\"format\": \"opcheck-c/report/1\", \"run\": {\"complete\": true}, "
          "\"libraries\": [{\"path\": \"" LIB "\", \"status\": \"failed\", \"error\": null}]}");
  assert_contains(compared.text, "a library can no longer be loaded");
  compared_clear(&compared);
}

/* However the report is laid out. */
static void test_layouts(void **state) {
  char *report = report_of(RUN(OP("ns::a") WRONG("ns::a")));
  json_t *json = json_loads(report, 0, NULL);
  (void)state;
  for (int i = 0; i < 2; i++) {
    char *other = json_dumps(json, i ? JSON_COMPACT | JSON_SORT_KEYS : JSON_INDENT(3));
    compared_t compared;
    compare(&compared, other, report);
    assert_contains(compared.text, "NOT WORSE: the same problems\n");
    compared_clear(&compared);
    free(other);
  }
  json_decref(json);
  free(report);
}

static void compress(const char *path, opc_compression_t compression, const char *text, size_t kept) {
  char *bytes = NULL;
  size_t length = 0;
  FILE *target = open_memstream(&bytes, &length), *stream = opc_compressed_stream(target, compression);
  assert_true(fputs(text, stream) >= 0);
  assert_int_equal(fclose(stream), 0);
  fclose(target);
  target = fopen(path, "w");
  length = kept < length ? kept : length;
  assert_int_equal(fwrite(bytes, 1, length, target), length);
  fclose(target);
  free(bytes);
}

/* By what is in the file, whatever its name. */
static void test_compressed(void **state) {
  static const opc_compression_t kinds[] = {OPC_COMPRESSION_GZIP, OPC_COMPRESSION_ZSTD};
  static const char journal[] = RUN(OP("ns::a") WRONG("ns::a"));
  char path[32], *report = report_of(journal);
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    opc_compare_run_t run;
    opc_error_t error;
    write_bytes(path, "", 0);
    compress(path, kinds[i / 2], i % 2 ? journal : report, SIZE_MAX);
    if (opc_compare_run_read(path, NULL, &run, &error) != OPC_OK) fail_msg("%s", error.message);
    assert_int_equal(json_array_size(run.problems), 1);
    opc_compare_run_clear(&run);
    compress(path, kinds[i / 2], i % 2 ? journal : report, 100);
    assert_int_equal(opc_compare_run_read(path, NULL, &run, &error), OPC_ERR_INPUT);
    assert_contains(error.message, "is cut off");
    opc_compare_run_clear(&run);
    unlink(path);
  }
  free(report);
}

static size_t files_in(const char *folder) {
  size_t count = 0;
  DIR *stream = opendir(folder);
  assert_non_null(stream);
  for (const struct dirent *entry; (entry = readdir(stream));) count += *entry->d_name != '.';
  closedir(stream);
  return count;
}

/* Whatever ends the process while a journal is unpacked: nothing is left. */
static void test_ended(void **state) {
  char path[32], folder[] = "/tmp/opcheck-c-unit-XXXXXX";
  const struct rlimit no_bytes = {1, 1};
  int status = 0;
  (void)state;
  write_bytes(path, "", 0);
  compress(path, OPC_COMPRESSION_GZIP, RUN(OP("ns::a") WRONG("ns::a")), SIZE_MAX);
  assert_non_null(mkdtemp(folder));
  const pid_t child = fork();
  if (child == 0) {
    opc_compare_run_t run;
    signal(SIGXFSZ, SIG_DFL);
    if (setenv("TMPDIR", folder, 1) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 && setrlimit(RLIMIT_FSIZE, &no_bytes) == 0)
      status = opc_compare_run_read(path, NULL, &run, NULL);
    _exit(1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ);
  assert_int_equal(files_in(folder), 0);
  assert_int_equal(rmdir(folder), 0);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_same),
      cmocka_unit_test(test_new),
      cmocka_unit_test(test_worse),
      cmocka_unit_test(test_fixed_and_gone),
      cmocka_unit_test(test_other_samples),
      cmocka_unit_test(test_another_rule),
      cmocka_unit_test(test_changed),
      cmocka_unit_test(test_operators),
      cmocka_unit_test(test_no_longer_checked),
      cmocka_unit_test(test_renamed_library),
      cmocka_unit_test(test_renamed_argument),
      cmocka_unit_test(test_no_longer_loaded),
      cmocka_unit_test(test_json),
      cmocka_unit_test(test_bad_input),
      cmocka_unit_test(test_other_lists),
      cmocka_unit_test(test_layouts),
      cmocka_unit_test(test_ended),
      cmocka_unit_test(test_compressed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
