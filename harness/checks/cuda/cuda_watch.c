#include "checks/cuda/cuda_watch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/call/own_library.h"

static opc_cuda_owner_t owner_of_library(const char *library, const void *context) {
  (void)context;
  return opc_library_is_own(library) ? OPC_CUDA_OF_OWN : opc_cuda_owner_of_file(library);
}

bool opc_cuda_watch_begin(opc_cuda_watch_t *watch, opc_case_context_t *context, opc_finding_t *finding) {
  *watch = (opc_cuda_watch_t){.context = context,
                              .sample = context->sample,
                              .api = opc_launch(),
                              .device = context->device.index < 0 ? 0 : context->device.index,
                              .lacked = ""};
  if (watch->api && watch->api->version == OPC_LAUNCH_API_VERSION) return true;
  opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                   "the calls of the CUDA runtime are not watched in this process: libopcheck-cudart is not preloaded, "
                   "or is another version's");
  return false;
}

static bool is_large(const opc_case_context_t *context) { return (context->variant.families & OPC_VARIANT_LARGE) != 0; }

opc_status_t opc_cuda_watch_make(opc_cuda_watch_t *watch, opc_error_t *error) {
  const opc_case_context_t *context = watch->context;
  opc_call_options_t options = {.device = context->device, .seed = context->seed};
  options.device.index = watch->device;
  opc_call_clear(&watch->call);
  return opc_call_make_with(&watch->call, context->op, watch->sample, &options, error);
}

/* ---- kept logs ---- */

static json_t *versions_of(const opc_cuda_watch_t *watch) {
  const opc_launch_api_t *api = watch->api;
  char runtime[32];
  snprintf(runtime, sizeof runtime, "%d.%d", api->runtime_version / 1000, api->runtime_version % 1000 / 10);
  return json_pack("{s:s, s:s, s:s}", "torch", opc_bridge_torch_version(), "runtime", runtime, "architecture",
                   watch->facts.limits.architecture);
}

/* For the tests of the log analysis (fixtures/cuda_logs/README.md): one file per watched call, named after its case. */
static void keep_log(const opc_cuda_watch_t *watch) {
  static unsigned number;
  const char *folder = getenv("OPC_KEEP_CUDA_LOGS");
  char id[OPC_CASE_ID_SIZE], path[OPC_CASE_ID_SIZE + 512], date[16] = "";
  if (!folder || !folder[0]) return;
  opc_case_id_format(&watch->context->id, id);
  for (char *at = id; *at; at++)
    if (strchr("/:", *at)) *at = '_';
  snprintf(path, sizeof path, "%.400s/%s.%u.json", folder, id, ++number);
  time_t now = time(NULL);
  struct tm parts;
  if (gmtime_r(&now, &parts)) strftime(date, sizeof date, "%Y-%m-%d", &parts);
  json_auto_t *versions = versions_of(watch);
  json_auto_t *file =
      opc_cuda_file_json(&watch->facts, watch->api->mode == OPC_LAUNCH_SIMULATED ? "simulated" : "gpu", versions);
  if (file) json_object_set_new(file, "date", json_string(date));
  if (file) json_dump_file(file, path, JSON_INDENT(1)); /* the run does not depend on it */
}

/* ---- a call ---- */

static bool has_empty(const opc_call_t *call) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (call->tensor_args[i].before.numel == 0) return true;
  return false;
}

void opc_cuda_watch_facts(opc_cuda_watch_t *watch) {
  watch->facts = (opc_cuda_facts_t){.device = watch->device,
                                    .stream = opc_cuda_stream_current(watch->device),
                                    .empty = has_empty(&watch->call),
                                    .large = is_large(watch->context),
                                    .simulated = watch->api->mode == OPC_LAUNCH_SIMULATED,
                                    .owner = owner_of_library};
  if (!watch->api->limits(watch->device, &watch->facts.limits)) watch->facts.limits = (opc_cuda_limits_t){0};
}

/* Without a device, a library with its own CUDA runtime gets no further, and none of its calls are in the log. */
static bool is_refused_by_device(const opc_cuda_watch_t *watch, opc_call_outcome_t outcome) {
  OPC_SCOPED(opc_text_clear) opc_text_t cause = {0};
  bool threw = watch->facts.simulated && (outcome == OPC_CALL_REJECTED || outcome == OPC_CALL_INTERNAL_ASSERT);
  bool refused = threw && opc_simulated_cause_in(&watch->facts.log, opc_text_c(&watch->call.message), &cause) ==
                              OPC_SIMULATED_LACKS;
  return refused;
}

/* The log covers begin and end. If begin fails, the call is not made. */
static opc_call_outcome_t run_captured(opc_cuda_watch_t *watch) {
  opc_cuda_graph_free(watch->graph);
  watch->captured = opc_cuda_graph_begin(&watch->graph, &watch->capture_error);
  if (watch->captured != OPC_OK) return OPC_CALL_UNCONVERTIBLE;
  opc_call_outcome_t outcome = opc_call_run(&watch->call, watch->context->handle, watch->context->seed);
  watch->captured = opc_cuda_graph_end(watch->graph, &watch->capture_error);
  return outcome;
}

opc_call_outcome_t opc_cuda_watch_run(opc_cuda_watch_t *watch, opc_call_label_t label) {
  const opc_launch_api_t *api = watch->api;
  opc_case_context_t *context = watch->context;
  opc_error_t error = {0};
  opc_cuda_watch_facts(watch);
  (void)api->last_error(); /* what came before does not belong to this call */
  watch->facts.device_before = api->current_device();
  context->announce(label);
  api->fail_launch(watch->wanted_launch, watch->wanted_code);
  api->log_begin();
  opc_call_outcome_t outcome =
      watch->capture ? run_captured(watch) : opc_call_run(&watch->call, context->handle, context->seed);
  watch->facts.log = api->log_end();
  api->fail_launch(0, 0);
  watch->facts.returned = outcome == OPC_CALL_RETURNED;
  watch->facts.device_after = api->current_device();
  watch->facts.last_error = api->last_error();
  if (watch->facts.device_after != watch->facts.device_before)
    (void)!opc_cuda_device_use(watch->facts.device_before, NULL);
  if (watch->capture) {
    opc_cuda_host_lifetime_find(&watch->lasting, &watch->facts.log, &watch->call);
    watch->facts.lasting = watch->lasting.found;
    watch->facts.lasting_count = watch->lasting.found_count;
  }
  if (opc_cuda_watch_count(watch, &error) != OPC_OK) watch->facts.count_count = 0;
  keep_log(watch);
  watch->lacked = opc_cuda_facts_cut(&watch->facts);
  if (!watch->facts.cut) watch->facts.cut = is_refused_by_device(watch, outcome);
  return outcome;
}

void opc_cuda_watch_end(opc_cuda_watch_t *watch) {
  opc_call_clear(&watch->call);
  opc_cuda_graph_free(watch->graph);
}

size_t opc_cuda_own_work(const opc_cuda_watch_t *watch) {
  const opc_cuda_facts_t *facts = &watch->facts;
  size_t count = 0;
  for (size_t i = 0; i < facts->log.count; i++)
    count += opc_cuda_is_work(&facts->log.calls[i]) && opc_cuda_is_own(facts, &facts->log.calls[i]);
  return count;
}

/* ---- findings ---- */

/* "raw" frames: the supervisor replaces them by names, and takes the first for an instruction. A return address is past
 * its call. */
static json_t *access_of(const opc_cuda_found_t *found, const opc_cuda_call_t *calls) {
  const opc_cuda_call_t *blamed = &calls[found->calls[0]];
  json_t *access = json_pack("{s:s, s:o}", "rule", opc_rule_name(found->rule), "call", opc_cuda_call_json(blamed));
  uint64_t instruction = blamed->kind == OPC_CUDA_HOST_ACCESS ? blamed->caller : blamed->caller - 1;
  if (access && blamed->caller)
    json_object_set_new(access, "raw_frames",
                        json_pack("[o]", json_sprintf("0x%llx", (unsigned long long)instruction)));
  if (access && found->call_count > 1)
    json_object_set_new(access, "shown_by", opc_cuda_call_json(&calls[found->calls[1]]));
  if (access && found->more) json_object_set_new(access, "remark", json_sprintf("; %zu more from there", found->more));
  return access;
}

void opc_cuda_report(const opc_cuda_founds_t *founds, const opc_cuda_call_t *calls, opc_finding_t *finding) {
  json_auto_t *accesses = finding->evidence ? json_incref(json_object_get(finding->evidence, "accesses")) : NULL;
  if (!accesses) accesses = json_array();
  for (size_t i = 0; i < founds->count; i++) {
    opc_finding_fail(finding, founds->items[i].rule, "%s", founds->items[i].message);
    if (founds->items[i].call_count) json_array_append_new(accesses, access_of(&founds->items[i], calls));
  }
  if (json_array_size(accesses)) opc_finding_evidence(finding, "accesses", json_incref(accesses));
}

/* Findings before the log's end are valid; but no findings up to there proves nothing about the rest. */
static void settle_cut(const opc_cuda_watch_t *watch, const opc_cuda_founds_t *founds, opc_finding_t *finding) {
  const size_t work = opc_cuda_own_work(watch);
  opc_cuda_report(founds, watch->facts.log.calls, finding);
  if (founds->count)
    opc_text_addf(&finding->message, "; the call was checked up to %s, which the simulated device does not have",
                  watch->lacked);
  opc_finding_skip(finding, OPC_SKIP_SIMULATED,
                   "the simulated device does not have %s, which this call needs; no fault was found before it (%zu "
                   "launches, copies and fills of the library "
                   "itself)",
                   watch->lacked, work);
}

bool opc_cuda_watch_lacks(const opc_cuda_watch_t *watch, const opc_cuda_founds_t *founds, opc_finding_t *finding) {
  if (watch->lacked[0]) settle_cut(watch, founds, finding);
  return watch->lacked[0] != '\0';
}

bool opc_cuda_watch_settle(opc_cuda_watch_t *watch, const opc_cuda_founds_t *founds, opc_finding_t *finding) {
  /* A kernel on arguments that do not fit together is for whoever passed them; the grids that it makes of them are not.
   */
  if (founds->count && watch->facts.large && !opc_case_arguments_fit(watch->context)) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "these arguments may not fit together, and with them %s",
                     founds->items[0].message);
    return true;
  }
  if (opc_cuda_watch_lacks(watch, founds, finding)) return true;
  opc_cuda_report(founds, watch->facts.log.calls, finding);
  return opc_finding_from_outcome(watch->context, &watch->call, finding) || finding->decided;
}

bool opc_cuda_watch_is_blind(const opc_cuda_watch_t *watch, opc_finding_t *finding) {
  const char *untracked = opc_cuda_untracked(watch->context->op);
  if (untracked[0])
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "no fault is found in its visible calls, but %s", untracked);
  return untracked[0] != '\0';
}

void opc_cuda_pass(const opc_cuda_watch_t *watch, size_t seen, opc_finding_t *finding, const char *format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (opc_cuda_watch_is_blind(watch, finding)) return;
  if (seen) opc_finding_pass(finding, "%s", text);
  else if (watch->facts.empty)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the library itself does not call the CUDA runtime for an empty tensor");
  else
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the library itself made no CUDA runtime call that this check looks at; libtorch's calls for it "
                     "are not checked");
}
