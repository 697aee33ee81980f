/* The rules about CUDA calls, tested on logs stored as files: each log states what all analyses together find in it,
 * and each rule has a log that breaks it. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/rules.h"
#include "checks/cuda_log/cuda_tracker.h"
#include "cuda_log_file.h"
#include "unit.h"

#define FOLDER OPC_UNIT_FOLDER "/../../fixtures/cuda_logs"

enum { FILES_MAX = 512 };

static int entry_is_log(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot && strcmp(dot, ".json") == 0;
}

static void judge_round(const opc_cuda_file_t *file, opc_cuda_founds_t *out) {
  opc_cuda_facts_t facts = file->facts;
  opc_cuda_capture_t capture;
  bool injected = false;
  facts.log = (opc_cuda_log_t){
      .calls = file->rounds[0].calls, .count = file->rounds[0].count, .dropped = file->rounds[0].dropped};
  for (size_t i = 0; i < facts.log.count; i++) injected = injected || facts.log.calls[i].injected;
  (void)opc_cuda_facts_cut(&facts);
  if (injected) {
    opc_cuda_analyse_injected(&facts, out);
    return;
  }
  if (opc_cuda_capture_find(&facts.log, &capture)) {
    opc_cuda_analyse_capture(&facts, out);
    return;
  }
  opc_cuda_analyse_launches(&facts, out);
  opc_cuda_analyse_pointers(&facts, out);
  opc_cuda_analyse_counts(&facts, out);
  opc_cuda_analyse_streams(&facts, out);
  opc_cuda_analyse_devices(&facts, out);
  opc_cuda_analyse_waits(&facts, out);
}

static void judge_rounds(const opc_cuda_file_t *file, opc_cuda_founds_t *out) {
  opc_cuda_tracker_t tracker = {0};
  opc_cuda_call_t makers[OPC_CUDA_HOLDINGS];
  for (size_t i = 0; i < file->round_count; i++) {
    const opc_cuda_round_t *round = &file->rounds[i];
    opc_cuda_facts_t facts = file->facts;
    facts.log = (opc_cuda_log_t){.calls = round->calls, .count = round->count, .dropped = round->dropped};
    opc_cuda_tracker_add(&tracker, &facts);
    opc_cuda_tracker_read(&tracker, round->operator_calls, round->tensor_bytes);
  }
  opc_cuda_analyse_growth(&tracker, makers, out);
  opc_cuda_tracker_clear(&tracker);
}

static bool is_found(const opc_cuda_founds_t *founds, opc_rule_id_t rule) {
  for (size_t i = 0; i < founds->count; i++)
    if (founds->items[i].rule == rule) return true;
  return false;
}

static bool is_expected(const json_t *rules, const char *rule) {
  for (size_t i = 0; i < json_array_size(rules); i++)
    if (strcmp(json_string_value(json_array_get(rules, i)), rule) == 0) return true;
  return false;
}

/* Returns the number of errors in it. */
static int check_file(const char *path, bool *seen_rules) {
  opc_cuda_file_t file;
  opc_error_t error = {0};
  opc_cuda_founds_t founds = {0};
  int wrong = 0;
  assert_ok(opc_cuda_file_read(path, &file, &error), error);
  assert_non_null(file.rules);
  if (json_object_get(file.json, "rounds")) judge_rounds(&file, &founds);
  else judge_round(&file, &founds);
  for (size_t i = 0; i < founds.count; i++) {
    const char *rule = opc_rule_name(founds.items[i].rule);
    assert_non_null(rule);
    if (strcmp(file.origin, "synthetic") == 0) seen_rules[founds.items[i].rule] = true;
    if (is_expected(file.rules, rule)) continue;
    print_error("%s: not expected: %s: %s\n", path, rule, founds.items[i].message);
    wrong++;
  }
  for (size_t i = 0; i < json_array_size(file.rules); i++) {
    const char *rule = json_string_value(json_array_get(file.rules, i));
    if (is_found(&founds, opc_rule_id(rule))) continue;
    print_error("%s: %s was not found\n", path, rule);
    wrong++;
  }
  opc_cuda_file_clear(&file);
  return wrong;
}

/* "88 written by hand, 0 from the simulated device, 0 from a GPU" */
static void the_evidence_counts_them_apart(void **state) {
  static const char *const origins[] = {"synthetic", "simulated", "gpu"};
  struct dirent **entries = NULL;
  int counts[COUNT(origins)] = {0}, count = scandir(FOLDER, &entries, entry_is_log, alphasort);
  char line[128], text[1 << 16] = "";
  (void)state;
  for (int i = 0; i < count; i++) {
    char path[4096];
    opc_cuda_file_t file;
    opc_error_t error = {0};
    snprintf(path, sizeof path, "%s/%s", FOLDER, entries[i]->d_name);
    assert_ok(opc_cuda_file_read(path, &file, &error), error);
    for (size_t k = 0; k < COUNT(origins); k++) counts[k] += strcmp(file.origin, origins[k]) == 0;
    opc_cuda_file_clear(&file);
    free(entries[i]);
  }
  free(entries);
  FILE *readme = fopen(OPC_UNIT_FOLDER "/../../reports/evidence/README.md", "r");
  assert_non_null(readme);
  assert_true(fread(text, 1, sizeof text - 1, readme) > 0);
  fclose(readme);
  snprintf(line, sizeof line, "%d written by hand, %d from the simulated device, %d from a GPU", counts[0], counts[1],
           counts[2]);
  if (!strstr(text, line)) fail_msg("reports/evidence/README.md does not say \"%s\"", line);
}

/* Findings that only a call shows, not its log. */
static bool needs_no_log(const char *rule) {
  static const char *const rules[] = {"device_guard.output_device", "launch.asynchronous_error", "capture.throws",
                                      "capture.replay_differs"};
  for (size_t i = 0; i < COUNT(rules); i++)
    if (strcmp(rule, rules[i]) == 0) return true;
  return false;
}

static bool is_about_cuda_calls(const char *rule) {
  static const char *const checks[] = {"launch.", "stream.", "device_guard.", "sync.", "device_memory.", "capture."};
  for (size_t i = 0; i < COUNT(checks); i++)
    if (strncmp(rule, checks[i], strlen(checks[i])) == 0) return !needs_no_log(rule);
  return false;
}

static void every_log_is_judged_as_it_says(void **state) {
  struct dirent **entries = NULL;
  bool *seen_rules = calloc(opc_rule_count, sizeof *seen_rules);
  int count = scandir(FOLDER, &entries, entry_is_log, alphasort), wrong = 0;
  (void)state;
  assert_non_null(seen_rules);
  assert_true(count > 60 && count < FILES_MAX);
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FOLDER, entries[i]->d_name);
    wrong += check_file(path, seen_rules);
    free(entries[i]);
  }
  free(entries);
  for (size_t i = 1; i < opc_rule_count; i++) {
    if (seen_rules[i] || !is_about_cuda_calls(opc_rules[i].name)) continue;
    print_error("no log breaks %s\n", opc_rules[i].name);
    wrong++;
  }
  free(seen_rules);
  assert_int_equal(wrong, 0);
}

static void assert_reads_again(const char *path) {
  opc_cuda_file_t file;
  opc_error_t error = {0};
  assert_ok(opc_cuda_file_read(path, &file, &error), error);
  for (size_t r = 0; r < file.round_count; r++) {
    const opc_cuda_round_t *round = &file.rounds[r];
    const json_t *top =
        json_object_get(file.json, "rounds") ? json_array_get(json_object_get(file.json, "rounds"), r) : file.json;
    for (size_t i = 0; i < round->count; i++) {
      json_t *written = opc_cuda_call_json(&round->calls[i]);
      if (!json_equal(written, json_array_get(json_object_get(top, "calls"), i)))
        fail_msg("%s: call %zu is written otherwise than it is read", path, i);
      json_decref(written);
    }
  }
  opc_cuda_file_clear(&file);
}

static void what_is_written_is_what_is_read(void **state) {
  static const char *const names[] = {"launch.host_pointer",
                                      "launch.freed_pointer",
                                      "launch.failed_shared",
                                      "launch.ignores_failure",
                                      "launch.host_access",
                                      "stream.legacy_memcpy",
                                      "stream.race",
                                      "stream.per_thread",
                                      "stream.product_legacy",
                                      "launch.cut_failed",
                                      "launch.counted_in_pieces",
                                      "device_guard.not_restored",
                                      "sync.event",
                                      "device_memory.pinned",
                                      "capture.joined",
                                      "capture.waits"};
  (void)state;
  for (size_t i = 0; i < COUNT(names); i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.json", FOLDER, names[i]);
    assert_reads_again(path);
  }
}

static void a_whole_log_is_written_and_read(void **state) {
  char path[] = "/tmp/opc_cuda_log_XXXXXX";
  opc_cuda_file_t file, again;
  opc_error_t error = {0};
  (void)state;
  assert_ok(opc_cuda_file_read(FOLDER "/stream.both_edges.json", &file, &error), error);
  file.facts.log = (opc_cuda_log_t){.calls = file.rounds[0].calls, .count = file.rounds[0].count};
  json_t *versions = json_pack("{s:s}", "torch", "2.11.0"),
         *written = opc_cuda_file_json(&file.facts, "simulated", versions);
  int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(json_dumpfd(written, fd, JSON_INDENT(1)), 0);
  assert_ok(opc_cuda_file_read(path, &again, &error), error);
  assert_string_equal(again.origin, "simulated");
  assert_int_equal(again.rounds[0].count, file.rounds[0].count);
  assert_int_equal(again.facts.stream, 0x5500);
  assert_true(json_equal(json_object_get(written, "calls"), json_object_get(file.json, "calls")));
  remove(path);
  json_decref(written);
  json_decref(versions);
  opc_cuda_file_clear(&again);
  opc_cuda_file_clear(&file);
}

static void a_mistake_in_a_log_is_named(void **state) {
  static const struct {
    const char *text, *says;
  } rows[] = {
      {"{\"format\": \"opcheck-c/cuda-log/2\"}", "format is not"},
      {"{\"format\": \"opcheck-c/cuda-log/1\", \"own\": []}", "a log says its origin"},
      {"{\"format\": \"opcheck-c/cuda-log/1\", \"origin\": \"gpu\", \"own\": [], \"facts\": {}}",
       "calls: expected the list of calls"},
      {"{\"format\": \"opcheck-c/cuda-log/1\", \"origin\": \"gpu\", \"own\": [], \"facts\": {}, \"calls\": [{\"kind\": "
       "\"lunch\"}]}",
       "calls[0].kind: \"lunch\""},
      {"{\"format\": \"opcheck-c/cuda-log/1\", \"origin\": \"gpu\", \"own\": [], \"facts\": {}, \"calls\": [{\"kind\": "
       "\"launch\", \"stream\": \"7\"}]}",
       "calls[0].stream: expected a number as \"0x…\""},
      {"{\"format\": \"opcheck-c/cuda-log/1\", \"origin\": \"gpu\", \"own\": [], \"facts\": {\"lasting\": [\"0x1\", "
       "2]}, \"calls\": []}",
       "facts.lasting"},
      {"{\"format\": \"opcheck-c/cuda-log/1\", \"origin\": \"gpu\", \"own\": [], \"facts\": {}, \"calls\": [{\"kind\": "
       "\"launch\", \"gird\": []}]}",
       "gird"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    char path[] = "/tmp/opc_cuda_log_XXXXXX";
    opc_cuda_file_t file;
    opc_error_t error = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "%s", rows[i].text) > 0);
    assert_int_equal(opc_cuda_file_read(path, &file, &error), OPC_ERR_INPUT);
    if (!strstr(error.message, rows[i].says)) fail_msg("%s: %s", rows[i].says, error.message);
    opc_cuda_file_clear(&file);
    remove(path);
  }
}

static void kernels_have_readable_names(void **state) {
  static const struct {
    const char *mangled, *name;
  } rows[] = {
      {"_ZN6my_ops12_GLOBAL__N_111copy_kernelIhEEvPKT_PS2_lNS0_6LayoutE", "copy_kernel"},
      {"_Z10add_kernelPfl", "add_kernel"},
      {"_ZL10add_kernelPfl", "add_kernel"},
      {"_ZN3opsL5scaleEPf", "scale"},
      {"kernel_of_c", "kernel_of_c"},
      {"_ZSt4sortPf", "_ZSt4sortPf"},
      {"_Z99short", "_Z99short"},
      {"", ""},
  };
  char out[128];
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++)
    assert_string_equal(opc_cuda_kernel_name(rows[i].mangled, out, sizeof out), rows[i].name);
}

/* The message of the first finding in a log. */
static void message_of(const char *name, char out[512]) {
  char path[4096];
  opc_cuda_file_t file;
  opc_error_t error = {0};
  opc_cuda_founds_t founds = {0};
  snprintf(path, sizeof path, "%s/%s.json", FOLDER, name);
  assert_ok(opc_cuda_file_read(path, &file, &error), error);
  judge_round(&file, &founds);
  assert_true(founds.count > 0);
  memcpy(out, founds.items[0].message, 512);
  opc_cuda_file_clear(&file);
}

static void messages_have_the_numbers(void **state) {
  static const struct {
    const char *log, *says;
  } rows[] = {
      {"launch.failed_threads",
       "the launch of kernel scale_kernel fails with cudaErrorInvalidConfiguration (9): blockDim.x is 2048; the device "
       "allows 1024"},
      {"launch.failed_product", "a block of 32 x 32 x 2 is 2048 threads; the device allows 1024"},
      {"launch.failed_shared", "262144 bytes of shared memory per block; the device has 232448"},
      {"launch.failed_zero", "gridDim.x is 0"},
      {"launch.large_rows", "gridDim.y is 65536; the device allows 65535"},
      {"launch.large_negative",
       "gridDim.x is 4286578688 (-8388608 before it became unsigned); the device allows 2147483647"},
      {"launch.truncated_count",
       "kernel scale_kernel is given 305419897 in parameter 3, of 4 bytes: all that is left of x.numel(), 4600387193"},
      {"launch.truncated_size",
       "is given -2128394905 in parameter 4, of 4 bytes: all that is left of x.size(1), 2166572391"},
      {"launch.truncated_blocks",
       "is launched with 298262 blocks, enough for 305419897 elements: all that 32 bits keep of x.numel(), 4600387193"},
      {"launch.error_left", "the operator returns with cudaErrorNotReady (600) pending, the error of cudaEventQuery"},
      {"stream.other", "kernel scale_kernel goes to stream 0x6600 of device 0"},
      {"sync.copy", "cudaMemcpyAsync copies 256 bytes from device memory to pageable memory and waits for it"},
      {"device_guard.wrong_device", "while all tensors are on device 1"},
      {"stream.product_legacy", "cublasSgemm_v2 goes to the legacy default stream of device 0"},
      {"capture.waits",
       "cudaStreamSynchronize fails with cudaErrorStreamCaptureUnsupported (900) and ends the capture"},
      {"capture.waits_by_torch",
       "cudaStreamSynchronize (called by libtorch_cuda.so on the operator's behalf) fails with"},
      {"capture.unseen", "the call that ended it is not visible"},
      {"capture.unjoined", "kernel scale_kernel on stream 0x6600 of device 0 is part of the capture"},
      {"capture.legacy", "kernel scale_kernel goes to the legacy default stream of device 0: it ran once"},
      {"capture.host_memory_written", "each replay writes them again"},
  };
  char message[512];
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    message_of(rows[i].log, message);
    if (!strstr(message, rows[i].says)) fail_msg("%s: \"%s\" is not in \"%s\"", rows[i].log, rows[i].says, message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_log_is_judged_as_it_says),  cmocka_unit_test(what_is_written_is_what_is_read),
      cmocka_unit_test(a_whole_log_is_written_and_read), cmocka_unit_test(a_mistake_in_a_log_is_named),
      cmocka_unit_test(kernels_have_readable_names),     cmocka_unit_test(messages_have_the_numbers),
      cmocka_unit_test(the_evidence_counts_them_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
