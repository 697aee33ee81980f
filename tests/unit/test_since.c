/* --since: which operators are taken over from an earlier run's report, and what is written of them; digests of
 * libraries. This program stands for a library: it can be read as one. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "inspect/digest.h"
#include "supervise/session/basis.h"
#include "supervise/session/since.h"
#include "temp_folder.h"

#define SELF "/proc/self/exe"
#define OPERATOR(name, library)                                                                                     \
  "{\"name\":\"" name "\",\"schema\":\"" name "(Tensor x) -> Tensor\",\"library\":\"" library                       \
  "\",\"registered_at\":\"a.cpp:1\",\"defined_here\":true,\"arguments\":[],\"returns\":[],\"kernels\":[{\"key\":\"" \
  "CPU\",\"registered_at\":\"a.cpp:2\",\"cpp_signature\":null,\"fallthrough\":false}],\"tags\":[]}"
#define RESULT(name)                                                                                    \
  "{\"operator\":\"" name "\",\"check\":\"stride\",\"case\":\"" name                                    \
  "/stride/cpu/-/s/x.transposed\",\"verdict\":\"fail\",\"severity\":\"error\",\"rule\":\"stride.wrong_" \
  "result\",\"message\":\"wrong\",\"standing\":\"declared/"                                             \
  "same_values\",\"evidence\":{},\"repro\":\"line\",\"seconds\":1}"

enum { OPERATORS = 3 };

/* A run of three operators, two of them in one library, and the report of an earlier one. */
typedef struct fixture {
  opc_session_t session;
  opc_run_options_t options;
  opc_earlier_t earlier;
  opc_library_t libraries[2];
  opc_operator_t operators[OPERATORS];
  const opc_operator_t *list[OPERATORS];
  size_t count, searchable;
  json_t *run, *items[OPERATORS], *libraries_then;
  char journal[1024];
  opc_error_t error;
} fixture_t;

static opc_status_t visit_all(const opc_earlier_t *earlier, opc_earlier_visit_t *visit, void *context,
                              opc_error_t *error) {
  fixture_t *fixture = (fixture_t *)(uintptr_t)((const char *)earlier - offsetof(fixture_t, earlier));
  size_t i;
  json_t *library;
  OPC_RETURN_IF_ERROR(visit("run", fixture->run, context, error));
  json_array_foreach(fixture->libraries_then, i, library)
      OPC_RETURN_IF_ERROR(visit("libraries", library, context, error));
  for (i = 0; i < OPERATORS; i++) OPC_RETURN_IF_ERROR(visit("operators", fixture->items[i], context, error));
  static const char *const results[] = {RESULT("one::a"), RESULT("one::b"), RESULT("two::c")};
  for (i = 0; i < OPERATORS; i++) {
    json_auto_t *result = json_loads(results[i], 0, NULL);
    assert_non_null(result);
    OPC_RETURN_IF_ERROR(visit("results", result, context, error));
  }
  return OPC_OK;
}

static json_t *item_of(const opc_operator_t *op) {
  json_t *item = opc_operator_to_json(op);
  assert_non_null(item);
  json_object_set_new(item, "sample_source", json_string("file"));
  json_object_set_new(item, "coverage", json_pack("{s:{s:i}, s:s}", "inputs", "accepted", 1, "gaps", ""));
  json_object_set_new(item, "finished", json_true());
  json_object_set_new(item, "inputs", json_string(""));
  return item;
}

static void begin(fixture_t *fixture) {
  static const char *const texts[] = {OPERATOR("one::a", "libone.so"), OPERATOR("one::b", "libone.so"),
                                      OPERATOR("two::c", "libtwo.so")};
  *fixture = (fixture_t){.options = {.argc = 0}, .count = OPERATORS, .searchable = OPERATORS};
  snprintf(fixture->journal, sizeof fixture->journal, "%s", temp_path("journal"));
  opc_session_t *session = &fixture->session;
  session->options = &fixture->options;
  fixture->earlier = (opc_earlier_t){.name = "old.json", .read = visit_all};
  fixture->options.earlier = &fixture->earlier;
  assert_int_equal(opc_journal_open(fixture->journal, &session->journal, &fixture->error), OPC_OK);
  for (size_t i = 0; i < OPERATORS; i++) {
    json_auto_t *json = json_loads(texts[i], 0, NULL);
    assert_non_null(json);
    if (opc_operator_from_json(json, &fixture->operators[i], &fixture->error) != OPC_OK)
      fail_msg("%s", fixture->error.message);
    fixture->items[i] = item_of(&fixture->operators[i]);
    fixture->list[i] = &fixture->operators[i];
  }
  fixture->libraries[0] = (opc_library_t){.path = "libone.so", .real = (char *)SELF, .digest = "1"};
  fixture->libraries[1] = (opc_library_t){.path = "libtwo.so", .real = (char *)SELF, .digest = "2"};
  session->loaded.libraries = fixture->libraries;
  session->loaded.library_count = 2;
  session->loaded.operators = fixture->operators;
  session->loaded.operator_count = OPERATORS;
  session->basis = json_pack("{s:s, s:i, s:s}", "libtorch", "2.11.0", "--seed", 0, "the file of --xfail", "x");
  fixture->run = json_pack("{s:O}", "basis", session->basis);
  fixture->libraries_then = json_pack("[{s:s, s:s}, {s:s, s:s}]", "path", "elsewhere/libone.so", "digest", "1", "path",
                                      "libtwo.so", "digest", "2");
  for (size_t i = 0; i < 2; i++) json_object_set_new(fixture->items[i], "library", json_string("elsewhere/libone.so"));
}

static void end(fixture_t *fixture) {
  opc_journal_close(fixture->session.journal);
  json_decref(fixture->session.basis);
  json_decref(fixture->run);
  json_decref(fixture->libraries_then);
  for (size_t i = 0; i < OPERATORS; i++) {
    json_decref(fixture->items[i]);
    opc_operator_clear(&fixture->operators[i]);
  }
}

static void take(fixture_t *fixture) {
  if (opc_since_take(&fixture->session, fixture->list, &fixture->count, &fixture->searchable, &fixture->error) !=
      OPC_OK)
    fail_msg("%s", fixture->error.message);
  assert_int_equal(fixture->count, fixture->searchable);
}

/* What is left to check, with spaces between. */
static const char *left_of(const fixture_t *fixture, char out[64]) {
  size_t length = 0;
  out[0] = '\0';
  for (size_t i = 0; i < fixture->count; i++)
    length += (size_t)snprintf(out + length, 64 - length, "%s%s", i ? " " : "", fixture->list[i]->name);
  return out;
}

static bool journal_has(const fixture_t *fixture, const char *text) {
  char block[1 << 14];
  FILE *file = fopen(fixture->journal, "re");
  assert_non_null(file);
  block[fread(block, 1, sizeof block - 1, file)] = '\0';
  fclose(file);
  return strstr(block, text);
}

static void assert_left(fixture_t *fixture, const char *names, const char *note) {
  char left[64];
  take(fixture);
  assert_string_equal(left_of(fixture, left), names);
  if (!journal_has(fixture, note)) fail_msg("no note has: %s", note);
  end(fixture);
}

static void test_nothing_changed(void **state) {
  (void)state;
  fixture_t fixture;
  begin(&fixture);
  take(&fixture);
  assert_int_equal(fixture.count, 0);
  assert_int_equal(fixture.session.results, 3);
  assert_int_equal(fixture.session.broken, 3);
  assert_int_equal(fixture.session.called, 3);
  assert_true(journal_has(&fixture, "\"taken_over\":true"));
  assert_true(journal_has(&fixture, "{\"t\":\"finished\",\"operator\":\"two::c\",\"inputs\":\"\"}"));
  assert_true(journal_has(&fixture, "{\"t\":\"coverage\",\"operator\":\"one::a\",\"inputs\":{\"accepted\":1}}"));
  assert_true(journal_has(&fixture, "{\"t\":\"sample_source\",\"operator\":\"one::b\",\"source\":\"file\"}"));
  assert_true(journal_has(&fixture, "{\"t\":\"since\",\"report\":\"old.json\",\"taken_over\":3,\"checked\":0}"));
  end(&fixture);
}

static void test_library_changed(void **state) {
  (void)state;
  fixture_t fixture;
  begin(&fixture);
  strcpy(fixture.libraries[0].digest, "9");
  /* This program has the names of the operators among its texts: so libtwo.so uses what has changed. */
  assert_left(&fixture, "one::a one::b two::c", "3 are checked: 3 in libraries that have changed, or use one that has");
  begin(&fixture);
  fixture.libraries[0].digest[0] = '\0'; /* it could not be read */
  assert_left(&fixture, "one::a one::b two::c", "are checked");
}

static void test_operator_changed(void **state) {
  (void)state;
  fixture_t fixture;
  begin(&fixture);
  json_object_set_new(fixture.items[1], "tags", json_pack("[s]", "pt2_compliant_tag"));
  json_object_del(fixture.items[2], "finished");
  assert_left(&fixture, "one::b two::c", "1 of which it does not have all results");
  begin(&fixture);
  json_object_set_new(fixture.items[0], "inputs", json_string("0123"));
  assert_left(&fixture, "one::a", "1 is checked: 1 with other samples or recipes");
  begin(&fixture); /* another library had a kernel of it */
  json_object_set_new(json_array_get(json_object_get(fixture.items[2], "kernels"), 0), "library", json_string("x.so"));
  assert_left(&fixture, "two::c", "1 is checked: 1 in libraries");
}

static void test_expected_to_fail(void **state) {
  (void)state;
  fixture_t fixture;
  opc_xfail_entry_t entries[] = {{.pattern = (char *)"one::a/stride/*", .problem = (char *)""},
                                 {.pattern = (char *)"", .problem = (char *)"0123456789abcdef"}};
  opc_xfail_t xfail = {.entries = entries, .count = 2};
  begin(&fixture);
  fixture.session.xfail = &xfail;
  assert_left(&fixture, "one::a", "1 is checked: 1 that lines of --xfail may be about");
}

static void assert_all(fixture_t *fixture, const char *why) {
  char note[160];
  snprintf(note, sizeof note, "--since old.json: everything is checked, because %s", why);
  assert_left(fixture, "one::a one::b two::c", note);
}

static void test_everything(void **state) {
  (void)state;
  fixture_t fixture;
  begin(&fixture);
  json_object_set_new(fixture.session.basis, "new", json_true()); /* both are one object */
  fixture.run = (json_decref(fixture.run), json_object());
  assert_all(&fixture, "it does not say how it was made");
  begin(&fixture);
  json_object_set_new(fixture.run, "basis", json_deep_copy(fixture.session.basis));
  json_object_set_new(fixture.session.basis, "libtorch", json_string("2.12.0"));
  assert_all(&fixture, "it was made with libtorch 2.11.0, and this is 2.12.0");
  begin(&fixture);
  json_object_set_new(fixture.run, "basis", json_deep_copy(fixture.session.basis));
  json_object_set_new(fixture.session.basis, "--seed", json_integer(1));
  assert_all(&fixture, "--seed is not as it was then");
  begin(&fixture);
  json_object_set_new(fixture.run, "basis", json_deep_copy(fixture.session.basis));
  json_object_set_new(fixture.session.basis, "the file of --xfail", json_string("y"));
  assert_all(&fixture, "the file of --xfail is not as it was then");
  begin(&fixture);
  fixture.options.module_count = 1;
  assert_all(&fixture, "what a module of --python imports cannot be compared");
  begin(&fixture);
  fixture.libraries[0].path = "libthree.so";
  fixture.libraries[1].path = "libfour.so";
  assert_all(&fixture, "it is about other libraries");
  begin(&fixture); /* libtorch's operators call one another without names that a library would have */
  fixture.operators[0].defined_here = false;
  strcpy(fixture.libraries[0].digest, "9");
  assert_all(&fixture, "libone.so has changed, and adds kernels to operators of other libraries");
}

static void test_digests(void **state) {
  (void)state;
  char first[OPC_DIGEST_SIZE], second[OPC_DIGEST_SIZE];
  opc_error_t error;
  temp_write("text", "some text", 9);
  assert_int_equal(opc_digest_file(temp_path("text"), first, &error), OPC_OK);
  opc_digest_text("some text", second);
  assert_string_equal(first, second);
  /* Of a library also what it needs, such as the C library. */
  assert_int_equal(opc_digest_file(SELF, first, &error), OPC_OK);
  assert_int_equal(opc_digest_library(SELF, "", second, &error), OPC_OK);
  assert_string_not_equal(first, second);
  assert_int_equal(opc_digest_library(SELF, "", first, &error), OPC_OK);
  assert_string_equal(first, second);
  assert_int_equal(opc_digest_library(temp_path("missing"), "", first, &error), OPC_ERR_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_nothing_changed),  cmocka_unit_test(test_library_changed),
                                     cmocka_unit_test(test_operator_changed), cmocka_unit_test(test_expected_to_fail),
                                     cmocka_unit_test(test_everything),       cmocka_unit_test(test_digests)};
  return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
