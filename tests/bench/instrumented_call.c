/* What instrumented memory costs a call: aten::mul on small tensors, plain and guarded, and with its arguments
 * read-only. instrumented_call Prints JSON: microseconds a call, medians of many short rounds taken in turn. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bridge/api/bridge.h"
#include "checks/call/call.h"
#include "checks/framework/check.h"
#include "memory/cpu_memory.h"

enum { ROUNDS = 401, CALLS = 50 };
typedef enum arrangement { PLAIN = 0, GUARDED, READ_ONLY, ARRANGEMENTS } arrangement_t;

static double microseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare(const void *left, const void *right) {
  const double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* The arguments are made beforehand: it is the call that is measured. */
static double round_run(opc_call_t *call, opc_op_handle_t *handle, arrangement_t arrangement) {
  if (arrangement == PLAIN) opc_cpu_memory_plain();
  else opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  double began = microseconds_now();
  for (int i = 0; i < CALLS; i++) {
    if (arrangement == READ_ONLY) opc_call_protect(call, true);
    if (opc_call_run(call, handle, 0) != OPC_CALL_RETURNED) exit(1);
    if (arrangement == READ_ONLY) opc_call_protect(call, false);
  }
  return (microseconds_now() - began) / CALLS;
}

int main(void) {
  static const opc_cpu_allocator_t memory = {.allocate = opc_cpu_memory_allocate, .release = opc_cpu_memory_release};
  static double times[ARRANGEMENTS][ROUNDS];
  opc_error_t error = {0};
  opc_operator_t op = {0};
  opc_op_handle_t *handle = NULL;
  opc_sample_t sample = {0};
  opc_call_t calls[ARRANGEMENTS] = {0};
  opc_device_t cpu = {.type = OPC_DEVICE_CPU, .index = -1};
  char field[256];
  opc_bridge_set_allocator(&memory);
  opc_bridge_threads(1);
  json_t *json = json_loads(
      "{\"operator\": \"aten::mul.Tensor\", \"args\": [{\"tensor\": {\"shape\": [4, 8]}}, {\"tensor\": {\"shape\": [4, "
      "8]}}]}",
      0, NULL);
  opc_status_t status = opc_bridge_describe("aten::mul.Tensor", &op, &error);
  if (status == OPC_OK) status = opc_op_find("aten::mul.Tensor", &handle, &error);
  if (status == OPC_OK) status = opc_sample_from_json(json, &op, NULL, &sample, field, sizeof field, &error);
  for (int a = 0; status == OPC_OK && a < ARRANGEMENTS; a++) {
    if (a == PLAIN) opc_cpu_memory_plain();
    else opc_cpu_memory_guard(OPC_GUARD_BEHIND);
    const opc_call_options_t options = {.device = cpu, .to_protect = a == READ_ONLY};
    status = opc_call_make_with(&calls[a], &op, &sample, &options, &error);
  }
  if (status != OPC_OK) {
    fprintf(stderr, "instrumented_call: %s\n", error.message);
    return 1;
  }
  for (int i = 0; i < ROUNDS; i++)
    for (int a = 0; a < ARRANGEMENTS; a++) times[a][i] = round_run(&calls[a], handle, (arrangement_t)a);
  for (int a = 0; a < ARRANGEMENTS; a++) qsort(times[a], ROUNDS, sizeof times[a][0], compare);
  const double plain = times[PLAIN][ROUNDS / 2], guarded = times[GUARDED][ROUNDS / 2],
               read_only = times[READ_ONLY][ROUNDS / 2];
  printf("{\"plain\": %.3f, \"guarded\": %.3f, \"read_only\": %.3f, \"read_only_arguments\": 2}\n", plain, guarded,
         read_only);
  for (int a = 0; a < ARRANGEMENTS; a++) opc_call_clear(&calls[a]);
  opc_sample_clear(&sample);
  opc_op_free(handle);
  opc_operator_clear(&op);
  json_decref(json);
  return 0;
}
