#include "checks/runner/runner.h"

#include <stdlib.h>
#include <string.h>

#include "checks/framework/global_state.h"
#include "checks/runner/runner_inside.h"
#include "inspect/fatbin.h"

static bool check_wanted(const opc_runner_request_t *request, size_t check) {
  bool asked =
      request->check_count == 0 || opc_run_names(opc_check_infos[check].name, request->checks, request->check_count);
  return asked && opc_check_info_is_of(&opc_check_infos[check], request->op);
}

/* Another process ran the case. If it called a file's sample, that was accepted or already reported: a refusal is not
 * reported twice. */
static void note_passed_over(opc_run_t *run, const char *id_text, opc_case_context_t *context,
                             const opc_planned_case_t *planned) {
  const char *rule = json_string_value(json_object_get(run->request->found, id_text)), *since = run->request->since;
  run->counts_as_run |= since && strcmp(id_text, since) == 0;
  run->ran[run->check] |= run->counts_as_run;
  /* What an operator does only in its first call must not seem to be the next case's. */
  if (run->counts_as_run && !run->called) run->called = opc_run_call(run, id_text, context, planned);
  if (rule && context->base) opc_run_note_rule(run, context, opc_rule_id(rule));
  if (run->request->only || planned->action == OPC_PLAN_SKIP || !opc_case_is_declared(context)) return;
  run->reported[run->device * run->request->sample_count + run->sample] = true;
}

/* The graphs of checks that come last would disturb the next turn's other checks: another process continues. */
static bool is_disturbed(opc_run_t *run, const opc_planned_case_t *planned) {
  const bool last = opc_case_tables[planned->table].last;
  if (planned->turn > run->turn && run->has_graphs && !last) {
    run->must_replace = true;
    if (run->sink->must_replace) run->sink->must_replace(run->sink->context);
  }
  run->turn = planned->turn;
  run->has_graphs |= last && !run->request->out_of_time;
  return run->must_replace;
}

/* A run that must end now cannot say of each of a hundred thousand cases that it did not run. */
static bool runner_leaves_out(opc_run_t *run, const opc_planned_case_t *planned) {
  const opc_runner_request_t *request = run->request;
  const bool is = request->by_yield && request->out_of_time_for_all && planned->action != OPC_PLAN_SKIP &&
                  opc_check_infos[planned->table].calls;
  if (!is) return false;
  run->counts.left_out += run->told[planned->table];
  const bool told = run->told[planned->table];
  run->told[planned->table] = true;
  return told;
}

static void selection_begin(opc_run_t *run) {
  run->selection = OPC_SELECTION_INSIDE;
  run->plan.start = NULL;
}

/* Decides whether a planned case is wanted, and runs it. False: the rest of the plan is not wanted. */
static bool plan_case(opc_run_t *run, opc_case_context_t *context, const opc_planned_case_t *planned) {
  const opc_runner_request_t *request = run->request;
  char id_text[OPC_CASE_ID_SIZE];
  opc_case_id_format(&context->id, id_text);
  if (request->only) {
    if (strcmp(id_text, request->only) != 0) return true;
    run->found_only = true;
    (void)opc_run_case(run, id_text, context, planned);
    return false;
  }
  if (run->selection == OPC_SELECTION_BEFORE) {
    if (request->from && strcmp(id_text, request->from) == 0) {
      selection_begin(run);
    } else {
      if (request->after && strcmp(id_text, request->after) == 0) selection_begin(run);
      note_passed_over(run, id_text, context, planned);
      return true;
    }
  }
  if (runner_leaves_out(run, planned)) return true;
  if (is_disturbed(run, planned)) return false;
  bool go_on = opc_run_case(run, id_text, context, planned);
  if (request->to && strcmp(id_text, request->to) == 0) {
    run->found_to = true;
    run->selection = OPC_SELECTION_OVER;
  }
  return go_on && run->selection == OPC_SELECTION_INSIDE;
}

/* ---- the plan ---- */

static void context_init(const opc_run_t *run, opc_case_context_t *context, const opc_planned_case_t *planned) {
  *context = (opc_case_context_t){.op = run->request->op,
                                  .handle = opc_check_infos[planned->table].calls ? run->handle : NULL,
                                  .base = planned->base,
                                  .sample = planned->sample,
                                  .samples = run->callable,
                                  .sample_count = run->callable_count,
                                  .rule = planned->rule,
                                  .variant = planned->facts,
                                  .unmodified = opc_planned_is_unmodified(planned),
                                  .provenance = planned->provenance,
                                  .method = planned->method,
                                  .seed = run->request->seed,
                                  .announce = run->sink->announce};
  opc_planned_case_id(&run->plan, planned, &context->id);
  if (!planned->device_name) return;
  context->device = run->devices[planned->device];
  context->simulated = run->plan_devices[planned->device].bit & OPC_ON_SIMULATED;
}

static bool planned_one(const opc_planned_case_t *planned, void *context) {
  opc_run_t *run = context;
  opc_case_context_t of_case;
  if (planned->table != run->check) {
    run->starved_before += run->starved;
    run->starved = 0;
  }
  run->check = planned->table;
  run->device = planned->device;
  run->sample = planned->index;
  context_init(run, &of_case, planned);
  return plan_case(run, &of_case, planned);
}

static void checks_before(opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  for (size_t i = 0; i < opc_check_info_count; i++) {
    const opc_check_t *check = opc_checks[i];
    bool wanted =
        run->wanted[i] && (!request->only || (strcmp(check->name, run->only.check) == 0 && !run->only.sample[0]));
    if (!wanted || !check->before || request->out_of_time || opc_run_skips(request, check->name, 0)) continue;
    for (size_t d = 0; d < request->device_count && run->callable_count; d++) {
      const opc_plan_device_t *device = &run->plan_devices[d];
      opc_case_context_t context;
      opc_check_session_t session = {.own = &run->own[i], .ran = &run->ran[i], .found = &run->has_found[i]};
      context_init(run, &context, &(opc_planned_case_t){.table = i, .device = d, .device_name = device->name});
      context.session = &session;
      if (device->usable && device->served && (opc_case_table_devices(&opc_case_tables[i]) & device->bit))
        check->before(&context);
    }
  }
}

/* ---- before and after ---- */

/* What the cases about all samples see. Brief samples are not among them, unless all are brief: such a case has the
 * provenance of the best sample. */
static void take_callable(opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  for (int brief = 0; brief < 2 && run->callable_count == 0; brief++)
    for (size_t i = 0; i < request->sample_count; i++)
      if (opc_sample_is_callable(&request->samples[i]) && (brief == 1 || !request->samples[i].brief))
        run->callable[run->callable_count++] = request->samples[i];
}

static opc_status_t run_prepare(opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  size_t devices = request->device_count ? request->device_count : 1;
  size_t samples = request->sample_count ? request->sample_count : 1;
  for (size_t i = 0; i < request->check_count; i++)
    if (opc_check_info_find(request->checks[i]) < 0)
      return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no check %s", request->checks[i]);
  if (opc_check_info_count > sizeof run->own / sizeof *run->own)
    return opc_error_set(run->error, OPC_ERR_UNSUPPORTED, "more checks than the runner has room for");

  run->devices = calloc(devices, sizeof *run->devices);
  run->plan_devices = calloc(devices, sizeof *run->plan_devices);
  run->wanted = calloc(opc_check_info_count, sizeof *run->wanted);
  run->callable = calloc(samples, sizeof *run->callable);
  run->reported = calloc(devices * samples, sizeof *run->reported);
  run->unsound = calloc(devices * samples, sizeof *run->unsound);
  run->found = calloc(opc_check_info_count * devices * samples, sizeof *run->found);
  run->crashed = calloc(request->crashed_count + 1, sizeof *run->crashed);
  if (!run->devices || !run->plan_devices || !run->wanted || !run->callable || !run->reported || !run->unsound ||
      !run->found || !run->crashed)
    return opc_error_set(run->error, OPC_ERR_MEMORY, "out of memory for the plan");

  for (size_t i = 0; i < request->device_count; i++) {
    bool simulated = strcmp(request->devices[i], "cuda-sim") == 0;
    if (!opc_device_parse(simulated ? "cuda" : request->devices[i], &run->devices[i]))
      return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no device %s", request->devices[i]);
    bool cuda = run->devices[i].type == OPC_DEVICE_CUDA;
    run->plan_devices[i] = (opc_plan_device_t){
        .name = request->devices[i],
        .bit = simulated ? opc_plan_simulated(opc_gpu_library_has_ptx(request->op->library))
               : cuda    ? OPC_ON_CUDA
                         : OPC_ON_CPU,
        .usable = opc_bridge_device_available(run->devices[i]) && (!simulated || opc_cuda_simulated()),
        .served = opc_operator_serves(request->op, run->devices[i].type)};
  }
  for (size_t i = 0; i < opc_check_info_count; i++) run->wanted[i] = check_wanted(request, i);
  take_callable(run);
  OPC_RETURN_IF_ERROR(request->only ? opc_case_id_parse(request->only, &run->only, run->error) : OPC_OK);
  /* With `since` it matters what is passed over. */
  const char *start = request->since ? NULL : request->from ? request->from : request->after;
  OPC_RETURN_IF_ERROR(start ? opc_case_id_parse(start, &run->start, run->error) : OPC_OK);
  for (size_t i = 0; i < request->crashed_count; i++)
    OPC_RETURN_IF_ERROR(opc_case_id_parse(request->crashed[i], &run->crashed[i], run->error));
  run->plan = (opc_plan_request_t){.op = request->op,
                                   .tables = opc_case_tables,
                                   .table_count = opc_check_info_count,
                                   .wanted = run->wanted,
                                   .devices = run->plan_devices,
                                   .device_count = request->device_count,
                                   .samples = request->samples,
                                   .sample_count = request->sample_count,
                                   .only = request->only ? &run->only : NULL,
                                   .only_exists = request->only && request->only_ran,
                                   .start = start ? &run->start : NULL,
                                   .by_yield = request->by_yield && !request->only,
                                   .themselves_only = request->themselves_only,
                                   .neighbours = request->neighbours};
  /* A kernel without a definition has no schema and cannot be called; it has no samples either. */
  bool of_dispatcher = request->op->kind != OPC_OPERATOR_CLASS;
  if (of_dispatcher && request->op->schema && request->sample_count)
    return opc_op_find(request->op->name, &run->handle, run->error);
  return OPC_OK;
}

/* Reports which part of an id the plan does not have. */
static opc_status_t only_not_found(const opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  const opc_case_id_t *id = &run->only;
  int check = opc_check_info_find(id->check);
  bool sample_known = !id->sample[0];
  for (size_t i = 0; i < request->sample_count; i++)
    sample_known = sample_known || strcmp(request->samples[i].name, id->sample) == 0;
  if (strcmp(id->operator_name, request->op->name) != 0)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "case %s is not of operator %s", request->only,
                         request->op->name);
  if (check < 0) return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no check %s", id->check);
  if (!check_wanted(request, (size_t)check))
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "check %s was not asked for", id->check);
  if (id->device[0] && !opc_run_names(id->device, request->devices, request->device_count))
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "device %s was not asked for", id->device);
  if (!sample_known)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "operator %s has no sample %s", request->op->name, id->sample);
  if (id->dtype[0] && opc_dtype_find(id->dtype) == OPC_DTYPE_OTHER)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "there is no dtype %s", id->dtype);
  return opc_error_set(run->error, OPC_ERR_NOT_FOUND,
                       "check %s has no such case: variant %s of sample %s, dtype %s, device %s", id->check,
                       id->variant[0] ? id->variant : "-", id->sample[0] ? id->sample : "-",
                       id->dtype[0] ? id->dtype : "-", id->device[0] ? id->device : "-");
}

static opc_status_t selection_verdict(const opc_run_t *run) {
  const opc_runner_request_t *request = run->request;
  if (run->must_replace) return OPC_OK;
  if (request->only) return run->found_only ? OPC_OK : only_not_found(run);
  if (run->selection == OPC_SELECTION_BEFORE)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "no case %s is in the plan",
                         request->from ? request->from : request->after);
  if (request->to && !run->found_to)
    return opc_error_set(run->error, OPC_ERR_NOT_FOUND, "no case %s is in the plan after its start", request->to);
  return OPC_OK;
}

static opc_status_t run_plan(opc_run_t *run) {
  OPC_RETURN_IF_ERROR(run_prepare(run));
  checks_before(run);
  opc_first_call_begin(); /* no operator caused what was prepared */
  OPC_RETURN_IF_ERROR(opc_plan_all(&run->plan, planned_one, run, run->error));
  return selection_verdict(run);
}

static void run_clear(opc_run_t *run) {
  opc_op_free(run->handle);
  free(run->devices);
  free(run->plan_devices);
  free(run->wanted);
  free(run->callable);
  free(run->reported);
  free(run->unsound);
  free(run->found);
  free(run->crashed);
}

opc_status_t opc_runner_run(const opc_runner_request_t *request, const opc_runner_sink_t *sink,
                            opc_runner_counts_t *out, opc_error_t *error) {
  OPC_SCOPED(run_clear) opc_run_t run = {.request = request, .sink = sink, .error = error};
  run.selection = request->after || request->from ? OPC_SELECTION_BEFORE : OPC_SELECTION_INSIDE;
  const opc_status_t status = run_plan(&run);
  *out = run.counts;
  return status;
}
