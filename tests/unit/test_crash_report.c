/* What the death of a child says, from its crash record. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/case/case.h"
#include "supervise/evidence/crash_report.h"
#include "supervise/symbols/symbolise.h"
#include "unit.h"

typedef struct death {
  opc_call_label_t call;
  int signal, device; /* device: number of the GPU whose memory was touched, plus one */
  const char *rule, *provenance, *says;
} death_t;

/* terminate: what std::terminate was called for. */
static void describe_at(uint64_t address, const death_t *death, const char *terminate, bool every_input) {
  opc_child_t *child = NULL;
  opc_error_t error = {0};
  opc_crash_t crash = {0};
  const opc_crash_limits_t limits = {.seconds = 1, .memory_mib = 100};
  assert_ok(opc_child_open(1, NULL, &child, &error), error);
  opc_crash_record_t *box = child->crash_record;
  box->running = box->crashed = 1;
  box->signal = death->signal;
  box->code = SEGV_MAPERR;
  box->address = address;
  box->device = death->device;
  box->call_kind = death->call.kind;
  snprintf(box->detail, sizeof box->detail, "%s", death->call.detail);
  snprintf(box->terminate_text, sizeof box->terminate_text, "%s", terminate);
  snprintf(box->provenance, sizeof box->provenance, "declared/same_values");
  child->status = death->signal; /* as wait() has it for a process that a signal ended */
  child->reaped = true;
  assert_ok(opc_crash_describe(child, NULL, &limits, &crash, &error), error);
  assert_string_equal(opc_rule_name(crash.rule), death->rule);
  assert_string_equal(crash.provenance, death->provenance);
  if (strstr(opc_text_c(&crash.message), death->says) == NULL) fail_msg("%s", opc_text_c(&crash.message));
  assert_int_equal(every_input, json_is_true(json_object_get(crash.evidence, "every_input")));
  opc_crash_clear(&crash);
  opc_child_close(child);
}

static void describe(const death_t *death, const char *terminate) {
  describe_at(0x7fe7a9e01000, death, terminate, false);
}

static void test_signals(void **state) {
  (void)state;
  static const death_t deaths[] = {
      {{OPC_CALL_KIND_OPERATOR, ""},
       SIGSEGV,
       0,
       "signal.SIGSEGV",
       "declared/same_values",
       "at address 0x7fe7a9e01000, while the operator ran"},
      /* host code followed a pointer to a GPU's memory */
      {{OPC_CALL_KIND_OPERATOR, ""},
       SIGSEGV,
       1,
       "launch.host_access",
       "declared/same_values",
       "at address 0x7fe7a9e01000, which is memory of device 0"},
      {{OPC_CALL_KIND_OPERATOR, ""}, SIGBUS, 3, "launch.host_access", "declared/same_values", "memory of device 2"},
      {{OPC_CALL_KIND_OPERATOR, ""}, SIGABRT, 1, "signal.SIGABRT", "declared/same_values", "abort"}, /* no access at all
                                                                                                      */
      /* whose arguments it had */
      {{OPC_CALL_KIND_ON_COPIES, "FakeTensors"},
       SIGSEGV,
       0,
       "signal.SIGSEGV",
       "declared/same_values",
       "ran on FakeTensors"},
      {{OPC_CALL_KIND_ON_COPIES, "contiguous copies"},
       SIGSEGV,
       0,
       "signal.SIGSEGV",
       "declared/same_values",
       "ran on contiguous"},
      {{OPC_CALL_KIND_WITH_OTHERS, "other values"},
       SIGSEGV,
       0,
       "signal.SIGSEGV",
       "declared/alone",
       "with other values"},
      {{OPC_CALL_KIND_REFERENCE, ""},
       SIGSEGV,
       0,
       "reference.unusable",
       "declared/same_values",
       "while the reference ran"}};
  for (size_t i = 0; i < COUNT(deaths); i++) describe(&deaths[i], "");
}

/* A kernel's fault is thrown where a tensor is freed. Other errors of CUDA leave the context as it was. */
static void test_thrown_faults(void **state) {
  (void)state;
  static const death_t fault = {{OPC_CALL_KIND_OPERATOR, ""},
                                SIGABRT,
                                0,
                                "launch.asynchronous_error",
                                "declared/same_values",
                                "a fault in a kernel (cudaErrorLaunchFailure, 719); freeing a tensor then throws"};
  static const death_t other = {{OPC_CALL_KIND_OPERATOR, ""},
                                SIGABRT,
                                0,
                                "signal.SIGABRT",
                                "declared/same_values",
                                "std::terminate was called for: CUDA error: invalid argument"};
  describe(&fault, "CUDA error: unspecified launch failure\nSearch for `cudaErrorLaunchFailure' in the documentation");
  describe(&other, "CUDA error: invalid argument\nmore");
}

/* A Meta tensor's data is a null pointer whatever the arguments are. */
static void test_data_of_meta(void **state) {
  (void)state;
  static const death_t of_meta = {{OPC_CALL_KIND_META, ""}, SIGSEGV,        0, "signal.SIGSEGV",
                                  "declared/same_values",   "at address 0x"};
  static const death_t of_operator = {{OPC_CALL_KIND_OPERATOR, ""}, SIGSEGV,        0, "signal.SIGSEGV",
                                      "declared/same_values",       "at address 0x"};
  describe_at(8, &of_meta, "", true);
  describe_at(0x7fe7a9e01000, &of_meta, "", false);
  describe_at(8, &of_operator, "", false);
}

/* A stack ends where the harness called the operator, and has no frames of libtorch's boxing. */
static void test_frames_of_the_operator(void **state) {
  (void)state;
  static opc_frames_t frames = {.count = 5,
                                .frames = {{.module = "/lib/libopcheck-worker-2.11.so", .symbol = "malloc"},
                                           {.module = "/l.so", .symbol = "kernel()", .file = "k.cpp", .line = 3},
                                           {.module = "/l.so", .symbol = "c10::impl::wrap_kernel_functor_unboxed_<f>"},
                                           {.module = "/lib/libopcheck-worker-2.11.so", .symbol = "opc_op_call"},
                                           {.module = "/lib/libc.so.6", .symbol = "__libc_start_call_main"}}};
  json_auto_t *list = opc_frames_json(&frames);
  assert_int_equal(json_array_size(list), 2);
  assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "symbol")), "malloc");
  assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "line")), 3);
  frames.count = 1; /* nothing but the harness: then it is shown */
  json_auto_t *own = opc_frames_json(&frames);
  assert_int_equal(json_array_size(own), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals), cmocka_unit_test(test_thrown_faults),
                                     cmocka_unit_test(test_data_of_meta),
                                     cmocka_unit_test(test_frames_of_the_operator)};
  return cmocka_run_group_tests_name("crash_report", tests, NULL, NULL);
}
