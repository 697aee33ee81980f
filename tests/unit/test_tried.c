/* What a try gave, read from the worker's message. */
#include "model/sample/tried.h"
#include "unit.h"

static void read_text(const char *text, opc_tried_t *tried, opc_status_t wanted) {
  opc_error_t error = {0};
  json_t *message = json_loads(text, 0, NULL);
  assert_non_null(message);
  assert_int_equal(opc_tried_read(message, tried, &error), wanted);
  opc_tried_clear(tried);
  json_decref(message);
}

static void every_name_is_read_as_itself(void **state) {
  (void)state;
  for (int i = 0; i < OPC_TRY_OUTCOME_COUNT; i++) {
    opc_try_outcome_t found = OPC_TRY_OUTCOME_COUNT;
    assert_true(opc_try_outcome_find(opc_try_outcome_name((opc_try_outcome_t)i), &found));
    assert_int_equal(found, i);
  }
}

static void unknown_outcomes_are_errors(void **state) {
  (void)state;
  static const char *const unknown[] = {"{\"t\":\"tried\"}", "{\"t\":\"tried\",\"outcome\":\"accepted\"}",
                                        "{\"t\":\"tried\",\"outcome\":\"crashed\"}"};
  opc_tried_t tried;
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) read_text(unknown[i], &tried, OPC_ERR_PROTOCOL);
  read_text("{\"t\":\"refused\",\"message\":\"no\"}", &tried, OPC_OK);
}

static void a_message_becomes_a_value(void **state) {
  (void)state;
  opc_error_t error = {0};
  opc_tried_t tried;
  json_t *message = json_loads(
      "{\"t\":\"tried\",\"outcome\":\"unclean\",\"message\":\"m\",\"seconds\":0.5,\"steady\":true,\"digest\":\"1f\","
      "\"effect\":true,\"mutated\":[\"x\"],\"access\":{\"argument\":\"x\",\"write\":true,\"beyond\":8,\"place\":\"p\"},"
      "\"returns\":[null,{\"shape\":[2,3],\"dtype\":\"float32\"},{\"shape\":[2],\"dtype\":\"int64\",\"values\":[1,2]},"
      "{\"shape\":[2],\"dtype\":\"int64\",\"values\":[1]}]}",
      0, NULL);
  assert_int_equal(opc_tried_read(message, &tried, &error), OPC_OK);
  assert_int_equal(tried.outcome, OPC_TRY_UNCLEAN);
  assert_int_equal(opc_tried_digest(&tried), 0x1f);
  assert_true(tried.access.write && tried.access.beyond == 8);
  assert_int_equal(tried.changed_count, 1);
  assert_int_equal(tried.output_numel, 6);
  assert_int_equal(tried.output_count, 2); /* the last one has too few values */
  assert_int_equal(tried.outputs[1].tensor->fill.value_count, 2);
  opc_tried_clear(&tried);
  json_decref(message);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_name_is_read_as_itself),
                                     cmocka_unit_test(unknown_outcomes_are_errors),
                                     cmocka_unit_test(a_message_becomes_a_value)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
