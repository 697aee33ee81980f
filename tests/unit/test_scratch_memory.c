/* Memory from malloc and the stack while the fill is on: every byte has the fill, on every thread, but never in memory
 * of calloc. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory/cpu_memory.h"

static const unsigned char fills[] = {0x5a, 0x00, 0xda, 0xff};
/* Of each kind of list in glibc, from the top of the heap, and mapped from the system. */
static const size_t sizes[] = {1, 24, 200, 1000, 5000, 60000, 300000};

/* Nothing may remain of a block's last use. */
static void *used_block(size_t size, unsigned char with) {
  unsigned char *volatile block = malloc(size);
  assert_non_null(block);
  memset(block, with, size);
  free(block);
  block = malloc(size);
  assert_non_null(block);
  return block;
}

static void *fill_holds_here(void *fill) {
  unsigned char byte = *(const unsigned char *)fill;
  for (size_t i = 0; i < COUNT(sizes); i++) {
    unsigned char *block = used_block(sizes[i], 0x77), *zeros = calloc(1, sizes[i]);
    assert_non_null(zeros);
    for (size_t at = 0; at < sizes[i]; at++) {
      assert_int_equal(block[at], byte);
      assert_int_equal(zeros[at], 0);
    }
    free(block);
    free(zeros);
  }
  return NULL;
}

static void blocks_of_malloc_are_filled(void **state) {
  (void)state;
  for (size_t f = 0; f < COUNT(fills); f++) {
    opc_scratch_memory_fill(fills[f]);
    unsigned char byte = fills[f];
    fill_holds_here(&byte);
    opc_scratch_memory_plain();
  }
}

static void blocks_of_other_threads_are_filled(void **state) {
  (void)state;
  for (size_t f = 0; f < COUNT(fills); f++) {
    pthread_t thread;
    unsigned char byte = fills[f];
    opc_scratch_memory_fill(fills[f]);
    assert_int_equal(pthread_create(&thread, NULL, fill_holds_here, &byte), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    opc_scratch_memory_plain();
  }
}

enum { ARRAY = 4096 };

/* Reads an array that it never wrote, as a kernel with a bug does. */
static __attribute__((noinline, no_sanitize_address)) size_t stack_bytes_with(unsigned char byte) {
  unsigned char array[ARRAY];
  const unsigned char *volatile unwritten = array;
  size_t count = 0;
  for (size_t i = 0; i < ARRAY; i++) count += unwritten[i] == byte;
  return count;
}

static void the_stack_is_filled_before_each_call(void **state) {
  (void)state;
  for (size_t f = 0; f < COUNT(fills); f++) {
    opc_scratch_memory_fill(0x11);
    opc_scratch_memory_fill_stack(fills[f]);
    opc_scratch_memory_before_call();
    assert_true(stack_bytes_with(fills[f]) > ARRAY - 256); /* the function's own variables are there, too */
  }
}

static void as_usual_both_hold_one_byte(void **state) {
  (void)state;
  unsigned char usual = OPC_SCRATCH_MEMORY_USUAL;
  opc_scratch_memory_fill(0x5a);
  opc_scratch_memory_plain();
  fill_holds_here(&usual);
  opc_scratch_memory_before_call();
  assert_true(stack_bytes_with(usual) > ARRAY - 256);
}

static void a_shifted_heap_gives_other_addresses(void **state) {
  (void)state;
  for (size_t size = 8; size < 1000; size += 100) {
    void *first = malloc(size);
    uintptr_t usual = (uintptr_t)first;
    free(first);
    opc_scratch_memory_shift(true);
    void *second = malloc(size);
    assert_true((uintptr_t)second != usual);
    free(second);
    opc_scratch_memory_shift(false);
  }
}

int main(int count, char **words) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_of_malloc_are_filled),          cmocka_unit_test(blocks_of_other_threads_are_filled),
      cmocka_unit_test(the_stack_is_filled_before_each_call), cmocka_unit_test(as_usual_both_hold_one_byte),
      cmocka_unit_test(a_shifted_heap_gives_other_addresses),
  };
  /* As when the worker is started: glibc reads it once. */
  if (count == 1) {
    char *again[] = {words[0], (char *)"tuned", NULL};
    setenv("GLIBC_TUNABLES", OPC_SCRATCH_MEMORY_TUNABLE, 1);
    execv("/proc/self/exe", again);
    perror("execv");
    return 1;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
