/* The minimiser of --emit, with a predicate in place of a case. */
#include "search/draft/minimise.h"

#include "plan_fixture.h"

static const fixture_argument_t arguments[] = {{.name = "x", .type = "Tensor"},
                                               {.name = "others", .type = "Tensor[]"},
                                               {.name = "bias", .type = "Tensor?", .default_text = "None"},
                                               {.name = "times", .type = "int"},
                                               {.name = "scale", .type = "float", .default_text = "1.0"}};
static const fixture_argument_t returns[] = {{.name = "", .type = "Tensor"}};

static opc_operator_t minimised_operator(void) {
  return fixture_operator("my::op",
                          "my::op(Tensor x, Tensor[] others, Tensor? bias=None, int times, float scale=1.0) -> Tensor",
                          arguments, 5, returns, 1);
}

typedef bool fails_t(const opc_sample_t *sample);

/* Returns how many samples were tried. */
static int minimise(const opc_operator_t *op, const opc_sample_t *sample, bool valid, fails_t *fails,
                    opc_sample_t *out) {
  opc_minimiser_t *minimiser = NULL;
  const opc_sample_t *next = NULL;
  int tries = 0;
  assert_int_equal(opc_minimiser_new(op, sample, valid, &minimiser, NULL), OPC_OK);
  while (opc_minimiser_next(minimiser, &next, NULL) == OPC_OK && next && tries++ < 1000) {
    assert_string_equal(next->name, sample->name);
    opc_minimiser_answer(minimiser, fails(next));
  }
  assert_null(next);
  assert_int_equal(opc_sample_copy(opc_minimiser_best(minimiser), out, NULL), OPC_OK);
  opc_minimiser_free(minimiser);
  return tries;
}

static bool always(const opc_sample_t *sample) {
  (void)sample;
  return true;
}

static bool never(const opc_sample_t *sample) {
  (void)sample;
  return false;
}

static bool needs_rows_and_times(const opc_sample_t *sample) {
  return sample->arguments[0].tensor->sizes[0] >= 3 && sample->arguments[3].integer >= 4;
}

static bool needs_second_of_list(const opc_sample_t *sample) {
  return sample->arguments[1].list.count >= 2 && !sample->absent[2] && sample->arguments[2].kind == OPC_VALUE_TENSOR;
}

static const char *const fields =
    "'name': 'given', 'args': [{'tensor': {'shape': [9, 4], 'strides': [1, 9]}}, [{'tensor': {'shape': [4]}}, "
    "{'tensor': {'shape': [4]}}, {'tensor': {'shape': [4]}}], {'tensor': {'shape': [4]}}, 17, 2.5]";

static void what_is_not_needed_goes(void **state) {
  opc_operator_t op = minimised_operator();
  opc_sample_t sample = fixture_sample(&op, "%s", fields), least = {0};
  (void)state;
  minimise(&op, &sample, false, always, &least);
  assert_true(least.absent[2] && least.absent[4]);
  assert_int_equal(least.arguments[1].list.count, 1);
  const opc_tensor_spec_t *x = least.arguments[0].tensor;
  assert_int_equal(opc_tensor_spec_numel(x), 1);
  assert_true(opc_tensor_spec_is_contiguous(x));
  assert_int_equal(x->fill.kind, OPC_FILL_ONES);
  assert_int_equal(least.arguments[3].integer, 0);
  opc_sample_clear(&least);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

static void what_is_needed_stays(void **state) {
  opc_operator_t op = minimised_operator();
  opc_sample_t sample = fixture_sample(&op, "%s", fields), least = {0};
  (void)state;
  minimise(&op, &sample, false, needs_rows_and_times, &least);
  assert_int_equal(least.arguments[0].tensor->sizes[0], 3);
  assert_int_equal(least.arguments[0].tensor->sizes[1], 1);
  assert_int_equal(least.arguments[0].tensor->fill.kind, OPC_FILL_ARANGE);
  assert_int_equal(least.arguments[3].integer, 4);
  opc_sample_clear(&least);
  minimise(&op, &sample, false, needs_second_of_list, &least);
  assert_int_equal(least.arguments[1].list.count, 2);
  assert_false(least.absent[2]);
  opc_sample_clear(&least);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

static void without_a_failure_nothing_changes(void **state) {
  opc_operator_t op = minimised_operator();
  opc_sample_t sample = fixture_sample(&op, "%s", fields), least = {0};
  (void)state;
  assert_true(minimise(&op, &sample, false, never, &least) > 10);
  assert_true(opc_tensor_spec_numel(least.arguments[0].tensor) == 36);
  assert_int_equal(least.arguments[3].integer, 17);
  opc_sample_clear(&least);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

/* An integer that may be an index keeps its value: a smaller tensor beside it would make it wrong. */
static void valid_arguments_stay_valid(void **state) {
  opc_operator_t op = minimised_operator();
  opc_sample_t sample = fixture_sample(&op, "%s", fields), least = {0};
  (void)state;
  minimise(&op, &sample, true, always, &least);
  assert_int_equal(least.arguments[3].integer, 17);
  opc_sample_clear(&least);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

/* Results that a file states belong to its arguments. */
static void stated_results_keep_their_arguments(void **state) {
  opc_operator_t op = minimised_operator();
  opc_sample_t sample = fixture_sample(&op, "%s, 'expect': {'rejects': true}", fields), least = {0};
  (void)state;
  assert_int_equal(minimise(&op, &sample, false, always, &least), 0);
  opc_sample_clear(&least);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_not_needed_goes),
      cmocka_unit_test(what_is_needed_stays),
      cmocka_unit_test(without_a_failure_nothing_changes),
      cmocka_unit_test(valid_arguments_stay_valid),
      cmocka_unit_test(stated_results_keep_their_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
