/* Searches arguments for an operator that has no sample. It makes one try after the other; a crash costs a child. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/clock.h"
#include "base/text.h"
#include "supervise/jobs/search_over.h"
#include "supervise/jobs/searched.h"
#include "supervise/jobs/task_phases.h"

enum { WATCHED_CRASHES_MAX = 20 };

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

/* Found samples are tried once more in a fresh child. */
static opc_status_t finish(opc_task_t *task, opc_error_t *error) {
  opc_status_t status = opc_search_samples(task->search, &task->samples, task->digests, error);
  if (status != OPC_OK) return status;
  if (!opc_search_is_clean(task->search)) return opc_task_search_over(task, error);
  opc_task_search_count_child(task);
  opc_task_enter(task, &opc_phase_search_confirm);
  return OPC_OK;
}

static opc_status_t next_try(opc_task_t *task, json_t **out, opc_error_t *error) {
  if (task->search == NULL) {
    /* Each operator has its own stream, so its findings do not depend on the selection of other operators. */
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
    bool tired = opc_task_search_has_hung(task) || opc_task_search_has_used_its_time(task) ||
                 (task->session->memcheck != NULL && task->crashes >= WATCHED_CRASHES_MAX);
    if (tired || !opc_search_next(task->search, &task->attempt)) {
      opc_sample_clear(&task->attempt);
      return finish(task, error);
    }
    task->attempting = true;
  }
  *out = json_pack("{s:s, s:s, s:s, s:o, s:I, s:b}", "t", "try", "operator", task->op->name, "device",
                   opc_search_device(task->session, task->op), "sample", opc_sample_to_json(&task->attempt, task->op),
                   "seed", (json_int_t)task->session->options->seed, "without_meta", task->without_meta);
  return *out != NULL ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t command(opc_task_t *task, json_t **out, opc_error_t *error) {
  double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  opc_status_t status = next_try(task, out, error);
  task->search_cpu += opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began;
  return status;
}

static void tell(opc_task_t *task, const opc_try_outcome_t *outcome) {
  if (!task->attempting) return; /* an answer without a try: a hostile child */
  double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  opc_search_report(task->search, outcome);
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
  OPC_SCOPED(opc_scope_free) char *overrun = NULL;
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
    outcome.refused_on_meta = json_string_value(json_object_get(message, "refused_on_meta"));
    outcome.effect = json_is_true(json_object_get(message, "effect"));
    outcome.depends_on_values = json_is_true(json_object_get(message, "depends_on_values"));
    if (task->attempting) outcome.output_numel = largest(task, message);
  } else if (type == NULL || strcmp(type, "refused") != 0) {
    return OPC_OK; /* neither: not an answer */
  }
  tell(task, &outcome);
  return opc_task_send(task, error);
}

static opc_status_t crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash, opc_error_t *error) {
  (void)case_id;
  (void)error;
  opc_try_outcome_t outcome = {.kind = OPC_TRY_CRASHED,
                               .message = opc_text_c(&crash->message),
                               .said = opc_text_c(&crash->said),
                               .site = crash->place};
  opc_task_search_count_child(task);
  if (crash->asked_meta && !task->without_meta) { /* the same arguments are tried again */
    task->without_meta = true;
    return OPC_OK;
  }
  task->crashes++;
  if (strcmp(crash->rule, "timeout") == 0) {
    outcome.kind = OPC_TRY_TIMEOUT;
    /* Other arguments may be compiled anew. */
    if (task->slowest_try > 0) task->slowest_try = fmax(task->slowest_try, task->session->options->timeout);
    task->timeouts++;
  } else if (strcmp(crash->rule, "memory") == 0) {
    outcome.kind = OPC_TRY_OUT_OF_MEMORY;
  } else if (crash->unwatchable) {
    outcome.kind = OPC_TRY_REJECTED;
  }
  tell(task, &outcome);
  return OPC_OK; /* the task wants a child again and is then asked for its next command */
}

const opc_phase_t opc_phase_search = {
    .command = command, .message = message, .crash = crash, .seconds = opc_task_try_seconds, .searches = true};
