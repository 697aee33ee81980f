/* Every family of messages makes the edit that its message requires: a family that silently fails would only look like
 * bad luck. */
#include "plan_fixture.h"

#include <stdio.h>
#include <string.h>

#include "search/draft/search_inside.h"

static const fixture_argument_t arguments[] = {
    {"input", "Tensor", NULL, false}, {"weight", "Tensor", NULL, false}, {"groups", "int", NULL, false},
    {"pads", "int[]", NULL, false},   {"mode", "str", NULL, false},      {"bias", "Tensor?", NULL, false},
    {"index", "Tensor", NULL, false}, {"flag", "bool", NULL, false},     {"to", "ScalarType", NULL, false}};

/* input [2, 3, 4], weight [5, 6], groups 0, pads [1, 1], mode "x", bias none, index int64 [7], flag false, to float64
 */
static opc_sample_t make_sample(const opc_operator_t *op) {
  opc_sample_t sample;
  opc_error_t error = {0};
  static const char text[] =
      "{\"operator\": \"ns::op\", \"args\": [{\"tensor\": {\"shape\": [2, 3, 4]}}, {\"tensor\": {\"shape\": [5, 6]}}, "
      "0, [1, 1], \"x\", "
      "null, "
      "{\"tensor\": {\"shape\": [7], \"dtype\": \"int64\", \"fill\": \"arange\"}}, false, {\"dtype\": \"float64\"}]}";
  json_t *json = json_loads(text, 0, NULL);
  assert_non_null(json);
  assert_ok(opc_sample_from_json(json, op, NULL, &sample, NULL, 0, &error), error);
  json_decref(json);
  return sample;
}

/* All arguments on one line: "float32[2, 3, 4] float32[5, 6] 0 [1, 1] …". */
static void describe(const opc_sample_t *sample, opc_text_t *out) {
  char part[128];
  opc_text_reset(out);
  for (size_t i = 0; i < sample->argument_count; i++) {
    opc_value_describe(&sample->arguments[i], part, sizeof part);
    opc_text_addf(out, "%s%s", i > 0 ? " " : "", part);
  }
}

static void test_families(void **state) {
  (void)state;
  static const struct {
    opc_search_family_t family;
    const char *message, *wanted; /* a part of the description of one of the candidates */
  } rows[] = {
      {OPC_FAMILY_RANK_FROM_TO, "expected 4D input, got 3D input", "float32[2, 2, 3, 4] float32[5, 6]"},
      {OPC_FAMILY_RANK, "weight must be 1-dimensional", "float32[2, 3, 4] float32[5]"},
      {OPC_FAMILY_SHAPE_PAIR, "output dims: (3, 4) - computed output dims: (8, 9)", "float32[2, 8, 9]"},
      {OPC_FAMILY_VIEW, "shape '[1, 2, 1]' is invalid for input of size 7", "int64[2]"},
      {OPC_FAMILY_VIEW, "shape '[6, 3]' is invalid for input of size 24", "float32[2, 3, 3]"},
      {OPC_FAMILY_GOT_EXPECTED, "weight.shape[1] is not valid: got: 6 expected: 18", "float32[5, 18]"},
      {OPC_FAMILY_SCALAR_TYPE, "expected scalar type Int but found Long", "int32[7]"},
      {OPC_FAMILY_SCALAR_TYPE, "weight must be a bool tensor", "bool[5, 6]"},
      {OPC_FAMILY_NOT_IMPLEMENTED, "\"kernel\" not implemented for 'Float'", "int64[2, 3, 4] int64[5, 6]"},
      {OPC_FAMILY_NOT_IMPLEMENTED, "\"kernel\" not implemented for 'Float'", "bfloat16[2, 3, 4] bfloat16[5, 6]"},
      {OPC_FAMILY_FLOAT8, "\"kernel_fp8_type\" not implemented for 'Float'", "float32[2, 3, 4] float8_e4m3fn[5, 6]"},
      {OPC_FAMILY_FLOAT8, "\"kernel\" not implemented for 'Float'", "float8_e4m3fn[2, 3, 4] float32[5, 6]"},
      {OPC_FAMILY_FLOAT8, "only fp8 is supported for the weight", "float32[2, 3, 4] float8_e4m3fn[5, 6]"},
      {OPC_FAMILY_DTYPE_UNSAID, "Inconsistency of Tensor type:weight", "float32[2, 3, 4] uint8[5, 6]"},
      {OPC_FAMILY_SHAPE_LITERAL, "weight should have shape Tensor[K, 9]", "float32[5, 9]"},
      {OPC_FAMILY_EXPRESSION, "Expected weight_c.size(1) * groups == input_c.size(1) to be true", "float32[5, 3] 1"},
      {OPC_FAMILY_SQUARE, "weight must be square", "float32[5, 5]"},
      {OPC_FAMILY_DIVISIBLE, "weight columns must be divisible by 8", "float32[5, 8]"},
      {OPC_FAMILY_DIVISIBLE, "weight columns should be dividable by 32", "float32[5, 32]"},
      {OPC_FAMILY_NUMBER_RANGE, "groups must be greater than zero", "float32[5, 6] 1 [1, 1]"},
      {OPC_FAMILY_NUMBER_RANGE, "output sizes computed: (4, -3)", "float32[5, 6] 1 [1, 1]"},
      {OPC_FAMILY_LIST_LENGTH, "pads is expected to have 3 elements", "[1, 1, 1]"},
      {OPC_FAMILY_DTYPE_ARGUMENT, "index.scalar_type() 4 is not matching dtype argument 7", "float64[7]"},
      {OPC_FAMILY_DTYPE_ARGUMENT, "only fp16 and bf16 are supported", "false float16"},
      {OPC_FAMILY_DTYPE_ARGUMENT, "index.scalar_type() 4 is not matching dtype argument 7", "false int64"},
      {OPC_FAMILY_SAME_DTYPE, "all tensors need the same dtype", "float32[7]"},
      {OPC_FAMILY_NUMBER_SWAP, "size of tensor a (4) must match tensor b (6)", "float32[2, 3, 6]"},
      {OPC_FAMILY_SAME_SHAPE, "input and weight must have the same shape", "float32[2, 3, 4] float32[2, 3, 4]"},
      {OPC_FAMILY_INDEX_RANGE, "index out of bounds", "zeros"},
      {OPC_FAMILY_STRING_WORD, "mode must be either zigzag or plain", "zigzag"},
      {OPC_FAMILY_STRING_WORD, "unknown mode, try 'round'", "round"},
      {OPC_FAMILY_OPTIONAL, "bias is required", "float32"},
      {OPC_FAMILY_REQUIRES_GRAD, "element 0 of tensors does not require grad and does not have a grad_fn", "grad"},
      {OPC_FAMILY_NUMBER_SET, "groups: 3", "float32[5, 6] 3 [1, 1]"},
      {OPC_FAMILY_NAMED, "input is odd", "true"},
  };
  opc_operator_t op = fixture_operator("ns::op", "a schema", arguments, COUNT(arguments), NULL, 0);
  opc_sample_t sample = make_sample(&op);
  opc_text_t text = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_rng_t rng = {.seed = 1};
    opc_candidates_t candidates = {0};
    bool found = false;
    opc_repair_message(&op, &sample, rows[i].message, &rng, &candidates);
    assert_true(candidates.count <= OPC_CANDIDATES_MAX);
    for (size_t k = 0; k < candidates.count; k++) {
      describe(&candidates.items[k].sample, &text);
      bool zeros = strcmp(rows[i].wanted, "zeros") == 0 &&
                   candidates.items[k].sample.arguments[6].tensor->fill.kind == OPC_FILL_ZEROS;
      bool grad = strcmp(rows[i].wanted, "grad") == 0 &&
                  candidates.items[k].sample.arguments[1].tensor->requires_grad &&
                  !candidates.items[k].sample.arguments[6].tensor->requires_grad;
      found |=
          candidates.items[k].family == rows[i].family && (zeros || grad || strstr(opc_text_c(&text), rows[i].wanted));
    }
    if (!found)
      fail_msg("no candidate of '%s' is %s (%zu candidates)", rows[i].message, rows[i].wanted, candidates.count);
    opc_candidates_clear(&candidates);
  }
  opc_text_clear(&text);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

static void test_after_a_crash_and_other_shapes(void **state) {
  (void)state;
  opc_operator_t op = fixture_operator("ns::op", "a schema", arguments, COUNT(arguments), NULL, 0);
  opc_sample_t sample = make_sample(&op);
  opc_candidates_t candidates = {0};
  opc_repair_crash(&op, &sample, &candidates);
  assert_true(candidates.count >= 4);
  assert_int_equal(candidates.items[0].sample.arguments[2].integer, 1); /* what was 0 first */
  opc_candidates_clear(&candidates);
  opc_derive_shapes(&op, &sample, &candidates);
  assert_true(candidates.count >= 4);
  assert_int_equal(candidates.items[0].sample.arguments[0].tensor->sizes[0], 3);
  opc_candidates_clear(&candidates);
  opc_derive_smaller(&sample, &candidates);
  for (size_t i = 0; i < candidates.count; i++) {
    int64_t numel = 0;
    const size_t tensors[] = {0, 1, 6};
    for (size_t k = 0; k < COUNT(tensors); k++)
      numel += opc_tensor_spec_numel(candidates.items[i].sample.arguments[tensors[k]].tensor);
    assert_true(numel < 24 + 30 + 7);
  }
  assert_true(candidates.count >= 6);
  opc_candidates_clear(&candidates);
  assert_true(opc_edit_dim(&sample.arguments[0], 1, 0));
  opc_repair_empty(&op, &sample, &candidates);
  assert_true(candidates.count > 0);
  assert_int_equal(candidates.items[0].sample.arguments[0].tensor->sizes[1], 1);
  opc_candidates_clear(&candidates);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

static void test_edits_keep_the_caps(void **state) {
  (void)state;
  opc_operator_t op = fixture_operator("ns::op", "a schema", arguments, COUNT(arguments), NULL, 0);
  opc_sample_t sample = make_sample(&op);
  opc_value_t *input = &sample.arguments[0];
  assert_false(opc_edit_dim(input, 0, 4097));
  assert_false(opc_edit_dim(input, 0, -1));
  assert_false(opc_edit_dim(input, 3, 2));
  assert_false(opc_edit_dim(input, 0, 2)); /* as it is */
  assert_false(opc_edit_rank(input, 9, true));
  assert_true(opc_edit_rank(input, 8, true));
  assert_true(opc_edit_rank(input, 3, true));
  assert_true(opc_edit_dim(input, 1, 4096));
  assert_false(opc_edit_dim(input, 0, 64)); /* more elements than a case can compute quickly */
  assert_false(opc_edit_rank(input, -1, true));
  assert_false(opc_edit_rank(input, OPC_MAX_DIMS + 1, true));
  assert_false(opc_edit_list_length(&sample.arguments[3], 1000));
  assert_true(opc_edit_list_length(&sample.arguments[3], 0));
  assert_false(opc_edit_list_length(&sample.arguments[3], 2));
  assert_false(opc_edit_number(&sample.arguments[4], 2));
  assert_true(opc_edit_full(&sample.arguments[6], 2));
  assert_true(opc_edit_dtype(&sample.arguments[6], OPC_DTYPE_INT32));
  assert_int_equal(sample.arguments[6].tensor->fill.kind, OPC_FILL_FULL);
  assert_true(opc_edit_dtype(&sample.arguments[6], OPC_DTYPE_BOOL)); /* which has no 2 */
  assert_int_equal(sample.arguments[6].tensor->fill.kind, OPC_FILL_NORMAL);
  assert_true(opc_edit_dtype(&sample.arguments[6], OPC_DTYPE_INT64));
  assert_true(opc_edit_full(&sample.arguments[6], 300));
  assert_true(opc_edit_dtype(&sample.arguments[6], OPC_DTYPE_INT8)); /* which has no 300 */
  assert_int_not_equal(sample.arguments[6].tensor->fill.kind, OPC_FILL_FULL);
  assert_false(opc_edit_full(&sample.arguments[6], 128));
  assert_true(opc_edit_full(&sample.arguments[6], -1));
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

/* Ranks and dtypes stay; sometimes everything fits: one batch, lengths that equal the tensor they are named after,
 * labels from 1. */
static void test_redraw(void **state) {
  (void)state;
  static const fixture_argument_t sequence[] = {{"emissions", "Tensor", NULL, false},
                                                {"frames", "Tensor", NULL, false},
                                                {"labels", "Tensor", NULL, false},
                                                {"frame_lengths", "Tensor", NULL, false},
                                                {"blank", "int", NULL, false}};
  enum { DRAWS = 400 };
  opc_operator_t op = fixture_operator("ns::op", "a schema", sequence, COUNT(sequence), NULL, 0);
  opc_error_t error = {0};
  opc_rng_t rng = {.seed = 1};
  json_t *json = json_loads(
      "{\"operator\": \"ns::op\", \"args\": [{\"tensor\": {\"shape\": [4, 5]}}, {\"tensor\": {\"shape\": [2, 3, 4]}}, "
      "{\"tensor\": "
      "{\"shape\": [7, 7], \"dtype\": \"int64\"}}, {\"tensor\": {\"shape\": [7], \"dtype\": \"int32\"}}, 3]}",
      0, NULL);
  opc_sample_t base;
  assert_ok(opc_sample_from_json(json, &op, NULL, &base, NULL, 0, &error), error);
  json_decref(json);
  int batches = 0, fitting = 0, labels = 0, one_less = 0, changed = 0;
  for (int i = 0; i < DRAWS; i++) {
    opc_sample_t sample;
    assert_ok(opc_sample_copy(&base, &sample, &error), error);
    changed += opc_redraw(&op, &rng, &sample);
    const opc_tensor_spec_t *x = sample.arguments[1].tensor, *y = sample.arguments[2].tensor,
                            *lengths = sample.arguments[3].tensor;
    assert_int_equal(x->ndim, 3);
    assert_int_equal(y->ndim, 2);
    assert_int_equal(lengths->ndim, 1);
    assert_int_equal(lengths->dtype, OPC_DTYPE_INT32);
    batches += x->sizes[0] == y->sizes[0] && x->sizes[0] == lengths->sizes[0];
    fitting += lengths->fill.kind == OPC_FILL_FULL && lengths->fill.value.i == x->sizes[1];
    labels += y->fill.kind == OPC_FILL_RANGE && y->fill.lo == 1;
    one_less += y->sizes[1] == x->sizes[2] - 1;
    opc_sample_clear(&sample);
  }
  assert_int_equal(changed, DRAWS);
  assert_in_range(batches, DRAWS / 4, DRAWS);
  assert_in_range(fitting, DRAWS / 4, DRAWS);
  assert_in_range(labels, DRAWS / 4, 3 * DRAWS / 4);
  assert_in_range(one_less, DRAWS / 50, DRAWS / 2);
  opc_sample_clear(&base);
  opc_operator_clear(&op);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_redraw),
      cmocka_unit_test(test_families),
      cmocka_unit_test(test_after_a_crash_and_other_shapes),
      cmocka_unit_test(test_edits_keep_the_caps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
