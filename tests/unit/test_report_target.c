#include <sys/stat.h>
#include <zlib.h>
#include <zstd.h>

#include "base/text.h"
#include "report_journal.h"

static char folder[64];

static int make_folder(void **state) {
  (void)state;
  strcpy(folder, "/tmp/opcheck-c-unit-XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  return rmdir(folder); /* fails if a test left a file behind */
}

static const char *in_folder(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static char *content_of(const char *path) {
  static char text[4096];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static opc_status_t write_half(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  (void)source;
  fputs("half", stream);
  return opc_error_set(error, OPC_ERR_PROTOCOL, "broke off");
}
static const opc_report_t half_report = {"half", "", false, false, write_half};

static const opc_problems_t no_problems;

static opc_report_source_t source_of(opc_journal_reader_t *journal) {
  return (opc_report_source_t){.journal = journal, .problems = &no_problems};
}

static void the_early_report_is_replaced(void **state) {
  (void)state;
  opc_error_t error = {0};
  opc_journal_reader_t *early = journal_of(RUN_LINE), *late = journal_of(RUN_LINE END_LINE(0));
  const opc_report_source_t first = source_of(early), last = source_of(late);
  const char *target = in_folder("r.json");
  assert_int_equal(opc_report_begin(&opc_report_json, &first, target, &error), OPC_OK);
  assert_contains(content_of(target), "\"complete\": false");
  assert_int_equal(opc_report_finish(&half_report, &last, target, &error), OPC_ERR_PROTOCOL);
  assert_contains(content_of(target), "\"complete\": false");
  assert_int_equal(opc_report_finish(&opc_report_json, &last, target, &error), OPC_OK);
  assert_contains(content_of(target), "\"complete\": true");
  unlink(target);
  opc_journal_reader_close(early);
  opc_journal_reader_close(late);
}

static void a_link_stays_a_link(void **state) {
  (void)state;
  opc_error_t error = {0};
  opc_journal_reader_t *journal = journal_of(RUN_LINE END_LINE(0));
  const opc_report_source_t source = source_of(journal);
  char real[128];
  snprintf(real, sizeof real, "%s", in_folder("real.json"));
  fclose(fopen(real, "w"));
  const char *target = in_folder("link.json");
  assert_int_equal(symlink("real.json", target), 0);
  assert_int_equal(opc_report_finish(&opc_report_json, &source, target, &error), OPC_OK);
  struct stat info;
  assert_int_equal(lstat(target, &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_contains(content_of(real), "opcheck-c/report/1");
  unlink(target);
  unlink(real);
  opc_journal_reader_close(journal);
}

static void a_name_asks_for_compression(void **state) {
  (void)state;
  opc_error_t error = {0};
  opc_text_t lines = {0};
  opc_text_add(&lines, RUN_LINE);
  for (int i = 0; i < 5000; i++) opc_text_addf(&lines, PASS_LINE("n::a", "stride", "cpu/-/s%d/plain"), i);
  opc_text_add(&lines, END_LINE(0));
  opc_journal_reader_t *journal = journal_of(opc_text_c(&lines));
  const opc_report_source_t source = source_of(journal);
  char *plain = report_text(&opc_report_json, journal, OPC_OK), *read = calloc(1, strlen(plain) + 1);
  const size_t length = strlen(plain);
  char target[128];

  snprintf(target, sizeof target, "%s", in_folder("r.json.gz"));
  assert_int_equal(opc_report_finish(&opc_report_json, &source, target, &error), OPC_OK);
  gzFile file = gzopen(target, "r");
  assert_int_equal(gzread(file, read, (unsigned)length + 1), length);
  assert_int_equal(gzclose(file), Z_OK);
  assert_string_equal(read, plain);
  assert_int_equal(opc_report_finish(&opc_report_junit, &source, target, &error), OPC_OK);
  assert_contains(content_of(target), "<testsuites");
  unlink(target);

  snprintf(target, sizeof target, "%s", in_folder("r.json.zst"));
  assert_int_equal(opc_report_finish(&opc_report_json, &source, target, &error), OPC_OK);
  FILE *packed = fopen(target, "r");
  char *bytes = calloc(1, length);
  const size_t size = fread(bytes, 1, length, packed);
  fclose(packed);
  assert_true(size > 0 && size < length / 10);
  memset(read, 0, length);
  assert_int_equal(ZSTD_decompress(read, length, bytes, size), length);
  assert_string_equal(read, plain);
  unlink(target);
  free(bytes);
  free(read);
  free(plain);
  opc_text_clear(&lines);
  opc_journal_reader_close(journal);
}

/* A link to the full device, because the name decides whether a report is compressed. */
static void a_compressed_report_does_not_fit(void **state) {
  (void)state;
  opc_journal_reader_t *journal = journal_of(RUN_LINE END_LINE(0));
  const opc_report_source_t source = source_of(journal);
  static const char *const names[] = {"full.json.gz", "full.json.zst"};
  for (size_t i = 0; i < 2; i++) {
    opc_error_t error = {0};
    const char *target = in_folder(names[i]);
    assert_int_equal(symlink("/dev/full", target), 0);
    assert_int_equal(opc_report_finish(&opc_report_json, &source, target, &error), OPC_ERR_IO);
    assert_contains(error.message, "No space left on device; make room");
    unlink(target);
  }
  opc_journal_reader_close(journal);
}

static void what_cannot_be_written_is_told(void **state) {
  (void)state;
  opc_error_t error = {0};
  opc_journal_reader_t *journal = journal_of(RUN_LINE END_LINE(0));
  const opc_report_source_t source = source_of(journal);
  const opc_report_t *const reports[] = {&opc_report_json, &opc_report_junit};
  for (size_t i = 0; i < 2; i++) {
    assert_int_equal(opc_report_begin(reports[i], &source, in_folder("no/r.json"), &error), OPC_ERR_IO);
    assert_contains(error.message, "does not exist");
    assert_int_equal(opc_report_begin(reports[i], &source, folder, &error), OPC_ERR_IO);
    assert_contains(error.message, "it is a folder");
    assert_int_equal(opc_report_begin(reports[i], &source, "", &error), OPC_ERR_IO);
    assert_int_equal(opc_report_begin(reports[i], &source, "/dev/full", &error), OPC_OK);
    assert_int_equal(opc_report_finish(reports[i], &source, "/dev/full", &error), OPC_ERR_IO);
    assert_contains(error.message, "No space left on device");
    assert_int_equal(opc_report_finish(reports[i], &source, "/dev/null", &error), OPC_OK);
  }
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
  opc_journal_reader_close(journal);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_early_report_is_replaced),   cmocka_unit_test(a_link_stays_a_link),
      cmocka_unit_test(a_name_asks_for_compression),    cmocka_unit_test(a_compressed_report_does_not_fit),
      cmocka_unit_test(what_cannot_be_written_is_told),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
