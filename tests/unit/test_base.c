/* Dtypes, devices, texts, statuses, random numbers. */
#include "unit.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dtype.h"
#include "base/random.h"
#include "base/system.h"
#include "base/text.h"

static void test_dtypes(void **state) {
  (void)state;
  for (int i = 1; i < OPC_DTYPE_COUNT; i++) {
    assert_int_equal(opc_dtype_find(opc_dtype_name((opc_dtype_t)i)), i);
    assert_true(opc_dtype_size((opc_dtype_t)i) > 0);
  }
  assert_int_equal(opc_dtype_find("half"), OPC_DTYPE_FLOAT16);
  assert_int_equal(opc_dtype_find("other"), OPC_DTYPE_OTHER);
  assert_int_equal(opc_dtype_find(NULL), OPC_DTYPE_OTHER);
  assert_string_equal(opc_dtype_name((opc_dtype_t)999), "other");
  assert_int_equal(opc_dtype_class(OPC_DTYPE_COMPLEX32), OPC_CLASS_COMPLEX);
  assert_int_equal(opc_dtype_digits(OPC_DTYPE_BFLOAT16), 8);
}

static void test_devices(void **state) {
  (void)state;
  const struct {
    const char *text;
    bool valid;
    opc_device_t device;
  } rows[] = {
      {"cpu", true, {OPC_DEVICE_CPU, -1}},
      {"cuda", true, {OPC_DEVICE_CUDA, -1}},
      {"cuda:1", true, {OPC_DEVICE_CUDA, 1}},
      {"meta", true, {OPC_DEVICE_META, -1}},
      {"cuda:", false, {0}},
      {"cuda:-1", false, {0}},
      {"cuda:1x", false, {0}},
      {"cudax", false, {0}},
      {"", false, {0}},
      {NULL, false, {0}},
      {"other", false, {0}},
      {"cuda:999", false, {0}},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_device_t device = {0};
    assert_int_equal(opc_device_parse(rows[i].text, &device), rows[i].valid);
    if (!rows[i].valid) continue;
    assert_int_equal(device.type, rows[i].device.type);
    assert_int_equal(device.index, rows[i].device.index);
  }
  assert_true(opc_device_equal((opc_device_t){OPC_DEVICE_CUDA, -1}, (opc_device_t){OPC_DEVICE_CUDA, 0}));
  assert_false(opc_device_equal((opc_device_t){OPC_DEVICE_CUDA, 1}, (opc_device_t){OPC_DEVICE_CUDA, 0}));
}

static void test_text(void **state) {
  (void)state;
  opc_text_t text = {0};
  assert_string_equal(opc_text_c(&text), "");
  opc_text_add(&text, NULL);
  opc_text_add(&text, "one");
  opc_text_addf(&text, " %d", 2);
  opc_text_add_bytes(&text, "\0x", 2);
  assert_int_equal(text.length, 7);
  assert_memory_equal(text.data, "one 2\0x", 8);
  opc_text_reset(&text);
  for (int i = 0; i < 1000; i++) opc_text_add(&text, "0123456789");
  assert_int_equal(strlen(opc_text_c(&text)), 10000);
  char *taken = opc_text_take(&text);
  assert_int_equal(strlen(taken), 10000);
  assert_string_equal(opc_text_c(&text), "");
  free(taken);
  assert_null(opc_string_copy(NULL));
  char *formatted = opc_string_format("%s-%d", "a", 1);
  assert_string_equal(formatted, "a-1");
  free(formatted);
  char put[4];
  opc_string_put(put, sizeof put, "ab");
  assert_string_equal(put, "ab");
  opc_string_put(put, sizeof put, "abcdef");
  assert_string_equal(put, "abc");
  assert_string_equal(opc_base_name("/a/b.so"), "b.so");
  assert_string_equal(opc_base_name("b.so"), "b.so");
  assert_string_equal(opc_base_name("a/"), "");
}

static void test_clock(void **state) {
  (void)state;
  double before = opc_clock(), processor = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  assert_true(before > 0 && processor > 0);
  assert_true(opc_clock() >= before);
  assert_true(opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) >= processor);
}

static void test_status(void **state) {
  (void)state;
  opc_error_t error = {0};
  assert_int_equal(opc_error_set(&error, OPC_ERR_IO, "cannot open %s", "x"), OPC_ERR_IO);
  assert_int_equal(opc_error_prefix(&error, "file %d", 3), OPC_ERR_IO);
  assert_string_equal(error.message, "file 3: cannot open x");
  assert_int_equal(opc_error_set(NULL, OPC_ERR_IO, "nobody listens"), OPC_ERR_IO);
  char large[2000];
  memset(large, 'x', sizeof large - 1);
  large[sizeof large - 1] = '\0';
  (void)opc_error_set(&error, OPC_ERR_IO, "%s", large);
  (void)opc_error_prefix(&error, "head");
  assert_int_equal(strlen(error.message), OPC_ERROR_MESSAGE_SIZE - 1);
  assert_memory_equal(error.message, "head: xxx", 9);
}

/* What this glibc may have itself gives the same. */
static void test_old_glibc(void **state) {
  (void)state;
  for (int number = -1; number < 40; number++) {
#if __GLIBC_PREREQ(2, 32)
    const char *abbreviation = number < 32 ? sigabbrev_np(number) : NULL,
               *description = number < 32 ? sigdescr_np(number) : NULL;
    assert_int_equal(opc_signal_abbreviation(number) == NULL, abbreviation == NULL);
    if (abbreviation == NULL) continue;
    assert_string_equal(opc_signal_abbreviation(number), abbreviation);
    assert_string_equal(opc_signal_description(number), description);
#endif
  }
  assert_string_equal(opc_signal_abbreviation(SIGSEGV), "SEGV");
  assert_null(opc_signal_description(4711));
  const opc_heap_use_t before = opc_heap_use();
  void *block = malloc(3 << 20), *volatile kept = block;
  const opc_heap_use_t after = opc_heap_use();
  assert_true(after.used >= before.used + (3 << 20) && after.arenas >= after.used);
  free(kept);
  const int pidfd = opc_pidfd_open(getpid());
  if (pidfd >= 0) { /* Valgrind 3.19 has no pidfds */
    assert_int_equal(opc_pidfd_signal(pidfd, 0), 0);
    close(pidfd);
  }
}

static void test_random(void **state) {
  (void)state;
  double sum = 0, squares = 0;
  int seen[9] = {0};
  const int count = 20000;
  for (uint64_t i = 0; i < (uint64_t)count; i++) {
    double normal = opc_random_normal(1, 2, i), uniform = opc_random_uniform(1, 2, i);
    assert_true(uniform >= 0.0 && uniform < 1.0);
    sum += normal;
    squares += normal * normal;
    seen[opc_random_range(1, 2, i, -4, 5) + 4]++;
  }
  assert_true(fabs(sum / count) < 0.03);
  assert_true(fabs(squares / count - 1.0) < 0.05);
  for (size_t i = 0; i < COUNT(seen); i++) assert_in_range(seen[i], count / 9 - 250, count / 9 + 250);
  assert_int_equal(opc_random_range(1, 2, 3, 5, 5), 5);
  assert_int_equal(opc_random_range(1, 2, 3, 5, 4), 5);
  /* The numbers are part of the contract: a stored seed must always give the same inputs. */
  assert_true(opc_random_u64(0, 0, 0) == opc_random_u64(0, 0, 0));
  assert_true(opc_random_u64(0, 0, 0) != opc_random_u64(1, 0, 0));
  assert_true(opc_random_stream("x") != opc_random_stream("y"));
  opc_rng_t rng = {.seed = 3}, again = rng;
  for (int i = 0; i < 100; i++) {
    int64_t drawn = opc_rng_below(&rng, 7);
    assert_in_range(drawn, 0, 6);
    assert_int_equal(drawn, opc_rng_below(&again, 7));
  }
  assert_int_equal(opc_rng_below(&rng, 0), 0);
  assert_true(opc_rng_chance(&rng, 100));
  assert_false(opc_rng_chance(&rng, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_dtypes),    cmocka_unit_test(test_devices), cmocka_unit_test(test_text),
      cmocka_unit_test(test_clock),     cmocka_unit_test(test_status),  cmocka_unit_test(test_random),
      cmocka_unit_test(test_old_glibc),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
