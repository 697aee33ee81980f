/* --reference: which operator computes what is right for another one. */
#include <stdlib.h>
#include <string.h>

#include "supervise/common/run_options.h"
#include "unit.h"

static void is_reference(const char *pair, const char *operator_name, const char *expected) {
  char *reference = opc_reference_of_pair(pair, operator_name);
  if (expected == NULL) assert_null(reference);
  else assert_string_equal(reference, expected);
  free(reference);
}

static void test_pairs(void **state) {
  (void)state;
  is_reference("a::b=c::d", "a::b", "c::d");
  is_reference("a::b=c::d", "a::bc", NULL);
  is_reference("a::b=c::d", "a::", NULL);
  is_reference("a::fast_*=a::slow_*", "a::fast_sum", "a::slow_sum");
  is_reference("a::fast_*=a::slow_*", "a::slow_sum", NULL);
  is_reference("*_fast=*", "a::sum_fast", "a::sum");
  is_reference("*_fast=*", "_fast", "");
  is_reference("a::*_fast.int=a::*.int", "a::sum_fast.int", "a::sum.int");
  is_reference("aa*aa=b::*", "aaa", NULL); /* the two sides of the * must not overlap */
  is_reference("a::*=aten::relu", "a::any", "aten::relu");
}

static void test_nonsense(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "a::b", "=c::d", "a::b=", "a::*_*=b::*", "a::b=c::*", "a::*=b::**"};
  opc_error_t error = {0};
  for (size_t i = 0; i < COUNT(wrong); i++) assert_int_equal(opc_reference_pair_check(wrong[i], &error), OPC_ERR_USAGE);
  assert_ok(opc_reference_pair_check("a::fast_*=a::slow_*", &error), error);
  assert_ok(opc_reference_pair_check("a::b=c::d", &error), error);
}

static void test_samples(void **state) {
  (void)state;
  const char *const pairs[] = {"a::ok_*=a::ok_*", "a::*=a::ok_*"};
  const opc_run_options_t options = {.references = pairs, .reference_count = 2};
  char bug[] = "a::bug", own[] = "c::d", correct[] = "a::ok_bug";
  opc_sample_t sample = {.operator_name = bug};
  opc_reference_give(&options, &sample);
  assert_string_equal(sample.expect.reference, "a::ok_bug");
  free(sample.expect.reference);
  sample = (opc_sample_t){.operator_name = bug, .expect.reference = own};
  opc_reference_give(&options, &sample);
  assert_ptr_equal(sample.expect.reference, own);
  sample = (opc_sample_t){.operator_name = bug, .expect.rejects = true};
  opc_reference_give(&options, &sample);
  assert_null(sample.expect.reference);
  sample = (opc_sample_t){.operator_name = correct}; /* the first pair names the operator itself */
  opc_reference_give(&options, &sample);
  assert_string_equal(sample.expect.reference, "a::ok_ok_bug");
  free(sample.expect.reference);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pairs), cmocka_unit_test(test_nonsense),
                                     cmocka_unit_test(test_samples)};
  return cmocka_run_group_tests_name("reference_pairs", tests, NULL, NULL);
}
