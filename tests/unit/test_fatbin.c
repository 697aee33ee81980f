/* The fat binary reader on bytes made here, valid and damaged, and the GPUs on which the code runs. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/fatbin.h"

enum { PTX = 1, MACHINE_CODE = 2, OTHER = 4, ENTRY_HEADER = 64 };
static const uint64_t compressed = 0x2000, specific = 0x100000, family = 0x200000;

typedef struct bytes {
  unsigned char data[4096];
  size_t size;
} bytes_t;

static void put(bytes_t *bytes, size_t at, const void *value, size_t size) {
  assert_true(at + size <= sizeof bytes->data);
  memcpy(bytes->data + at, value, size);
  if (at + size > bytes->size) bytes->size = at + size;
}

static size_t begin_container(bytes_t *bytes) {
  const size_t at = (bytes->size + 7) / 8 * 8;
  const uint32_t magic = 0xba55ed50;
  const uint16_t version = 1, header = 16;
  const uint64_t size = 0;
  put(bytes, at, &magic, 4);
  put(bytes, at + 4, &version, 2);
  put(bytes, at + 6, &header, 2);
  put(bytes, at + 8, &size, 8);
  return at;
}

static void end_container(bytes_t *bytes, size_t at) {
  const uint64_t size = bytes->size - at - 16;
  put(bytes, at + 8, &size, 8);
}

static void add_entry(bytes_t *bytes, uint16_t kind, uint32_t architecture, uint64_t flags) {
  static const unsigned char nothing[ENTRY_HEADER + 24];
  const size_t at = bytes->size;
  const uint32_t header = ENTRY_HEADER;
  const uint64_t size = 24;
  put(bytes, at, nothing, sizeof nothing);
  put(bytes, at, &kind, 2);
  put(bytes, at + 4, &header, 4);
  put(bytes, at + 8, &size, 8);
  put(bytes, at + 28, &architecture, 4);
  put(bytes, at + 40, &flags, 8);
}

static bytes_t two_containers(void) {
  bytes_t bytes = {.size = 0};
  size_t at = begin_container(&bytes);
  add_entry(&bytes, MACHINE_CODE, 90, compressed);
  add_entry(&bytes, PTX, 120, compressed);
  add_entry(&bytes, MACHINE_CODE, 80, 0);
  end_container(&bytes, at);
  bytes.size += 40; /* padding between them */
  at = begin_container(&bytes);
  add_entry(&bytes, MACHINE_CODE, 90, specific);
  add_entry(&bytes, OTHER, 75, 0);
  add_entry(&bytes, MACHINE_CODE, 80, 0);
  add_entry(&bytes, MACHINE_CODE, 100, family);
  end_container(&bytes, at);
  return bytes;
}

static void assert_code(const opc_gpu_code_t *code, bool ptx, unsigned architecture, char suffix, size_t count,
                        size_t packed) {
  assert_int_equal(code->ptx, ptx);
  assert_int_equal(code->architecture, architecture);
  assert_int_equal(code->suffix, suffix);
  assert_int_equal(code->count, count);
  assert_int_equal(code->compressed, packed);
}

static void test_what_is_in_it(void **state) {
  (void)state;
  const bytes_t bytes = two_containers();
  opc_gpu_codes_t codes;
  opc_fatbin_read(bytes.data, bytes.size, &codes);
  assert_false(codes.damaged);
  assert_int_equal(codes.entries, 6);
  assert_int_equal(codes.count, 5);
  assert_code(&codes.items[0], false, 80, '\0', 2, 0);
  assert_code(&codes.items[1], false, 90, '\0', 1, 1);
  assert_code(&codes.items[2], false, 90, 'a', 1, 0);
  assert_code(&codes.items[3], false, 100, 'f', 1, 0);
  assert_code(&codes.items[4], true, 120, '\0', 1, 1);
}

static void test_nothing(void **state) {
  (void)state;
  opc_gpu_codes_t codes;
  opc_fatbin_read((const unsigned char *)"", 0, &codes);
  assert_int_equal(codes.entries, 0);
  assert_false(codes.damaged);
}

/* Truncated anywhere, and with each byte changed: it ends, does not read out of bounds (the sanitizers and Valgrind
 * would report that), and finds no more than there is. */
static void test_damage(void **state) {
  (void)state;
  const bytes_t whole = two_containers();
  opc_gpu_codes_t codes;
  for (size_t size = 0; size < whole.size; size++) {
    unsigned char *cut = malloc(size + 1);
    assert_non_null(cut);
    memcpy(cut, whole.data, size);
    opc_fatbin_read(cut, size, &codes);
    assert_true(codes.entries < 6);
    free(cut);
  }
  for (size_t i = 0; i < whole.size; i++) {
    bytes_t changed = whole;
    changed.data[i] = (unsigned char)(changed.data[i] ^ 0xff);
    opc_fatbin_read(changed.data, changed.size, &codes);
    assert_true(codes.entries <= 7);
  }
  bytes_t endless = whole;
  const uint32_t header = 0;
  const uint64_t size = 0;
  put(&endless, 16 + 4, &header, 4);
  put(&endless, 16 + 8, &size, 8);
  opc_fatbin_read(endless.data, endless.size, &codes);
  assert_true(codes.damaged);
}

static opc_gpu_codes_t codes_of(const opc_gpu_code_t *items, size_t count) {
  opc_gpu_codes_t codes = {.count = count, .entries = count};
  memcpy(codes.items, items, count * sizeof *items);
  return codes;
}

static void assert_serves(const opc_gpu_code_t code, unsigned architecture, bool expected) {
  const opc_gpu_codes_t codes = codes_of(&code, 1);
  assert_int_equal(opc_gpu_codes_serve(&codes, architecture), expected);
}

static void test_where_it_runs(void **state) {
  (void)state;
  const opc_gpu_code_t sm_80 = {.architecture = 80}, sm_90a = {.architecture = 90, .suffix = 'a'},
                       sm_100f = {.architecture = 100, .suffix = 'f'};
  const opc_gpu_code_t compute_80 = {.architecture = 80, .ptx = true},
                       compute_90a = {.architecture = 90, .suffix = 'a', .ptx = true};
  assert_serves(sm_80, 80, true);
  assert_serves(sm_80, 86, true); /* a later minor version */
  assert_serves(sm_80, 75, false);
  assert_serves(sm_80, 90, false);
  assert_serves(sm_90a, 90, true);
  assert_serves(sm_90a, 100, false);
  assert_serves(sm_100f, 103, true);
  assert_serves(sm_100f, 110, false);
  assert_serves(sm_100f, 120, false);
  assert_serves(compute_80, 120, true);
  assert_serves(compute_80, 75, false);
  assert_serves(compute_90a, 90, true);
  assert_serves(compute_90a, 100, false);
  const opc_gpu_codes_t lasting = codes_of(&compute_80, 1), specific_ptx = codes_of(&compute_90a, 1),
                        machine = codes_of(&sm_80, 1);
  assert_true(opc_gpu_codes_have_lasting_ptx(&lasting));
  assert_false(opc_gpu_codes_have_lasting_ptx(&specific_ptx));
  assert_false(opc_gpu_codes_have_lasting_ptx(&machine));
}

static void test_words(void **state) {
  (void)state;
  const opc_gpu_code_t own[] = {
      {.architecture = 80}, {.architecture = 90, .suffix = 'a'}, {.architecture = 90, .ptx = true}};
  const opc_gpu_code_t wanted[] = {{.architecture = 75},
                                   {.architecture = 86},
                                   {.architecture = 100},
                                   {.architecture = 103, .suffix = 'a'},
                                   {.architecture = 61}};
  const opc_gpu_codes_t codes = codes_of(own, 3), torch = codes_of(wanted, 5), nothing = {0};
  opc_text_t text = {0};
  opc_gpu_codes_words(&codes, &text);
  assert_string_equal(opc_text_c(&text), "sm_80, sm_90a and PTX compute_90");
  assert_int_equal(opc_gpu_codes_newest(&codes), 90);
  opc_text_reset(&text);
  assert_int_equal(opc_gpu_codes_missing(&codes, &torch, &text), 2);
  assert_string_equal(opc_text_c(&text), "sm_75 and sm_61");
  opc_text_reset(&text);
  assert_int_equal(opc_gpu_codes_missing(&codes, &nothing, &text), 0);
  assert_int_equal(opc_gpu_codes_newest(&nothing), 0);
  opc_text_clear(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_in_it), cmocka_unit_test(test_nothing),
                                     cmocka_unit_test(test_damage), cmocka_unit_test(test_where_it_runs),
                                     cmocka_unit_test(test_words)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
