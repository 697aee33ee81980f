/* What a journal holds back for a turn reaches the file where it is to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/journal.h"

static char path[] = "/tmp/opc-journal-XXXXXX";

static int make_file(void **state) {
  (void)state;
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

/* /dev/full takes nothing. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(held_until_flushed_or_released, make_file, remove_file),
      cmocka_unit_test(a_full_disk_is_told_by_the_flush_and_ever_after),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
