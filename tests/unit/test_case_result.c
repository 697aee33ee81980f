/* Results read from JSON and written again. */
#include <signal.h>
#include <string.h>

#include "model/json/json_write.h"
#include "result/case_result.h"
#include "unit.h"

static json_t *parse(const char *text) {
  json_error_t why;
  json_t *json = json_loads(text, 0, &why);
  if (!json) fail_msg("%s: %s", why.text, text);
  return json;
}

#define CASE "\"case\": \"ns::op/stride/cpu/-/one/x.sliced\", \"operator\": \"ns::op\", \"check\": \"stride\""

static const char *const records[] = {
    "{\"t\": \"result\", " CASE ", \"verdict\": \"pass\", \"message\": \"same\", \"evidence\": {}, \"seconds\": 0.5}",
    "{\"t\": \"result\", " CASE
    ", \"verdict\": \"pass\", \"standing\": \"recipe/related\", \"message\": \"same\","
    " \"evidence\": {\"tolerance\": {\"relative\": 0.5}, \"numbers\": [1, 2]}, \"seconds\": 0.0}",
    "{\"t\": \"result\", " CASE
    ", \"verdict\": \"skip\", \"reason\": \"rejected\", \"message\": \"no\","
    " \"evidence\": {}, \"seconds\": 0.0}",
    "{\"t\": \"suspect\", " CASE
    ", \"verdict\": \"skip\", \"reason\": \"after_crash\", \"message\": \"\","
    " \"evidence\": {\"crashed_before\": \"memory\", \"check_given_up\": true}, \"seconds\": 0.0}",
    "{\"t\": \"suspect\", " CASE
    ", \"verdict\": \"fail\", \"severity\": \"warning\", \"rule\": \"stride.wrong_result\","
    " \"standing\": \"searched/same_values\", \"message\": \"differs\", \"seconds\": 1.5, \"repro\": \"opcheck-c run\","
    " \"evidence\": {\"why\": \"text\", \"input\": {\"x\": \"float32[2]\"}, \"uneven_lists\": true, \"lone_tensor\": "
    "true,"
    " \"unasked_dtype\": true, \"index_beyond\": true, \"clean_reference\": true, \"every_input\": true,"
    " \"also\": [{\"rule\": \"meta.shape\", \"message\": \"text\"}, {\"rule\": \"memcheck.invalid_read\","
    " \"message\": \"reads\", \"severity\": \"error\", \"frames\": [], \"valgrind\": {\"kind\": \"InvalidRead\"}}]}}",
    "{\"t\": \"result\", " CASE
    ", \"verdict\": \"fail\", \"severity\": \"warning\","
    " \"rule\": \"memory.unchecked_arguments\", \"standing\": \"searched/alone\", \"message\": \"reads\","
    " \"seconds\": 0.0, \"evidence\": {\"seen\": \"read\", \"seen_rule\": \"memory.out_of_bounds_read\","
    " \"argument\": \"x\", \"confirmed\": true, \"confirmed_after\": \"ns::op/stride/cpu/-/one/y.sliced\","
    " \"control\": {\"case\": \"ns::op/stride/cpu/-/one/plain\", \"held\": false},"
    " \"base\": {\"case\": \"ns::op/stride/cpu/-/one/plain\", \"broken\": true},"
    " \"accesses\": [{\"rule\": \"memory.out_of_bounds_read\", \"argument\": \"x\", \"access\": \"read\","
    " \"frames\": [{\"module\": \"/lib/ops.so\", \"offset\": \"0x10\", \"symbol\": \"kernel()\", \"file\": "
    "\"/src/op.cpp\","
    " \"line\": 7}]}]}}",
    "{\"t\": \"result\", " CASE
    ", \"verdict\": \"error\", \"severity\": \"error\", \"rule\": \"signal.SIGSEGV\","
    " \"message\": \"segmentation fault\", \"seconds\": 0.0, \"evidence\": {\"signal\": 11, \"had_returned\": true,"
    " \"confirmed\": false, \"depends_on\": \"ns::op/stride/cpu/-/one/y.sliced\", \"witnessed\": true,"
    " \"variants\": [\"all.sliced\"], \"frames\": [{\"module\": \"/lib/ops.so\", \"offset\": \"0x20\"}]}}"};

/* What the record does not say is written as null, but for what every result has. */
static bool is_implied(const char *key, const json_t *value) {
  return json_is_null(value) || strcmp(key, "severity") == 0 || (strcmp(key, "confirmed") == 0 && json_is_false(value));
}

static bool says_the_same(const json_t *record, json_t *written) {
  const char *key;
  json_t *value;
  size_t found = 0;
  json_object_foreach(written, key, value) {
    const json_t *given = json_object_get(record, key);
    found += given ? 1 : 0;
    if (given ? !json_equal(given, value) : !is_implied(key, value)) return false;
  }
  return found == json_object_size(record);
}

static void a_result_is_the_same_after_reading_and_writing(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(records); i++) {
    opc_error_t error;
    opc_case_result_t *result = NULL;
    json_t *record = parse(records[i]);
    assert_ok(opc_case_result_decode(record, &result, &error), error);
    json_t *written = opc_case_result_encode(result);
    if (!says_the_same(record, written)) fail_msg("%s\n%s", records[i], json_dumps(written, 0));
    opc_case_result_t *again = NULL;
    assert_ok(opc_case_result_decode(written, &again, &error), error);
    json_t *rewritten = opc_case_result_encode(again);
    assert_true(json_equal(written, rewritten));
    json_decref(rewritten);
    opc_case_result_free(again);
    json_decref(written);
    json_decref(record);
    opc_case_result_free(result);
  }
}

static opc_case_result_t *read_record(size_t index) {
  opc_error_t error;
  opc_case_result_t *result = NULL;
  json_t *record = parse(records[index]);
  assert_ok(opc_case_result_decode(record, &result, &error), error);
  json_decref(record);
  return result;
}

static void fields_have_what_the_record_says(void **state) {
  (void)state;
  opc_case_result_t *result = read_record(5);
  assert_string_equal(result->id.variant, "x.sliced");
  assert_int_equal(result->rule, OPC_RULE_memory_unchecked_arguments);
  assert_int_equal(result->severity, OPC_SEVERITY_WARNING);
  assert_int_equal(result->provenance.change, OPC_INPUT_ALONE);
  assert_false(result->provenance.plain);
  assert_int_equal(result->effect, OPC_EFFECT_READ);
  assert_int_equal(result->effect_rule, OPC_RULE_memory_out_of_bounds_read);
  assert_int_equal(result->confirmed, OPC_CONFIRMED_YES);
  assert_true(result->control && !result->control_held && result->broken_base);
  assert_int_equal(result->access_count, 1);
  assert_false(result->accesses[0].write);
  assert_string_equal(result->accesses[0].frames.items[0].symbol, "kernel()");
  assert_int_equal(result->accesses[0].frames.items[0].line, 7);
  opc_case_result_free(result);

  result = read_record(6);
  assert_int_equal(result->rule, opc_rule_of_signal(SIGSEGV));
  assert_true(result->own_variants && result->had_returned && result->witnessed && result->depends_on);
  assert_string_equal(result->frames.items[0].offset, "0x20");
  assert_string_equal(result->frames.items[0].symbol, "");
  opc_case_result_free(result);

  result = read_record(4);
  assert_int_equal(result->also.count, 2);
  assert_false(result->also.items[0].severity_stated);
  assert_int_equal(result->also.items[0].severity, opc_rules[OPC_RULE_meta_shape].severity);
  assert_true(result->suspect);
  opc_case_result_free(result);
}

static void what_is_wrong_in_a_record_is_named(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"{\"verdict\": \"pass\", \"message\": \"\"}", "no case id"},
      {"{" CASE ", \"verdict\": \"good\", \"message\": \"\"}", "verdict"},
      {"{" CASE ", \"message\": \"\"}", "verdict"},
      {"{" CASE ", \"verdict\": \"pass\"}", "message"},
      {"{" CASE ", \"verdict\": \"fail\", \"message\": \"\"}", "rule"},
      {"{" CASE ", \"verdict\": \"fail\", \"rule\": \"no.rule\", \"message\": \"\"}", "rule"},
      {"{" CASE ", \"verdict\": \"fail\", \"rule\": \"signal.SIGNO\", \"message\": \"\"}", "rule"},
      {"{" CASE ", \"verdict\": \"fail\", \"rule\": \"exit\", \"severity\": \"bad\", \"message\": \"\"}", "severity"},
      {"{" CASE ", \"verdict\": \"skip\", \"reason\": \"mood\", \"message\": \"\"}", "reason"},
      {"{" CASE ", \"verdict\": \"pass\", \"standing\": \"good\", \"message\": \"\"}", "standing"},
      {"{" CASE ", \"verdict\": \"pass\", \"message\": \"\", \"seconds\": \"1\"}", "seconds"},
      {"{" CASE ", \"verdict\": \"pass\", \"message\": \"\", \"evidence\": []}", "evidence"},
      {"{" CASE ", \"verdict\": \"pass\", \"message\": \"\", \"evidence\": {\"also\": [{}]}}", "also"},
      {"{" CASE ", \"verdict\": \"pass\", \"message\": \"\", \"evidence\": {\"seen\": \"ghost\"}}", "seen"},
      {"{" CASE ", \"verdict\": \"pass\", \"message\": \"\", \"evidence\": {\"witnessed\": 1}}", "witnessed"},
      {"{" CASE ", \"verdict\": \"pass\", \"message\": \"\", \"evidence\": {\"control\": {}}}", "control"}};
  for (size_t i = 0; i < COUNT(wrong); i++) {
    opc_error_t error = {0};
    opc_case_result_t *result = NULL;
    json_t *record = parse(wrong[i][0]);
    assert_int_equal(opc_case_result_decode(record, &result, &error), OPC_ERR_INPUT);
    assert_null(result);
    if (!strstr(error.message, wrong[i][1])) fail_msg("%s: %s", wrong[i][0], error.message);
    json_decref(record);
  }
}

static void what_a_search_saw_is_no_verdict(void **state) {
  (void)state;
  static const struct {
    opc_verdict_kind_t verdict;
    opc_skip_reason_t reason;
    opc_rule_id_t rule;
    bool is_verdict;
  } rows[] = {{OPC_VERDICT_PASS, OPC_SKIP_NONE, OPC_RULE_NONE, true},
              {OPC_VERDICT_FAIL, OPC_SKIP_NONE, OPC_RULE_stride_wrong_result, true},
              {OPC_VERDICT_ERROR, OPC_SKIP_NONE, OPC_RULE_timeout, true},
              {OPC_VERDICT_ERROR, OPC_SKIP_NONE, OPC_RULE_search_every_call_hangs, false},
              {OPC_VERDICT_SKIP, OPC_SKIP_REJECTED, OPC_RULE_NONE, true},
              {OPC_VERDICT_SKIP, OPC_SKIP_NO_SAMPLE, OPC_RULE_NONE, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const opc_case_result_t result = {.verdict = rows[i].verdict, .reason = rows[i].reason, .rule = rows[i].rule};
    assert_int_equal(opc_case_result_is_verdict(&result), rows[i].is_verdict);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_result_is_the_same_after_reading_and_writing),
                                     cmocka_unit_test(fields_have_what_the_record_says),
                                     cmocka_unit_test(what_is_wrong_in_a_record_is_named),
                                     cmocka_unit_test(what_a_search_saw_is_no_verdict)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
