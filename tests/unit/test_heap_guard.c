/* Guarded blocks of malloc and new: who gets them, their bounds, and that free knows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/guard.h"

enum { BYTE = 0x5a, MANY = 200 };

static const void *own_code(void) { return (const char *)(uintptr_t)own_code + 1; }
static const void *other_code(void) {
  static const char no_code[16];
  return no_code;
}

static void *give(size_t bytes) { return opc_heap_guard_give(bytes, OPC_HEAP_ALIGNMENT, own_code()); }

static size_t access_count(void) {
  const opc_access_t *accesses;
  return opc_guard_accesses(&accesses);
}

static int begin(void **state) {
  (void)state;
  opc_heap_guard_present();
  opc_heap_guard_note_loaded(true); /* this program too */
  opc_heap_guard(OPC_GUARD_BEHIND, BYTE, OPC_HEAP_DIRECT);
  return 0;
}

static int end(void **state) {
  (void)state;
  opc_heap_guard_off();
  opc_guard_accesses_reset();
  return 0;
}

static void only_noted_code_gets_one(void **state) {
  (void)state;
  void *data = give(24);
  assert_non_null(data);
  assert_null(opc_heap_guard_give(24, OPC_HEAP_ALIGNMENT, other_code()));
  assert_true(opc_heap_guard_take(data));
}

static void through_other_code_if_wanted(void **state) {
  (void)state;
  opc_heap_guard(OPC_GUARD_BEHIND, BYTE, OPC_HEAP_THROUGH);
  void *data = opc_heap_guard_give(24, OPC_HEAP_ALIGNMENT, other_code()); /* called from this program */
  assert_non_null(data);
  assert_true(opc_heap_guard_take(data));
}

static void nothing_is_given_when_off(void **state) {
  (void)state;
  opc_heap_guard_off();
  assert_null(give(24));
}

static void neither_empty_nor_large_blocks(void **state) {
  (void)state;
  assert_null(give(0));
  assert_null(give(64 << 20));
}

static void the_slack_shows_a_write(void **state) {
  (void)state;
  unsigned char *data = give(24);
  for (size_t i = 0; i < 24; i++) assert_int_equal(data[i], BYTE);
  opc_guard_block_t block;
  assert_true(opc_guard_find(data, &block));
  assert_true(block.heap);
  assert_int_equal(block.bytes, 24);
  memset(data, 0, 24);
  assert_int_equal(access_count(), 0);
  data[24] = 0;
  assert_int_equal(access_count(), 1);
  opc_guard_accesses_reset();
  assert_int_equal(access_count(), 0);
  data[24] = 0; /* a block that is kept shows the next one too */
  assert_int_equal(access_count(), 1);
  assert_true(opc_heap_guard_take(data));
}

static void blocks_are_aligned(void **state) {
  static const size_t alignments[] = {1, 16, 64, 4096};
  (void)state;
  for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
    void *data = opc_heap_guard_give(13, alignments[i], own_code());
    assert_non_null(data);
    assert_int_equal((uintptr_t)data % alignments[i], 0);
    assert_int_equal((uintptr_t)data % OPC_HEAP_ALIGNMENT, 0);
    assert_true(opc_heap_guard_take(data));
  }
}

static void other_blocks_are_not_taken(void **state) {
  size_t bytes = 1;
  (void)state;
  void *theirs = malloc(24), *data = give(24);
  assert_false(opc_heap_guard_take(theirs));
  assert_false(opc_heap_guard_size(theirs, &bytes));
  assert_true(opc_heap_guard_size(data, &bytes));
  assert_int_equal(bytes, 24);
  assert_true(opc_heap_guard_take(data));
  assert_false(opc_heap_guard_take(data));
  free(theirs);
}

static void a_kept_block_is_taken_later(void **state) {
  (void)state;
  void *data = give(24);
  opc_heap_guard_off();
  assert_true(opc_heap_guard_take(data));
}

static void there_is_a_most(void **state) {
  void *blocks[MANY];
  size_t given = 0, again = 0;
  (void)state;
  for (size_t i = 0; i < MANY; i++) given += (blocks[i] = give(24)) != NULL;
  assert_in_range(given, 16, MANY - 1);
  for (size_t i = 0; i < MANY; i++) assert_int_equal(opc_heap_guard_take(blocks[i]), blocks[i] != NULL);
  for (size_t i = 0; i < MANY; i++) again += (blocks[i] = give(24)) != NULL;
  assert_int_equal(again, given);
  for (size_t i = 0; i < MANY; i++) (void)opc_heap_guard_take(blocks[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(only_noted_code_gets_one, begin, end),
      cmocka_unit_test_setup_teardown(through_other_code_if_wanted, begin, end),
      cmocka_unit_test_setup_teardown(nothing_is_given_when_off, begin, end),
      cmocka_unit_test_setup_teardown(neither_empty_nor_large_blocks, begin, end),
      cmocka_unit_test_setup_teardown(the_slack_shows_a_write, begin, end),
      cmocka_unit_test_setup_teardown(blocks_are_aligned, begin, end),
      cmocka_unit_test_setup_teardown(other_blocks_are_not_taken, begin, end),
      cmocka_unit_test_setup_teardown(a_kept_block_is_taken_later, begin, end),
      cmocka_unit_test_setup_teardown(there_is_a_most, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
