/* The GPUs that CTest assigns to a test, as CUDA_VISIBLE_DEVICES. */
#include <stdlib.h>
#include <string.h>

#include "supervise/common/devices.h"
#include "unit.h"

static void visible(const char *assigned, const char *before, const char *expected) {
  char out[64];
  bool found = opc_visible_devices_of(assigned, before, out, sizeof out);
  if (expected == NULL) {
    assert_false(found);
    return;
  }
  assert_true(found);
  assert_string_equal(out, expected);
}

static void test_assigned(void **state) {
  (void)state;
  visible("id:0,slots:1", NULL, "0");
  visible("id:3,slots:1", NULL, "3");
  visible("id:1,slots:1;id:0,slots:2", NULL, "1,0");
  visible("id:12,slots:4;id:7,slots:1", NULL, "12,7");
}

/* The file was created when only these were visible. */
static void test_among_visible(void **state) {
  (void)state;
  visible("id:0,slots:1", "5", "5");
  visible("id:1,slots:1", "5,6", "6");
  visible("id:1,slots:1;id:0,slots:1", "GPU-8a1b,GPU-77c0,2", "GPU-77c0,GPU-8a1b");
  visible("id:2,slots:1", "5,6", NULL);
  visible("id:0,slots:1", "", NULL);
}

static void test_nonsense(void **state) {
  (void)state;
  visible("", NULL, NULL);
  visible("slots:1", NULL, NULL);
  visible("id:", NULL, NULL);
  visible("id:x,slots:1", NULL, NULL);
  visible("id:1x,slots:1", NULL, NULL);
  visible("id:-1,slots:1", NULL, NULL);
  visible("id:0,slots:1", "0123456789012345678901234567890123456789012345678901234567890123", NULL); /* no room */
}

static void test_environment(void **state) {
  (void)state;
  setenv("CUDA_VISIBLE_DEVICES", "4,5", 1);
  unsetenv("CTEST_RESOURCE_GROUP_0_GPUS");
  opc_visible_devices_take();
  assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "4,5");
  setenv("CTEST_RESOURCE_GROUP_0_GPUS", "id:1,slots:1", 1);
  opc_visible_devices_take();
  opc_visible_devices_take();
  assert_string_equal(getenv("CUDA_VISIBLE_DEVICES"), "5");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_assigned), cmocka_unit_test(test_among_visible),
                                     cmocka_unit_test(test_nonsense), cmocka_unit_test(test_environment)};
  return cmocka_run_group_tests_name("visible_devices", tests, NULL, NULL);
}
