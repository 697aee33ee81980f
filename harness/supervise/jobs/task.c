#include "supervise/jobs/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "supervise/jobs/parts.h"
#include "supervise/jobs/searching.h"
#include "supervise/tools/sanitize.h"

static const char *const sources[] = {"file", "file", "recorded", "searched"}; /* in the order of opc_sample_source_t */

static opc_status_t add_copy(opc_sample_set_t *set, const opc_sample_t *sample, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t copy = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &copy, error));
  return opc_sample_set_add(set, &copy, error);
}

static opc_status_t take_found(opc_task_t *task, opc_error_t *error) {
  const opc_searched_t *found = opc_search_found(task->session, task->op);
  if (!found || found->rounds == 0) return OPC_OK;
  task->detail = opc_string_copy(found->detail);
  task->search_record = json_loads(found->record, 0, NULL);
  if (!task->search_record) return opc_out_of_memory(error);
  task->source = found->samples.count > 0 ? "searched" : "none";
  const opc_run_options_t *options = task->session->options;
  const bool saves = opc_run_keeps_samples(options) && found->clean; /* samples worth keeping */
  const bool by_recipe = opc_recipe_find(&task->session->recipes, task->op->name);
  for (size_t i = 0; i < found->samples.count; i++) {
    const opc_sample_t *sample = &found->samples.samples[i];
    OPC_RETURN_IF_ERROR(add_copy(&task->samples, sample, error));
    opc_sample_t *own = &task->samples.samples[task->samples.count - 1];
    own->by_recipe = by_recipe;
    if (options->found_samples) OPC_RETURN_IF_ERROR(add_copy(&task->session->found_samples, own, error));
    opc_reference_give(options, own);
    if (saves && !sample->unchecked) OPC_RETURN_IF_ERROR(add_copy(&task->session->samples, sample, error));
  }
  return OPC_OK;
}

static opc_status_t take_samples(opc_task_t *task, opc_error_t *error) {
  const opc_sample_set_t *all = &task->session->samples;
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->samples[i].operator_name, task->op->name) == 0)
      OPC_RETURN_IF_ERROR(add_copy(&task->samples, &all->samples[i], error));
  size_t best = 0; /* one that somebody vouches for, if there is one */
  while (best + 1 < task->samples.count && task->samples.samples[best].source == OPC_SAMPLE_SEARCHED) best++;
  task->source = task->samples.count > 0 ? sources[task->samples.samples[best].source] : "none";
  return task->samples.count == 0 ? take_found(task, error) : OPC_OK;
}

bool opc_task_is_vouched_for(const opc_task_t *task) {
  bool vouched = false;
  for (size_t i = 0; i < task->samples.count; i++) vouched |= task->samples.samples[i].source != OPC_SAMPLE_SEARCHED;
  return vouched;
}

opc_status_t opc_task_add_found(opc_task_t *task, const opc_sample_t *sample, opc_error_t *error) {
  const opc_run_options_t *options = task->session->options;
  OPC_RETURN_IF_ERROR(add_copy(&task->samples, sample, error));
  if (options->found_samples) OPC_RETURN_IF_ERROR(add_copy(&task->session->found_samples, sample, error));
  if (opc_run_keeps_samples(options)) OPC_RETURN_IF_ERROR(add_copy(&task->session->samples, sample, error));
  opc_reference_give(options, &task->samples.samples[task->samples.count - 1]);
  return OPC_OK;
}

opc_status_t opc_task_tell_samples(opc_task_t *task, opc_error_t *error) {
  const opc_recipe_t *recipe = task->search_record ? opc_recipe_find(&task->session->recipes, task->op->name) : NULL;
  return opc_journal_write(task->session->journal,
                           json_pack("{s:s, s:s, s:s, s:o, s:O*, s:O*, s:O*, s:s*}", "t", "sample_source", "operator",
                                     task->op->name, "source", task->source, "detail",
                                     opc_json_string(task->detail              ? task->detail
                                                     : task->samples.count > 0 ? task->samples.samples[0].origin
                                                                               : ""),
                                     "search", task->search_record, "beside", task->beside, "relations",
                                     task->relations, "recipe", recipe ? opc_recipe_origin(recipe) : NULL),
                           error);
}

static void scope_task(opc_task_t **task) { opc_task_free(*task); }

opc_status_t opc_task_new(opc_session_t *session, const opc_operator_t *op, const opc_phase_t *phase, opc_task_t **out,
                          opc_error_t *error) {
  *out = NULL;
  OPC_SCOPED(scope_task) opc_task_t *task = calloc(1, sizeof *task);
  if (!task) return opc_out_of_memory(error);
  task->session = session;
  task->op = op;
  task->phase = phase;
  task->is_search = phase->searches;
  task->began = opc_clock();
  task->skips = json_array();
  task->crashed = json_array();
  if (!task->skips || !task->crashed) return opc_out_of_memory(error);
  if (task->is_search) task->source = "searched";
  else OPC_RETURN_IF_ERROR(take_samples(task, error));
  OPC_MOVE(out, task);
  return OPC_OK;
}

void opc_task_free(opc_task_t *task) {
  if (!task) return;
  opc_task_release(task);
  if (task->part) task->part->task = NULL;
  opc_sample_set_clear(&task->samples);
  free(task->detail);
  if (task->phase && task->phase->forget) task->phase->forget(task);
  opc_kept_layouts_clear(&task->kept_layouts);
  opc_inputs_seen_clear(&task->inputs_seen);
  json_decref(task->search_record);
  json_decref(task->beside);
  json_decref(task->relations);
  for (size_t i = 0; i < task->order_count; i++) free(task->order[i]);
  free(task->order);
  json_decref(task->skips);
  json_decref(task->crashed);
  json_decref(task->found_plain);
  for (size_t i = 0; i < task->waiting_count; i++) opc_case_result_free(task->waiting[i]);
  free(task->waiting);
  free(task->tallies);
  for (size_t i = 0; i < task->suspect_count; i++) {
    opc_case_result_free(task->suspects[i].result);
    opc_case_result_free(task->suspects[i].held);
    free(task->suspects[i].repro);
  }
  free(task->suspects);
  free(task);
}

opc_status_t opc_task_write_final(opc_task_t *task, opc_case_result_t *result, opc_error_t *error) {
  const opc_status_t status = opc_session_result(task->session, task->op, result, NULL, error);
  opc_case_result_free(result);
  return status;
}

void opc_task_release(opc_task_t *task) {
  if (task->child) {
    opc_child_leave(task->child);
    task->child->owner = NULL;
  }
  task->child = NULL;
}

void opc_task_enter(opc_task_t *task, const opc_phase_t *phase) {
  opc_task_release(task);
  const bool shares = task->phase && phase && phase->forget == task->phase->forget;
  if (task->phase && task->phase->forget && !shares) task->phase->forget(task);
  task->phase = phase;
}

void opc_task_finish(opc_task_t *task) {
  const opc_session_t *session = task->session;
  const bool wanted =
      task->last && session->shown && !session->emitted && strcmp(session->only.operator_name, task->op->name) == 0;
  task->settled = task->suspect_count;
  opc_task_enter(task, wanted ? task->last : NULL);
}

opc_status_t opc_task_send(opc_task_t *task, opc_error_t *error) {
  json_auto_t *command = NULL;
  opc_child_t *child = task->child;
  OPC_RETURN_IF_ERROR(task->phase->command(task, &command, error));
  if (command && child) {
    /* If the child is already gone, its end is reported: no error here. */
    if (opc_channel_send(&child->channel, command, NULL, 0, NULL) != OPC_OK) opc_child_kill(child, OPC_END_CHANNEL);
  }
  return OPC_OK;
}

bool opc_task_wants_child(opc_task_t *task) {
  if (task->phase && task->phase->over && task->phase->over(task)) opc_task_finish(task);
  return task->phase && !task->child;
}

opc_status_t opc_task_attach(opc_task_t *task, opc_error_t *error) { return opc_task_send(task, error); }

static opc_memcheck_view_t view_of(const opc_task_t *task) {
  const opc_maps_t *maps = task->child && task->child->own ? &task->child->maps : &task->session->maps;
  return (opc_memcheck_view_t){.symboliser = task->session->symboliser, .maps = maps, .library = task->op->library};
}

/* A separate process finds names of frames and reads debug information for seconds. The journal's lines must not wait
 * for that. */
static opc_status_t flush_before_names(const opc_task_t *task, const json_t *message, opc_error_t *error) {
  const json_t *accesses = json_object_get(json_object_get(message, "evidence"), "accesses");
  bool named = task->session->memcheck || json_array_size(accesses) > 0;
  return named ? opc_journal_flush(task->session->journal, error) : OPC_OK;
}

json_t *opc_task_try(const opc_task_t *task, const char *device, const opc_sample_t *sample, bool values,
                     bool without_meta) {
  json_t *written = opc_sample_to_json(sample, task->op);
  /* Any name: without one the child would make it from the arguments, which takes a tenth of the time of a try. */
  if (written && !sample->name) json_object_set_new(written, "name", json_string("tried"));
  return json_pack("{s:s, s:s, s:s, s:o, s:I, s:b, s:b}", "t", "try", "operator", task->op->name, "device", device,
                   "sample", written, "seed", (json_int_t)task->session->options->seed, "values", values,
                   "without_meta", without_meta);
}

/* An answer that nobody understands is said, and its arguments count as those that cannot be made. */
static opc_status_t take_try(opc_task_t *task, const json_t *message, opc_error_t *error) {
  const char *type = opc_json_text_of(message, "t");
  OPC_SCOPED(opc_tried_clear) opc_tried_t tried = {0};
  if (!type || (strcmp(type, "tried") != 0 && strcmp(type, "refused") != 0)) return OPC_OK; /* not an answer */
  opc_status_t status = opc_tried_read(message, &tried, error);
  if (status == OPC_ERR_PROTOCOL) {
    task->session->trouble = true;
    status = opc_journal_note(task->session->journal, error, "%s: %s", task->op->name, error->message);
  }
  OPC_RETURN_IF_ERROR(status);
  OPC_RETURN_IF_ERROR(opc_memcheck_judge_tried(task->session->memcheck, task->child, message, &tried, error));
  task->longest_try = fmax(task->longest_try, tried.seconds);
  if (tried.outcome == OPC_TRY_RETURNED) task->slowest_try = fmax(task->slowest_try, tried.seconds);
  OPC_RETURN_IF_ERROR(task->phase->tried(task, &tried, error));
  return opc_task_send(task, error);
}

/* A result of another operator's case is wrong input. */
static opc_status_t read_result(const opc_task_t *task, const opc_memcheck_view_t *view, const json_t *message,
                                opc_case_result_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  OPC_RETURN_IF_ERROR(opc_case_result_decode(message, &result, error));
  if (strcmp(result->id.operator_name, task->op->name) != 0)
    return opc_error_set(error, OPC_ERR_INPUT, "a result of case %s", result->case_id);
  OPC_RETURN_IF_ERROR(opc_memcheck_judge_result(task->session->memcheck, task->child, view, message, result, error));
  OPC_MOVE(out, result);
  return OPC_OK;
}

/* The message of a child that runs cases. */
static opc_status_t take_case_message(opc_task_t *task, const opc_memcheck_view_t *view, const json_t *message,
                                      opc_error_t *error) {
  static const char *const ends[] = {"done", "spent", "refused"}; /* in the order of opc_batch_end_t */
  const char *type = opc_json_text_of(message, "t");
  const json_int_t left_out = json_integer_value(json_object_get(message, "left_out"));
  if (left_out > 0 && task->phase->left_out) task->phase->left_out(task, (uint64_t)left_out);
  for (size_t i = 0; type && i < sizeof ends / sizeof *ends; i++)
    if (strcmp(type, ends[i]) == 0)
      return task->phase->ended(task, (opc_batch_end_t)i, opc_json_text_of(message, "message"), error);
  if (!type || strcmp(type, "result") != 0) return OPC_OK;
  opc_error_t why;
  opc_case_result_t *result = NULL;
  const opc_status_t status = read_result(task, view, message, &result, &why);
  if (status == OPC_ERR_INPUT) {
    task->session->trouble = true;
    return opc_journal_note(task->session->journal, error, "%s: a message of the worker is wrong: %s", task->op->name,
                            why.message);
  }
  if (status != OPC_OK) return opc_error_set(error, status, "%s", why.message);
  return task->phase->result(task, result, error);
}

opc_status_t opc_task_message(opc_task_t *task, json_t *message, opc_error_t *error) {
  opc_memcheck_view_t view = view_of(task);
  OPC_RETURN_IF_ERROR(flush_before_names(task, message, error));
  opc_frames_name_accesses(message, view.symboliser, view.maps, view.library);
  return task->phase->tried ? take_try(task, message, error) : take_case_message(task, &view, message, error);
}

/* The case that the crash record names, if it is credible; otherwise "". A try of a search has the operator's name or
 * nothing. */
static void running_case(const opc_task_t *task, char out[OPC_CRASH_RECORD_CASE_SIZE]) {
  opc_case_id_t id;
  if (task->child->culprit[0] != '\0') memcpy(out, task->child->culprit, OPC_CRASH_RECORD_CASE_SIZE);
  else if (!opc_child_case(task->child, out)) out[0] = '\0';
  if (!task->phase->searches &&
      (opc_case_id_parse(out, &id, NULL) != OPC_OK || strcmp(id.operator_name, task->op->name) != 0))
    out[0] = '\0';
}

static opc_status_t task_describe_end(opc_task_t *task, const char *case_id, opc_crash_t *out, opc_error_t *error) {
  opc_session_t *session = task->session;
  opc_crash_limits_t limits = {.seconds = task->phase->seconds(task),
                               .memory_mib = session->options->memory_mib,
                               .library = task->op->library,
                               .maps = task->child->own ? &task->child->maps : &session->maps};
  opc_memcheck_view_t view = view_of(task);
  opc_memcheck_end_t end = OPC_MEMCHECK_END_OWN;
  if (session->sanitize) opc_sanitize_take_signal(task->child);
  OPC_RETURN_IF_ERROR(opc_journal_flush(session->journal, error)); /* as before the names of a message */
  OPC_RETURN_IF_ERROR(opc_crash_describe(task->child, session->symboliser, &limits, out, error));
  OPC_RETURN_IF_ERROR(opc_memcheck_crash(session->memcheck, task->child, &view, out, &end, error));
  out->unwatchable = end == OPC_MEMCHECK_END_INSTRUCTION;
  if (end != OPC_MEMCHECK_END_FAILURE) return OPC_OK;
  session->trouble = true;
  return opc_journal_note(session->journal, error, "%s: %s", case_id[0] != '\0' ? case_id : task->op->name,
                          opc_text_c(&out->message));
}

/* `crash`: NULL if the child has left. */
static opc_status_t examine_end(opc_task_t *task, const char *case_id, opc_crash_t *crash, opc_error_t *error) {
  if (crash) OPC_RETURN_IF_ERROR(task_describe_end(task, case_id, crash, error));
  return task->phase->report ? task->phase->report(task, task->child, error) : OPC_OK;
}

opc_status_t opc_task_child_ended(opc_task_t *task, opc_error_t *error) {
  char case_id[OPC_CRASH_RECORD_CASE_SIZE];
  OPC_SCOPED(opc_crash_clear) opc_crash_t described = {0};
  /* The owner of a part runs the case again. */
  opc_crash_t *crash = task->child->leaving || task->is_part ? NULL : &described;
  running_case(task, case_id);
  const opc_status_t status = examine_end(task, case_id, crash, error);
  task->child = NULL;
  OPC_RETURN_IF_ERROR(status);
  return task->phase->crash(task, case_id, crash, error);
}

void opc_task_child_lost(opc_task_t *task) {
  task->child = NULL;
  task->exclusive = true;
  if (task->phase && task->phase->lost) task->phase->lost(task);
}

/* The first `count` entries: the list as it was before it grew. */
static json_t *first_of(const json_t *list, size_t count) {
  json_t *first = json_array();
  for (size_t i = 0; i < count; i++) json_array_append(first, json_array_get(list, i));
  return first;
}

json_t *opc_task_cases_command(const opc_task_t *task, size_t skips, size_t crashed) {
  json_t *samples = json_array();
  for (size_t i = 0; i < task->samples.count; i++) {
    json_t *sample = opc_sample_to_json(&task->samples.samples[i], task->op);
    json_object_set_new(sample, "source", json_string(sources[task->samples.samples[i].source]));
    json_array_append_new(samples, sample);
  }
  return json_pack("{s:s, s:s, s:s*, s:o, s:O, s:O, s:I, s:I, s:o, s:o, s:b}", "t", "cases", "operator", task->op->name,
                   "library", opc_library_file(&task->session->loaded, task->op), "samples", samples, "checks",
                   task->session->checks, "devices", task->session->devices, "seed",
                   (json_int_t)task->session->options->seed, "neighbours",
                   (json_int_t)task->session->options->neighbours, "skip", first_of(task->skips, skips), "crashed",
                   first_of(task->crashed, crashed), "by_yield", task->session->turns ? 1 : 0);
}

void opc_task_tell_past(const opc_task_t *task, json_t *command) {
  json_object_set_new(command, "since", json_string(task->order[task->stretch]));
  if (task->found_plain) json_object_set(command, "found", task->found_plain);
}

/* A case of the operator itself has no sample; then its samples' common source counts. */
static bool task_is_searched(const opc_task_t *task, const char *sample) {
  for (size_t i = 0; i < task->samples.count; i++)
    if (strcmp(task->samples.samples[i].name, sample) == 0)
      return task->samples.samples[i].source == OPC_SAMPLE_SEARCHED;
  return strcmp(task->source, "searched") == 0;
}

opc_status_t opc_task_crash_result(const opc_task_t *task, const char *case_id, const opc_crash_t *crash,
                                   opc_case_result_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  if (crash->unwatchable) {
    OPC_RETURN_IF_ERROR(opc_case_result_new(case_id, OPC_VERDICT_SKIP, OPC_RULE_NONE, opc_text_c(&crash->message),
                                            json_incref(crash->evidence), out, error));
    (*out)->reason = OPC_SKIP_NOT_APPLICABLE;
    (*out)->seconds = crash->seconds;
    return OPC_OK;
  }
  OPC_RETURN_IF_ERROR(
      opc_case_result_new(case_id, OPC_VERDICT_ERROR, crash->rule, "", json_incref(crash->evidence), out, error));
  opc_case_result_t *result = *out;
  const char *variant = result->id.variant;
  const bool varied = variant[0] != '\0' && strcmp(variant, "plain") != 0,
             searched = task_is_searched(task, result->id.sample);
  result->seconds = crash->seconds;
  result->severity = OPC_SEVERITY_ERROR;
  (void)opc_provenance_parse(crash->provenance, &result->provenance);
  result->provenance.plain = !varied;
  if (opc_operator_fake_may_be_in_python(task->op)) result->every_input = false;
  opc_text_add(&text, opc_text_c(&crash->message));
  if (searched) opc_text_add(&text, ". The arguments were found by opcheck-c's search");
  if (varied)
    opc_text_addf(&text, "%s changed for this case: %s", searched ? ", and" : ". The sample's arguments were", variant);
  if (varied && crash->rule == OPC_RULE_timeout && opc_variant_family(variant) == OPC_VARIANT_LARGE) {
    opc_text_add(&text, ": tensors of gigabytes, on which the operator may only be slow");
    result->severity = OPC_SEVERITY_WARNING;
  }
  opc_case_result_say(result, opc_text_c(&text));
  return OPC_OK;
}

double opc_task_case_seconds(const opc_task_t *task) {
  enum { LEAST = 1, CALLS = 1000, CASES = 20 };
  const double most = task->session->options->timeout, least = LEAST * opc_run_pace(task->session->options);
  const double usual = fmax(CALLS * task->fastest, CASES * task->slowest);
  if (task->slowest <= 0 || task->session->has_only || usual > most) return most;
  return usual > least ? usual : least < most ? least : most;
}

/* A kernel for the CPU needs no time for its first call in a process: nothing is compiled, no device is opened. If it
 * has answered every try in milliseconds, a call of tenths of a second is no good input: its cases would take minutes.
 */
static double quick_try_seconds(const opc_task_t *task, double least) {
  enum { LONGEST = 50 };
  static const double quick = 0.25;
  const bool at_once = task->op->kind == OPC_OPERATOR && task->longest_try > 0 &&
                       strcmp(opc_search_device(task->session, task->op), OPC_MODE_CPU) == 0;
  return at_once ? fmin(least, fmax(quick * opc_run_pace(task->session->options), LONGEST * task->longest_try)) : least;
}

double opc_task_try_seconds(const opc_task_t *task) {
  enum { LEAST = 1, TRIES = 2 };
  const double most = task->session->options->timeout, least = LEAST * opc_run_pace(task->session->options);
  const double usual = !opc_operator_is_python(task->op) ? quick_try_seconds(task, least)
                       : task->slowest_try > 0           ? fmax(least, TRIES * task->slowest_try)
                                                         : most;
  return fmin(usual, most);
}

/* Ends of a try that no caller can live with, by their counts in the record of a search; the worst first. */
static const struct {
  const char *count, *words;
  opc_rule_id_t rule;
} fatal_ends[] = {{"crashes", "crashed", OPC_RULE_search_every_call_crashes},
                  {"timeouts", "did not return in time", OPC_RULE_search_every_call_hangs},
                  {"out_of_memory", "ran out of memory", OPC_RULE_search_every_call_exhausts_memory},
                  {"foreign_exceptions", "threw what is no std::exception", OPC_RULE_search_every_call_throws}};
enum { FATAL_ENDS = sizeof fatal_ends / sizeof *fatal_ends };

/* "crashed: 3, did not return in time: 2"; the rule of the worst end. OPC_RULE_NONE: a try was refused or returned,
 * or there was none. A search gives up after few hangs and crashes: counts do not show which is more usual. */
static opc_rule_id_t every_call_rule(const json_t *record, opc_text_t *out) {
  json_int_t sum = 0;
  opc_rule_id_t rule = OPC_RULE_NONE;
  for (size_t i = 0; i < FATAL_ENDS; i++) {
    const json_int_t count = json_integer_value(json_object_get(record, fatal_ends[i].count));
    if (count > 0) opc_text_addf(out, "%s%s: %" JSON_INTEGER_FORMAT, sum > 0 ? ", " : "", fatal_ends[i].words, count);
    if (count > 0 && !rule) rule = fatal_ends[i].rule;
    sum += count;
  }
  return sum == json_integer_value(json_object_get(record, "tries")) ? rule : OPC_RULE_NONE;
}

/* No call of the operator was even refused: one of its skipped results says so, as a finding. True: it does. */
static bool tell_every_call(opc_task_t *task, const opc_searched_t *found, opc_case_result_t *result) {
  OPC_SCOPED(opc_text_clear) opc_text_t ends = {0};
  json_auto_t *record = found && found->record ? json_loads(found->record, 0, NULL) : NULL;
  const opc_rule_id_t rule = every_call_rule(record, &ends);
  if (!rule || task->told_every_call) return false;
  const char *last = strstr(task->detail, "last: ");
  OPC_SCOPED(opc_scope_free)
  char *text = opc_string_format("no call that the search tried was accepted or refused (%s)%s%s", opc_text_c(&ends),
                                 last ? "; the " : "", last ? last : "");
  task->told_every_call = true;
  result->verdict = OPC_VERDICT_ERROR;
  result->reason = OPC_SKIP_NONE;
  result->rule = rule;
  result->severity = opc_rules[rule].severity;
  opc_case_result_say(result, text);
  opc_json_put(&result->evidence, "why", json_string("the search for arguments tried the operator"));
  return true;
}

void opc_task_explain_no_sample(opc_task_t *task, opc_case_result_t *result) {
  if (result->reason != OPC_SKIP_NO_SAMPLE) return;
  if (task->session->options->no_search)
    opc_case_result_say(result, "no sample file names it, and --no-search is given");
  const opc_searched_t *found = opc_search_found(task->session, task->op);
  if (!task->detail && found && found->cut) {
    result->reason = OPC_SKIP_BUDGET;
    opc_case_result_say(result, "no sample file names it, and there was no time for a search (--budget)");
  }
  if (!task->detail || tell_every_call(task, found, result)) return;
  const bool lacks_kernel = found && found->lacks_kernel;
  if (found && found->cut && !lacks_kernel) result->reason = OPC_SKIP_BUDGET;
  OPC_SCOPED(opc_scope_free)
  char *text = lacks_kernel
                   ? opc_string_format("no sample file names it, and a search is %s", task->detail)
                   : opc_string_format("no sample file names it, and the search found no arguments: %s", task->detail);
  opc_case_result_say(result, text);
  if (lacks_kernel) result->reason = OPC_SKIP_NO_KERNEL;
}
