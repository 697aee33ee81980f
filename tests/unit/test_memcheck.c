/* Valgrind's files: what is read from them, to whom the errors belong, and what is reported about each. */
#include "temp_folder.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "catalogue/rules.h"
#include "memcheck_files.h"
#include "supervise/tools/memcheck_state.h"

enum { PID = 1475 };
static const char whole[] = XML_HEAD XML_READ XML_SECOND XML_TAIL;

static void write_text(const char *name, const char *text) { temp_write(name, text, strlen(text)); }

/* ---- the XML ---- */

static void xml_is_read(void **state) {
  opc_memcheck_errors_t errors = {0};
  opc_error_t error;
  (void)state;
  write_text("whole.xml", whole);
  assert_ok(opc_memcheck_xml_read(temp_path("whole.xml"), &errors, &error), error);
  assert_int_equal(errors.count, 3);
  assert_true(errors.finished);
  const opc_memcheck_error_t *read = &errors.items[0], *mismatched = &errors.items[1];
  assert_string_equal(read->kind, "InvalidRead");
  assert_string_equal(read->what, "Invalid read of size 4");
  assert_int_equal(read->stack.count, 2); /* an inlined function has the address of its caller */
  assert_int_equal(read->stack.addresses[1], 0x109902);
  assert_int_equal(read->number, 1);
  assert_string_equal(read->tensor.path, "x");
  assert_int_equal(read->tensor.bytes, 64);
  assert_int_equal(read->aux_count, 1);
  assert_int_equal(read->aux[0].stack.skip, 1);
  assert_int_equal(mismatched->number, 2);
  assert_string_equal(mismatched->tensor.path, ""); /* announced for another case */
  assert_int_equal(mismatched->stack.skip, 1);
  assert_string_equal(mismatched->stack.replaced, "operator delete(void*)");
  assert_int_equal(errors.items[2].aux_count, 0);
  assert_true(read->key != mismatched->key && mismatched->key != errors.items[2].key);
  opc_memcheck_errors_clear(&errors);
}

/* The null pointer of an empty tensor is near every null pointer. */
static void empty_tensors_have_no_place(void **state) {
  opc_memcheck_errors_t errors = {0};
  opc_error_t error;
  (void)state;
  write_text("empty.xml", XML_HEAD MESSAGE("opcheck-c case 1") MESSAGE("opcheck-c tensor 0x0 0 x")
             "<error>\n  <kind>InvalidRead</kind>\n  <what>Invalid read of size 4</what>\n" STACK(FRAME("0x109902", "/lib/libops.so", "op"))
             "  <auxwhat>Address 0x0 is not stack'd, malloc'd or (recently) free'd</auxwhat>\n</error>\n");
  assert_ok(opc_memcheck_xml_read(temp_path("empty.xml"), &errors, &error), error);
  assert_int_equal(errors.count, 1);
  assert_string_equal(errors.items[0].tensor.path, "");
  opc_memcheck_errors_clear(&errors);
}

/* A process that is still alive, or was killed, may have written any part of it. */
static void xml_may_be_cut_off(void **state) {
  opc_memcheck_errors_t errors = {0};
  opc_error_t error;
  size_t last = 0, ends[] = {strlen(XML_HEAD XML_READ), strlen(whole) - strlen(XML_TAIL)};
  (void)state;
  for (size_t length = 0; length <= strlen(whole); length++) {
    temp_write("cut.xml", whole, length);
    assert_ok(opc_memcheck_xml_read(temp_path("cut.xml"), &errors, &error), error);
    assert_true(errors.count >= last);
    last = errors.count;
    if (length == ends[0]) assert_int_equal(errors.count, 1); /* the last written error is there */
    if (length == ends[1]) assert_int_equal(errors.count, 3);
  }
  opc_memcheck_errors_clear(&errors);
}

static void xml_may_be_none(void **state) {
  static const char *const texts[] = {"", "no XML at all", "<valgrindoutput><error></valgrindoutput>\n</error>\n",
                                      XML_HEAD "<error>\n<kind>\xff\xfe</kind>\n</error>\n",
                                      XML_HEAD MESSAGE("a < b & c") XML_READ};
  opc_memcheck_errors_t errors = {0};
  opc_error_t error;
  (void)state;
  for (size_t i = 0; i < COUNT(texts); i++) {
    write_text("none.xml", texts[i]);
    assert_ok(opc_memcheck_xml_read(temp_path("none.xml"), &errors, &error), error);
    assert_int_equal(errors.count, 0);
  }
  assert_int_equal(opc_memcheck_xml_read(temp_path("nowhere.xml"), &errors, &error), OPC_ERR_IO);
  opc_memcheck_errors_clear(&errors);
}

static void new_without_memory_is_told(void **state) {
  opc_memcheck_errors_t errors = {0};
  opc_error_t error;
  (void)state;
  write_text("new.xml", XML_HEAD XML_READ MESSAGE("new/new[] failed and should throw an exception, but Valgrind"));
  assert_ok(opc_memcheck_xml_read(temp_path("new.xml"), &errors, &error), error);
  assert_true(errors.new_failed && !errors.finished && errors.count == 1);
  opc_memcheck_errors_clear(&errors);
}

/* ---- the log ---- */

static uint64_t count_of(const opc_memcheck_counts_t *counts, uint64_t key) {
  for (size_t i = 0; i < counts->count; i++)
    if (counts->items[i].key == key) return counts->items[i].count;
  return 0;
}

static void lists_are_read_one_by_one(void **state) {
  opc_memcheck_errors_t errors = {0};
  opc_memcheck_counts_t counts = {0};
  opc_error_t error;
  int64_t offset = 0;
  (void)state;
  write_text("whole.xml", whole);
  assert_ok(opc_memcheck_xml_read(temp_path("whole.xml"), &errors, &error), error);
  /* Another process writes in between, and the second list exists before the first is requested. */
  write_text("log",
             "==99== 7 errors in context 1 of 1:\n" LOG_FIRST "==99== Invalid write of size 8\nvex words\n" LOG_SECOND);
  assert_true(opc_memcheck_log_list(temp_path("log"), PID, &offset, &counts));
  assert_int_equal(counts.count, 1);
  assert_int_equal(count_of(&counts, errors.items[0].key), 2);
  assert_true(opc_memcheck_log_list(temp_path("log"), PID, &offset, &counts));
  assert_int_equal(counts.count, 3);
  assert_int_equal(count_of(&counts, errors.items[0].key), 1003);
  assert_int_equal(count_of(&counts, errors.items[1].key), 1);
  assert_int_equal(count_of(&counts, errors.items[2].key), 1);
  assert_false(opc_memcheck_log_list(temp_path("log"), PID, &offset, &counts));
  offset = 0;
  assert_false(opc_memcheck_log_list(temp_path("log"), PID + 1, &offset, &counts));
  assert_false(opc_memcheck_log_list(temp_path("nowhere"), PID, &offset, &counts));
  free(counts.items);
  opc_memcheck_errors_clear(&errors);
}

static void unknown_instructions_have_bytes(void **state) {
#define BYTES "vex amd64->IR: unhandled instruction bytes: 0x62 0xF1\nvex amd64->IR:   REX=0\n"
#define UNRECOGNISED(pid) \
  "==" pid "== valgrind: Unrecognised instruction at address 0x109225.\n==" pid "== Your program\n"
  static const struct {
    const char *log;
    bool found;
  } cases[] = {{"==1475== words\n" BYTES UNRECOGNISED("1475"), true},
               {UNRECOGNISED("1475"), false},                          /* ud2: known, and the program's own */
               {BYTES UNRECOGNISED("12") UNRECOGNISED("1475"), false}, /* another process's bytes */
               {BYTES UNRECOGNISED("12") BYTES UNRECOGNISED("1475"), true}};
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    opc_text_t bytes = {0};
    write_text("log", cases[i].log);
    assert_int_equal(opc_memcheck_log_unknown_instruction(temp_path("log"), PID, 0x109225, &bytes), cases[i].found);
    if (cases[i].found) assert_string_equal(opc_text_c(&bytes), "0x62 0xF1");
    opc_text_reset(&bytes);
    assert_false(opc_memcheck_log_unknown_instruction(temp_path("log"), PID, 0x109226, &bytes));
    opc_text_clear(&bytes);
  }
}

static void failures_of_valgrind_are_told(void **state) {
  opc_text_t line = {0};
  bool no_memory = true;
  (void)state;
  write_text("log",
             "\nMemcheck: mc_main.c:123 (f): the 'impossible' happened.\n   Block found in free queue\n\nhost "
             "stacktrace:\n==1475==    at 0x58: x\n");
  assert_true(opc_memcheck_log_failure(temp_path("log"), PID, &line, &no_memory));
  assert_false(no_memory);
  assert_non_null(strstr(opc_text_c(&line), "mc_main.c:123"));
  assert_false(opc_memcheck_log_failure(temp_path("log"), PID + 1, &line, &no_memory));
  write_text("log",
             "==1475==     Valgrind's memory management: out of memory:\n==1475==        newSuperblock's request for "
             "4194304 bytes failed.\n");
  assert_true(opc_memcheck_log_failure(temp_path("log"), PID, &line, &no_memory));
  assert_true(no_memory);
  opc_text_clear(&line);
}

/* ---- text ---- */

static void errors_have_rules_and_words(void **state) {
  static const struct {
    const char *kind, *what, *aux, *tensor, *rule, *words;
  } cases[] = {
      {"InvalidRead", "Invalid read of size 4", "Address 0x1040 is 0 bytes after a block of size 64 alloc'd", "x",
       "memcheck.invalid_read", "reads 4 bytes past the end of x (64 bytes)"},
      {"InvalidRead", "Invalid read of size 1", "Address 0xfff is 4,095 bytes inside a block of size 8,256 alloc'd",
       "x", "memcheck.invalid_read", "reads 1 byte, 1 before the start of x (64 bytes)"},
      {"InvalidRead", "Invalid read of size 8", "Address 0x1008 is 1 bytes inside a block of size 8,256 free'd", "x",
       "memcheck.invalid_read", "reads 8 bytes at byte 8 of x (64 bytes), which is freed"},
      {"InvalidWrite", "Invalid write of size 8", "Address 0x2010 is 16 bytes after a block of size 1,040 alloc'd", "",
       "memcheck.invalid_write", "writes 8 bytes, 16 past the end of a block of 1040 bytes"},
      {"InvalidWrite", "Invalid write of size 8", "Address 0x10 is not stack'd, malloc'd or (recently) free'd", "",
       "memcheck.invalid_write", "writes 8 bytes at 0x10, which is not stack'd, malloc'd or (recently) free'd"},
      {"InvalidRead", "Invalid read of size 4", "Address 0x103c is not stack'd, malloc'd or (recently) free'd", "x",
       "memcheck.invalid_read", "reads 4 bytes at byte 60 of x (64 bytes)"},
      {"InvalidRead", "Invalid read of size 4", "", "", "memcheck.invalid_read", "reads 4 bytes at 0x0"},
      {"UninitCondition", "Conditional jump or move depends on uninitialised value(s)", "", "",
       "memcheck.uninitialised_branch", "branches on an uninitialised value"},
      {"UninitValue", "Use of uninitialised value of size 8", "", "", "memcheck.uninitialised_value",
       "as an address or an index"},
      {"SyscallParam", "Syscall param write(buf) points to uninitialised byte(s)", "", "", "memcheck.syscall",
       "write(buf) points to uninitialised byte(s)"},
      {"InvalidFree", "Invalid free() / delete / delete[] / realloc()",
       "Address 0x20 is 0 bytes inside a block of size 40 free'd", "", "memcheck.invalid_free",
       "frees a block of 40 bytes a second time"},
      {"InvalidFree", "Invalid free() / delete / delete[] / realloc()",
       "Address 0x30 is 16 bytes inside a block of size 40 alloc'd", "", "memcheck.invalid_free",
       "frees a pointer to byte 16 of a block of 40 bytes"},
      {"InvalidFree", "Invalid free() / delete / delete[] / realloc()", "Address 0x30 is on thread 1's stack", "",
       "memcheck.invalid_free", "frees 0x30, which is not a block"},
      {"MismatchedFree", "Mismatched free() / delete / delete []",
       "Address 0x30 is 0 bytes inside a block of size 40 alloc'd", "", "memcheck.mismatched_free",
       "a block allocated by ? is freed by ?"},
      {"Overlap", "Source and destination overlap in memcpy_chk(0x1, 0x2, 21)", "", "", "memcheck.overlap",
       "source and destination of memcpy_chk overlap (21 bytes)"},
      {"Overlap", "Source and destination overlap in strcpy(0x1, 0x2)", "", "", "memcheck.overlap",
       "source and destination of strcpy overlap"},
      {"FishyValue", "Argument 'size' of function malloc has a fishy (possibly negative) value: -1", "", "",
       "memcheck.suspicious", "fishy (possibly negative) value: -1"},
      {"OfTomorrow", "Something new", "About it", "", "memcheck.suspicious", "Something new. About it"},
  };
  const opc_memcheck_view_t view = {0};
  (void)state;
  for (size_t i = 0; i < COUNT(cases); i++) {
    opc_memcheck_error_t found = {.tensor = {.data = 0x1000, .bytes = 64}, .aux_count = cases[i].aux[0] != '\0'};
    snprintf(found.kind, sizeof found.kind, "%s", cases[i].kind);
    snprintf(found.what, sizeof found.what, "%s", cases[i].what);
    snprintf(found.aux[0].text, sizeof found.aux[0].text, "%s", cases[i].aux);
    snprintf(found.tensor.path, sizeof found.tensor.path, "%s", cases[i].tensor);
    opc_also_t words = opc_memcheck_describe(&found, &view);
    assert_string_equal(opc_rule_name(words.rule), cases[i].rule);
    if (!strstr(words.message, cases[i].words)) fail_msg("\"%s\" is not in \"%s\"", cases[i].words, words.message);
    opc_also_clear(&words);
  }
}

/* ---- owners of errors ---- */

/* A memcheck whose Valgrind is a file that does nothing. */
static opc_memcheck_t *memcheck_make(void) {
  opc_memcheck_t *memcheck = NULL;
  opc_error_t error;
  write_text("valgrind", "#!/bin/sh\n");
  assert_int_equal(chmod(temp_path("valgrind"), 0755), 0);
  char *path = opc_string_copy(getenv("PATH"));
  setenv("PATH", temp_folder, 1);
  opc_status_t status = opc_memcheck_new(&memcheck, &error);
  setenv("PATH", path, 1);
  free(path);
  assert_ok(status, error);
  return memcheck;
}

static void write_at(const char *path, const char *text) {
  FILE *stream = fopen(path, "w");
  assert_non_null(stream);
  assert_true(fputs(text, stream) >= 0);
  assert_int_equal(fclose(stream), 0);
}

static opc_case_result_t *result_make(opc_verdict_kind_t verdict, opc_rule_id_t rule) {
  opc_error_t error;
  opc_case_result_t *result = NULL;
  assert_ok(opc_case_result_new("n::o/alias/cpu/-/s/plain", verdict, rule, "own words",
                                json_pack("{s:{s:s}, s:b}", "input", "x", "?", "witnessed", 1), &result, &error),
            error);
  return result;
}

/* The message of a case or try. */
static json_t *told_make(int number, int errors, bool listed) {
  return json_pack("{s:{s:i, s:i, s:b}}", "memcheck", "number", number, "errors", errors, "listed", listed);
}

static void judge(opc_memcheck_t *memcheck, const opc_child_t *child, json_t *told, opc_case_result_t *result) {
  const opc_memcheck_view_t view = {0};
  opc_error_t error;
  assert_ok(opc_memcheck_judge_result(memcheck, child, &view, told, result, &error), error);
  json_decref(told);
}

static void cases_get_their_errors(void **state) {
  opc_memcheck_t *memcheck = memcheck_make();
  opc_child_t child = {.id = 7, .pid = PID};
  const opc_memcheck_view_t view = {0};
  char path[PATH_MAX + 32];
  opc_journal_t *journal = NULL;
  opc_error_t error;
  (void)state;
  opc_memcheck_xml_path(memcheck, PID, path);

  /* The first case passed: Valgrind's errors become its result. */
  write_at(path, XML_HEAD XML_READ);
  write_at(memcheck->log, LOG_FIRST);
  opc_case_result_t *first = result_make(OPC_VERDICT_PASS, OPC_RULE_NONE);
  judge(memcheck, &child, told_make(1, 2, true), first);
  assert_int_equal(first->verdict, OPC_VERDICT_FAIL);
  assert_int_equal(first->rule, OPC_RULE_memcheck_invalid_read);
  assert_string_equal(first->message, "reads 4 bytes past the end of x (64 bytes); 2 such errors");
  assert_true(first->witnessed);
  assert_non_null(json_object_get(first->evidence, "valgrind"));
  assert_int_equal(first->also.count, 0);

  /* The second failed: its own finding moves after them. One of its errors is at the same place as the first case's. */
  write_at(path, XML_HEAD XML_READ XML_SECOND);
  write_at(memcheck->log, LOG_FIRST LOG_SECOND);
  opc_case_result_t *second = result_make(OPC_VERDICT_FAIL, OPC_RULE_alias_input_returned);
  judge(memcheck, &child, told_make(2, 1003, true), second);
  const opc_also_t *also = second->also.items;
  assert_int_equal(second->rule, OPC_RULE_memcheck_mismatched_free);
  assert_string_equal(second->message, "a block allocated by operator new[] is freed by operator delete");
  assert_int_equal(second->also.count, 3);
  assert_int_equal(also[0].rule, OPC_RULE_memcheck_uninitialised_branch);
  assert_int_equal(also[1].rule, OPC_RULE_memcheck_invalid_read);
  assert_non_null(strstr(also[1].message, "in an earlier case; 1001 such errors"));
  assert_int_equal(also[2].rule, OPC_RULE_alias_input_returned);
  assert_string_equal(also[2].message, "own words");

  /* A case without errors stays unchanged; only that the child may not say that Valgrind saw something. */
  opc_case_result_t *third = result_make(OPC_VERDICT_PASS, OPC_RULE_NONE);
  judge(memcheck, &child, told_make(3, 0, true), third);
  assert_int_equal(third->verdict, OPC_VERDICT_PASS);
  assert_false(third->witnessed);

  /* Errors that cannot be read: of a child without a file, and of one with a truncated file. */
  opc_case_result_t *lost = result_make(OPC_VERDICT_PASS, OPC_RULE_NONE);
  opc_child_t unknown = {.id = 8, .pid = PID + 1};
  judge(memcheck, &unknown, told_make(1, 4, true), lost);
  assert_int_equal(lost->verdict, OPC_VERDICT_ERROR);
  assert_int_equal(lost->rule, OPC_RULE_harness);
  lost->verdict = OPC_VERDICT_PASS;
  opc_memcheck_xml_path(memcheck, PID + 1, path);
  write_at(path, XML_HEAD);
  judge(memcheck, &unknown, told_make(1, 4, true), lost);
  assert_non_null(strstr(lost->message, "full disk"));
  bool told = false;
  assert_ok(opc_journal_open(temp_path("journal"), &journal, &error), error);
  assert_ok(opc_memcheck_note_rest(memcheck, &view, journal, &told, &error), error);
  assert_true(told);
  opc_journal_close(journal);

  opc_case_result_free(first);
  opc_case_result_free(second);
  opc_case_result_free(third);
  opc_case_result_free(lost);
  opc_memcheck_free(memcheck);
}

static void crashes_and_tries_are_judged_too(void **state) {
  opc_memcheck_t *memcheck = memcheck_make();
  opc_child_t child = {.id = 7, .pid = PID};
  char path[PATH_MAX + 32];
  opc_error_t error;
  (void)state;
  opc_memcheck_xml_path(memcheck, PID, path);
  write_at(path, XML_HEAD XML_READ);
  write_at(memcheck->log, LOG_FIRST);

  /* A harness error remains one; Valgrind's is added to it. */
  opc_case_result_t *result = result_make(OPC_VERDICT_ERROR, OPC_RULE_foreign_exception);
  judge(memcheck, &child, told_make(1, 2, true), result);
  assert_int_equal(result->rule, OPC_RULE_foreign_exception);
  assert_int_equal(result->also.count, 1);
  opc_case_result_free(result);

  /* The list is used up: the number of the try shows it. */
  opc_tried_t tried = {.outcome = OPC_TRY_RETURNED, .message = ""};
  json_t *told = told_make(1, 1, false);
  assert_ok(opc_memcheck_judge_tried(memcheck, &child, told, &tried, &error), error);
  assert_int_equal(tried.outcome, OPC_TRY_UNCLEAN);
  assert_non_null(strstr(tried.message, "reads outside"));
  json_decref(told);
  opc_memcheck_free(memcheck);
}

/* ---- the command ---- */

static void command_line_is_made(void **state) {
  opc_memcheck_t *memcheck = NULL;
  opc_error_t error;
  struct stat info;
  (void)state;
  setenv("VALGRIND_OPTS", "--suppressions=mine", 1);
  memcheck = memcheck_make();
  unsetenv("VALGRIND_OPTS");
  const char *const *words = opc_memcheck_launcher(memcheck)->words, *options = opc_memcheck_launcher(memcheck)->value;
  assert_non_null(strstr(words[0], "/valgrind"));
  size_t count = 0, files = 0;
  for (; words[count] != NULL; count++)
    files += strncmp(words[count], "--xml-file=/", 12) == 0 && strstr(words[count], "/%p.xml") != NULL;
  assert_int_equal(files, 1);
  assert_non_null(strstr(options, "--track-origins=yes"));
  assert_non_null(strstr(options, " --suppressions=mine"));
  char *folder = opc_string_copy(memcheck->folder);
  write_at(memcheck->log, "words");
  opc_memcheck_free(memcheck);
  assert_int_not_equal(stat(folder, &info), 0); /* removed, with its contents */
  free(folder);

  char *path = opc_string_copy(getenv("PATH"));
  setenv("PATH", "/nowhere", 1);
  assert_int_equal(opc_memcheck_new(&memcheck, &error), OPC_ERR_NOT_FOUND);
  setenv("PATH", path, 1);
  free(path);
  assert_non_null(strstr(error.message, "apt-get install valgrind"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(xml_is_read),
      cmocka_unit_test(empty_tensors_have_no_place),
      cmocka_unit_test(xml_may_be_cut_off),
      cmocka_unit_test(xml_may_be_none),
      cmocka_unit_test(new_without_memory_is_told),
      cmocka_unit_test(lists_are_read_one_by_one),
      cmocka_unit_test(unknown_instructions_have_bytes),
      cmocka_unit_test(failures_of_valgrind_are_told),
      cmocka_unit_test(errors_have_rules_and_words),
      cmocka_unit_test(cases_get_their_errors),
      cmocka_unit_test(crashes_and_tries_are_judged_too),
      cmocka_unit_test(command_line_is_made),
  };
  return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
