#include "supervise/jobs/search_over.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "supervise/jobs/searched.h"

enum { TIMEOUTS_MAX = 3, LATER_TIMEOUTS_MAX = 1 };

bool opc_task_search_has_hung(const opc_task_t *task) {
  return task->timeouts >= (opc_search_found(task->session, task->op)->rounds > 0 ? LATER_TIMEOUTS_MAX : TIMEOUTS_MAX);
}

bool opc_task_search_has_used_its_time(const opc_task_t *task) {
  return opc_clock() - task->search_began > task->session->options->operator_time / 2;
}

void opc_task_search_count_child(opc_task_t *task) {
  task->search_cpu += task->child_cpu;
  task->child_cpu = 0;
}

/* Adds this round's record to that of the earlier rounds. */
static void add_record(json_t *record, const json_t *before) {
  static const char *const sums[] = {"tries", "crashes", "timeouts"};
  json_t *families = json_object_get(record, "families"), *counts;
  const char *family;
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
    json_int_t sum =
        json_integer_value(json_object_get(record, sums[i])) + json_integer_value(json_object_get(before, sums[i]));
    json_object_set_new(record, sums[i], json_integer(sum));
  }
  json_object_foreach(json_object_get(before, "families"), family, counts) {
    json_t *own = json_object_get(families, family);
    if (own == NULL) json_object_set(families, family, counts);
    for (size_t i = 0; own != NULL && i < json_array_size(own); i++)
      json_array_set_new(
          own, i,
          json_integer(json_integer_value(json_array_get(own, i)) + json_integer_value(json_array_get(counts, i))));
  }
}

static opc_status_t record(opc_task_t *task, opc_searched_t *found, const char *state, opc_error_t *error) {
  static const char *const seconds[] = {"cpu_seconds", "seconds"};
  opc_task_search_count_child(task);
  const double spent[] = {task->search_cpu, opc_clock() - task->search_began};
  json_t *made = opc_search_to_json(task->search),
         *before = found->record != NULL ? json_loads(found->record, 0, NULL) : NULL;
  if (made == NULL || (found->record != NULL && before == NULL)) {
    json_decref(made);
    return opc_out_of_memory(error);
  }
  for (size_t i = 0; i < 2; i++)
    json_object_set_new(made, seconds[i], json_real(spent[i] + json_number_value(json_object_get(before, seconds[i]))));
  json_object_set_new(made, "rounds", json_integer(found->rounds));
  json_object_set_new(made, "state", json_string(state));
  add_record(made, before);
  free(found->record);
  found->record = json_dumps(made, JSON_COMPACT);
  found->tries = (int)json_integer_value(json_object_get(made, "tries"));
  json_decref(made);
  return found->record != NULL ? OPC_OK : opc_out_of_memory(error);
}

/* Drops samples that a fresh child did not accept. Also drops samples with another outcome there, unless all have one:
 * then the operator itself varies. */
static void drop_lost(opc_task_t *task, size_t *out_changed) {
  size_t count = task->samples.count, kept = 0, changed = 0;
  for (size_t i = 0; i < count; i++) changed += !task->lost[i] && task->changed[i];
  bool steady = false;
  for (size_t i = 0; i < count; i++) steady |= !task->lost[i] && !task->changed[i];
  *out_changed = changed;
  for (size_t i = 0; i < count; i++) {
    opc_sample_t *sample = &task->samples.samples[i];
    if (task->lost[i] || (task->changed[i] && steady)) {
      opc_sample_clear(sample);
      continue;
    }
    if (kept != i) {
      task->samples.samples[kept] = *sample;
      *sample = (opc_sample_t){0};
      opc_value_t *tensors = task->produced[kept];
      size_t tensor_count = task->produced_count[kept];
      task->produced[kept] = task->produced[i];
      task->produced_count[kept] = task->produced_count[i];
      task->produced[i] = tensors;
      task->produced_count[i] = tensor_count;
    }
    kept++;
  }
  task->samples.count = kept;
}

static opc_status_t add_to_library(opc_task_t *task, int round, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  for (size_t i = 0; i < task->samples.count && status == OPC_OK; i++) {
    opc_value_t *outputs = task->produced[i];
    size_t count = task->produced_count[i];
    task->produced[i] = NULL;
    task->produced_count[i] = 0;
    if (task->samples.samples[i].varied) { /* no other arguments: it would not help another operator */
      for (size_t k = 0; k < count; k++) opc_value_clear(&outputs[k]);
      free(outputs);
      continue;
    }
    status = opc_search_library_add(task->session->library, task->op, round, &task->samples.samples[i], outputs, count,
                                    error);
  }
  return status;
}

/* Puts the unchecked samples in front of the others. An operator that crashes on the others would be given up before
 * the unchecked samples are reported. */
static opc_status_t put_unchecked_first(opc_task_t *task, opc_error_t *error) {
  opc_sample_set_t set = {0};
  opc_status_t status = opc_search_unchecked(task->search, &set, error);
  for (size_t i = 0; i < task->samples.count && status == OPC_OK; i++)
    status = opc_sample_set_add(&set, &task->samples.samples[i], error);
  opc_sample_set_clear(&task->samples);
  task->samples = set;
  return status;
}

opc_status_t opc_task_search_over(opc_task_t *task, opc_error_t *error) {
  opc_searched_t *found = opc_search_found(task->session, task->op);
  opc_search_state_t state = opc_search_state(task->search);
  bool clean = opc_search_is_clean(task->search);
  const char *given_up = "";
  if (opc_task_search_has_hung(task) && opc_operator_is_python(task->op))
    given_up =
        "; stopped after too many timeouts: if the operator compiles at its first call, give a longer --timeout, "
        "or, if what it builds is kept, call it once before this run";
  else if (opc_task_search_has_hung(task)) given_up = "; stopped after too many timeouts";
  else if (opc_task_search_has_used_its_time(task)) given_up = "; stopped because it took too long (--operator-time)";
  size_t before = task->samples.count, changed = 0;
  if (clean) drop_lost(task, &changed);
  bool unstable = before > 0 && task->samples.count == 0;
  found->rounds++;
  if (unstable) state = OPC_SEARCH_UNSTABLE;
  opc_status_t status = record(task, found, opc_search_state_name(state), error);
  if (status == OPC_OK && clean) status = add_to_library(task, found->rounds, error);
  if (status == OPC_OK) status = put_unchecked_first(task, error);
  if (status != OPC_OK) return status;
  bool impossible = state == OPC_SEARCH_IMPOSSIBLE;
  found->lacks_kernel = opc_search_lacks_kernel(task->search);
  free(found->detail);
  found->detail = opc_string_format("%s%s%s%s%s", impossible ? opc_search_state_name(OPC_SEARCH_IMPOSSIBLE) : "",
                                    impossible ? ": " : "", opc_search_detail(task->search), given_up,
                                    unstable ? "; a fresh process does not accept them again" : "");
  /* Results from bad arguments are a finding only if no round finds better arguments. */
  opc_sample_set_clear(&found->samples);
  found->samples = task->samples;
  task->samples = (opc_sample_set_t){0};
  found->clean = clean && !unstable;
  const bool on_cpu = strcmp(opc_search_device(task->session, task->op), OPC_MODE_CPU) == 0;
  found->wants_cuda |= !found->clean && opc_search_wants_cuda(task->search);
  /* Another device: the next round searches there. */
  const bool goes_on = on_cpu && strcmp(opc_search_device(task->session, task->op), OPC_MODE_CPU) != 0;
  found->over = found->clean || (impossible && !goes_on);
  opc_search_free(task->search);
  task->search = NULL;
  opc_task_enter(task, NULL);
  return OPC_OK;
}

uint64_t opc_search_digest_of(const json_t *message) {
  const char *digest = json_string_value(json_object_get(message, "digest"));
  return digest != NULL ? strtoull(digest, NULL, 16) : 0;
}
