/* A backward operator's arguments, made from those that its forward operator accepted; and what is tabu after a
 * crash. */
#include "plan_fixture.h"

#include <stdio.h>
#include <string.h>

#include "search/engine/search_state.h"

static const fixture_argument_t forward_arguments[] = {{"input", "Tensor", NULL, false},
                                                       {"weight", "Tensor", NULL, false},
                                                       {"bias", "Tensor?", "None", false},
                                                       {"scale", "float", NULL, false},
                                                       {"size", "SymInt", NULL, false}};
static const fixture_argument_t forward_returns[] = {{"", "Tensor", NULL, false}, {"", "Tensor", NULL, false}};
static const fixture_argument_t backward_arguments[] = {
    {"grad", "Tensor", NULL, false},        {"weight", "Tensor", NULL, false}, {"argmax", "Tensor", NULL, false},
    {"bias", "Tensor?", "None", false},     {"scale", "float", NULL, false},   {"size", "int", NULL, false},
    {"batch_size", "int", NULL, false},     {"channels", "int", NULL, false},  {"input_sizes", "int[]", NULL, false},
    {"output_mask", "bool[2]", NULL, false}};

static void test_names(void **state) {
  (void)state;
  static const struct {
    const char *backward, *forward;
    bool wanted;
  } rows[] = {
      {"ns::_foo_backward", "ns::foo", true},          {"ns::foo_backward", "ns::foo", true},
      {"ns::foo_backward", "ns::_foo", true},          {"ns::foo_backward.out", "ns::foo.over", true},
      {"ns::foo_backward_data", "ns::foo", true},      {"ns::foo_backward", "other::foo", false},
      {"ns::foo_bar_backward", "ns::foo", false},      {"ns::foo", "ns::foo_backward", false},
      {"ns::foo_backward", "ns::foo_backward", false}, {"nsx::foo_backward", "ns::foo", false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_operator_t backward = fixture_operator(rows[i].backward, "a schema", NULL, 0, NULL, 0);
    opc_operator_t forward = fixture_operator(rows[i].forward, "a schema", NULL, 0, NULL, 0);
    if (opc_search_is_backward_of(&backward, &forward) != rows[i].wanted) fail_msg("row %zu", i);
    opc_operator_clear(&backward);
    opc_operator_clear(&forward);
  }
}

static opc_value_t output(opc_dtype_t dtype, int64_t first, int64_t second) {
  const int64_t sizes[] = {first, second};
  return (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = opc_tensor_spec_new(dtype, 2, sizes)};
}

static void test_arguments(void **state) {
  (void)state;
  opc_operator_t operators[] = {
      fixture_operator("ns::foo", "a schema", forward_arguments, COUNT(forward_arguments), forward_returns,
                       COUNT(forward_returns)),
      fixture_operator("ns::_foo_backward", "a schema", backward_arguments, COUNT(backward_arguments), NULL, 0)};
  opc_search_library_t *library;
  opc_sample_t accepted;
  opc_error_t error = {0};
  opc_rng_t rng = {.seed = 1};
  json_t *json = json_loads(
      "{\"operator\": \"ns::foo\", \"args\": [{\"tensor\": {\"shape\": [2, 3, 4]}}, {\"tensor\": {\"shape\": [5, 6], "
      "\"dtype\": \"float64\"}}, "
      "null, 0.5, 7]}",
      0, NULL);
  assert_ok(
      opc_search_library_new(&(opc_search_loaded_t){.operators = operators, .operator_count = 2}, &library, &error),
      error);
  assert_ok(opc_sample_from_json(json, &operators[0], NULL, &accepted, NULL, 0, &error), error);
  json_decref(json);
  opc_value_t *outputs = calloc(2, sizeof *outputs);
  outputs[0] = output(OPC_DTYPE_FLOAT64, 8, 9);
  outputs[1] = output(OPC_DTYPE_INT64, 4, 4);
  assert_ok(opc_search_library_add(library, &operators[0], OPC_SEARCH_ROUNDS, &accepted, outputs, 2, &error), error);
  size_t helpers[OPC_HELPERS_MAX];
  assert_int_equal(opc_search_helpers(library, &operators[1], OPC_SEARCH_ROUNDS + 1, helpers),
                   1); /* the relative alone */

  opc_search_view_t view;
  opc_candidates_t candidates = {0};
  assert_ok(opc_search_view_make(library, &operators[1], OPC_SEARCH_ROUNDS + 1, &view, &error), error);
  opc_search_view_backward(&view, &operators[1], &rng, &candidates);
  assert_int_equal(candidates.count, 1);
  const opc_sample_t *made = &candidates.items[0].sample;
  char text[512] = "", part[128];
  for (size_t i = 0; i < made->argument_count; i++) {
    opc_value_describe(&made->arguments[i], part, sizeof part);
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i > 0 ? " " : "", part);
  }
  assert_int_equal(made->arguments[3].kind, OPC_VALUE_NONE); /* the same as for the forward operator */
  assert_string_equal(text, "float64[8, 9] float64[5, 6] int64[4, 4] None 0.5 7 2 3 [2, 3, 4] [true, true]");
  opc_candidates_clear(&candidates);
  opc_search_view_backward(&view, &operators[0], &rng, &candidates); /* has none */
  assert_int_equal(candidates.count, 0);
  opc_search_view_clear(&view);
  opc_sample_clear(&accepted);
  opc_search_library_free(library);
  for (int i = 0; i < 2; i++) opc_operator_clear(&operators[i]);
}

static opc_value_t row(opc_dtype_t dtype, opc_number_t first, opc_number_t second) {
  opc_value_t value = output(dtype, 1, 2);
  value.tensor->fill = (opc_fill_t){
      .kind = OPC_FILL_VALUES, .value_count = 2, .rounded_to = OPC_DTYPE_OTHER, .filled_as = OPC_DTYPE_OTHER};
  value.tensor->fill.values = calloc(2, sizeof(opc_number_t));
  value.tensor->fill.values[0] = first;
  value.tensor->fill.values[1] = second;
  return value;
}

/* Returned tensors keep their exact numbers, whether these are values of the dtype or not. */
static void test_values_come_back(void **state) {
  (void)state;
  const struct {
    opc_dtype_t dtype;
    opc_number_t first, second;
    bool packed;
  } rows[] = {
      {OPC_DTYPE_FLOAT32, {.kind = OPC_NUMBER_FLOAT, .f = 0.5}, {.kind = OPC_NUMBER_FLOAT, .f = -0.0}, true},
      {OPC_DTYPE_FLOAT32, {.kind = OPC_NUMBER_FLOAT, .f = 0.5}, {.kind = OPC_NUMBER_FLOAT, .f = 0.1}, false},
      {OPC_DTYPE_FLOAT64, {.kind = OPC_NUMBER_FLOAT, .f = 0.1}, {.kind = OPC_NUMBER_INT, .i = 3}, false},
      {OPC_DTYPE_INT64, {.kind = OPC_NUMBER_INT, .i = INT64_MIN}, {.kind = OPC_NUMBER_INT, .i = INT64_MAX}, true},
      {OPC_DTYPE_INT8, {.kind = OPC_NUMBER_INT, .i = -3}, {.kind = OPC_NUMBER_INT, .i = 300}, false},
      {OPC_DTYPE_BOOL, {.kind = OPC_NUMBER_INT, .i = 1}, {.kind = OPC_NUMBER_INT, .i = 0}, true}};
  opc_operator_t operators[] = {fixture_operator("ns::foo", "a schema", NULL, 0, NULL, 0),
                                fixture_operator("ns::_foo_backward", "a schema", NULL, 0, NULL, 0)};
  opc_search_library_t *library;
  opc_search_view_t view;
  opc_sample_t accepted;
  opc_error_t error = {0};
  opc_value_t *outputs = calloc(COUNT(rows), sizeof *outputs);
  for (size_t i = 0; i < COUNT(rows); i++) outputs[i] = row(rows[i].dtype, rows[i].first, rows[i].second);
  assert_ok(
      opc_search_library_new(&(opc_search_loaded_t){.operators = operators, .operator_count = 2}, &library, &error),
      error);
  assert_ok(opc_sample_init(&accepted, &operators[0], &error), error);
  assert_ok(opc_search_library_add(library, &operators[0], 1, &accepted, outputs, COUNT(rows), &error), error);
  assert_ok(opc_search_view_make(library, &operators[1], 2, &view, &error), error);
  assert_int_equal(view.count, 1);
  assert_int_equal(view.entries[0]->output_count, COUNT(rows));
  for (size_t i = 0; i < COUNT(rows); i++) {
    const opc_search_output_t *kept = &view.entries[0]->outputs[i];
    opc_value_t value;
    assert_true(opc_search_output_value(kept, &value));
    const opc_fill_t *fill = &value.tensor->fill;
    if ((kept->elements != NULL) != rows[i].packed || fill->kind != OPC_FILL_VALUES || fill->value_count != 2)
      fail_msg("row %zu", i);
    if (fill->values[0].kind != rows[i].first.kind ||
        memcmp(&fill->values[0].i, &rows[i].first.i, sizeof(int64_t)) != 0)
      fail_msg("row %zu, the first", i);
    if (fill->values[1].kind != rows[i].second.kind ||
        memcmp(&fill->values[1].i, &rows[i].second.i, sizeof(int64_t)) != 0)
      fail_msg("row %zu, the second", i);
    opc_value_clear(&value);
  }
  opc_search_view_clear(&view);
  opc_sample_clear(&accepted);
  opc_search_library_free(library);
  for (int i = 0; i < 2; i++) opc_operator_clear(&operators[i]);
}

static void set_current(opc_search_t *search, const char *text) {
  opc_error_t error = {0};
  json_t *json = json_loads(text, 0, NULL);
  opc_sample_clear(&search->current);
  assert_ok(opc_sample_from_json(json, search->op, NULL, &search->current, NULL, 0, &error), error);
  json_decref(json);
}

/* After two crashes, other sizes of the same form are tabu, unless the form was survived once; other numbers are
 * another form. */
static void test_tabu(void **state) {
  (void)state;
  static const fixture_argument_t arguments[] = {{"x", "Tensor", NULL, false}, {"n", "int", NULL, false}};
  static const char *const forms[] = {"{\"operator\": \"ns::op\", \"args\": [{\"tensor\": {\"shape\": [2]}}, 0]}",
                                      "{\"operator\": \"ns::op\", \"args\": [{\"tensor\": {\"shape\": [3]}}, 0]}",
                                      "{\"operator\": \"ns::op\", \"args\": [{\"tensor\": {\"shape\": [3]}}, 1]}",
                                      "{\"operator\": \"ns::op\", \"args\": [{\"tensor\": {\"shape\": [0]}}, 0]}"};
  opc_operator_t op = fixture_operator("ns::op", "a schema", arguments, COUNT(arguments), NULL, 0);
  opc_search_options_t options = {.budget = 10, .round = 1};
  opc_search_t *search;
  opc_error_t error = {0};
  assert_ok(opc_search_new(&op, &options, &search, &error), error);
  set_current(search, forms[0]);
  opc_tabu_note(search, 1);
  assert_false(opc_tabu_has(search, &search->current));
  opc_tabu_note(search, 1);
  for (size_t i = 0; i < COUNT(forms); i++) {
    set_current(search, forms[i]);
    assert_int_equal(opc_tabu_has(search, &search->current), i < 2);
  }
  set_current(search, forms[2]);
  opc_tabu_note(search, 0);
  opc_tabu_note(search, OPC_TABU_DEATHS); /* a hang */
  assert_true(opc_tabu_has(search, &search->current));
  set_current(search, forms[1]);
  opc_tabu_note(search, 0);
  assert_false(opc_tabu_has(search, &search->current));
  opc_search_free(search);
  opc_operator_clear(&op);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names), cmocka_unit_test(test_arguments),
                                     cmocka_unit_test(test_values_come_back), cmocka_unit_test(test_tabu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
