/* The search for arguments of an operator that has no sample: one try after the other, a crash costs a child. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/text.h"
#include "supervise/jobs/search_rounds.h"
#include "supervise/jobs/task.h"

enum { TIMEOUTS_MAX = 5, LATER_TIMEOUTS_MAX = 2, WATCHED_CRASHES_MAX = 20 };
static const double try_seconds = 2;

static const struct {
  const char *name;
  opc_try_kind_t kind;
} outcomes[] = {{"returned", OPC_TRY_RETURNED},
                {"rejected", OPC_TRY_REJECTED},
                {"internal_assert", OPC_TRY_REJECTED},
                {"no_kernel", OPC_TRY_NO_KERNEL},
                {"fake_in_python", OPC_TRY_NO_KERNEL},
                {"out_of_memory", OPC_TRY_OUT_OF_MEMORY},
                {"foreign_exception", OPC_TRY_FOREIGN_EXCEPTION},
                {"unclean", OPC_TRY_UNCLEAN},
                {"uninitialised", OPC_TRY_UNINITIALISED},
                {"unconvertible", OPC_TRY_UNCONVERTIBLE}};

/* Each hang takes seconds; an operator that hung in an earlier round is given fewer. */
static bool has_hung(const opc_task_t *task) {
  return task->timeouts >= (opc_search_found(task->session, task->op)->rounds > 0 ? LATER_TIMEOUTS_MAX : TIMEOUTS_MAX);
}

/* Tries are counted and not timed; only an operator that takes seconds a try comes to this. */
static bool has_used_its_time(const opc_task_t *task) {
  return opc_clock() - task->search_began > task->session->options->operator_time / 2;
}

static double seconds(const opc_task_t *task) {
  double given = task->session->options->timeout, longest = try_seconds * opc_run_pace(task->session->options);
  return given < longest ? given : longest;
}

static void count_child(opc_task_t *task) {
  task->search_cpu += task->child_cpu;
  task->child_cpu = 0;
}

/* Adds what this round did to what the rounds before did. */
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
  count_child(task);
  const double spent[] = {task->search_cpu, opc_clock() - task->search_began};
  json_t *made = opc_search_to_json(task->search),
         *before = found->record != NULL ? json_loads(found->record, 0, NULL) : NULL;
  if (made == NULL || (found->record != NULL && before == NULL)) {
    json_decref(made);
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
  }
  for (size_t i = 0; i < 2; i++)
    json_object_set_new(made, seconds[i], json_real(spent[i] + json_number_value(json_object_get(before, seconds[i]))));
  json_object_set_new(made, "rounds", json_integer(found->rounds));
  json_object_set_new(made, "state", json_string(state));
  add_record(made, before);
  free(found->record);
  found->record = json_dumps(made, JSON_COMPACT);
  found->tries = (int)json_integer_value(json_object_get(made, "tries"));
  json_decref(before);
  json_decref(made);
  return found->record != NULL ? OPC_OK : opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
}

/* Samples that a fresh child did not accept are dropped; so are those that came to something else there, unless all
 * did: then that is how the operator is. */
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
    if (task->samples.samples[i].varied) { /* no other arguments: nothing that would help another operator */
      for (size_t k = 0; k < count; k++) opc_value_clear(&outputs[k]);
      free(outputs);
      continue;
    }
    status = opc_search_library_add(task->session->library, task->op, round, &task->samples.samples[i], outputs, count,
                                    error);
  }
  return status;
}

/* In front of the others: what crashes on those would be given up before it is told. */
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
  const char *given_up = has_hung(task)            ? "; given up, for too many timeouts"
                         : has_used_its_time(task) ? "; given up, for it took too long (--operator-time)"
                                                   : "";
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
  free(found->detail);
  found->detail = opc_string_format("%s%s%s%s%s", impossible ? opc_search_state_name(OPC_SEARCH_IMPOSSIBLE) : "",
                                    impossible ? ": " : "", opc_search_detail(task->search), given_up,
                                    unstable ? "; a fresh process does not accept them again" : "");
  /* What came of bad arguments is a finding only where no round finds better ones. */
  opc_sample_set_clear(&found->samples);
  found->samples = task->samples;
  task->samples = (opc_sample_set_t){0};
  found->clean = clean && !unstable;
  const bool on_cpu = strcmp(opc_search_device(task->session, task->op), OPC_MODE_CPU) == 0;
  found->wants_cuda |= !found->clean && opc_search_wants_cuda(task->search);
  const bool goes_on = on_cpu && strcmp(opc_search_device(task->session, task->op), OPC_MODE_CPU) != 0; /* elsewhere */
  found->over = found->clean || (impossible && !goes_on);
  opc_search_free(task->search);
  task->search = NULL;
  opc_task_enter(task, NULL);
  return OPC_OK;
}

/* What was found is tried once more in a fresh child. */
static opc_status_t finish(opc_task_t *task, opc_error_t *error) {
  opc_status_t status = opc_search_samples(task->search, &task->samples, task->digests, error);
  if (status != OPC_OK) return status;
  if (!opc_search_is_clean(task->search)) return opc_task_search_over(task, error);
  count_child(task);
  opc_task_enter(task, &opc_phase_search_confirm);
  return OPC_OK;
}

static opc_status_t next_try(opc_task_t *task, json_t **out, opc_error_t *error) {
  if (task->search == NULL) {
    /* Each operator has its own stream: what one finds does not depend on which others were selected. */
    uint64_t seed = task->session->options->seed ^ XXH64(task->op->name, strlen(task->op->name), 0);
    const opc_searched_t *found = opc_search_found(task->session, task->op);
    opc_search_options_t options = {.seed = seed,
                                    .budget = opc_search_round_budget(found->rounds + 1),
                                    .library = task->session->library,
                                    .round = found->rounds + 1,
                                    .earlier = found->tries,
                                    .recipe = opc_recipe_find(&task->session->recipes, task->op->name)};
    opc_status_t status = opc_search_new(task->op, &options, &task->search, error);
    if (status != OPC_OK) return status;
    task->search_began = opc_clock();
    task->session->current = task->op->name;
  }
  if (!task->attempting) {
    memset(&task->attempt, 0, sizeof task->attempt);
    /* Under Valgrind a new child takes half a second. */
    bool tired = has_hung(task) || has_used_its_time(task) ||
                 (task->session->memcheck != NULL && task->crashes >= WATCHED_CRASHES_MAX);
    if (tired || !opc_search_next(task->search, &task->attempt)) {
      opc_sample_clear(&task->attempt);
      return finish(task, error);
    }
    task->attempting = true;
  }
  *out = json_pack("{s:s, s:s, s:s, s:o, s:I}", "t", "try", "operator", task->op->name, "device",
                   opc_search_device(task->session, task->op), "sample", opc_sample_to_json(&task->attempt, task->op),
                   "seed", (json_int_t)task->session->options->seed);
  return *out != NULL ? OPC_OK : opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
}

static opc_status_t command(opc_task_t *task, json_t **out, opc_error_t *error) {
  double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  opc_status_t status = next_try(task, out, error);
  task->search_cpu += opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began;
  return status;
}

static void tell(opc_task_t *task, const opc_try_outcome_t *outcome) {
  if (!task->attempting) return; /* an answer to nothing: a hostile child */
  double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  opc_search_tell(task->search, outcome);
  task->search_cpu += opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began;
  opc_sample_clear(&task->attempt);
  task->attempting = false;
}

typedef struct widest {
  const char *path;
  int64_t numel;
} widest_t;

static void see_tensor(const char *path, opc_value_t *tensor, void *context) {
  widest_t *widest = context;
  int64_t numel = tensor->tensor != NULL ? opc_tensor_spec_numel(tensor->tensor) : 0;
  if (strcmp(path, widest->path) == 0 && numel > widest->numel) widest->numel = numel;
}

/* Elements of the largest tensor that was returned or changed. */
static int64_t largest(opc_task_t *task, const json_t *message) {
  widest_t widest = {0};
  size_t i, j;
  json_t *item, *size;
  json_array_foreach(json_object_get(message, "returns"), i, item) {
    if (!json_is_object(item)) continue;
    int64_t numel = 1;
    json_array_foreach(json_object_get(item, "shape"), j, size) {
      if (__builtin_mul_overflow(numel, (int64_t)json_integer_value(size), &numel)) numel = INT64_MAX;
    }
    if (numel > widest.numel) widest.numel = numel;
  }
  json_array_foreach(json_object_get(message, "mutated"), i, item) {
    widest.path = json_string_value(item);
    for (size_t k = 0; widest.path != NULL && k < task->attempt.argument_count && k < task->op->argument_count; k++) {
      opc_value_visit_tensors(task->op->arguments[k].name, &task->attempt.arguments[k], see_tensor, &widest);
    }
  }
  return widest.numel;
}

static opc_status_t message(opc_task_t *task, json_t *message, opc_error_t *error) {
  const char *type = json_string_value(json_object_get(message, "t")),
             *name = json_string_value(json_object_get(message, "outcome"));
  opc_try_outcome_t outcome = {.kind = OPC_TRY_UNCONVERTIBLE,
                               .message = json_string_value(json_object_get(message, "message"))};
  char *overrun = NULL;
  if (outcome.message == NULL) outcome.message = "";
  if (type != NULL && strcmp(type, "tried") == 0 && name != NULL) {
    for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
      if (strcmp(outcomes[i].name, name) == 0) outcome.kind = outcomes[i].kind;
    }
    task->child_cpu = json_number_value(json_object_get(message, "cpu_seconds"));
    if (json_object_get(message, "access") != NULL)
      outcome.overrun = overrun = json_dumps(json_object_get(message, "access"), JSON_COMPACT | JSON_SORT_KEYS);
    outcome.site = json_string_value(json_object_get(message, "site"));
    if (json_is_true(json_object_get(message, "steady"))) outcome.digest = opc_search_digest_of(message);
    outcome.effect = json_is_true(json_object_get(message, "effect"));
    outcome.depends_on_values = json_is_true(json_object_get(message, "depends_on_values"));
    if (task->attempting) outcome.output_numel = largest(task, message);
  } else if (type == NULL || strcmp(type, "refused") != 0) {
    return OPC_OK; /* neither: not an answer */
  }
  tell(task, &outcome);
  free(overrun);
  return opc_task_send(task, error);
}

static opc_status_t crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  (void)case_id;
  (void)error;
  opc_try_outcome_t outcome = {.kind = OPC_TRY_CRASHED,
                               .message = opc_text_c(&crash->message),
                               .said = opc_text_c(&crash->said),
                               .site = crash->place};
  task->crashes++;
  count_child(task);
  if (strcmp(crash->rule, "timeout") == 0) {
    outcome.kind = OPC_TRY_TIMEOUT;
    task->timeouts++;
  } else if (strcmp(crash->rule, "memory") == 0) {
    outcome.kind = OPC_TRY_OUT_OF_MEMORY;
  } else if (crash->unwatchable) {
    outcome.kind = OPC_TRY_REJECTED;
  }
  tell(task, &outcome);
  return OPC_OK; /* the task wants a child again, and is asked for its next command then */
}

const opc_phase_t opc_phase_search = {.command = command, .message = message, .crash = crash, .seconds = seconds};
