/* Reports of compute-sanitizer: whole, cut off anywhere, hostile. All of it is synthetic, after the manual and public
 * suppression files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervise/tools/sanitize.h"

#define HEAD "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ComputeSanitizerOutput>\n"
#define TAIL "</ComputeSanitizerOutput>\n"
#define WRITE                                                                                                         \
  "<record><kind>Precise</kind><level>Error</level><what><text>Invalid __global__ write of size 4 "                   \
  "bytes</text><size>4</size>"                                                                                        \
  "<address>0x7f00</address></what><where><func>my::copy_kernel(float*, "                                             \
  "long)</func><path>/src/copy.cu</path><line>12</line></where>"                                                      \
  "<who><threadIdx><x>3</x><y>0</y><z>0</z></threadIdx><blockIdx><x>1</x><y>0</y><z>0</z></blockIdx></who>"           \
  "<deviceStack><frame><func>store</func></frame></deviceStack>"                                                      \
  "<hostStack><saveLocation>launch</saveLocation><frame><func>cudaLaunchKernel</func><module>/lib/libcudart.so.13</"  \
  "module></frame>"                                                                                                   \
  "<frame><func>my_op(at::Tensor)</func><module>/lib/libmy_ops.so</module><path>/src/copy.cu</path><line>30</line></" \
  "frame></hostStack></record>\n"
#define RACE                                                                                                       \
  "<record><kind>Analysis</kind><level>Error</level><what><text>Race condition</text>"                             \
  "<source><direction>Write</direction><where><func>reduce</func><path>r.cu</path><line>4</line></where></source>" \
  "<destination><direction>Read</direction><where><func>reduce</func><path>r.cu</path><line>9</line></where></"    \
  "destination></what></record>\n"

static char path[64];

static void write_report(const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static opc_status_t read_text(const char *text, opc_sanitize_records_t *out, opc_error_t *error) {
  write_report(text, strlen(text));
  return opc_sanitize_xml_read(path, out, error);
}

static int begin(void **state) {
  (void)state;
  snprintf(path, sizeof path, "/tmp/opc-sanitize-XXXXXX");
  int fd = mkstemp(path);
  return fd < 0 ? -1 : close(fd);
}

static int end(void **state) {
  (void)state;
  return unlink(path);
}

static void records_are_read(void **state) {
  opc_sanitize_records_t records = {0};
  opc_error_t error = {0};
  (void)state;
  assert_int_equal(read_text(HEAD "<!-- words --><tool>memcheck</tool>" WRITE RACE TAIL, &records, &error), OPC_OK);
  assert_int_equal(records.count, 2);
  const opc_sanitize_record_t *write = &records.items[0], *race = &records.items[1];
  assert_string_equal(write->kind, "Precise");
  assert_string_equal(write->text, "Invalid __global__ write of size 4 bytes");
  assert_string_equal(write->address, "0x7f00");
  assert_string_equal(write->where.function, "my::copy_kernel(float*, long)");
  assert_int_equal(write->where.line, 12);
  assert_true(write->has_thread && write->thread[0] == 3 && write->block[0] == 1);
  assert_int_equal(write->host.count, 2);
  assert_string_equal(write->host.frames[1].module, "/lib/libmy_ops.so");
  assert_int_equal(write->device.count, 1);
  assert_int_equal(race->place_count, 2);
  assert_string_equal(race->places[1].direction, "Read");
  assert_int_equal(race->places[1].where.line, 9);
  assert_int_equal(read_text(HEAD TAIL, &records, &error), OPC_OK);
  assert_int_equal(records.count, 0);
  opc_sanitize_records_clear(&records);
}

static void a_cut_off_report_is_told(void **state) {
  static const char whole[] = HEAD WRITE RACE "</ComputeSanitizerOutput>";
  opc_sanitize_records_t records = {0};
  opc_error_t error = {0};
  (void)state;
  for (size_t length = 0; length < sizeof whole - 1; length++) {
    write_report(whole, length);
    assert_int_equal(opc_sanitize_xml_read(path, &records, &error), OPC_ERR_IO);
    assert_true(records.count <= 2);
  }
  write_report(whole, sizeof whole - 1);
  assert_int_equal(opc_sanitize_xml_read(path, &records, &error), OPC_OK);
  assert_int_equal(records.count, 2);
  opc_sanitize_records_clear(&records);
}

static void what_is_no_report_is_refused(void **state) {
  static const char *const texts[] = {
      "",
      "no XML",
      "<other/>",
      "<ComputeSanitizerOutput>",
      "<ComputeSanitizerOutput><record></ComputeSanitizerOutput>",
      "<!DOCTYPE a [<!ENTITY b \"c\">]><ComputeSanitizerOutput>&b;</ComputeSanitizerOutput>",
      HEAD "<record><kind>\xff\xfe</kind></record>" TAIL,
      HEAD TAIL "<more/>"};
  opc_sanitize_records_t records = {0};
  opc_error_t error = {0};
  (void)state;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (read_text(texts[i], &records, &error) != OPC_ERR_IO) fail_msg("taken for a report: %s", texts[i]);
  }
  assert_int_equal(opc_sanitize_xml_read("/nowhere/at/all.xml", &records, &error), OPC_ERR_NOT_FOUND);
  assert_int_equal(opc_sanitize_xml_read("/dev/null", &records, &error), OPC_ERR_IO);
  opc_sanitize_records_clear(&records);
}

/* Depth, numbers and lengths beyond all measure, elements in the wrong places. */
static void hostile_records_are_bounded(void **state) {
  opc_sanitize_records_t records = {0};
  opc_error_t error = {0};
  (void)state;
  assert_int_equal(
      read_text(
          HEAD
          "<record/><record><kind/><what/><who/><where/><hostStack/></record>"
          "<record><where><line>99999999999999999999</line></where><who><threadIdx><x>-5</x></threadIdx></who></record>"
          "<nested><record><kind>Deep</kind></record></nested>" TAIL,
          &records, &error),
      OPC_OK);
  assert_int_equal(records.count, 3);
  assert_true(records.items[2].where.line == 0 && !records.items[2].has_thread);
  enum { FRAMES = 400, LENGTH = 3000 };
  char *text = calloc(1, 64 + (size_t)FRAMES * (LENGTH + 64));
  assert_non_null(text);
  char *at = text + sprintf(text, "<ComputeSanitizerOutput><record><hostStack>");
  for (int i = 0; i < FRAMES; i++) {
    at += sprintf(at, "<frame><func>");
    memset(at, 'f', LENGTH);
    at += LENGTH;
    at += sprintf(at, "</func></frame>");
  }
  sprintf(at, "</hostStack></record></ComputeSanitizerOutput>");
  assert_int_equal(read_text(text, &records, &error), OPC_OK);
  assert_int_equal(records.items[0].host.count, OPC_SANITIZE_FRAMES);
  assert_int_equal(strlen(records.items[0].host.frames[0].function),
                   sizeof records.items[0].host.frames[0].function - 1);
  at = text + sprintf(text, "<ComputeSanitizerOutput>");
  for (int i = 0; i < OPC_SANITIZE_RECORDS_MAX + 5; i++) at += sprintf(at, "<record/>");
  sprintf(at, "</ComputeSanitizerOutput>");
  assert_int_equal(read_text(text, &records, &error), OPC_OK);
  assert_int_equal(records.count, OPC_SANITIZE_RECORDS_MAX);
  assert_int_equal(records.dropped, 5);
  free(text);
  opc_sanitize_records_clear(&records);
}

static void rules(void **state) {
  static const struct {
    const char *tool, *kind, *text, *rule;
  } cases[] = {
      {"memcheck", "Precise", "Invalid __global__ write of size 4 bytes", "sanitize.invalid_write"},
      {"memcheck", "Precise", "Invalid __shared__ read of size 4 bytes", "sanitize.invalid_read"},
      {"memcheck", "Precise", "Invalid __global__ atomic of size 4 bytes", "sanitize.invalid_write"},
      {"memcheck", "Precise", "Invalid __global__ read of size 16 bytes: misaligned address", "sanitize.misaligned"},
      {"memcheck", "Leak", "Leaked 1,024 bytes", "sanitize.suspicious"},
      {"memcheck", "Api", "Program hit an error", "sanitize.suspicious"},
      {"memcheck", "OfTomorrow", "", "sanitize.suspicious"},
      {"racecheck", "Analysis", "Race condition", "sanitize.race"},
      {"racecheck", "Hazard", "Potential RAW hazard detected", "sanitize.race"},
      {"initcheck", "Initcheck", "Uninitialized __global__ memory read of size 4 bytes", "sanitize.uninitialised_read"},
      {"synccheck", "Sync", "Barrier error detected. Divergent thread(s) in block", "sanitize.synchronisation"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    opc_sanitize_record_t record = {0};
    snprintf(record.kind, sizeof record.kind, "%s", cases[i].kind);
    snprintf(record.text, sizeof record.text, "%s", cases[i].text);
    assert_string_equal(opc_rule_name(opc_sanitize_rule(cases[i].tool, &record)), cases[i].rule);
  }
}

static void findings_are_one_a_rule(void **state) {
  opc_sanitize_records_t records = {0};
  opc_error_t error = {0};
  (void)state;
  assert_int_equal(read_text(HEAD "<record><kind>Other</kind><what><text>odd</text></what></record>" WRITE WRITE TAIL,
                             &records, &error),
                   OPC_OK);
  opc_also_list_t findings = {0};
  assert_int_equal(opc_sanitize_findings("memcheck", &records, &findings, &error), OPC_OK);
  const opc_also_t *first = &findings.items[0];
  assert_int_equal(findings.count, 2);
  assert_int_equal(first->rule, OPC_RULE_sanitize_invalid_write); /* an error comes before a warning */
  assert_string_equal(first->message,
                      "Invalid __global__ write of size 4 bytes in my::copy_kernel (copy.cu:12), by thread (3,0,0) of "
                      "block (1,0,0); 2 such records");
  assert_int_equal(first->severity, OPC_SEVERITY_ERROR);
  assert_int_equal(json_array_size(json_object_get(first->rest, "frames")), 2);
  assert_int_equal(findings.items[1].severity, OPC_SEVERITY_WARNING);
  opc_also_list_clear(&findings);
  assert_int_equal(read_text(HEAD RACE TAIL, &records, &error), OPC_OK);
  assert_int_equal(opc_sanitize_findings("racecheck", &records, &findings, &error), OPC_OK);
  assert_string_equal(findings.items[0].message,
                      "Race condition: Write in reduce (r.cu:4) and Read in reduce (r.cu:9)");
  opc_also_list_clear(&findings);
  opc_sanitize_records_clear(&records);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(records_are_read),
                                     cmocka_unit_test(a_cut_off_report_is_told),
                                     cmocka_unit_test(what_is_no_report_is_refused),
                                     cmocka_unit_test(hostile_records_are_bounded),
                                     cmocka_unit_test(rules),
                                     cmocka_unit_test(findings_are_one_a_rule)};
  return cmocka_run_group_tests(tests, begin, end);
}
