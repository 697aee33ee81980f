/* What is said of a library whose calls of CUDA nobody sees, by its file: over a table of wrappers of the test's own.
 * usage: test_cuda_unseen <static> <driver> <shared> */
#include "checks/cuda/cuda_watch.h"

#include <string.h>

#include "checks/call/own_library.h"
#include "cuda/log/launch.h"
#include "unit/unit.h"

static const char *refusal = "";
static unsigned asked;
static char **libraries; /* with a static runtime, that calls the driver, with neither */

static const char *watch_untracked(bool (*is_own)(const char *library)) {
  asked++;
  assert_true(is_own(libraries[0]));
  return refusal;
}

extern opc_launch_api_t opc_launch_api; /* what opc_launch() finds */
opc_launch_api_t opc_launch_api = {.version = OPC_LAUNCH_API_VERSION, .watch_untracked = watch_untracked};

static const char *untracked(size_t library) {
  opc_operator_t op = {.name = "ops::one", .library = libraries[library]};
  return opc_cuda_untracked(&op);
}

static void test_simulated(void **state) {
  (void)state;
  opc_launch_api.mode = OPC_LAUNCH_SIMULATED;
  assert_non_null(
      strstr(untracked(0), "links the CUDA runtime statically: its launches are not seen on the simulated device"));
  assert_string_equal("", untracked(1)); /* the log names what it called */
  assert_string_equal("", untracked(2));
  assert_int_equal(0, asked);
}

static void test_through(void **state) {
  (void)state;
  opc_launch_api.mode = OPC_LAUNCH_THROUGH;
  refusal = "";
  for (size_t i = 0; i < 3; i++) assert_string_equal("", untracked(i));
  assert_int_equal(2, asked); /* CUPTI is left alone where there is nothing to see */
  refusal = "CUPTI refuses";
  assert_string_equal(
      "its library links the CUDA runtime statically; calls of the driver and of static runtimes are not seen: CUPTI "
      "refuses",
      untracked(0));
  assert_string_equal(
      "its library calls the CUDA driver; calls of the driver and of static runtimes are not seen: CUPTI refuses",
      untracked(1));
  assert_string_equal("", untracked(2));
}

static void test_no_library(void **state) {
  (void)state;
  opc_operator_t missing = {.name = "ops::one", .library = "/nowhere/libops.so"}, none = {.name = "ops::one"};
  assert_string_equal("", opc_cuda_untracked(&missing));
  assert_string_equal("", opc_cuda_untracked(&none));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_simulated), cmocka_unit_test(test_through),
                                     cmocka_unit_test(test_no_library)};
  if (argc != 4) return 2;
  libraries = argv + 1;
  opc_library_note_own(libraries[0]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
