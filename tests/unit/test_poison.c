/* Poisoned memory: aligned, filled each time, and it reports if it cannot allocate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/cpu_memory.h"

static void storage_is_aligned_and_filled(void **state) {
  static const size_t sizes[] = {1, 63, 64, 65, 4096, 1 << 20};
  static const unsigned char patterns[] = {0xa5, 0x5a, 0xff};
  (void)state;
  for (size_t p = 0; p < sizeof patterns; p++) {
    if (p > 0) opc_poison_pattern(patterns[p]); /* the first is the default */
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      unsigned char *data = opc_poison_allocate(sizes[i], NULL);
      assert_non_null(data);
      assert_int_equal((uintptr_t)data % 64, 0);
      for (size_t b = 0; b < sizes[i]; b++) assert_int_equal(data[b], patterns[p]);
      memset(data, 0, sizes[i]); /* the next block of this size may get this memory */
      opc_poison_release(data, NULL);
    }
  }
  opc_poison_pattern(0xa5);
}

static void nothing_is_nothing(void **state) {
  (void)state;
  assert_null(opc_poison_allocate(0, NULL));
  assert_null(opc_poison_allocate((size_t)1 << 62, NULL));
  opc_poison_release(NULL, NULL);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(storage_is_aligned_and_filled),
      cmocka_unit_test(nothing_is_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
