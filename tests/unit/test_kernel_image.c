/* What kernels' images say of their parameters and resources: files that nvcc 13 made of kernels/kernels.cu, whole,
 * packed either way, cut off and changed. nvcc -fatbin [-gencode …] [-compress-mode=size | -compress-mode=speed
 * --fatbin-options -compress-all | -compress-mode=none] kernels.cu */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/image/kernel_image.h"
#include "unit.h"

typedef struct file {
  unsigned char *bytes;
  size_t size;
} file_t;

/* As passed to the runtime by nvcc's objects. */
typedef struct wrapper {
  uint32_t magic, version;
  const unsigned char *container;
  void *more;
} wrapper_t;

static file_t file_read(const char *name) {
  char path[512];
  file_t file = {0};
  snprintf(path, sizeof path, "%s/kernels/%s", OPC_UNIT_FOLDER, name);
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  fseek(stream, 0, SEEK_END);
  file.size = (size_t)ftell(stream);
  rewind(stream);
  file.bytes = malloc(file.size);
  assert_int_equal(file.size, fread(file.bytes, 1, file.size, stream));
  fclose(stream);
  return file;
}

static wrapper_t wrap(const file_t *file) {
  return (wrapper_t){.magic = 0x466243b1, .version = 1, .container = file->bytes};
}

static void assert_parameters(const opc_kernel_image_t *image, size_t count, const opc_parameter_t *expected) {
  assert_true(image->parameters_known);
  assert_int_equal(count, image->parameter_count);
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(expected[i].offset, image->parameters[i].offset);
    assert_int_equal(expected[i].size, image->parameters[i].size);
  }
}

static void assert_kernels(const char *name, int major, int minor) {
  const file_t file = file_read(name);
  const wrapper_t wrapper = wrap(&file);
  opc_kernel_image_t image;
  opc_image_read(&wrapper, "plain", major, minor, &image);
  assert_parameters(&image, 4, (const opc_parameter_t[]){{0, 8}, {8, 8}, {16, 4}, {24, 8}});
  opc_image_read(&wrapper, "packed", major, minor, &image);
  assert_parameters(&image, 3, (const opc_parameter_t[]){{0, 32}, {32, 1}, {40, 8}});
  opc_image_read(&wrapper, "large", major, minor, &image);
  assert_parameters(&image, 2, (const opc_parameter_t[]){{0, 6000}, {6000, 8}});
  opc_image_read(&wrapper, "bounded", major, minor, &image);
  assert_parameters(&image, 1, (const opc_parameter_t[]){{0, 8}});
  const opc_image_code_t code = opc_image_code(&wrapper, major, minor);
  assert_int_equal(code.machine != 0 ? 128 : 0, image.max_threads);
  assert_int_equal(code.machine != 0 ? 4000 : 0, image.shared_static);
  assert_true(code.machine != 0 ? image.registers >= 4 && image.registers < 64 : image.registers == 0);
  opc_image_read(&wrapper, "nothing", major, minor, &image);
  assert_parameters(&image, 0, NULL);
  opc_image_read(&wrapper, "plai", major, minor, &image); /* a prefix does not match */
  assert_false(image.parameters_known);
  opc_image_read(&wrapper, "plainly", major, minor, &image);
  assert_false(image.parameters_known);
  free(file.bytes);
}

static void test_plain(void **state) {
  (void)state;
  assert_kernels("default.fatbin", 9, 0);
  assert_kernels("default.fatbin", 8, 0); /* does not run there, but has the same parameters */
}

static void test_lz4(void **state) {
  (void)state;
  assert_kernels("lz4.fatbin", 8, 6);
  assert_kernels("lz4.fatbin", 9, 0);
}

static void test_zstd(void **state) {
  (void)state;
  void *library = dlopen("libzstd.so.1", RTLD_NOW);
  if (!library) skip(); /* then parameters in such images stay unknown */
  assert_kernels("zstd.fatbin", 8, 0);
  assert_kernels("zstd.fatbin", 9, 0);
  assert_kernels("specific.fatbin", 9, 0);
}

static void test_ptx(void **state) {
  (void)state;
  assert_kernels("ptx.fatbin", 9, 0);
}

static void test_code(void **state) {
  (void)state;
  static const struct {
    const char *file;
    int major, minor;
    unsigned machine, ptx;
  } rows[] = {
      {"zstd.fatbin", 7, 5, 0, 0},        {"zstd.fatbin", 8, 0, 80, 0},       {"zstd.fatbin", 8, 9, 80, 0},
      {"zstd.fatbin", 9, 0, 90, 90},      {"zstd.fatbin", 10, 0, 0, 90},      {"zstd.fatbin", 12, 1, 0, 90},
      {"ptx.fatbin", 7, 5, 0, 75},        {"ptx.fatbin", 8, 7, 0, 75},        {"specific.fatbin", 9, 0, 90, 0},
      {"specific.fatbin", 10, 0, 100, 0}, {"specific.fatbin", 10, 3, 100, 0}, {"specific.fatbin", 12, 0, 0, 0},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const file_t file = file_read(rows[i].file);
    const wrapper_t wrapper = wrap(&file);
    const opc_image_code_t code = opc_image_code(&wrapper, rows[i].major, rows[i].minor);
    assert_int_equal(rows[i].machine, code.machine);
    assert_int_equal(rows[i].ptx, code.ptx);
    free(file.bytes);
  }
}

/* ---- damaged bytes ---- */

/* The cubin in default.fatbin: its largest entry. */
static file_t cubin_of(const file_t *file) {
  for (size_t at = 0; at + 4 < file->size; at++)
    if (memcmp(file->bytes + at, ELFMAG, SELFMAG) == 0) return (file_t){file->bytes + at, file->size - at};
  fail_msg("there is no cubin");
  return (file_t){0};
}

/* A copy in a block of exactly its size, so that a sanitizer detects every read past its end. */
static void cubin_try(const unsigned char *bytes, size_t size) {
  opc_kernel_image_t image;
  unsigned char *copy = malloc(size ? size : 1);
  memcpy(copy, bytes, size);
  (void)opc_cubin_read(copy, size, "packed", &image);
  (void)opc_ptx_read((const char *)copy, size, "packed", &image);
  free(copy);
}

static void test_damaged(void **state) {
  (void)state;
  const file_t file = file_read("default.fatbin"), cubin = cubin_of(&file), lz4 = file_read("lz4.fatbin"),
               ptx = file_read("ptx.fatbin");
  for (size_t size = 0; size < cubin.size; size += 37) cubin_try(cubin.bytes, size);
  unsigned seed = 1;
  for (size_t i = 0; i < 3000; i++) {
    seed = seed * 1103515245 + 12345;
    unsigned char *byte = &cubin.bytes[seed / 65536 * 7919 % cubin.size];
    const unsigned char before = *byte;
    *byte = (unsigned char)(seed >> 8);
    cubin_try(cubin.bytes, cubin.size);
    if (i % 3 != 0) *byte = before; /* some stay, and are consistent */
  }
  for (size_t size = 0; size < ptx.size; size += 5) cubin_try(ptx.bytes, size);
  for (size_t i = 0; i < lz4.size; i++) {
    size_t size;
    const size_t rest = lz4.size - i, packed = rest < 700 ? rest : 700;
    unsigned char *copy = malloc(packed);
    memcpy(copy, lz4.bytes + i, packed);
    opc_image_unpacked_free(opc_image_unpack(false, copy, packed, 5000, &size), 5000);
    free(copy);
  }
  free(file.bytes);
  free(lz4.bytes);
  free(ptx.bytes);
}

/* Modules of the driver. */
static void test_wrapped(void **state) {
  (void)state;
  static const char ptx[] =
      "//\n.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry one(.param .u64 one_param_0)\n{\nret;\n}\n",
                    none[] = ".version 8.0\n";
  const file_t file = file_read("default.fatbin"), cubin = cubin_of(&file);
  const struct {
    const void *bytes;
    size_t size;
    unsigned machine, ptx;
    const char *kernel;
  } rows[] = {{file.bytes, file.size, 90, 0, "bounded"},   {file.bytes, 0, 90, 0, "plain"},
              {cubin.bytes, cubin.size, 90, 0, "bounded"}, {cubin.bytes, 0, 90, 0, "plain"},
              {ptx, sizeof ptx - 1, 0, 80, "one"},         {ptx, 0, 0, 80, "one"}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    void *wrapper = opc_image_wrap(rows[i].bytes, rows[i].size);
    assert_non_null(wrapper);
    const opc_image_code_t code = opc_image_code(wrapper, 9, 0);
    assert_int_equal(rows[i].machine, code.machine);
    if (rows[i].ptx) assert_int_equal(rows[i].ptx, code.ptx);
    assert_true(opc_image_has(wrapper, rows[i].kernel));
    assert_false(opc_image_has(wrapper, "absent"));
    opc_image_wrapped_free(wrapper);
  }
  assert_null(opc_image_wrap(none, sizeof none - 1));
  assert_null(opc_image_wrap(file.bytes, file.size / 2));
  assert_null(opc_image_wrap(cubin.bytes, 1000));
  assert_null(opc_image_wrap("", 0));
  unsigned seed = 1;
  for (size_t i = 0; i < 3000; i++) { /* headers, and the data they refer to */
    seed = seed * 1103515245 + 12345;
    const bool whole = i % 2 != 0;
    unsigned char *bytes = whole ? file.bytes : cubin.bytes, *byte = &bytes[seed / 65536 % (i % 3 != 0 ? 80 : 2000)];
    const unsigned char before = *byte;
    *byte = (unsigned char)(seed >> 8);
    void *wrapper = opc_image_wrap(bytes, whole ? file.size : cubin.size);
    if (wrapper) (void)opc_image_has(wrapper, "plain");
    if (wrapper) opc_image_wrapped_free(wrapper);
    *byte = before;
  }
  free(file.bytes);
}

static void test_wrappers(void **state) {
  (void)state;
  opc_kernel_image_t image;
  const file_t file = file_read("default.fatbin"), other = file_read("ptx.fatbin");
  wrapper_t wrapper = wrap(&file);
  wrapper.magic++;
  opc_image_read(&wrapper, "plain", 9, 0, &image);
  assert_false(image.parameters_known);
  assert_int_equal(0, opc_image_code(&wrapper, 9, 0).machine);
  /* Device-linked parts are in a list. */
  const unsigned char *more[] = {file.bytes, NULL};
  wrapper = (wrapper_t){.magic = 0x466243b1, .version = 2, .container = other.bytes, .more = more};
  assert_int_equal(90, opc_image_code(&wrapper, 9, 0).machine);
  free(file.bytes);
  free(other.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain),   cmocka_unit_test(test_lz4),
                                     cmocka_unit_test(test_zstd),    cmocka_unit_test(test_ptx),
                                     cmocka_unit_test(test_code),    cmocka_unit_test(test_damaged),
                                     cmocka_unit_test(test_wrapped), cmocka_unit_test(test_wrappers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
