/* The peak of physical memory: what was touched counts, also if it is free again; what was only allocated does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "memory/growth.h"

static const size_t mib = 1 << 20, bytes = 64 << 20;

static void map_and_release(bool touch) {
  char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(data != MAP_FAILED);
  if (touch) memset(data, 1, bytes);
  assert_int_equal(munmap(data, bytes), 0);
}

static void released_memory_counts(void **state) {
  (void)state;
  if (!opc_peak_begin()) skip();
  map_and_release(true);
  assert_in_range(opc_peak_bytes(), bytes - mib, bytes + 16 * mib);
}

static void earlier_peaks_do_not_count(void **state) {
  (void)state;
  map_and_release(true);
  if (!opc_peak_begin()) skip();
  assert_in_range(opc_peak_bytes(), 0, mib);
}

static void untouched_memory_does_not_count(void **state) {
  (void)state;
  if (!opc_peak_begin()) skip();
  map_and_release(false);
  assert_in_range(opc_peak_bytes(), 0, mib);
}

static void a_quarter_of_the_limit_is_allowed(void **state) {
  (void)state;
  assert_int_equal(opc_peak_allowed(), (size_t)1 << 30);
  opc_peak_limit(256 * mib);
  assert_int_equal(opc_peak_allowed(), 64 * mib);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(released_memory_counts), cmocka_unit_test(earlier_peaks_do_not_count),
      cmocka_unit_test(untouched_memory_does_not_count), cmocka_unit_test(a_quarter_of_the_limit_is_allowed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
