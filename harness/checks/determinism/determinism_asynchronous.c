#include "checks/determinism/determinism.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEP_NS = 1000 * 1000, STEPS = 100 };

bool opc_threads_are_one(void) {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3; /* the directory itself, its parent, one task */
}

static opc_status_t threads_read(DIR *folder, opc_threads_t *out, opc_error_t *error) {
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    if (!OPC_ARRAY_GROW(out->ids, out->count)) return opc_out_of_memory(error);
    out->ids[out->count++] = (pid_t)strtol(entry->d_name, NULL, 10);
  }
  return OPC_OK;
}

opc_status_t opc_threads_list(opc_threads_t *out, opc_error_t *error) {
  DIR *folder = opc_threads_are_one() ? NULL : opendir("/proc/self/task");
  *out = (opc_threads_t){0};
  if (!folder) return OPC_OK;
  const opc_status_t status = threads_read(folder, out, error);
  closedir(folder);
  return status;
}

void opc_threads_clear(opc_threads_t *threads) {
  free(threads->ids);
  *threads = (opc_threads_t){0};
}

/* An empty list means only one thread, which is also in every other list. */
static size_t count_new(const opc_threads_t *before, const opc_threads_t *now) {
  size_t count = 0;
  for (size_t i = 0; i < now->count; i++) {
    bool known = now->ids[i] == getpid();
    for (size_t k = 0; k < before->count && !known; k++) known = before->ids[k] == now->ids[i];
    count += !known;
  }
  return count;
}

/* Waits until the new threads have ended; false: some are left. If there are none, other threads get the full time. */
static opc_status_t wait_for_threads(const opc_threads_t *before, size_t new_ones, bool *out_ended,
                                     opc_error_t *error) {
  const struct timespec step = {.tv_nsec = STEP_NS};
  *out_ended = false;
  for (size_t steps = 0; !*out_ended && steps < STEPS; steps++) {
    OPC_SCOPED(opc_threads_clear) opc_threads_t now = {0};
    (void)nanosleep(&step, NULL);
    if (!new_ones) continue;
    OPC_RETURN_IF_ERROR(opc_threads_list(&now, error));
    *out_ended = count_new(before, &now) == 0;
  }
  return OPC_OK;
}

static bool found;

bool opc_asynchronous_found(void) { return found; }

opc_status_t opc_asynchronous_check(const opc_call_t *call, const opc_threads_t *before, opc_result_t *result,
                                    opc_finding_t *finding, opc_error_t *error) {
  static bool waited; /* a thread pool behaves alike for each call: waiting once is enough */
  OPC_SCOPED(opc_threads_clear) opc_threads_t now = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_result_t later;
  bool ended = false;
  OPC_RETURN_IF_ERROR(opc_threads_list(&now, error));
  const size_t new_ones = count_new(before, &now);
  if (!now.count || (!new_ones && waited)) return OPC_OK;
  OPC_RETURN_IF_ERROR(wait_for_threads(before, new_ones, &ended, error));
  if (!ended) waited = true;
  OPC_RETURN_IF_ERROR(opc_result_take(&later, call, OPC_RESULT_ARGUMENTS, error));
  opc_difference_t difference = opc_result_compare(result, &later, NULL, NULL);
  if (difference.kind != OPC_DIFFERENCE_NONE) {
    opc_difference_text(&difference, result, &later, "a little later it", &text);
    found = true;
    opc_finding_fail(finding, OPC_RULE_determinism_late_write,
                     "right after the call %s; threads that the operator had started were still running",
                     opc_text_c(&text));
  }
  opc_result_clear(result);
  *result = later;
  return OPC_OK;
}
