/* state: changes that a call leaves in the process, the thread and libtorch's settings, also if it refuses its
 * arguments. */

#include "checks/framework/check.h"
#include "checks/framework/global_state.h"

/* An operator that sets the seed uses 0, or another small number. */
enum { CALL_SEED = 715827883 };

/* Each kind is reported once per case. */
typedef struct report {
  opc_finding_t *finding;
  bool reported[OPC_STATE_KINDS];
} report_t;

static void report_changes(report_t *report, const opc_state_changes_t *changes, const char *when) {
  for (int kind = 0; kind < OPC_STATE_KINDS; kind++) {
    if (!changes->texts[kind].length || report->reported[kind]) continue;
    report->reported[kind] = true;
    opc_finding_fail(report->finding, opc_state_rules[kind], "after %s: %s", when, opc_text_c(&changes->texts[kind]));
  }
}

/* The call starts in a known state, whatever earlier calls left. */
static void state_begin(bool other, opc_state_t *out) {
  opc_state_changes_t changes = {0};
  opc_state_read(out);
  opc_state_compare(opc_state_first(), out, &changes);
  opc_text_reset(
      &changes.texts[OPC_STATE_GENERATOR]); /* every call has its own seed, and printed output cannot be undone */
  opc_text_reset(&changes.texts[OPC_STATE_PRINTED]);
  bool changed = opc_state_changes_any(&changes);
  if (changed) opc_state_restore(out);
  if (other) opc_state_make_other();
  if (changed || other) opc_state_read(out);
  opc_state_changes_clear(&changes);
  out->settings[OPC_SETTING_SEED] = CALL_SEED;
}

/* What only the interpreter of --python knows; it restores its own state. */
static opc_status_t state_ask_python(const char *what, opc_text_t *answer, opc_error_t *error) {
  return opc_bridge_has_interpreter() ? opc_bridge_ask_interpreter(what, "", answer, error) : OPC_OK;
}

/* Made inside of c10::InferenceMode, which ended with the call: the caller's results are to be ordinary tensors. */
static opc_status_t report_inference_tensors(const opc_call_t *call, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  OPC_RETURN_IF_ERROR(opc_call_outputs(call, &outputs, &count, error));
  for (size_t i = 0; i < count; i++) {
    if (!outputs[i].meta.is_inference) continue;
    opc_finding_fail(finding, OPC_RULE_state_inference_tensor,
                     "%s is an inference tensor, though inference mode is off", outputs[i].path);
    break;
  }
  return OPC_OK;
}

/* One call, in the usual state or in another; every change is reported and undone. */
static opc_status_t state_check(opc_case_context_t *context, bool other, opc_call_t *call, report_t *report,
                                opc_error_t *error) {
  opc_state_t before, after;
  OPC_SCOPED(opc_state_changes_clear) opc_state_changes_t changes = {0};
  OPC_RETURN_IF_ERROR(opc_call_make(call, context->op, context->sample, context->device, context->seed, error));
  OPC_RETURN_IF_ERROR(state_ask_python("begin", &changes.texts[OPC_STATE_PYTHON], error));
  state_begin(other, &before);
  context->announce(other ? OPC_CALL_LABEL(OTHERWISE, "under other settings") : OPC_CALL_LABEL(OPERATOR, ""));
  opc_call_run(call, context->handle, CALL_SEED);
  opc_state_read(&after);
  opc_state_compare(&before, &after, &changes);
  opc_state_restore(&after);
  const opc_status_t status = state_ask_python("end", &changes.texts[OPC_STATE_PYTHON], error);

  bool refused = call->outcome != OPC_CALL_RETURNED;
  if (refused)
    opc_text_reset(&changes.texts[OPC_STATE_PRINTED]); /* libtorch's stable interface prints every exception */
  if (refused) report_changes(report, &changes, "a call that was refused");
  else
    report_changes(report, &changes,
                   other ? "a call with other settings in force (grad mode off, another default dtype, one thread more)"
                         : "the call");
  OPC_RETURN_IF_ERROR(status);
  return other || refused ? OPC_OK : report_inference_tensors(call, report->finding, error);
}

/* What the very first call did, and later calls need not do again. */
static void report_first_call(report_t *report) {
  const opc_first_call_t *seen = opc_first_call_changes();
  OPC_SCOPED(opc_text_clear) opc_text_t when = {0};
  opc_text_addf(&when, "the first call in the process (case %s), but not after later ones", seen->case_id);
  report_changes(report, &seen->changes, opc_text_c(&when));
}

/* Loading is over: what it changed was kept then. */
static opc_status_t report_load(const opc_operator_t *library, opc_finding_t *finding) {
  const opc_load_change_t *change = opc_load_state_of(library->library);
  if (change && change->results.length > 0)
    opc_finding_fail(finding, OPC_RULE_state_load_results, "after loading %s: %s", library->library,
                     opc_text_c(&change->results));
  if (change && change->rest.length > 0)
    opc_finding_fail(finding, OPC_RULE_state_load, "after loading %s: %s", library->library, opc_text_c(&change->rest));
  return opc_finding_pass(finding,
                          "settings, random numbers, floating-point control, threads, streams, locale, signals, "
                          "directory and environment are as before it was loaded");
}

static opc_status_t state_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (context->op->kind == OPC_OPERATOR_LIBRARY) return report_load(context->op, finding);
  report_t report = {.finding = finding};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0}, again = {0};
  const opc_check_session_t *session = context->session;
  const bool first_case = !*session->ran;
  /* If an operator sets something to its usual value, that shows only if the value was different before. */
  OPC_RETURN_IF_ERROR(state_check(context, false, &call, &report, error));
  OPC_RETURN_IF_ERROR(state_check(context, true, &again, &report, error));
  if (first_case) report_first_call(&report);
  if (!opc_finding_from_outcome(context, &call, finding))
    opc_finding_pass(finding,
                     "settings, floating-point control, streams, locale, signals, directory and environment are as "
                     "before the call, also under other settings");
  return OPC_OK;
}

const opc_check_t opc_check_state = {.name = "state", .run = state_run};
