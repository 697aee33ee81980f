/* What is remembered of device memory (harness/cuda/shadow/written.h). Addresses are numbers here: nothing is accessed.
 */
#include "../unit/unit.h"
#include "cuda/shadow/written.h"

enum { BASE = 0x10000, SIZE = 10000 };

static uint64_t missing_in(const opc_written_t *written, uint64_t begin, uint64_t size) {
  return opc_written_count_missing(written, begin, size);
}

static void test_written(void **state) {
  opc_written_t *written = opc_written_make();
  (void)state;
  assert_true(opc_written_everything(written));
  assert_int_equal(0, opc_written_missing(written, BASE, 32)); /* nobody has allocated it here */
  opc_written_allocated(written, BASE, SIZE);
  assert_false(opc_written_everything(written));
  assert_int_equal(SIZE, missing_in(written, 0, 2 * BASE));
  assert_int_equal(0xffff, opc_written_missing(written, BASE + 100, 16));
  assert_int_equal(0xf, opc_written_missing(written, BASE + SIZE - 4, 8)); /* what is behind it is not of it */
  opc_written_by_host(written, BASE + 101, 5000);
  assert_int_equal(SIZE - 5000, missing_in(written, BASE, SIZE));
  assert_int_equal(1, opc_written_missing(written, BASE + 100, 4));
  assert_int_equal(0x8, opc_written_missing(written, BASE + 5098, 4));
  opc_written_store(written, BASE + 100, 4, 0);
  assert_int_equal(0, opc_written_missing(written, BASE + 100, 4));
  opc_written_store(written, BASE + 200, 4, 0x5); /* two of its bytes have no value */
  assert_int_equal(0x5, opc_written_missing(written, BASE + 200, 4));
  opc_written_by_host(written, 0, 2 * BASE);
  assert_true(opc_written_everything(written));
  opc_written_store(written, BASE + 4096, 1, 1);
  assert_false(opc_written_everything(written));
  assert_int_equal(1, missing_in(written, BASE, SIZE));
  opc_written_free(written);
}

static void test_copied(void **state) {
  opc_written_t *written = opc_written_make();
  (void)state;
  opc_written_allocated(written, BASE, 1000);
  opc_written_allocated(written, BASE + 2000, 1000);
  opc_written_by_host(written, BASE, 10);
  opc_written_copied(written, BASE + 2000, BASE + 5, 20);
  assert_int_equal(0, missing_in(written, BASE + 2000, 5));
  assert_int_equal(995, missing_in(written, BASE + 2000, 1000));
  opc_written_copied(written, BASE + 4, BASE, 100); /* it overlaps */
  assert_int_equal(0, missing_in(written, BASE, 14));
  assert_int_equal(986, missing_in(written, BASE, 1000));
  opc_written_copied(written, BASE + 500, BASE + 5000, 100); /* from memory that nobody has named */
  assert_int_equal(886, missing_in(written, BASE, 1000));
  opc_written_free(written);
}

static void test_freed(void **state) {
  opc_written_t *written = opc_written_make();
  uint64_t begin = 0, size = 0;
  (void)state;
  opc_written_allocated(written, BASE, 1000);
  assert_false(opc_written_was_freed(written, BASE + 10, &begin, &size));
  opc_written_freed(written, BASE + 1); /* nothing begins there */
  assert_false(opc_written_was_freed(written, BASE + 10, &begin, &size));
  opc_written_freed(written, BASE);
  assert_true(opc_written_everything(written));
  assert_true(opc_written_was_freed(written, BASE + 999, &begin, &size));
  assert_int_equal(BASE, begin);
  assert_int_equal(1000, size);
  assert_false(opc_written_was_freed(written, BASE + 1000, &begin, &size));
  opc_written_allocated(written, BASE + 512, 8); /* the addresses are used again */
  assert_false(opc_written_was_freed(written, BASE + 999, &begin, &size));
  opc_written_by_host(written, BASE + 512, 8);
  opc_written_allocated(written, BASE + 500, 100); /* in place of the one before */
  assert_int_equal(100, missing_in(written, BASE, 1000));
  opc_written_free(written);
}

/* 2^33 bytes cost what is touched of them. */
static void test_huge(void **state) {
  opc_written_t *written = opc_written_make();
  const uint64_t huge = UINT64_C(1) << 33;
  (void)state;
  opc_written_allocated(written, BASE, huge);
  opc_written_store(written, BASE + huge - 4, 4, 0);
  assert_int_equal(0, opc_written_missing(written, BASE + huge - 4, 4));
  assert_int_equal(0xff, opc_written_missing(written, BASE + huge / 2, 8));
  assert_true(missing_in(written, BASE, huge) == huge - 4);
  opc_written_free(written);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_written), cmocka_unit_test(test_copied),
                                     cmocka_unit_test(test_freed), cmocka_unit_test(test_huge)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
