/* Records that a journal holds back for one turn still reach the file where they must. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "reports/journal/journal_reader.h"
#include "supervise/common/journal.h"

static char path[32];

static int make_file(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/opc-journal-XXXXXX");
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state) {
  (void)state;
  return unlink(path);
}

static void assert_file(const char *expected) {
  char text[256] = "";
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  assert_string_equal(text, expected);
}

static void write_number(opc_journal_t *journal, int number) {
  opc_error_t error;
  assert_int_equal(opc_journal_write(journal, json_pack("{s:i}", "n", number), &error), OPC_OK);
}

static void held_until_flushed_or_released(void **state) {
  (void)state;
  opc_journal_t *journal = NULL;
  opc_error_t error;
  assert_int_equal(opc_journal_open(path, &journal, &error), OPC_OK);
  write_number(journal, 1);
  assert_file("{\"n\":1}\n");
  opc_journal_hold(journal);
  write_number(journal, 2);
  write_number(journal, 3);
  assert_file("{\"n\":1}\n");
  assert_int_equal(opc_journal_flush(journal, &error), OPC_OK);
  assert_file("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
  write_number(journal, 4); /* still held */
  assert_file("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
  assert_int_equal(opc_journal_release(journal, &error), OPC_OK);
  write_number(journal, 5);
  assert_file("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n{\"n\":5}\n");
  opc_journal_close(journal);
}

/* /dev/full accepts nothing. */
static void a_full_disk_is_told_by_the_flush_and_ever_after(void **state) {
  (void)state;
  opc_journal_t *journal = NULL;
  opc_error_t error;
  if (access("/dev/full", W_OK) != 0) skip();
  assert_int_equal(opc_journal_open("/dev/full", &journal, &error), OPC_OK);
  opc_journal_hold(journal);
  write_number(journal, 1);
  assert_int_equal(opc_journal_flush(journal, &error), OPC_ERR_IO);
  assert_non_null(strstr(error.message, "/dev/full"));
  assert_int_equal(opc_journal_write(journal, json_object(), &error), OPC_ERR_IO);
  assert_int_equal(opc_journal_release(journal, &error), OPC_ERR_IO);
  opc_journal_close(journal);
}

static void write_result(opc_journal_t *journal, int number) {
  opc_error_t error;
  char id[64];
  snprintf(id, sizeof id, "ns::op/alias/cpu/-/s%d/plain", number);
  json_t *record = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:f}", "t", "result", "operator", "ns::op", "check",
                             "alias", "case", id, "verdict", "pass", "message", "as declared", "seconds", 0.5);
  assert_int_equal(opc_journal_write(journal, record, &error), OPC_OK);
}

static bool collect(const opc_case_result_t *result, void *context) {
  json_array_append_new(context, opc_case_result_encode(result));
  return true;
}

static json_t *results_of(const opc_kept_records_t *known) {
  opc_journal_reader_t *reader = NULL;
  opc_error_t error;
  json_t *all = json_array();
  assert_int_equal(opc_journal_reader_open_known(path, known, &reader, &error), OPC_OK);
  assert_int_equal(opc_journal_reader_all_results(reader, collect, all, &error), OPC_OK);
  opc_journal_summary_t summary;
  opc_journal_reader_summary(reader, &summary);
  assert_int_equal(summary.damaged, 0);
  assert_int_equal(summary.pass, json_array_size(all));
  opc_journal_reader_close(reader);
  return all;
}

/* Held back or not, between other records: a report that knows the held records gives the same result as one that reads
 * the file. */
static void kept_records_are_those_of_the_file(void **state) {
  (void)state;
  enum { RESULTS = OPC_KEPT_BYTES / 64 }; /* more than it keeps: a line is longer */
  opc_kept_records_t kept = {0};
  opc_journal_t *journal = NULL;
  opc_error_t error;
  assert_int_equal(opc_journal_open(path, &journal, &error), OPC_OK);
  opc_journal_keep(journal, &kept);
  assert_int_equal(
      opc_journal_write(journal, json_pack("{s:s, s:s}", "t", "run", "format", "opcheck-c/journal/1"), &error), OPC_OK);
  for (int i = 0; i < RESULTS; i++) {
    if (i % 50 == 10) opc_journal_hold(journal);
    if (i % 7 == 0) assert_int_equal(opc_journal_note(journal, &error, "before %d", i), OPC_OK);
    write_result(journal, i);
    if (i % 50 == 30) assert_int_equal(opc_journal_flush(journal, &error), OPC_OK);
    if (i % 50 == 40) assert_int_equal(opc_journal_release(journal, &error), OPC_OK);
  }
  assert_int_equal(opc_journal_release(journal, &error), OPC_OK);
  opc_journal_close(journal);
  assert_true(kept.count > 500 && kept.count < RESULTS);
  json_t *known = results_of(&kept), *read = results_of(NULL);
  assert_int_equal(json_array_size(known), RESULTS);
  assert_true(json_equal(known, read));
  json_decref(known);
  json_decref(read);
  opc_kept_clear(&kept);
}

static void what_did_not_reach_the_file_is_not_kept(void **state) {
  (void)state;
  opc_kept_records_t kept = {0};
  opc_journal_t *journal = NULL;
  opc_error_t error;
  if (access("/dev/full", W_OK) != 0) skip();
  assert_int_equal(opc_journal_open("/dev/full", &journal, &error), OPC_OK);
  opc_journal_keep(journal, &kept);
  opc_journal_hold(journal);
  write_result(journal, 1);
  assert_int_equal(kept.count, 1);
  assert_int_equal(opc_journal_release(journal, &error), OPC_ERR_IO);
  assert_int_equal(kept.count, 0);
  opc_kept_clear(&kept);
  opc_journal_close(journal);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(held_until_flushed_or_released, make_file, remove_file),
      cmocka_unit_test(a_full_disk_is_told_by_the_flush_and_ever_after),
      cmocka_unit_test_setup_teardown(kept_records_are_those_of_the_file, make_file, remove_file),
      cmocka_unit_test(what_did_not_reach_the_file_is_not_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
