#include "checks/determinism/determinism_asynchronous.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEP_NS = 1000 * 1000, STEPS = 100 };

static bool is_alone(void) {
  struct stat tasks;
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3; /* the directory itself, its parent, one task */
}

opc_status_t opc_threads_list(opc_threads_t *out, opc_error_t *error) {
  DIR *folder = NULL;
  opc_status_t status = OPC_OK;
  *out = (opc_threads_t){0};
  if (!is_alone()) folder = opendir("/proc/self/task");
  for (const struct dirent *entry = NULL; folder && status == OPC_OK && (entry = readdir(folder));) {
    if (entry->d_name[0] == '.') continue;
    if (!OPC_ARRAY_GROW(out->ids, out->count)) status = opc_out_of_memory(error);
    else out->ids[out->count++] = (pid_t)strtol(entry->d_name, NULL, 10);
  }
  if (folder) closedir(folder);
  if (status != OPC_OK) opc_threads_clear(out);
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
  opc_status_t status = OPC_OK;
  *out_ended = false;
  for (size_t steps = 0; status == OPC_OK && !*out_ended && steps < STEPS; steps++) {
    OPC_SCOPED(opc_threads_clear) opc_threads_t now = {0};
    (void)nanosleep(&step, NULL);
    if (new_ones) status = opc_threads_list(&now, error);
    *out_ended = new_ones && status == OPC_OK && count_new(before, &now) == 0;
  }
  return status;
}

static bool found;

bool opc_asynchronous_found(void) { return found; }

opc_status_t opc_asynchronous_check(const opc_call_t *call, const opc_threads_t *before, opc_result_t *result,
                                    opc_finding_t *finding, opc_error_t *error) {
  static bool waited; /* a thread pool behaves alike for each call: waiting once is enough */
  opc_threads_t now = {0};
  opc_result_t later = {0};
  opc_text_t text = {0};
  bool ended = false;
  opc_status_t status = opc_threads_list(&now, error);
  size_t new_ones = count_new(before, &now);
  if (status != OPC_OK || !now.count || (!new_ones && waited)) goto release;
  status = wait_for_threads(before, new_ones, &ended, error);
  if (!ended) waited = true;
  if (status == OPC_OK) status = opc_result_take(&later, call, OPC_RESULT_ARGUMENTS, error);
  if (status != OPC_OK) goto release;
  opc_difference_t difference = opc_result_compare(result, &later, NULL, NULL);
  if (difference.kind != OPC_DIFFERENCE_NONE) {
    opc_difference_text(&difference, result, &later, "a little later it", &text);
    found = true;
    opc_finding_fail(finding, "determinism.late_write",
                     "right after the call %s; threads that the operator had started were still running",
                     opc_text_c(&text));
  }
  opc_result_clear(result);
  *result = later;

release:
  opc_text_clear(&text);
  opc_threads_clear(&now);
  return status;
}
