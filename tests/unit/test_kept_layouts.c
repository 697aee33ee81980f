/* Whether an operator follows the strides of a sample, by its results in check stride. */
#include "supervise/jobs/case_patterns.h"

#include "unit.h"

static void note(opc_kept_layouts_t *kept, const char *case_id, const char *verdict) {
  opc_case_result_t *result = NULL;
  const opc_verdict_kind_t kind = (opc_verdict_kind_t)opc_verdict_find(verdict);
  assert_int_equal(
      opc_case_result_new(case_id, kind, kind == OPC_VERDICT_FAIL ? OPC_RULE_stride_wrong_result : OPC_RULE_NONE, "",
                          NULL, &result, NULL),
      OPC_OK);
  opc_kept_layouts_note(kept, result);
  opc_case_result_free(result);
}

static bool has(const opc_kept_layouts_t *kept, const char *case_id) {
  opc_case_id_t id;
  assert_int_equal(opc_case_id_parse(case_id, &id, NULL), OPC_OK);
  return opc_kept_layouts_has(kept, &id);
}

static void gaps_between_elements_and_rows_show_it(void **state) {
  (void)state;
  opc_kept_layouts_t kept = {0};
  note(&kept, "ns::op/stride/cpu/-/s/all.sliced", "pass");
  assert_false(has(&kept, "ns::op/memory/cpu/-/s/all.permuted"));
  note(&kept, "ns::op/stride/cpu/-/s/all.padded", "pass");
  assert_true(has(&kept, "ns::op/memory/cpu/-/s/all.permuted"));
  assert_true(has(&kept, "ns::op/memory/cpu/-/s/x.transposed"));
  assert_false(has(&kept, "ns::op/memory/cpu/-/s/all.channels_last")); /* kernels have code of their own for these */
  assert_false(has(&kept, "ns::op/memory/cpu/-/s/x.expanded0"));
  assert_false(has(&kept, "ns::op/memory/cpu/-/t/all.permuted")); /* another sample */
  assert_false(has(&kept, "ns::op/memory/cuda/-/s/all.permuted"));
  opc_kept_layouts_clear(&kept);
  assert_false(has(&kept, "ns::op/memory/cpu/-/s/all.permuted"));
}

static void the_only_tensor_stands_for_all(void **state) {
  (void)state;
  opc_kept_layouts_t kept = {0};
  note(&kept, "ns::op/stride/cpu/-/s/x.sliced", "pass");
  note(&kept, "ns::op/stride/cpu/-/s/x.padded", "pass");
  assert_true(has(&kept, "ns::op/memory/cpu/-/s/x.permuted"));
  assert_false(has(&kept, "ns::op/memory/cpu/-/s/y.permuted"));
  opc_kept_layouts_clear(&kept);
}

static void other_results_show_nothing(void **state) {
  (void)state;
  opc_kept_layouts_t kept = {0};
  note(&kept, "ns::op/stride/cpu/-/s/all.sliced", "pass");
  note(&kept, "ns::op/stride/cpu/-/s/all.padded", "fail");
  note(&kept, "ns::op/stride/cpu/-/s/all.padded", "skip");
  note(&kept, "ns::op/memory/cpu/-/s/all.padded", "pass");
  note(&kept, "ns::op/stride/cpu/float64/s/all.padded", "pass");
  note(&kept, "ns::op/stride/cpu/-/s/all.offset+all.padded", "pass");
  assert_false(has(&kept, "ns::op/memory/cpu/-/s/all.permuted"));
  opc_kept_layouts_clear(&kept);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gaps_between_elements_and_rows_show_it),
      cmocka_unit_test(the_only_tensor_stands_for_all),
      cmocka_unit_test(other_results_show_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
