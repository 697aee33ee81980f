#include "worker/child/batch.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/call/device_faults.h"
#include "checks/runner/runner.h"
#include "model/json/json_write.h"
#include "wire/channel.h"
#include "worker/child/try.h"

typedef struct batch {
  opc_channel_t channel;
  opc_crash_record_t *record;
  const json_t *operators;
  opc_operator_t op;     /* of the last command: a search has thousands for one operator; NULL name: none */
  opc_status_t status;   /* of the channel, for callbacks that cannot return a status */
  bool must_be_replaced; /* a case corrupted this process: nothing more may run here */
  opc_error_t *error;
} batch_t;

/* A check's `announce` has no context; a child has one crash record. A backward belongs to the call before it. */
static opc_crash_record_t *crash_record;
static void announce(opc_call_label_t label) {
  opc_crash_case_announce(crash_record, label);
  if (label.kind != OPC_CALL_KIND_BACKWARD)
    opc_device_faults_of_others(opc_call_kind_whose(label.kind) == OPC_CALL_WHOSE_OTHERS);
}

/* ---- answers ---- */

static opc_status_t batch_answer(batch_t *batch, json_t *message) {
  opc_status_t status = opc_channel_send(&batch->channel, message, NULL, 0, batch->error);
  json_decref(message);
  if (status == OPC_ERR_SYSTEM) opc_error_prefix(batch->error, "the channel for results is broken");
  return status;
}

static opc_status_t batch_refuse(batch_t *batch, const opc_error_t *why) {
  return batch_answer(batch, json_pack("{s:s, s:o}", "t", "refused", "message", opc_json_string(why->message)));
}

static void case_begin(const char *case_id, const char *why, const char *provenance, void *context) {
  batch_t *batch = context;
  opc_string_put(batch->record->provenance, sizeof batch->record->provenance, provenance);
  opc_string_put(batch->record->why, sizeof batch->record->why, why);
  opc_crash_case_begin(batch->record, case_id, OPC_CALL_LABEL(OPERATOR, ""));
}

/* As many arguments as fit: a crash report shows them. */
static void case_input(const json_t *input, void *context) {
  enum { ROOM = OPC_CRASH_RECORD_INPUT_SIZE - 1, NOTE = 64 };
  opc_crash_record_t *record = ((batch_t *)context)->record;
  json_t *fitting = json_object(), *value;
  const char *name;
  int left_out = 0;
  json_object_foreach((json_t *)input, name, value) {
    json_object_set_nocheck(fitting, name, value);
    if (json_dumpb(fitting, NULL, 0, JSON_COMPACT) <= ROOM - NOTE) continue;
    json_object_del(fitting, name);
    left_out++;
  }
  if (left_out) json_object_set_new_nocheck(fitting, "…", json_sprintf("%d more", left_out));
  size_t length = json_dumpb(fitting, record->input, ROOM, JSON_COMPACT);
  record->input[length <= ROOM ? length : 0] = '\0';
  json_decref(fitting);
}

/* Processes that an operator leaves at each call are its cases' findings. All together they would reach the limit in a
 * later case, which is not to blame. */
static void batch_case_end(const batch_t *batch) {
  opc_crash_case_end(batch->record);
  if (!batch->record->refusals.crowded) return;
  opc_children_kill();
  batch->record->refusals.crowded = 0;
}

/* The sandbox may be why it failed. */
static json_t *message_with_refusals(const opc_crash_record_t *record, const opc_finding_t *finding) {
  char last[sizeof record->refusals.last];
  const char *message = opc_text_c(&finding->message);
  const bool failed = finding->verdict == OPC_VERDICT_FAIL || finding->verdict == OPC_VERDICT_ERROR ||
                      finding->reason == OPC_SKIP_REJECTED;
  if (record->refusals.count == record->refused_before || !failed || finding->rule == OPC_RULE_state_outside)
    return opc_json_string(message);
  opc_refusals_last(&record->refusals, last);
  OPC_SCOPED(opc_scope_free) char *whole = opc_string_format("%s; the sandbox refused it to %s", message, last);
  return opc_json_string(whole ? whole : message);
}

/* An operator has about a hundred results: defaults that the reader assumes are left out (protocol.h). */
static bool case_end(const char *case_id, const char *provenance, const opc_finding_t *finding, double seconds,
                     void *context) {
  batch_t *batch = context;
  json_t *result = json_object();
  json_object_set_new_nocheck(result, "t", json_string("result"));
  json_object_set_new_nocheck(result, "case", opc_json_string(case_id));
  json_object_set_new_nocheck(result, "verdict", json_string(opc_verdict_name(finding->verdict)));
  if (provenance[0]) json_object_set_new_nocheck(result, "standing", json_string(provenance));
  if (finding->rule) {
    json_object_set_new_nocheck(result, "severity", json_string(opc_severity_name(finding->severity)));
    json_object_set_new_nocheck(result, "rule", json_string(opc_rule_name(finding->rule)));
  }
  if (finding->reason != OPC_SKIP_NONE)
    json_object_set_new_nocheck(result, "reason", json_string(opc_skip_reason_name(finding->reason)));
  json_object_set_new_nocheck(result, "message", message_with_refusals(batch->record, finding));
  json_object_set_new_nocheck(result, "evidence", finding->evidence ? json_incref(finding->evidence) : json_object());
  json_object_set_new_nocheck(result, "seconds", json_real(seconds));
  opc_valgrind_case_end(batch->record->sequence, result);
  batch->status = batch_answer(batch, result);
  /* Stored after the result: if the process dies in between, that still belongs to this case, and so does a closed
   * channel. */
  if (!batch->status) batch_case_end(batch);
  return !batch->status;
}

static void case_must_replace(void *context) { ((batch_t *)context)->must_be_replaced = true; }

/* ---- commands ---- */

static opc_status_t operator_read(const batch_t *batch, const char *name, const char *library, opc_operator_t *out,
                                  opc_error_t *error) {
  if (library) return opc_operator_from_library(name, library, out, error);
  const json_t *listed = json_object_get(batch->operators, name);
  if (listed) return opc_operator_from_json(listed, out, error);
  return opc_bridge_describe(name, out, error);
}

/* *out is the batch's, until the next command. */
static opc_status_t operator_find(batch_t *batch, const json_t *command, const opc_operator_t **out,
                                  opc_error_t *error) {
  const char *name = json_string_value(json_object_get(command, "operator"));
  if (!name) return opc_error_set(error, OPC_ERR_PROTOCOL, "a command without operator");
  *out = &batch->op;
  if (batch->op.name && strcmp(batch->op.name, name) == 0) return OPC_OK;
  opc_operator_clear(&batch->op);
  const opc_status_t status =
      operator_read(batch, name, json_string_value(json_object_get(command, "library")), &batch->op, error);
  if (status != OPC_OK) opc_operator_clear(&batch->op);
  return status;
}

static opc_status_t sample_read(const json_t *json, const opc_operator_t *op, opc_sample_t *out, opc_error_t *error) {
  char field[256] = "";
  if (opc_sample_from_json(json, op, NULL, out, field, sizeof field, error) != OPC_OK)
    return opc_error_prefix(error, "a sample of %s", op->name);
  const char *source = json_string_value(json_object_get(json, "source"));
  out->source = OPC_SAMPLE_SEARCHED;
  if (source && strcmp(source, "file") == 0) out->source = OPC_SAMPLE_FILE;
  if (source && strcmp(source, "recorded") == 0) out->source = OPC_SAMPLE_RECORDED;
  return OPC_OK;
}

static opc_status_t samples_read(const json_t *list, const opc_operator_t *op, opc_sample_set_t *out,
                                 opc_error_t *error) {
  size_t count = json_array_size(list);
  if (!count) return OPC_OK;
  out->samples = calloc(count, sizeof *out->samples);
  if (!out->samples) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the samples");
  for (size_t i = 0; i < count; i++) {
    OPC_RETURN_IF_ERROR(sample_read(json_array_get(list, i), op, &out->samples[i], error));
    out->count++;
    if (opc_sample_name(&out->samples[i], op, error) != OPC_OK)
      return opc_error_prefix(error, "a sample of %s", op->name);
  }
  return OPC_OK;
}

/* The strings stay owned by the JSON. */
static opc_status_t names_read(const json_t *list, const char ***out, size_t *out_count, opc_error_t *error) {
  size_t count = json_array_size(list);
  *out = calloc(count + 1, sizeof **out);
  if (!*out) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a command");
  for (size_t i = 0; i < count; i++) {
    (*out)[i] = json_string_value(json_array_get(list, i));
    if (!(*out)[i]) return opc_error_set(error, OPC_ERR_PROTOCOL, "a name in a command is not a string");
  }
  *out_count = count;
  return OPC_OK;
}

static const char *optional_string(const json_t *command, const char *key) {
  return json_string_value(json_object_get(command, key));
}

static opc_status_t run_planned(batch_t *batch, const json_t *command, opc_runner_counts_t *out, opc_error_t *error) {
  const opc_operator_t *op = NULL;
  OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t samples = {0};
  OPC_SCOPED(opc_scope_free) const char **checks = NULL, **devices = NULL, **skip = NULL, **crashed = NULL;
  opc_runner_request_t request = {.seed = (uint64_t)json_integer_value(json_object_get(command, "seed")),
                                  .neighbours = json_integer_value(json_object_get(command, "neighbours")),
                                  .only = optional_string(command, "only"),
                                  .only_ran = json_is_true(json_object_get(command, "only_ran")),
                                  .only_if_quick = json_is_true(json_object_get(command, "only_if_quick")),
                                  .after = optional_string(command, "after"),
                                  .since = optional_string(command, "since"),
                                  .from = optional_string(command, "from"),
                                  .to = optional_string(command, "to"),
                                  .out_of_time = optional_string(command, "out_of_time"),
                                  .out_of_time_for_all = json_is_true(json_object_get(command, "out_of_time_for_all")),
                                  .by_yield = json_is_true(json_object_get(command, "by_yield")),
                                  .themselves_only = json_is_true(json_object_get(command, "themselves_only")),
                                  .found = json_object_get(command, "found")};
  opc_runner_sink_t sink = {.begin = case_begin,
                            .input = case_input,
                            .end = case_end,
                            .announce = announce,
                            .must_replace = case_must_replace,
                            .context = batch};

  OPC_RETURN_IF_ERROR(operator_find(batch, command, &op, error));
  OPC_RETURN_IF_ERROR(samples_read(json_object_get(command, "samples"), op, &samples, error));
  OPC_RETURN_IF_ERROR(names_read(json_object_get(command, "checks"), &checks, &request.check_count, error));
  OPC_RETURN_IF_ERROR(names_read(json_object_get(command, "devices"), &devices, &request.device_count, error));
  OPC_RETURN_IF_ERROR(names_read(json_object_get(command, "skip"), &skip, &request.skip_count, error));
  OPC_RETURN_IF_ERROR(names_read(json_object_get(command, "crashed"), &crashed, &request.crashed_count, error));
  request.op = op;
  request.samples = samples.samples;
  request.sample_count = samples.count;
  request.checks = checks;
  request.devices = devices;
  request.skip = skip;
  request.crashed = crashed;
  return opc_runner_run(&request, &sink, out, error);
}

static opc_status_t cases_run(batch_t *batch, const json_t *command) {
  opc_error_t why = {0};
  opc_runner_counts_t counts = {0};
  const opc_status_t status = run_planned(batch, command, &counts, &why);
  OPC_RETURN_IF_ERROR(batch->status);
  if (status != OPC_OK) return batch_refuse(batch, &why);
  if (batch->must_be_replaced) return batch_answer(batch, json_pack("{s:s}", "t", "spent"));
  return batch_answer(batch, json_pack("{s:s, s:I, s:I}", "t", "done", "planned", (json_int_t)counts.cases, "left_out",
                                       (json_int_t)counts.left_out));
}

static opc_status_t try_answer(batch_t *batch, const json_t *command, json_t **out_answer, opc_error_t *error) {
  const opc_operator_t *op = NULL;
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  const uint64_t seed = (uint64_t)json_integer_value(json_object_get(command, "seed"));
  OPC_RETURN_IF_ERROR(operator_find(batch, command, &op, error));
  OPC_RETURN_IF_ERROR(sample_read(json_object_get(command, "sample"), op, &sample, error));
  return opc_try_run(op, &sample, optional_string(command, "device"), seed,
                     json_is_true(json_object_get(command, "values")),
                     !json_is_true(json_object_get(command, "without_meta")), batch->record, out_answer, error);
}

static opc_status_t try_run(batch_t *batch, const json_t *command) {
  opc_error_t why = {0};
  json_t *tried = NULL;
  if (try_answer(batch, command, &tried, &why) != OPC_OK) {
    OPC_RETURN_IF_ERROR(batch_refuse(batch, &why));
  } else {
    opc_valgrind_case_end(batch->record->sequence, tried);
    OPC_RETURN_IF_ERROR(batch_answer(batch, tried));
  }
  batch_case_end(batch);
  return OPC_OK;
}

static opc_status_t serve_one(batch_t *batch, const json_t *command) {
  const char *kind = json_string_value(json_object_get(command, "t"));
  if (kind && strcmp(kind, "cases") == 0) return cases_run(batch, command);
  if (kind && strcmp(kind, "try") == 0) return try_run(batch, command);
  opc_error_t why = {0};
  opc_error_set(&why, OPC_ERR_PROTOCOL, "no such command: %s", kind ? kind : "(none)");
  return batch_refuse(batch, &why);
}

static opc_status_t serve_next(batch_t *batch, bool *out_ended) {
  static const opc_error_t garbage = {.code = OPC_ERR_PROTOCOL,
                                      .message = "a command is not a JSON object, or longer than a line may be"};
  json_auto_t *command = NULL;
  struct pollfd readable = {.fd = batch->channel.fd, .events = POLLIN};
  switch (opc_channel_next(&batch->channel, &command)) {
    case OPC_CHANNEL_LINE:
      OPC_RETURN_IF_ERROR(serve_one(batch, command));
      *out_ended = batch->must_be_replaced;
      break;
    case OPC_CHANNEL_GARBAGE:
      return batch_refuse(batch, &garbage);
    case OPC_CHANNEL_NOTHING:
      (void)poll(&readable, 1, -1); /* an interrupted wait checks again, too */
      break;
    case OPC_CHANNEL_END:
      *out_ended = true;
      break;
  }
  return OPC_OK;
}

static void batch_close(batch_t *batch) {
  opc_operator_clear(&batch->op);
  opc_channel_close(&batch->channel);
}

opc_status_t opc_batch_serve(int fd, opc_crash_record_t *record, const json_t *operators, opc_error_t *error) {
  /* The supervisor is trusted: a sample may include all its values. */
  OPC_SCOPED(batch_close)
  batch_t batch = {
      .channel = {.fd = fd, .line_limit = (size_t)1 << 30}, .record = record, .operators = operators, .error = error};
  bool ended = false;
  crash_record = record;
  while (!ended) OPC_RETURN_IF_ERROR(serve_next(&batch, &ended));
  return OPC_OK;
}
