/* What an operator was called with, by its results, and the gaps that reports show. */
#include "supervise/jobs/inputs_seen.h"

#include <stdlib.h>
#include <string.h>

#include "plan_fixture.h"
#include "reports/text/gaps.h"
#include "unit.h"

typedef struct seen {
  opc_operator_t op;
  opc_sample_set_t samples;
  opc_inputs_seen_t inputs;
} seen_t;

#define USUAL_MESSAGE "x must be floating\nat op.cpp:3"
#define LONG_TEXT "üüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüüü" /* 41 of two bytes each */

static const char *message = USUAL_MESSAGE; /* of the results */

static void begin_with(seen_t *seen, const char *schema, const char *fields) {
  *seen = (seen_t){0};
  assert_int_equal(opc_schema_arguments(schema, &seen->op, NULL), OPC_OK);
  if (!seen->op.name) seen->op.name = strdup("ns::op");
  opc_sample_t sample = fixture_sample(&seen->op, "%s", fields);
  assert_int_equal(opc_sample_set_add(&seen->samples, &sample, NULL), OPC_OK);
}

static void begin(seen_t *seen) {
  begin_with(seen, "ns::op(Tensor x, bool flag=False, Tensor? bias=None) -> Tensor",
             "'name': 's', 'args': [{'tensor': {'shape': [2, 3]}}, false, null]");
}

static void end(seen_t *seen) {
  opc_inputs_seen_clear(&seen->inputs);
  opc_sample_set_clear(&seen->samples);
  opc_operator_clear(&seen->op);
}

static void note(seen_t *seen, const char *case_id, opc_verdict_kind_t verdict, opc_skip_reason_t reason,
                 bool crashed) {
  opc_case_result_t *result = NULL;
  assert_int_equal(
      opc_case_result_new(case_id, verdict, verdict == OPC_VERDICT_FAIL ? OPC_RULE_stride_wrong_result : OPC_RULE_NONE,
                          message, NULL, &result, NULL),
      OPC_OK);
  result->reason = reason;
  result->provenance.source = OPC_SOURCE_DECLARED;
  assert_int_equal(opc_inputs_seen_note(&seen->inputs, result, crashed, &seen->samples, &seen->op, NULL), OPC_OK);
  opc_case_result_free(result);
}

static void passes(seen_t *seen, const char *case_id) { note(seen, case_id, OPC_VERDICT_PASS, OPC_SKIP_NONE, false); }
static void refuses(seen_t *seen, const char *case_id) {
  note(seen, case_id, OPC_VERDICT_SKIP, OPC_SKIP_REJECTED, false);
}

static const char *outcome(const seen_t *seen, const char *argument, const char *property, const char *value) {
  const json_t *arguments = json_object_get(seen->inputs.record, "arguments");
  const char *text =
      json_string_value(json_object_get(json_object_get(json_object_get(arguments, argument), property), value));
  return text ? text : "";
}

static int count(const seen_t *seen, const char *kind) {
  return (int)json_integer_value(json_object_get(json_object_get(seen->inputs.record, "inputs"), kind));
}

static void each_input_counts_once(void **state) {
  (void)state;
  seen_t seen;
  begin(&seen);
  passes(&seen, "ns::op/memory/cpu/-/s/plain");
  passes(&seen, "ns::op/alias/cpu/-/s/plain");
  refuses(&seen, "ns::op/memory/cpu/float16/s/plain");
  refuses(&seen, "ns::op/dtype/cpu/float16/s/plain");
  note(&seen, "ns::op/memory/cpu/-/s/x.empty0", OPC_VERDICT_FAIL, OPC_SKIP_NONE, true);
  note(&seen, "ns::op/stride/cpu/-/s/x.transposed", OPC_VERDICT_SKIP, OPC_SKIP_NOT_APPLICABLE, false);
  passes(&seen, "ns::op/registration/-/-/-/-");
  passes(&seen, "ns::op/memory/cpu/-/unknown/plain");
  assert_int_equal(count(&seen, "accepted"), 1);
  assert_int_equal(count(&seen, "refused"), 1);
  assert_int_equal(count(&seen, "crashed"), 1);
  assert_string_equal(outcome(&seen, "x", "dtypes", "float32"), "accepted");
  assert_string_equal(outcome(&seen, "x", "dtypes", "float16"), "refused");
  assert_string_equal(outcome(&seen, "x", "elements", "none"), "crashed");
  assert_string_equal(outcome(&seen, "x", "elements", "few"), "accepted");
  assert_string_equal(outcome(&seen, "x", "layouts", "strided"), ""); /* that case made no call */
  assert_string_equal(outcome(&seen, "flag", "values", "false"), "accepted");
  assert_string_equal(outcome(&seen, "bias", "presence", "left out"), "accepted");
  const json_t *refusals = json_object_get(seen.inputs.record, "refusals");
  assert_int_equal(json_integer_value(json_object_get(refusals, "x must be floating")), 1);
  end(&seen);
}

static const char *first_refusal(const seen_t *seen) {
  json_t *refusals = json_object_get(seen->inputs.record, "refusals");
  return json_object_iter_key(json_object_iter(refusals));
}

/* Messages may hold any bytes, and a long text may be cut within a character. */
static void texts_of_any_bytes_are_counted(void **state) {
  (void)state;
  seen_t seen;
  begin_with(&seen, "ns::op(str mode) -> Tensor", "'name': 's', 'args': ['" LONG_TEXT "']");
  message = "no \xff mode\nat op.cpp:3";
  refuses(&seen, "ns::op/memory/cpu/-/s/plain");
  assert_string_equal(first_refusal(&seen), "no \\xFF mode");
  assert_int_equal(count(&seen, "refused"), 1);
  assert_int_equal(json_object_size(json_object_get(
                       json_object_get(json_object_get(seen.inputs.record, "arguments"), "mode"), "values")),
                   1);
  end(&seen);
  begin(&seen);
  message = LONG_TEXT LONG_TEXT LONG_TEXT LONG_TEXT;
  refuses(&seen, "ns::op/memory/cpu/-/s/plain");
  assert_true(opc_string_ends(first_refusal(&seen), "ü…"));
  message = USUAL_MESSAGE;
  end(&seen);
}

static void the_best_outcome_of_a_value_stands(void **state) {
  (void)state;
  seen_t seen;
  begin(&seen);
  refuses(&seen, "ns::op/memory/cpu/-/s/x.transposed");
  assert_string_equal(outcome(&seen, "x", "layouts", "strided"), "refused");
  passes(&seen, "ns::op/stride/cpu/-/s/x.transposed");
  assert_string_equal(outcome(&seen, "x", "layouts", "strided"), "accepted");
  refuses(&seen, "ns::op/memory/cpu/-/s/x.sliced");
  assert_string_equal(outcome(&seen, "x", "layouts", "strided"), "accepted");
  end(&seen);
}

static char *gaps_of(const seen_t *seen, const char *op) {
  opc_text_t text = {0};
  json_t *record = opc_inputs_seen_record(&seen->inputs, &seen->op), *about = json_loads(op, 0, NULL);
  assert_non_null(record);
  assert_non_null(about);
  opc_gaps_of(about, record, &text);
  json_decref(record);
  json_decref(about);
  char *copy = opc_string_copy(opc_text_c(&text));
  opc_text_clear(&text);
  return copy;
}

static void gaps_are_what_no_call_reached(void **state) {
  (void)state;
  seen_t seen;
  begin(&seen);
  passes(&seen, "ns::op/memory/cpu/-/s/plain");
  char *gaps = gaps_of(&seen, "{\"dispatch_keys\": [\"CPU\", \"CUDA\"]}");
  assert_string_equal(
      gaps,
      "`x` was tried with 2 dimensions only; `x` was tried as float32 only; `x` was contiguous in all calls; "
      "`x` was never empty; `flag` was false in all calls; `bias` was never given; the CUDA kernel was not called");
  free(gaps);
  passes(&seen, "ns::op/memory/cpu/-/s/x.transposed");
  passes(&seen, "ns::op/memory/cpu/-/s/x.empty0");
  passes(&seen, "ns::op/memory/cpu/-/s/x.scalar");
  passes(&seen, "ns::op/memory/cpu/-/s/flag.flipped");
  passes(&seen, "ns::op/memory/cpu/-/s/bias.like_x");
  refuses(&seen, "ns::op/dtype/cpu/float16/s/plain");
  gaps = gaps_of(&seen, "{\"dispatch_keys\": [\"CPU\"]}");
  assert_string_equal(
      gaps,
      "`x` was tried with 0 and 2 dimensions only; `x` is refused as float16; `bias` was tried with 2 "
      "dimensions only; `bias` was tried as float32 only; `bias` was contiguous in all calls; `bias` was never empty");
  free(gaps);
  end(&seen);
}

static void methods_that_were_not_called_are_a_gap(void **state) {
  (void)state;
  seen_t seen;
  begin(&seen);
  passes(&seen, "ns::op/class/cpu/-/s/forward.called");
  char *gaps =
      gaps_of(&seen, "{\"methods\": [{\"name\": \"__init__\"}, {\"name\": \"forward\"}, {\"name\": \"reset\"}]}");
  assert_non_null(strstr(gaps, "methods called: 1 of 2"));
  free(gaps);
  passes(&seen, "ns::op/class/cpu/-/s/reset.called");
  gaps = gaps_of(&seen, "{\"methods\": [{\"name\": \"forward\"}, {\"name\": \"reset\"}]}");
  assert_null(strstr(gaps, "methods called"));
  free(gaps);
  end(&seen);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_input_counts_once),
      cmocka_unit_test(texts_of_any_bytes_are_counted),
      cmocka_unit_test(the_best_outcome_of_a_value_stands),
      cmocka_unit_test(gaps_are_what_no_call_reached),
      cmocka_unit_test(methods_that_were_not_called_are_a_gap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
