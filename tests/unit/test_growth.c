/* A leak grows forever, a cache until it is full, a table once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "memory/growth.h"

enum { ROUNDS = 6 };
static const int calls_at[ROUNDS] = {4, 12, 20, 28, 64, 128};

static opc_growth_t growth_of(opc_growth_kind_t kind, const size_t values[ROUNDS]) {
  opc_growth_t growth = {.count = ROUNDS};
  for (size_t i = 0; i < ROUNDS; i++) {
    growth.readings[i].calls = calls_at[i];
    growth.readings[i].values[kind] = values[i];
  }
  return growth;
}

static bool is_steady(opc_growth_kind_t kind, const size_t values[ROUNDS]) {
  opc_growth_t growth = growth_of(kind, values);
  return opc_growth_is_steady(&growth, kind);
}

static void only_growth_without_end_is_steady(void **state) {
  static const size_t leak[] = {10, 18, 26, 34, 70, 134}, cache[] = {10, 18, 26, 34, 50, 50},
                      once[] = {10, 11, 11, 11, 11, 11};
  static const size_t late[] = {10, 10, 10, 11, 12, 13}, falls[] = {10, 18, 26, 34, 33, 40};
  (void)state;
  assert_true(is_steady(OPC_GROWTH_BLOCKS, leak));
  assert_false(is_steady(OPC_GROWTH_BLOCKS, cache));
  assert_false(is_steady(OPC_GROWTH_BLOCKS, once));
  assert_true(is_steady(OPC_GROWTH_BLOCKS, late));
  assert_false(is_steady(OPC_GROWTH_BLOCKS, falls));
}

/* Bytes: at least one byte per call, because malloc rounds up and caches. */
static void few_bytes_are_no_growth(void **state) {
  static const size_t vector_of_bytes[] = {1000, 1000, 1000, 1016, 1080, 1208},
                      noise[] = {1000, 1016, 1032, 1048, 1064, 1080};
  (void)state;
  assert_true(is_steady(OPC_GROWTH_ALLOCATED, vector_of_bytes));
  assert_false(is_steady(OPC_GROWTH_ALLOCATED, noise));
}

static void too_few_rounds_prove_nothing(void **state) {
  static const size_t leak[] = {10, 18, 26, 34, 70, 134};
  (void)state;
  opc_growth_t growth = growth_of(OPC_GROWTH_THREADS, leak);
  growth.count = OPC_GROWTH_ROUNDS;
  assert_false(opc_growth_is_steady(&growth, OPC_GROWTH_THREADS));
  growth.count++;
  assert_true(opc_growth_is_steady(&growth, OPC_GROWTH_THREADS));
  growth.count = 0;
  assert_false(opc_growth_is_steady(&growth, OPC_GROWTH_THREADS));
}

static void readings_see_what_grows(void **state) {
  opc_growth_t growth = {0};
  opc_error_t error;
  (void)state;
  for (int warm_up = 0; warm_up < 2; warm_up++) {
    growth.count = 0;
    assert_int_equal(opc_growth_read(&growth, 0, &error), OPC_OK);
  }
  assert_int_equal(opc_growth_read(&growth, 8, &error), OPC_OK);
  assert_false(opc_growth_any(&growth, 0, 1));
  void *volatile kept = malloc(1000);
  assert_int_equal(opc_growth_read(&growth, 16, &error), OPC_OK);
  assert_true(opc_growth_between(&growth, OPC_GROWTH_ALLOCATED, 1, 2));
  assert_false(opc_growth_is_large(&growth));
  free(kept);
  while (growth.count < OPC_READINGS_MAX) assert_int_equal(opc_growth_read(&growth, 24, &error), OPC_OK);
  assert_int_equal(opc_growth_read(&growth, 24, &error), OPC_ERR_UNSUPPORTED);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(only_growth_without_end_is_steady),
      cmocka_unit_test(few_bytes_are_no_growth),
      cmocka_unit_test(too_few_rounds_prove_nothing),
      cmocka_unit_test(readings_see_what_grows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
