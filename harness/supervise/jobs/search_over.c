#include "supervise/jobs/searching.h"
#include "supervise/jobs/turns.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { TIMEOUTS_MAX = 3, LATER_TIMEOUTS_MAX = 1 };

static void clear_outputs(opc_retried_t *retried) {
  for (size_t i = 0; i < retried->output_count; i++) opc_value_clear(&retried->outputs[i]);
  free(retried->outputs);
  *retried = (opc_retried_t){0};
}

opc_status_t opc_searching_begin(opc_task_t *task, opc_error_t *error) {
  opc_searching_t *searching = task->searching = calloc(1, sizeof *searching);
  if (!searching) return opc_out_of_memory(error);
  searching->beside = task->samples.count > 0;
  /* Each operator has its own stream, so its findings do not depend on the selection of other operators. */
  const uint64_t pass = searching->beside ? (uint64_t)task->beside_passes : task->session->search_pass;
  const uint64_t seed = (task->session->options->seed + pass) ^ XXH64(task->op->name, strlen(task->op->name), 0);
  const opc_searched_t *found = opc_search_found(task->session, task->op);
  opc_search_options_t options = {.seed = seed, .without = task->session->without, .round = 1, .pass = pass};
  if (searching->beside) {
    options.known = &task->samples;
    options.kinds_only = !opc_task_is_vouched_for(task);
  } else {
    options.budget = opc_search_round_budget(found->rounds + 1);
    options.library = task->session->library;
    options.round = found->rounds + 1;
    options.earlier = found->tries - found->earlier_tries;
    options.recipe = opc_recipe_find(&task->session->recipes, task->op->name);
  }
  searching->began = opc_clock();
  return opc_search_new(task->op, &options, &searching->search, error);
}

void opc_searching_forget(opc_task_t *task) {
  opc_searching_t *searching = task->searching;
  task->searching = NULL;
  if (!searching) return;
  opc_search_free(searching->search);
  if (searching->has_try) opc_sample_clear(&searching->trying);
  for (size_t i = 0; i < OPC_SEARCH_SAMPLES_MAX; i++) clear_outputs(&searching->retried[i]);
  opc_sample_set_clear(&searching->samples);
  free(searching);
}

bool opc_searching_has_hung(const opc_task_t *task) {
  const bool later = task->searching->beside || opc_search_found(task->session, task->op)->rounds > 0;
  return task->searching->timeouts >= (later ? LATER_TIMEOUTS_MAX : TIMEOUTS_MAX);
}

bool opc_searching_has_used_its_time(const opc_task_t *task) {
  const opc_searching_t *searching = task->searching;
  const double most = task->session->options->operator_time / 2, turn = opc_turn_seconds(task, searching->began, most);
  /* Cases come after a search beside samples. */
  return opc_clock() - searching->began > (turn < most && searching->beside ? turn / 2 : turn);
}

void opc_searching_count_child(opc_searching_t *searching) {
  searching->cpu += searching->child_cpu;
  searching->child_cpu = 0;
}

/* Adds this round's record to that of the earlier rounds. */
static void add_record(json_t *record, const json_t *before) {
  static const char *const sums[] = {"tries", "crashes", "timeouts", "out_of_memory", "foreign_exceptions"};
  json_t *families = json_object_get(record, "families"), *counts;
  const char *family;
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
    json_int_t sum =
        json_integer_value(json_object_get(record, sums[i])) + json_integer_value(json_object_get(before, sums[i]));
    json_object_set_new(record, sums[i], json_integer(sum));
  }
  json_object_foreach(json_object_get(before, "families"), family, counts) {
    json_t *own = json_object_get(families, family);
    if (!own) json_object_set(families, family, counts);
    for (size_t i = 0; own && i < json_array_size(own); i++)
      json_array_set_new(
          own, i,
          json_integer(json_integer_value(json_array_get(own, i)) + json_integer_value(json_array_get(counts, i))));
  }
}

static void add_seconds(json_t *record, const json_t *before, const opc_searching_t *searching) {
  static const char *const names[] = {"cpu_seconds", "seconds"};
  const double spent[] = {searching->cpu, opc_clock() - searching->began};
  for (size_t i = 0; i < 2; i++)
    json_object_set_new(record, names[i], json_real(spent[i] + json_number_value(json_object_get(before, names[i]))));
}

static opc_status_t record(opc_task_t *task, opc_searched_t *found, const char *state, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  opc_searching_count_child(searching);
  json_auto_t *made = opc_search_to_json(searching->search);
  json_auto_t *before = found->record ? json_loads(found->record, 0, NULL) : NULL;
  if (!made || (found->record && !before)) return opc_out_of_memory(error);
  add_seconds(made, before, searching);
  json_object_set_new(made, "rounds", json_integer(found->rounds));
  json_object_set_new(made, "state", json_string(state));
  add_record(made, before);
  free(found->record);
  found->record = json_dumps(made, JSON_COMPACT);
  found->tries = (int)json_integer_value(json_object_get(made, "tries"));
  return found->record ? OPC_OK : opc_out_of_memory(error);
}

/* Drops samples that a fresh child did not accept. Also drops samples with another outcome there, unless all have one:
 * then the operator itself varies. */
static void drop_lost(opc_searching_t *searching) {
  opc_retried_t *retried = searching->retried;
  const size_t count = searching->samples.count;
  size_t kept = 0;
  bool steady = false;
  for (size_t i = 0; i < count; i++) steady |= !retried[i].lost && !retried[i].changed;
  for (size_t i = 0; i < count; i++) {
    opc_sample_t *sample = &searching->samples.samples[i];
    if (retried[i].lost || (retried[i].changed && steady)) {
      opc_sample_clear(sample);
      clear_outputs(&retried[i]);
      continue;
    }
    if (kept != i) {
      searching->samples.samples[kept] = *sample;
      *sample = (opc_sample_t){0};
      retried[kept] = retried[i];
      retried[i] = (opc_retried_t){0};
    }
    kept++;
  }
  searching->samples.count = kept;
}

static opc_status_t add_to_library(opc_task_t *task, int round, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  for (size_t i = 0; i < searching->samples.count; i++) {
    opc_retried_t *retried = &searching->retried[i];
    const opc_sample_t *sample = &searching->samples.samples[i];
    if (sample->varied) continue; /* no other arguments: it would not help another operator */
    OPC_RETURN_IF_ERROR(opc_search_library_add(task->session->library, task->op, round, sample, retried->outputs,
                                               retried->output_count, error));
    *retried = (opc_retried_t){0}; /* the library has taken the outputs */
  }
  return OPC_OK;
}

/* Puts the unchecked samples in front of the others. An operator that crashes on the others would be given up before
 * the unchecked samples are reported. */
static opc_status_t put_unchecked_first(opc_searching_t *searching, opc_error_t *error) {
  OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t set = {0};
  OPC_RETURN_IF_ERROR(opc_search_unchecked(searching->search, &set, error));
  for (size_t i = 0; i < searching->samples.count; i++)
    OPC_RETURN_IF_ERROR(opc_sample_set_add(&set, &searching->samples.samples[i], error));
  opc_sample_set_clear(&searching->samples);
  OPC_MOVE(&searching->samples, set);
  return OPC_OK;
}

/* The task has some more samples. Goes on with another seed, or with its cases. */
static opc_status_t end_beside(opc_task_t *task, const opc_phase_t *phase, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  drop_lost(searching);
  opc_searching_count_child(searching);
  json_auto_t *before = task->beside;
  json_t *made = task->beside = opc_search_to_json(searching->search);
  add_seconds(made, before, searching);
  add_record(made, before);
  json_object_set_new(
      made, "samples",
      json_integer((json_int_t)searching->samples.count + json_integer_value(json_object_get(before, "samples"))));
  for (size_t i = 0; i < searching->samples.count; i++)
    OPC_RETURN_IF_ERROR(opc_task_add_found(task, &searching->samples.samples[i], error));
  const bool again = ++task->beside_passes < task->session->options->seeds && opc_search_is_clean(searching->search);
  if (!again) return opc_cases_begin(task, error);
  opc_searching_forget(task);
  opc_task_enter(task, phase);
  return OPC_OK;
}

opc_status_t opc_searching_end(opc_task_t *task, const opc_phase_t *again, opc_error_t *error) {
  opc_searching_t *searching = task->searching;
  if (searching->beside) return end_beside(task, again, error);
  const opc_search_t *search = searching->search;
  opc_searched_t *found = opc_search_found(task->session, task->op);
  opc_search_state_t state = opc_search_state(search);
  bool clean = opc_search_is_clean(search);
  const char *given_up = "";
  if (opc_searching_has_hung(task) && opc_operator_is_python(task->op))
    given_up =
        "; stopped after too many timeouts: if the operator compiles at its first call, give a longer --timeout, "
        "or, if what it builds is kept, call it once before this run";
  else if (opc_searching_has_hung(task)) given_up = "; stopped after too many timeouts";
  else if (opc_searching_has_used_its_time(task) && task->session->turns)
    given_up = "; stopped because the time of the run was too short (--budget)";
  else if (opc_searching_has_used_its_time(task)) given_up = "; stopped because it took too long (--operator-time)";
  const size_t before = searching->samples.count;
  if (clean) drop_lost(searching);
  bool unstable = before > 0 && searching->samples.count == 0;
  found->rounds++;
  if (unstable) state = OPC_SEARCH_UNSTABLE;
  OPC_RETURN_IF_ERROR(record(task, found, opc_search_state_name(state), error));
  if (clean) OPC_RETURN_IF_ERROR(add_to_library(task, found->rounds, error));
  OPC_RETURN_IF_ERROR(put_unchecked_first(searching, error));
  bool impossible = state == OPC_SEARCH_IMPOSSIBLE;
  found->lacks_kernel = opc_search_lacks_kernel(search);
  free(found->detail);
  found->detail = opc_string_format("%s%s%s%s%s", impossible ? opc_search_state_name(OPC_SEARCH_IMPOSSIBLE) : "",
                                    impossible ? ": " : "", opc_search_detail(search), given_up,
                                    unstable ? "; a fresh process does not accept them again" : "");
  /* Results from bad arguments are a finding only if no round finds better arguments. */
  opc_sample_set_clear(&found->samples);
  found->samples = searching->samples;
  searching->samples = (opc_sample_set_t){0};
  found->clean = clean && !unstable;
  found->cut = !found->clean && task->session->turns && opc_searching_has_used_its_time(task);
  const bool on_cpu = strcmp(opc_search_device(task->session, task->op), OPC_MODE_CPU) == 0;
  found->wants_cuda |= !found->clean && opc_search_wants_cuda(search);
  /* Another device: the next round searches there. */
  const bool goes_on = on_cpu && strcmp(opc_search_device(task->session, task->op), OPC_MODE_CPU) != 0;
  found->over = found->clean || (impossible && !goes_on);
  opc_task_enter(task, NULL);
  return OPC_OK;
}
