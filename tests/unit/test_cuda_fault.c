/* Kernel faults: which codes end a context, and which launches are named with them. */
#include <string.h>

#include "checks/cuda_log/cuda_analysis.h"
#include "unit.h"

static opc_cuda_call_t launch(const char *kernel, const char *library, uint32_t grid, uint32_t block) {
  return (opc_cuda_call_t){.kind = OPC_CUDA_LAUNCH,
                           .function = "cudaLaunchKernel",
                           .kernel = kernel,
                           .library = library,
                           .grid = {grid, 1, 1},
                           .block = {block, 1, 1}};
}

static void codes(void **state) {
  static const int faults[] = {700, 702, 710, 714, 715, 716, 717, 718, 719, 721},
                   others[] = {0, 1, 2, 9, 35, 98, 100, 209, 600, 701, 720, 999, -1};
  (void)state;
  for (size_t i = 0; i < COUNT(faults); i++) assert_non_null(opc_cuda_fault_meaning(faults[i]));
  for (size_t i = 0; i < COUNT(others); i++) assert_null(opc_cuda_fault_meaning(others[i]));
}

/* Only what libtorch throws, whole, counts. */
static void thrown_errors(void **state) {
  (void)state;
  assert_int_equal(opc_cuda_error_thrown("CUDA error: unspecified launch failure\nSearch for it"), 719);
  assert_int_equal(opc_cuda_error_thrown("CUDA error: an illegal memory access was encountered"), 700);
  assert_int_equal(opc_cuda_error_thrown("CUDA error: invalid argument\n"), 1);
  assert_int_equal(opc_cuda_error_thrown("CUDA error: invalid argument of mine"), 0);
  assert_int_equal(opc_cuda_error_thrown("unspecified launch failure"), 0);
  assert_int_equal(opc_cuda_error_thrown(""), 0);
}

static void the_last_launches_are_named(void **state) {
  opc_cuda_call_t calls[] = {
      launch("_ZN3old3oneEv", "/lib/libops.so", 1, 1),
      launch("_ZN2my11copy_kernelIfEEvPT_", "/lib/libops.so", 4, 256),
      {.kind = OPC_CUDA_LAST_ERROR},
      launch("plain", "/lib/libtorch_cuda.so", 2, 64),
      {.kind = OPC_CUDA_COPY},
      launch("", "", 8, 32),
  };
  const opc_cuda_log_t log = {.calls = calls, .count = COUNT(calls)};
  opc_text_t text = {0};
  (void)state;
  opc_cuda_fault_describe(700, &log, &text);
  assert_string_equal(
      opc_text_c(&text),
      "an access to memory that is not mapped (cudaErrorIllegalAddress, 700); the last launches before it, newest "
      "first: a kernel (grid 8,1,1, block 32,1,1), "
      "plain (grid 2,1,1, block 64,1,1) by libtorch_cuda.so, copy_kernel (grid 4,1,1, block 256,1,1) by libops.so");
  json_t *launches = opc_cuda_fault_launches(&log);
  assert_int_equal(json_array_size(launches), 3);
  assert_string_equal(json_string_value(json_object_get(json_array_get(launches, 1), "kernel")), "plain");
  json_decref(launches);
  opc_text_clear(&text);
}

static void one_launch_or_none(void **state) {
  opc_cuda_call_t call = launch("_Z4kernv", NULL, 1, 1);
  const opc_cuda_log_t one = {.calls = &call, .count = 1}, none = {0};
  opc_text_t text = {0};
  (void)state;
  opc_cuda_fault_describe(719, &one, &text);
  assert_non_null(strstr(opc_text_c(&text), "; the last launch before it: kern (grid"));
  opc_text_reset(&text);
  opc_cuda_fault_describe(719, &none, &text);
  assert_non_null(strstr(opc_text_c(&text), "no launch was seen"));
  json_t *launches = opc_cuda_fault_launches(&none);
  assert_int_equal(json_array_size(launches), 0);
  json_decref(launches);
  opc_text_clear(&text);
}

/* A kernel's name can be very long because of its template arguments. */
static void long_names_are_cut(void **state) {
  static char name[6000];
  opc_text_t text = {0};
  (void)state;
  memset(name, 'k', sizeof name - 1);
  opc_cuda_call_t call = launch(name, NULL, 1, 1);
  const opc_cuda_log_t log = {.calls = &call, .count = 1};
  opc_cuda_fault_describe(700, &log, &text);
  assert_true(text.length < 400);
  opc_text_clear(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(codes), cmocka_unit_test(thrown_errors),
                                     cmocka_unit_test(the_last_launches_are_named),
                                     cmocka_unit_test(one_launch_or_none), cmocka_unit_test(long_names_are_cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
