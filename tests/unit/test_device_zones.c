/* Zones around device memory, on host memory in its place. */
#include <stdlib.h>
#include <string.h>

#include "memory/device_zones.h"
#include "unit.h"

static int live, waits;
static bool full, broken;

static int host_allocate(void **out, size_t bytes) {
  *out = full ? NULL : malloc(bytes);
  if (!*out) return 2;
  live++;
  return 0;
}

static int host_release(void *memory) {
  free(memory);
  live--;
  return 0;
}

static int host_fill(void *memory, int byte, size_t bytes) { return memset(memory, byte, bytes) == NULL; }
static int host_read(void *host, const void *memory, size_t bytes) { return memcpy(host, memory, bytes) == NULL; }
static int host_wait(void) { return waits++, broken ? 700 : 0; }

static int begin(void **state) {
  static const opc_device_calls_t calls = {host_allocate, host_release, host_fill, host_read, host_wait, NULL};
  (void)state;
  opc_device_zones_begin(&calls);
  opc_device_zones_poison(0xa5);
  opc_device_zones_reset();
  full = broken = false;
  return 0;
}

static int end(void **state) {
  (void)state;
  return live != 0;
}

static void new_memory_holds_the_poison(void **state) {
  unsigned char *data = opc_device_zones_allocate(100), *other;
  (void)state;
  assert_non_null(data);
  for (int i = 0; i < 100; i++) assert_int_equal(data[i], 0xa5);
  opc_device_zones_poison(0x5a);
  other = opc_device_zones_allocate(1);
  assert_int_equal(other[0], 0x5a);
  opc_device_zones_release(data);
  opc_device_zones_release(other);
}

static void an_address_is_known(void **state) {
  unsigned char *data = opc_device_zones_allocate(100);
  (void)state;
  const uint64_t at = (uint64_t)(uintptr_t)data;
  assert_true(opc_device_zones_hold(at));
  assert_true(opc_device_zones_hold(at - OPC_DEVICE_ZONE));
  assert_true(opc_device_zones_hold(at + 512 + OPC_DEVICE_ZONE - 1));
  assert_false(opc_device_zones_hold(at - OPC_DEVICE_ZONE - 1));
  assert_false(opc_device_zones_hold(at + 512 + OPC_DEVICE_ZONE));
  opc_device_zones_release(data);
  assert_false(opc_device_zones_hold(at));
}

static void nothing_is_found_inside(void **state) {
  const opc_device_zone_hit_t *hits;
  unsigned char *data = opc_device_zones_allocate(513);
  (void)state;
  memset(data, 1, 513);
  opc_device_zones_verify();
  opc_device_zones_release(data);
  assert_int_equal(opc_device_zones_hits(&hits), 0);
  assert_null(opc_device_zones_allocate(0));
  opc_device_zones_release(NULL);
}

/* Of many blocks, the oldest and the newest are looked at each time, the others by turns. */
static void a_block_among_many_is_found(void **state) {
  enum { MANY = 200, TURNS = 16, IN_BETWEEN = MANY / 2 };
  const opc_device_zone_hit_t *hits;
  unsigned char *data[MANY];
  (void)state;
  for (int i = 0; i < MANY; i++) assert_non_null(data[i] = opc_device_zones_allocate(8));
  data[0][8] = data[MANY - 1][8] = 1;
  opc_device_zones_verify();
  assert_int_equal(opc_device_zones_hits(&hits), 2);
  assert_ptr_equal(hits[0].data, data[0]);
  assert_ptr_equal(hits[1].data, data[MANY - 1]);
  data[IN_BETWEEN][8] = 1;
  for (int i = 0; i < TURNS; i++) opc_device_zones_verify();
  assert_int_equal(opc_device_zones_hits(&hits), 3);
  assert_ptr_equal(hits[2].data, data[IN_BETWEEN]);
  for (int i = 0; i < MANY; i++) opc_device_zones_release(data[i]);
}

/* The first byte past the end, for any size, and the last one before the start. */
static void one_byte_beside_is_found(void **state) {
  static const size_t sizes[] = {1, 4, 511, 512, 513, 4096};
  const opc_device_zone_hit_t *hits;
  (void)state;
  for (size_t i = 0; i < COUNT(sizes); i++) {
    unsigned char *data = opc_device_zones_allocate(sizes[i]);
    data[sizes[i]] = 1;
    opc_device_zones_verify();
    assert_int_equal(opc_device_zones_hits(&hits), 1);
    assert_ptr_equal(hits[0].data, data);
    assert_int_equal(hits[0].bytes, sizes[i]);
    assert_int_equal(hits[0].offset, 0);
    assert_int_equal(hits[0].count, 1);
    opc_device_zones_reset();
    opc_device_zones_verify(); /* reported once */
    assert_int_equal(opc_device_zones_hits(&hits), 0);
    data[-1] = 1;
    data[sizes[i] + 100] = data[sizes[i] + 101] = 2;
    opc_device_zones_release(data); /* freed memory is checked as well */
    assert_int_equal(opc_device_zones_hits(&hits), 2);
    assert_int_equal(hits[0].offset, -1);
    assert_int_equal(hits[1].offset, 100);
    assert_int_equal(hits[1].count, 2);
    opc_device_zones_reset();
  }
}

/* Bytes past the end of one tensor are copied past the end of another. */
static void a_copy_of_a_zone_is_found(void **state) {
  const opc_device_zone_hit_t *hits;
  unsigned char *from = opc_device_zones_allocate(24), *to = opc_device_zones_allocate(24);
  (void)state;
  memcpy(to, from, 27);
  opc_device_zones_verify();
  assert_int_equal(opc_device_zones_hits(&hits), 1);
  assert_ptr_equal(hits[0].data, to);
  assert_int_equal(hits[0].count, 3);
  opc_device_zones_release(from);
  opc_device_zones_release(to);
}

static void many_hits_are_bounded(void **state) {
  enum { MANY = OPC_DEVICE_ZONE_HITS + 8 };
  const opc_device_zone_hit_t *hits;
  unsigned char *data[MANY];
  (void)state;
  for (int i = 0; i < MANY; i++) {
    data[i] = opc_device_zones_allocate(16);
    data[i][16] = 0;
  }
  opc_device_zones_verify();
  assert_int_equal(opc_device_zones_hits(&hits), OPC_DEVICE_ZONE_HITS);
  for (int i = 0; i < MANY; i++) opc_device_zones_release(data[i]);
}

static void a_full_or_broken_device_is_no_crash(void **state) {
  const opc_device_zone_hit_t *hits;
  (void)state;
  full = true;
  assert_null(opc_device_zones_allocate(16));
  assert_null(opc_device_zones_allocate(SIZE_MAX - 1));
  full = false;
  unsigned char *data = opc_device_zones_allocate(16);
  data[16] = 0;
  broken = true;
  opc_device_zones_verify();
  assert_null(opc_device_zones_allocate(16));
  opc_device_zones_release(data);
  assert_int_equal(opc_device_zones_hits(&hits), 0); /* nothing can be said about a broken context */
  void *foreign = malloc(8);
  live++;
  opc_device_zones_release(foreign);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(new_memory_holds_the_poison, begin, end),
      cmocka_unit_test_setup_teardown(nothing_is_found_inside, begin, end),
      cmocka_unit_test_setup_teardown(an_address_is_known, begin, end),
      cmocka_unit_test_setup_teardown(a_block_among_many_is_found, begin, end),
      cmocka_unit_test_setup_teardown(one_byte_beside_is_found, begin, end),
      cmocka_unit_test_setup_teardown(many_hits_are_bounded, begin, end),
      cmocka_unit_test_setup_teardown(a_copy_of_a_zone_is_found, begin, end),
      cmocka_unit_test_setup_teardown(a_full_or_broken_device_is_no_crash, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
