/* opcheck-c record without a program: the options, facts about a program's file, and the contents of a recording's
 * folder. */
#include "unit.h"

#include "recording/merge_recordings.h"
#include "recording/program_launch.h"
#include "recording/record_folder.h"
#include "recording/record_settings.h"
#include "temp_folder.h"

static void test_settings_come_back(void **state) {
  static const char *const namespaces[] = {"mine", "yours too"}, *const globs[] = {"conv*", "mine::*.out"};
  opc_record_settings_t given, read;
  opc_error_t error;
  (void)state;
  opc_record_settings_default(&given);
  given.observers = "/a folder/with spaces";
  given.namespaces = (const char **)(uintptr_t)namespaces;
  given.namespace_count = 2;
  given.globs = (const char **)(uintptr_t)globs;
  given.glob_count = 2;
  given.calls = 7;
  assert_int_equal(opc_record_settings_write(&given, temp_folder, &error), OPC_OK);
  assert_int_equal(opc_record_settings_read(temp_folder, &read, &error), OPC_OK);
  assert_string_equal(read.observers, given.observers);
  assert_string_equal(read.values_folder, "");
  assert_int_equal(read.namespace_count, 2);
  assert_string_equal(read.namespaces[1], "yours too");
  assert_string_equal(read.globs[1], "mine::*.out");
  assert_int_equal(read.calls, 7);
  assert_int_equal(read.elements, given.elements);
  opc_record_settings_clear(&read);
  assert_int_equal(opc_record_settings_read("nowhere", &read, &error), OPC_ERR_IO);
}

static void test_what_is_wanted(void **state) {
  static const char *own[] = {"aten"}, *globs[] = {"conv*", "mine::*.out"};
  opc_record_settings_t settings;
  (void)state;
  opc_record_settings_default(&settings);
  assert_true(opc_record_settings_want(&settings, "mine::conv", ""));
  assert_false(opc_record_settings_want(&settings, "aten::conv2d", ""));
  assert_false(opc_record_settings_want(&settings, "no operator", ""));
  assert_true(opc_record_settings_want(&settings, "aten_like::x", ""));
  settings.globs = globs;
  settings.glob_count = 2;
  assert_true(opc_record_settings_want(&settings, "yours::conv", ""));
  assert_true(opc_record_settings_want(&settings, "mine::add", "out"));
  assert_false(opc_record_settings_want(&settings, "mine::add", ""));
  settings.namespaces = own;
  settings.namespace_count = 1;
  assert_false(opc_record_settings_want(&settings, "mine::conv", ""));
  assert_true(opc_record_settings_want(&settings, "aten::conv2d", ""));
}

static void test_programs(void **state) {
  (void)state;
  assert_null(opc_program_kind("/bin/sh"));
  assert_null(opc_program_kind("no such program"));
  temp_write("script", "#!/usr/bin/env sh\n", 18);
  assert_null(opc_program_kind(temp_path("script")));
  char itself[1100];
  int length = snprintf(itself, sizeof itself, "#!%s\n", temp_path("endless"));
  temp_write("endless", itself, (size_t)length);
  assert_null(opc_program_kind(temp_path("endless")));
  temp_write("cut",
             "\x7f"
             "ELF",
             4);
  assert_null(opc_program_kind(temp_path("cut")));
}

/* Two processes, a class twice, a line that was cut off because the disk was full. */
static void test_harvest(void **state) {
  static const char
      first[] =
          "\n{\"class\": \"01\", \"sample\": {\"operator\": \"ns::a\", \"source\": \"recorded\", \"args\": [1.5]}}\n"
          "\n{\"class\": \"02\", \"sample\": {\"operator\": \"ns::a\", \"source\": \"rec"
          "\n{\"class\": \"03\", \"sample\": {\"operator\": \"ns::a\", \"source\": \"recorded\", \"args\": [1.5]}}\n",
      second[] =
          "\n{\"class\": \"01\", \"sample\": {\"operator\": \"ns::a\", \"source\": \"recorded\", \"args\": [2.5]}}\n"
          "\n{\"class\": \"04\", \"sample\": {\"operator\": \"ns::a\", \"source\": \"recorded\", \"args\": [3.5]}}\n";
  opc_record_settings_t settings;
  opc_recordings_t recordings;
  opc_error_t error;
  char text[512] = "", output[1024];
  (void)state;
  snprintf(output, sizeof output, "%s", temp_path("out.json"));
  temp_write("calls.7.100", first, sizeof first - 1);
  temp_write("calls.7.99999", second, sizeof second - 1);
  temp_write("counts.7.100", "short", 5);
  temp_write("trouble.8.1", "too old", 7);
  temp_write("trouble.9.1", "too old", 7);
  opc_record_settings_default(&settings);
  assert_int_equal(opc_recordings_merge(temp_folder, output, &settings, &recordings, &error), OPC_OK);
  assert_int_equal(recordings.samples, 2); /* 03 is 01 in another form, 01 of the second process is the first's */
  assert_int_equal(recordings.damaged, 1);
  assert_int_equal(recordings.processes, 0);
  assert_string_equal(opc_text_c(&recordings.troubles), "too old\n");
  opc_recordings_clear(&recordings);
  FILE *written = fopen(output, "r");
  assert_non_null(written);
  assert_true(fread(text, 1, sizeof text - 1, written) > 0);
  fclose(written);
  assert_non_null(strstr(text, "[1.5]"));
  assert_non_null(strstr(text, "[3.5]"));
  assert_null(strstr(text, "[2.5]"));
  settings.calls = 1;
  assert_int_equal(opc_recordings_merge(temp_folder, output, &settings, &recordings, &error), OPC_OK);
  assert_int_equal(recordings.samples, 1);
  assert_int_equal(recordings.operators[0].left_out[OPC_REASON_OPERATOR_LIMIT], 1);
  opc_recordings_clear(&recordings);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_settings_come_back, temp_folder_make, temp_folder_remove),
      cmocka_unit_test(test_what_is_wanted),
      cmocka_unit_test_setup_teardown(test_programs, temp_folder_make, temp_folder_remove),
      cmocka_unit_test_setup_teardown(test_harvest, temp_folder_make, temp_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
