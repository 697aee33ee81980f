/* state: changes that a call leaves in the process, the thread and libtorch's settings, also if it refuses its
 * arguments. */
#include <string.h>

#include "checks/framework/first_call.h"
#include "checks/framework/outcome.h"

/* An operator that sets the seed uses 0, or another small number. */
enum { CALL_SEED = 715827883 };

/* Each kind is reported once per case. */
typedef struct telling {
  opc_finding_t *finding;
  bool told[OPC_STATE_KINDS];
} telling_t;

static void tell(telling_t *telling, const opc_state_changes_t *changes, const char *when) {
  for (int kind = 0; kind < OPC_STATE_KINDS; kind++) {
    if (!changes->texts[kind].length || telling->told[kind]) continue;
    telling->told[kind] = true;
    opc_finding_fail(telling->finding, opc_state_rules[kind], "after %s: %s", when, opc_text_c(&changes->texts[kind]));
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
static opc_status_t ask_python(const char *what, opc_text_t *answer, opc_error_t *error) {
  return opc_bridge_has_interpreter() ? opc_bridge_ask_interpreter(what, "", answer, error) : OPC_OK;
}

/* Made inside of c10::InferenceMode, which ended with the call: the caller's results are to be ordinary tensors. */
static opc_status_t tell_inference_tensors(const opc_call_t *call, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  opc_status_t status = opc_call_outputs(call, &outputs, &count, error);
  for (size_t i = 0; i < count && status == OPC_OK; i++) {
    if (!outputs[i].meta.is_inference) continue;
    opc_finding_fail(finding, "state.inference_tensor", "%s is an inference tensor, though inference mode is off",
                     outputs[i].path);
    break;
  }
  return status;
}

/* One call, in the usual state or in another; every change is reported and undone. */
static opc_status_t look(opc_case_context_t *context, bool other, opc_call_t *call, telling_t *telling,
                         opc_error_t *error) {
  opc_state_t before, after;
  opc_state_changes_t changes = {0};
  opc_status_t status = opc_call_make(call, context->op, context->sample, context->device, context->seed, error);
  if (status != OPC_OK) return status;

  status = ask_python("begin", &changes.texts[OPC_STATE_PYTHON], error);
  if (status != OPC_OK) return status;
  state_begin(other, &before);
  context->announce(other ? OPC_CALL_LABEL(OTHERWISE, "under other settings") : OPC_CALL_LABEL(OPERATOR, ""));
  opc_call_run(call, context->handle, CALL_SEED);
  opc_state_read(&after);
  opc_state_compare(&before, &after, &changes);
  opc_state_restore(&after);
  status = ask_python("end", &changes.texts[OPC_STATE_PYTHON], error);

  bool refused = call->outcome != OPC_CALL_RETURNED;
  if (refused)
    opc_text_reset(&changes.texts[OPC_STATE_PRINTED]); /* libtorch's stable interface prints every exception */
  if (refused) tell(telling, &changes, "a call that was refused");
  else
    tell(telling, &changes,
         other ? "a call with other settings in force (grad mode off, another default dtype, one thread more)"
               : "the call");
  opc_state_changes_clear(&changes);
  if (status == OPC_OK && !other && !refused) status = tell_inference_tensors(call, telling->finding, error);
  return status;
}

/* What the very first call did, and later calls need not do again. */
static void tell_first_call(telling_t *telling) {
  const opc_first_call_t *seen = opc_first_call_changes();
  OPC_SCOPED(opc_text_clear) opc_text_t when = {0};
  opc_text_addf(&when, "the first call in the process (case %s), but not after later ones", seen->case_id);
  tell(telling, &seen->changes, opc_text_c(&when));
}

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  telling_t telling = {.finding = finding};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0}, again = {0};
  opc_error_t error = {0};
  const opc_check_session_t *session = context->session;
  bool first_case = !*session->own;
  *session->own = (void *)&opc_check_state;
  opc_status_t status = look(context, false, &call, &telling, &error);
  /* If an operator sets something to its usual value, that shows only if the value was different before. */
  if (status == OPC_OK) status = look(context, true, &again, &telling, &error);
  if (status != OPC_OK) {
    opc_finding_from_error(context, &error, finding);
    return;
  }
  if (first_case) tell_first_call(&telling);
  if (!opc_finding_from_outcome(context, &call, finding))
    opc_finding_pass(finding,
                     "settings, floating-point control, streams, locale, signals, directory and environment are as "
                     "before the call, also under other settings");
}

const opc_check_t opc_check_state = {.name = "state", .run = run};
