/* --emit: once the case has failed, it runs again with simpler samples, and the simplest that fails the same way
 * becomes a program. A case about all samples runs on each alone first: the program has one. */
#include <stdlib.h>
#include <string.h>

#include "search/draft/minimise.h"
#include "supervise/emit/program.h"
#include "supervise/jobs/task.h"

enum { TRIES_MAX = 150, SECONDS_MAX = 30 };

struct opc_minimising {
  opc_minimiser_t *minimiser; /* NULL: it is still open which sample shows the finding */
  const opc_sample_t *candidate;
  size_t sample; /* index of the sample to be tried */
  opc_case_result_t *outcome;
  int tries;
  double began;
};

static const opc_case_result_t *shown_result(const opc_task_t *task) { return task->session->shown; }

static opc_rule_id_t shown_rule(const opc_task_t *task) {
  const opc_case_result_t *shown = shown_result(task);
  return shown->rule == OPC_RULE_memory_unchecked_arguments ? shown->effect_rule : shown->rule;
}

static void minimise_forget(opc_task_t *task) {
  if (!task->minimising) return;
  opc_minimiser_free(task->minimising->minimiser);
  opc_case_result_free(task->minimising->outcome);
  free(task->minimising);
  task->minimising = NULL;
}

/* ---- what the case ran on ---- */

static const opc_sample_t *sample_of_case(const opc_task_t *task) {
  const opc_minimising_t *minimising = task->minimising;
  if (minimising->minimiser) return opc_minimiser_best(minimising->minimiser);
  return minimising->sample < task->samples.count ? &task->samples.samples[minimising->sample] : NULL;
}

static opc_status_t begin_minimiser(opc_task_t *task, opc_error_t *error) {
  const bool valid = opc_rule_claims(shown_rule(task)) & OPC_CLAIMS_OF_INPUT;
  return opc_minimiser_new(task->op, &task->samples.samples[task->minimising->sample], valid,
                           &task->minimising->minimiser, error);
}

static opc_status_t minimise_begin(opc_task_t *task, opc_error_t *error) {
  task->minimising = calloc(1, sizeof *task->minimising);
  if (!task->minimising) return opc_out_of_memory(error);
  task->minimising->began = opc_clock();
  const char *name = task->session->only.sample;
  if (name[0] == '\0') return OPC_OK;
  while (task->minimising->sample < task->samples.count &&
         strcmp(task->samples.samples[task->minimising->sample].name, name) != 0)
    task->minimising->sample++;
  return task->minimising->sample < task->samples.count ? begin_minimiser(task, error) : OPC_OK;
}

/* ---- the program ---- */

/* The arguments of the case: its sample with its variant, in its dtype. */
static opc_status_t emitted_sample(const opc_task_t *task, opc_sample_t *out, opc_error_t *error) {
  const opc_case_id_t *id = &task->session->only;
  const opc_sample_t *sample = sample_of_case(task);
  const bool varied = id->variant[0] != '\0' && strcmp(id->variant, "plain") != 0;
  OPC_RETURN_IF_ERROR(varied ? opc_variant_apply(sample, task->op, id->variant, out, error)
                             : opc_sample_copy(sample, out, error));
  if (id->dtype[0] != '\0') (void)opc_sample_cast(out, opc_dtype_find(id->dtype));
  return OPC_OK;
}

static size_t emitted_libraries(const opc_session_t *session, opc_program_library_t *out) {
  const opc_loaded_t *loaded = &session->loaded;
  size_t count = 0;
  for (size_t i = 0; i < session->options->preload_count; i++)
    out[count++] = (opc_program_library_t){.path = loaded->preloads[i], .preload = true};
  for (size_t i = 0; i < loaded->library_count; i++) {
    const opc_library_t *library = &loaded->libraries[loaded->order ? loaded->order[i] : i];
    if (library->state == OPC_LIBRARY_LOADED)
      out[count++] = (opc_program_library_t){.path = library->real, .module = library->module};
  }
  return count;
}

static opc_status_t program_write(opc_task_t *task, opc_error_t *error) {
  const opc_session_t *session = task->session;
  const opc_run_options_t *options = session->options;
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_scope_free)
  opc_program_library_t *libraries =
      calloc(session->loaded.library_count + options->preload_count + 1, sizeof *libraries);
  if (!libraries) return opc_out_of_memory(error);
  const bool calls = sample_of_case(task) && opc_check_infos[opc_check_info_find(session->only.check)].calls;
  if (calls) OPC_RETURN_IF_ERROR(emitted_sample(task, &sample, error));
  const opc_program_t program = {.language = opc_language_find(options->emit_language),
                                 .op = task->op,
                                 .sample = calls ? &sample : NULL,
                                 .result = shown_result(task),
                                 .rule = shown_rule(task),
                                 .libraries = libraries,
                                 .library_count = emitted_libraries(session, libraries),
                                 .repro = shown_result(task)->repro,
                                 .version = OPC_VERSION,
                                 .torch = session->loaded.torch,
                                 .seed = options->seed,
                                 .seconds = options->timeout > 1 ? (int)options->timeout : 1};
  OPC_RETURN_IF_ERROR(opc_program_text(&program, &text, error));
  OPC_RETURN_IF_ERROR(opc_program_write(options->emit_file, &text, error));
  return opc_journal_note(session->journal, error, "--emit: %s shows it without opcheck-c", options->emit_file);
}

/* What prevents the program is the run's error, once everything else is done. */
static opc_status_t minimise_end(opc_task_t *task, opc_error_t *error) {
  opc_session_t *session = task->session;
  const opc_status_t status = program_write(task, &session->emit_error);
  session->emitted = true;
  opc_task_enter(task, NULL);
  return status == OPC_ERR_MEMORY ? opc_out_of_memory(error) : OPC_OK;
}

/* ---- the steps ---- */

/* The next sample to try; NULL: enough. */
static opc_status_t next_candidate(opc_task_t *task, opc_error_t *error) {
  opc_minimising_t *minimising = task->minimising;
  const bool enough = minimising->tries >= TRIES_MAX || opc_clock() - minimising->began > SECONDS_MAX;
  minimising->candidate = NULL;
  if (enough) return OPC_OK;
  if (minimising->minimiser) return opc_minimiser_next(minimising->minimiser, &minimising->candidate, error);
  if (minimising->sample < task->samples.count) minimising->candidate = &task->samples.samples[minimising->sample];
  return OPC_OK;
}

static opc_status_t minimise_command(opc_task_t *task, json_t **out, opc_error_t *error) {
  if (!task->minimising) OPC_RETURN_IF_ERROR(minimise_begin(task, error));
  opc_case_result_free(task->minimising->outcome);
  task->minimising->outcome = NULL;
  OPC_RETURN_IF_ERROR(next_candidate(task, error));
  if (!task->minimising->candidate) return minimise_end(task, error);
  *out = opc_task_cases_command(task, 0, 0);
  json_t *sample = opc_sample_to_json(task->minimising->candidate, task->op);
  if (!*out || !sample) return opc_out_of_memory(error);
  const json_t *given = json_array_get(json_object_get(*out, "samples"), task->minimising->sample);
  json_object_set(sample, "source", json_object_get(given, "source"));
  json_object_set_new(*out, "samples", json_pack("[o]", sample));
  json_object_set_new(*out, "only", json_string(task->session->options->case_id));
  json_object_set_new(*out, "only_ran", json_true());
  return OPC_OK;
}

/* The function that crashed, or that left a tensor. NULL: unknown. */
static const char *place_of_failure(const opc_case_result_t *result) {
  const json_t *frames = json_object_get(result->evidence, "frames");
  if (!frames) frames = json_object_get(json_array_get(json_object_get(result->evidence, "accesses"), 0), "frames");
  return json_string_value(json_object_get(json_array_get(frames, 0), "symbol"));
}

static bool fails_alike(const opc_task_t *task) {
  const opc_case_result_t *outcome = task->minimising->outcome;
  const opc_rule_id_t rule = shown_rule(task);
  if (!outcome || !opc_case_result_is_finding(outcome)) return false;
  bool has_rule = outcome->rule == rule;
  for (size_t i = 0; i < outcome->also.count; i++) has_rule |= outcome->also.items[i].rule == rule;
  const char *here = place_of_failure(outcome), *there = place_of_failure(shown_result(task));
  return has_rule && (!here || !there || strcmp(here, there) == 0);
}

static opc_status_t minimise_evaluate(opc_task_t *task, opc_error_t *error) {
  opc_minimising_t *minimising = task->minimising;
  const bool fails = fails_alike(task);
  minimising->tries++;
  if (minimising->minimiser) opc_minimiser_answer(minimising->minimiser, fails);
  else if (fails) OPC_RETURN_IF_ERROR(begin_minimiser(task, error));
  else minimising->sample++;
  return task->child ? opc_task_send(task, error) : OPC_OK;
}

static bool is_minimised_case(const opc_task_t *task, const char *case_id) {
  return strcmp(case_id, task->session->options->case_id) == 0;
}

static void put_minimised(opc_task_t *task, opc_case_result_t *result) {
  opc_case_result_free(task->minimising->outcome);
  task->minimising->outcome = result;
}

static opc_status_t minimise_take_result(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  (void)error;
  if (is_minimised_case(task, result->case_id)) put_minimised(task, result);
  else opc_case_result_free(result);
  return OPC_OK;
}

static opc_status_t minimise_ended(opc_task_t *task, opc_batch_end_t how, const char *why, opc_error_t *error) {
  (void)why;
  if (how == OPC_BATCH_SPENT) opc_task_release(task);
  return minimise_evaluate(task, error);
}

static opc_status_t minimise_crash(opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                   opc_error_t *error) {
  if (!task->minimising) return OPC_OK; /* it died before its first command */
  if (is_minimised_case(task, case_id) || task->minimising->outcome) {
    opc_case_result_t *result;
    OPC_RETURN_IF_ERROR(opc_task_crash_result(task, task->session->options->case_id, crash, &result, error));
    put_minimised(task, result);
  }
  return minimise_evaluate(task, error);
}

const opc_phase_t opc_phase_minimise = {.command = minimise_command,
                                        .result = minimise_take_result,
                                        .ended = minimise_ended,
                                        .crash = minimise_crash,
                                        .seconds = opc_task_case_seconds,
                                        .forget = minimise_forget};
