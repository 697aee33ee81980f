/* A package's own description is read from its file, which may contain anything; a model's expected inputs are read
 * from its source. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/package/archive.h"
#include "model/package/model_package.h"
#include "unit.h"

/* As written by AOTInductor: a fixed input, one with a variable size and strides, and indices. */
static const char source[] =
    "inputs_info_[0].name = \"a\"; inputs_info_[1].name = \"b\"; inputs_info_[2].name = \"c\"; outputs_info_[0].name = "
    "\"output0\"; outputs_info_[1].name = \"output1\";\n"
    "ConstantHandle a = ConstantHandle(input_handles[0]);\n"
    "int32_t expected = aoti_torch_dtype_float32();\n"
    "ss << \"input_handles[0]: unmatched dtype, \" << \"expected: \" << expected; throw std::runtime_error(ss.str());\n"
    "ss << \"input_handles[0]: unmatched dim value at 0, \" << \"expected: 2, \" << \"but got: \"; throw "
    "std::runtime_error(ss.str());\n"
    "ss << \"input_handles[0]: unmatched dim value at 1, \" << \"expected: 224, \" << \"but got: \"; throw "
    "std::runtime_error(ss.str());\n"
    "ss << \"input_handles[0]: unmatched stride value at 0, \" << \"expected: 1, \" << \"but got: \"; throw "
    "std::runtime_error(ss.str());\n"
    "ss << \"input_handles[0]: unmatched stride value at 1, \" << \"expected: 2, \" << \"but got: \"; throw "
    "std::runtime_error(ss.str());\n"
    "ConstantHandle b = ConstantHandle(input_handles[1]);\n"
    "int32_t expected = aoti_torch_dtype_bfloat16();\n"
    "ss << \"input_handles[1]: dim value is too small at 0, \" << \"expected it to be >= 7, \" << \"but got: \"; throw "
    "std::runtime_error(ss.str());\n"
    "ss << \"input_handles[1]: dim value is too large at 0, \" << \"expected to be <= 1024, \" << \"but got: \"; throw "
    "std::runtime_error(ss.str());\n"
    "ConstantHandle c = ConstantHandle(input_handles[2]);\n"
    "int32_t expected = aoti_torch_dtype_int64();\n";

static void inputs_are_read_from_the_source(void **state) {
  (void)state;
  json_t *inputs = NULL, *expected;
  size_t outputs = 0;
  opc_model_inputs_read(source, &inputs, &outputs);
  expected = json_loads(
      "[{\"tensor\": {\"shape\": [2, 224], \"dtype\": \"float32\", \"strides\": [1, 2]}}, {\"tensor\": {\"shape\": "
      "[7], \"dtype\": \"bfloat16\"}},"
      " {\"tensor\": {\"shape\": [], \"dtype\": \"int64\", \"fill\": {\"range\": [0, 2]}}}]",
      0, NULL);
  assert_int_equal(outputs, 2);
  assert_true(json_equal(inputs, expected));
  json_decref(inputs);
  json_decref(expected);
}

static void what_the_source_does_not_say_is_not_guessed(void **state) {
  (void)state;
  json_t *inputs = NULL;
  size_t outputs = 0;
  opc_model_inputs_read("inputs_info_[0].name = \"a\"; outputs_info_[0].name = \"o\";", &inputs, &outputs);
  assert_null(inputs);
  opc_model_inputs_read("", &inputs, &outputs);
  assert_null(inputs);
  assert_int_equal(outputs, 0);
}

/* ---- files ---- */

static opc_status_t read_bytes(const void *bytes, size_t size, opc_error_t *error) {
  char path[] = "/tmp/opc-package-XXXXXX";
  opc_package_t package;
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, bytes, size), size);
  close(fd);
  opc_status_t status = opc_package_read(path, &package, error);
  opc_package_clear(&package);
  unlink(path);
  return status;
}

/* A zip file with one stored entry, "m/data/aotinductor/model/x.json", made by hand. */
static size_t make_zip(unsigned char *out, const char *content, uint32_t crc) {
  static const char name[] = "m/data/aotinductor/model/x.json";
  size_t length = strlen(content), local = 30 + sizeof name - 1 + length, central = 46 + sizeof name - 1;
  memset(out, 0, local + central + 22);
  const uint32_t signatures[] = {0x04034b50, 0x02014b50, 0x06054b50};
  unsigned char *header = out, *record = out + local, *end = record + central;
  memcpy(header, &signatures[0], 4);
  header[26] = record[28] = sizeof name - 1;
  memcpy(header + 30, name, sizeof name - 1);
  memcpy(header + 30 + sizeof name - 1, content, length);
  memcpy(record, &signatures[1], 4);
  memcpy(record + 16, &crc, 4);
  record[20] = record[24] = (unsigned char)length;
  memcpy(record + 46, name, sizeof name - 1);
  memcpy(end, &signatures[2], 4);
  end[8] = end[10] = 1;
  end[12] = (unsigned char)central;
  end[16] = (unsigned char)local;
  return local + central + 22;
}

static void broken_files_are_told_in_words(void **state) {
  (void)state;
  const uint32_t right = 0xa3a6bf43u; /* of "{}" */
  unsigned char zip[512];
  opc_error_t error = {0};
  assert_int_equal(read_bytes("", 0, &error), OPC_ERR_UNSUPPORTED);
  assert_int_equal(read_bytes("hello", 5, &error), OPC_ERR_UNSUPPORTED);
  assert_int_equal(read_bytes("PK\3\4 and nothing more", 21, &error), OPC_ERR_INPUT);
  assert_non_null(strstr(error.message, "ends too early"));

  size_t size = make_zip(zip, "{}", right);
  assert_ok(read_bytes(zip, size, &error), error);
  size = make_zip(zip, "{}", right + 1);
  assert_int_equal(read_bytes(zip, size, &error), OPC_ERR_INPUT);
  assert_non_null(strstr(error.message, "checksum"));
  for (size_t cut = 4; cut < size; cut++) assert_int_not_equal(read_bytes(zip, cut, &error), OPC_OK);
}

static void any_byte_may_be_wrong(void **state) {
  (void)state;
  unsigned char zip[512], changed[512];
  opc_error_t error = {0};
  size_t size = make_zip(zip, "{\"AOTI_DEVICE_KEY\": \"cpu\"}", 0);
  for (size_t at = 0; at < size; at++) {
    memcpy(changed, zip, size);
    changed[at] ^= 0xff;
    (void)!read_bytes(changed, size, &error); /* any answer, but no crash: the sanitizers detect it */
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(inputs_are_read_from_the_source), cmocka_unit_test(what_the_source_does_not_say_is_not_guessed),
      cmocka_unit_test(broken_files_are_told_in_words), cmocka_unit_test(any_byte_may_be_wrong)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
