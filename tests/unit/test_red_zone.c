/* The allocator that replaces guarded memory under Valgrind. Here no tool watches it: tests what it returns, counts and
 * refuses. */
#include "unit.h"

#include <string.h>

#include "memory/cpu_memory.h"
#include "memory/valgrind_requests.h"

static void memory_is_given_and_taken_back(void **state) {
  size_t blocks = 1, bytes = 1;
  (void)state;
  unsigned char *data = opc_red_zone_allocate(100, 0x5a);
  assert_non_null(data);
  assert_int_equal((uintptr_t)data % 64, 0);
  opc_valgrind_allow(data, 100); /* the unit tests also run under Valgrind */
  for (size_t i = 0; i < 100; i++) assert_int_equal(data[i], 0x5a);
  memset(data, 0, 100);
  opc_red_zone_live(&blocks, &bytes);
  assert_int_equal(blocks, 1);
  assert_int_equal(bytes, 100);
  opc_red_zone_release(data);
  opc_red_zone_release(NULL);
  opc_red_zone_live(&blocks, &bytes);
  assert_int_equal(blocks + bytes, 0);
}

static void sizes_out_of_reach_are_refused(void **state) {
  (void)state;
  assert_null(opc_red_zone_allocate(0, 0));
  assert_null(opc_red_zone_allocate(SIZE_MAX, 0));
  assert_null(opc_red_zone_allocate(SIZE_MAX - 8192, 0));
  opc_red_zone_limit(1000);
  void *first = opc_red_zone_allocate(600, 0);
  assert_non_null(first);
  assert_null(opc_red_zone_allocate(401, 0));
  opc_red_zone_release(first);
  first = opc_red_zone_allocate(1000, 0);
  assert_non_null(first);
  opc_red_zone_release(first);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(memory_is_given_and_taken_back),
                                     cmocka_unit_test(sizes_out_of_reach_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
