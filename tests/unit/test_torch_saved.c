/* Reads tensors from files written by torch.save; any other or broken pickle gives a message. */
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "model/package/archive.h"
#include "temp_folder.h"

/* ((float32[2, 3] strided, int64[3]), {"k": bfloat16[1]}), as torch.save of 2.11 writes it, and its data. */
#define STORAGE(type, key, count) "((h\1ctorch\n" type "\nX\1\0\0\0" key "h\4K" count "tQ"
static const char saved[] =
  "\x80\2ctorch._utils\n_rebuild_tensor_v2\nq\0((X\7\0\0\0storageq\1ctorch\nFloatStorage\nX\1\0\0\0" "0X\3\0\0\0cpuq\4K\6tQK\0K\2K\3\x86K\1K\2\x86\x89"
  "ccollections\nOrderedDict\nq\x8)RtR"
  "h\0" STORAGE("LongStorage", "1", "\3") "K\0K\3\x85K\1\x85\x89h\x8)RtR\x86"
  "}X\1\0\0\0kh\0" STORAGE("BFloat16Storage", "2", "\1") "K\0K\1\x85K\1\x85\x89h\x8)RtRs\x86.";
static const float floats[] = {1.5F, -2.0F, 0.25F, 4.0F, 8.0F, -0.5F};
static const int64_t integers[] = {7, -1, 1LL << 40};
static const uint16_t bfloat16_nan = 0x7fc0;

static void add(zip_t *archive, const char *name, const void *bytes, size_t size) {
  zip_source_t *source = zip_source_buffer(archive, bytes, size, 0);
  assert_non_null(source);
  zip_int64_t index = zip_file_add(archive, name, source, ZIP_FL_OVERWRITE);
  assert_true(index >= 0);
  assert_int_equal(zip_set_file_compression(archive, (zip_uint64_t)index, ZIP_CM_STORE, 0), 0);
}

static char *make_file(const void *pickle, size_t size, const char *order, size_t *out_size) {
  int code = 0;
  const char *path = temp_path("saved.pt");
  zip_t *archive = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  assert_non_null(archive);
  add(archive, "archive/data.pkl", pickle, size);
  add(archive, "archive/byteorder", order, strlen(order));
  add(archive, "archive/data/0", floats, sizeof floats);
  add(archive, "archive/data/1", integers, sizeof integers);
  add(archive, "archive/data/2", &bfloat16_nan, sizeof bfloat16_nan);
  assert_int_equal(zip_close(archive), 0);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  char *bytes = malloc(1 << 14);
  *out_size = fread(bytes, 1, 1 << 14, file);
  fclose(file);
  return bytes;
}

static opc_status_t read_saved(const void *pickle, size_t size, const char *order, json_t **out, opc_error_t *error) {
  size_t bytes_size = 0;
  char *bytes = make_file(pickle, size, order, &bytes_size);
  opc_status_t status = opc_torch_saved_read(bytes, bytes_size, out, error);
  free(bytes);
  return status;
}

static void tensors_come_in_order(void **state) {
  (void)state;
  opc_error_t error = {0};
  json_t *tensors = NULL;
  assert_ok(read_saved(saved, sizeof saved - 1, "little", &tensors, &error), error);
  json_t *expected = json_loads(
      "[{\"tensor\": {\"shape\": [2, 3], \"strides\": [1, 2], \"fill\": {\"values\": [1.5, 0.25, 8.0, -2.0, 4.0, "
      "-0.5]}}},"
      " {\"tensor\": {\"shape\": [3], \"dtype\": \"int64\", \"fill\": {\"values\": [7, -1, 1099511627776]}}},"
      " {\"tensor\": {\"shape\": [1], \"dtype\": \"bfloat16\", \"fill\": {\"values\": [\"nan\"]}}}]",
      0, NULL);
  char *text = json_dumps(tensors, 0);
  if (!json_equal(tensors, expected)) fail_msg("%s", text);
  free(text);
  json_decref(expected);
  json_decref(tensors);
}

static void other_things_are_told(void **state) {
  (void)state;
  static const char object[] = "\x80\2cos\nsystem\n(X\4\0\0\0true\x85R.", build[] = "\x80\2}b.",
                    deep[] =
                        "\x80\2]q\0h\0\x85h\0\x85"
                        "aa.";
  opc_error_t error = {0};
  json_t *tensors = NULL;
  assert_int_equal(read_saved(object, sizeof object - 1, "little", &tensors, &error), OPC_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "os system"));
  assert_int_equal(read_saved(build, sizeof build - 1, "little", &tensors, &error), OPC_ERR_UNSUPPORTED);
  assert_int_not_equal(read_saved(deep, sizeof deep - 1, "little", &tensors, &error), OPC_OK);
  assert_int_equal(read_saved(saved, sizeof saved - 1, "big", &tensors, &error), OPC_ERR_UNSUPPORTED);
  assert_int_equal(opc_torch_saved_read("no zip file", 11, &tensors, &error), OPC_ERR_UNSUPPORTED);
  assert_null(tensors);
}

/* A list inside itself, directly and through a tuple, and a dictionary; the same list twice in a tuple is valid. */
static void no_value_holds_itself(void **state) {
  (void)state;
  static const char *const rows[] = {"]q\1h\1a.", "]q\1(K\1h\1e.",
                                     "]q\1h\1\x85"
                                     "a.",
                                     "}q\1K\1h\1s."};
  static const char twice[] = "]q\1K\1ah\1\x86.";
  opc_error_t error = {0};
  json_t *value = NULL;
  for (size_t i = 0; i < COUNT(rows); i++)
    assert_int_not_equal(opc_pickle_read(rows[i], strlen(rows[i]), &value, &error), OPC_OK);
  assert_ok(opc_pickle_read(twice, sizeof twice - 1, &value, &error), error);
  assert_int_equal(json_array_size(value), 2);
  json_decref(value);
}

/* A storage without an entry, and sizes that exceed the data. */
static void tensors_that_reach_too_far(void **state) {
  (void)state;
  char pickle[sizeof saved];
  opc_error_t error = {0};
  json_t *tensors = NULL;
  memcpy(pickle, saved, sizeof saved);
  char *sizes = memmem(pickle, sizeof saved, "K\2K\3\x86", 5);
  assert_non_null(sizes);
  sizes[1] = 100;
  assert_int_equal(read_saved(pickle, sizeof saved - 1, "little", &tensors, &error), OPC_ERR_INPUT);
  sizes[1] = 2;
  char *key = memmem(pickle, sizeof saved,
                     "X\1\0\0\0"
                     "0X",
                     7);
  assert_non_null(key);
  key[5] = '9';
  assert_int_equal(read_saved(pickle, sizeof saved - 1, "little", &tensors, &error), OPC_ERR_INPUT);
}

static void any_byte_may_be_wrong(void **state) {
  (void)state;
  char pickle[sizeof saved];
  opc_error_t error = {0};
  json_t *value = NULL;
  for (size_t cut = 0; cut < sizeof saved - 1; cut++)
    assert_int_not_equal(opc_pickle_read(saved, cut, &value, &error), OPC_OK);
  for (size_t at = 0; at < sizeof saved - 1; at++) {
    for (int bit = 0; bit < 8; bit++) {
      memcpy(pickle, saved, sizeof saved);
      pickle[at] = (char)(pickle[at] ^ (1 << bit));
      if (opc_pickle_read(pickle, sizeof saved - 1, &value, &error) == OPC_OK) json_decref(value);
    }
    if (at % 7 == 0 && read_saved(pickle, sizeof saved - 1, "little", &value, &error) == OPC_OK) json_decref(value);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(tensors_come_in_order), cmocka_unit_test(other_things_are_told),
      cmocka_unit_test(no_value_holds_itself), cmocka_unit_test(tensors_that_reach_too_far),
      cmocka_unit_test(any_byte_may_be_wrong)};
  return cmocka_run_group_tests(tests, temp_folder_make, temp_folder_remove);
}
