/* Which kernels of a library have code for fewer GPUs than the others: on fat binaries made by nvcc
 * (test_kernel_image.c says how), concatenated as a linker does for several source files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/fatbin.h"
#include "unit.h"

typedef struct section {
  unsigned char *bytes;
  size_t size;
} section_t;

static void section_add(section_t *section, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/kernels/%s", OPC_UNIT_FOLDER, name);
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  fseek(stream, 0, SEEK_END);
  const size_t size = (size_t)ftell(stream), at = (section->size + 7) / 8 * 8;
  rewind(stream);
  section->bytes = realloc(section->bytes, at + size);
  assert_non_null(section->bytes);
  memset(section->bytes + section->size, 0, at - section->size);
  assert_int_equal(size, fread(section->bytes + at, 1, size, stream));
  section->size = at + size;
  fclose(stream);
}

static section_t section_of(const char *first, const char *second) {
  section_t section = {0};
  section_add(&section, first);
  if (second) section_add(&section, second);
  return section;
}

/* Renames the kernel `plain` wherever its name is uncompressed. */
static void rename_plain(section_t *section) {
  for (size_t at = 0; at + 5 <= section->size; at++)
    if (memcmp(section->bytes + at, "plain", 5) == 0) memcpy(section->bytes + at, "plump", 5);
}

static opc_uneven_t uneven_of(const section_t *section) {
  opc_gpu_codes_t whole;
  opc_uneven_t uneven;
  opc_fatbin_read(section->bytes, section->size, &whole);
  opc_uneven_read(section->bytes, section->size, &whole, &uneven);
  assert_false(uneven.incomplete);
  return uneven;
}

static size_t count_in(section_t section) {
  opc_uneven_t uneven = uneven_of(&section);
  const size_t count = uneven.count;
  opc_uneven_clear(&uneven);
  free(section.bytes);
  return count;
}

static void test_even(void **state) {
  (void)state;
  assert_int_equal(count_in(section_of("default.fatbin", NULL)), 0);
  assert_int_equal(count_in(section_of("lz4.fatbin", NULL)), 0);
  assert_int_equal(count_in(section_of("lz4.fatbin", "lz4.fatbin")), 0);
  assert_int_equal(count_in(section_of("lz4.fatbin", "ptx.fatbin")), 0);      /* PTX compute_75 serves both */
  assert_int_equal(count_in(section_of("lz4.fatbin", "specific.fatbin")), 0); /* meant for sm_90a */
}

/* The second file is only for sm_90; the first also has its kernels for sm_80. */
static void test_shared(void **state) {
  (void)state;
  assert_int_equal(count_in(section_of("lz4.fatbin", "default.fatbin")), 0);
  assert_int_equal(count_in(section_of("default.fatbin", "lz4.fatbin")), 0);
}

static void assert_plump(const char *other) {
  section_t section = section_of("default.fatbin", other);
  rename_plain(&section);
  opc_uneven_t uneven = uneven_of(&section);
  assert_int_equal(uneven.count, 1);
  assert_string_equal(uneven.items[0].name, "plump");
  assert_int_equal(uneven.items[0].codes.count, 2);
  assert_int_equal(uneven.items[0].codes.items[0].architecture, 90);
  assert_true(uneven.items[0].codes.items[1].ptx);
  opc_uneven_clear(&uneven);
  free(section.bytes);
}

static void test_uneven(void **state) {
  (void)state;
  assert_plump("lz4.fatbin");
}

static void test_damaged(void **state) {
  (void)state;
  section_t section = section_of("default.fatbin", "lz4.fatbin");
  rename_plain(&section);
  opc_gpu_codes_t whole;
  opc_fatbin_read(section.bytes, section.size, &whole);
  for (size_t size = 0; size < section.size;
       size += 41) { /* in a block of exactly its size, so that a sanitizer detects reads past its end */
    unsigned char *cut = malloc(size ? size : 1);
    opc_uneven_t uneven;
    assert_non_null(cut);
    memcpy(cut, section.bytes, size);
    opc_uneven_read(cut, size, &whole, &uneven);
    opc_uneven_clear(&uneven);
    free(cut);
  }
  unsigned seed = 1;
  for (size_t i = 0; i < 2000; i++) {
    opc_uneven_t uneven;
    seed = seed * 1103515245 + 12345;
    unsigned char *byte = &section.bytes[seed / 65536 * 7919 % section.size];
    const unsigned char before = *byte;
    *byte = (unsigned char)(seed >> 8);
    opc_uneven_read(section.bytes, section.size, &whole, &uneven);
    opc_uneven_clear(&uneven);
    *byte = before;
  }
  free(section.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_even), cmocka_unit_test(test_shared),
                                     cmocka_unit_test(test_uneven), cmocka_unit_test(test_damaged)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
