#include "checks/framework/check.h"

#include <stdlib.h>
#include <string.h>

#include "memory/cpu_memory.h"

enum { OUTCOME_MESSAGE_LIMIT = 4096 };

bool opc_message_is_mistake(const char *message) {
  static const char *const types[] = {"AttributeError: ", "NameError: ", "UnboundLocalError: "};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strncmp(message, types[i], strlen(types[i])) == 0) return true;
  return strncmp(message, "TypeError: ", 11) == 0 && strstr(message, "NoneType");
}

bool opc_message_refuses_arguments(const char *message) {
  return !opc_torch_says(OPC_TORCH_WANTS_DATA, message) && !opc_torch_says(OPC_TORCH_WANTS_PYTHON, message) &&
         !opc_torch_says(OPC_TORCH_MAKES_SIZE, message) && !opc_torch_says(OPC_TORCH_NO_FAKE, message);
}

bool opc_case_is_declared(const opc_case_context_t *context) {
  const opc_case_id_t *id = &context->id;
  bool own_dtype =
      !id->dtype[0] || context->sample == context->base; /* cases for several dtypes include the sample's own dtype */
  return context->base && context->base->source == OPC_SAMPLE_FILE && own_dtype &&
         (context->variant.families & OPC_VARIANT_PLAIN);
}

/* libtorch's exceptions may have a stack or a hint in further lines: the first line says what was wrong. */
static int first_line_length(const char *message) {
  size_t length = strcspn(message, "\n");
  return length > OUTCOME_MESSAGE_LIMIT ? OUTCOME_MESSAGE_LIMIT : (int)length;
}

static void add_message_evidence(opc_finding_t *finding, const char *message) {
  if (!message[0] || !strchr(message, '\n')) return;
  OPC_SCOPED(opc_text_clear) opc_text_t shown = {0};
  opc_text_add_utf8(&shown, message, strnlen(message, OUTCOME_MESSAGE_LIMIT));
  opc_finding_evidence(finding, "message", json_string(opc_text_c(&shown)));
}

static void finding_from_rejection(opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding) {
  const char *message = opc_text_c(&call->message);
  int length = first_line_length(message);
  bool internal = call->outcome == OPC_CALL_INTERNAL_ASSERT;
  const opc_check_session_t *session = context->session;
  bool wanted = context->base && context->base->expect.rejects;
  /* Between inaccessible pages, a system call may fail that works elsewhere: check memory handles that. */
  bool report = !wanted && !opc_cpu_memory_guarded() && opc_case_is_declared(context) && session &&
                session->sample_reported && !*session->sample_reported;

  if (report) {
    *session->sample_reported = true;
    opc_finding_fail(finding, OPC_RULE_sample_rejected,
                     "the operator refuses sample %s, which its file declares valid: %.*s", context->base->name, length,
                     message);
  }
  if (internal)
    opc_finding_fail(finding, OPC_RULE_sample_internal_assert, "refused by %s: %.*s",
                     opc_torch_says(OPC_TORCH_INTERNAL_ASSERT, message)
                         ? "an internal assertion"
                         : "an exception that no check of arguments throws",
                     length, message);
  if (!report && !internal) {
    if (wanted) opc_finding_pass(finding, "refused, as the sample expects: %.*s", length, message);
    else opc_finding_skip(finding, OPC_SKIP_REJECTED, "%.*s", length, message);
  }
  add_message_evidence(finding, message);
}

/* A refusal that the simulated device may have caused proves nothing about the operator. */
static bool skip_simulated(const opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding) {
  const char *message = opc_text_c(&call->message);
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  bool wanted = context->base && context->base->expect.rejects;
  bool found = context->simulated && !wanted && opc_simulated_cause(message, &why) != OPC_SIMULATED_NONE;
  if (found) {
    opc_finding_skip(finding, OPC_SKIP_SIMULATED, "%s; it then refused: %.*s", opc_text_c(&why),
                     first_line_length(message), message);
    add_message_evidence(finding, message);
  }
  return found;
}

static bool report_outside(const char *path, const opc_tensor_meta_t *meta, opc_finding_t *finding) {
  if (meta->device.type == OPC_DEVICE_META || opc_tensor_lies_inside(meta)) return false;
  char sizes[160], strides[160];
  opc_sizes_text(meta->ndim, meta->sizes, sizes, sizeof sizes);
  opc_sizes_text(meta->ndim, meta->strides, strides, sizeof strides);
  opc_finding_fail(
      finding, OPC_RULE_memory_output_outside,
      "%s has elements outside of its storage: sizes %s, strides %s and offset %lld, and a storage of %zu bytes", path,
      sizes, strides, (long long)meta->storage_offset, meta->storage_bytes);
  return true;
}

static bool report_unreadable(const opc_call_t *call, opc_finding_t *finding) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  bool reported = false;
  if (opc_call_outputs(call, &outputs, &count, NULL) != OPC_OK)
    return false; /* out of memory: callers that need the outputs report it */
  for (size_t i = 0; i < count; i++) reported = report_outside(outputs[i].path, &outputs[i].meta, finding) || reported;
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    opc_tensor_meta_t now;
    opc_tensor_describe(call->tensor_args[i].tensor, &now);
    reported = report_outside(call->tensor_args[i].path, &now, finding) || reported;
  }
  return reported;
}

bool opc_finding_from_outcome(opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding) {
  const char *message = opc_text_c(&call->message);
  int length = first_line_length(message);
  bool declared = opc_case_is_declared(context);
  switch (call->outcome) {
    case OPC_CALL_RETURNED:
      return report_unreadable(call, finding);
    case OPC_CALL_REJECTED:
    case OPC_CALL_INTERNAL_ASSERT:
      if (skip_simulated(context, call, finding)) return true;
      finding_from_rejection(context, call, finding);
      return true;
    case OPC_CALL_RESULT_REFUSED:
      opc_finding_fail(finding, OPC_RULE_alias_refused,
                       "torch.library.custom_op refuses the result: it is an argument, or shares storage with one or "
                       "with another output");
      break;
    case OPC_CALL_NO_KERNEL:
      opc_finding_skip(finding, OPC_SKIP_NO_KERNEL, "%.*s", length, message);
      break;
    case OPC_CALL_FAKE_IN_PYTHON:
      opc_finding_skip(finding, OPC_SKIP_FAKE_IN_PYTHON, "%.*s", length, message);
      break;
    case OPC_CALL_OUT_OF_MEMORY:
      finding->out_of_memory = true;
      if (declared)
        opc_finding_error(finding, OPC_RULE_memory, "sample %s runs out of memory: %.*s", context->base->name, length,
                          message);
      else
        opc_finding_skip(finding, OPC_SKIP_BUDGET, "out of memory on an input that opcheck-c made: %.*s", length,
                         message);
      break;
    case OPC_CALL_FOREIGN_EXCEPTION:
      opc_finding_error(finding, OPC_RULE_foreign_exception,
                        "the operator throws something that is not a std::exception%s%.*s", length ? ": " : "", length,
                        message);
      break;
    case OPC_CALL_UNCONVERTIBLE:
      if (declared)
        opc_finding_error(finding, OPC_RULE_harness, "opcheck-c cannot make the arguments of sample %s: %.*s",
                          context->base->name, length, message);
      else opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the arguments cannot be made: %.*s", length, message);
      break;
  }
  add_message_evidence(finding, message);
  return true;
}

typedef struct absent_device {
  bool found;
  char path[96];
  opc_device_t device;
} absent_device_t;

static void see_device(const char *path, opc_value_t *value, void *context) {
  absent_device_t *absent = context;
  const opc_tensor_spec_t *spec = value->tensor;
  if (absent->found || !spec || !spec->device_given || opc_bridge_device_available(spec->device)) return;
  absent->found = true;
  absent->device = spec->device;
  snprintf(absent->path, sizeof absent->path, "%s", path);
}

/* The first tensor that the sample puts on a device that does not exist here. */
static absent_device_t find_absent_device(const opc_case_context_t *context) {
  absent_device_t absent = {0};
  for (size_t i = 0; context->sample && i < context->sample->argument_count; i++)
    opc_value_visit_tensors(context->op->arguments[i].name, &context->sample->arguments[i], see_device, &absent);
  return absent;
}

/* The sample itself can be made. Then what cannot be made is a check's own version of it, on Meta or in another dtype:
 * what makes an object in it may refuse that. */
static bool is_made_as_declared(const opc_case_context_t *context) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const opc_device_t cpu = {.type = OPC_DEVICE_CPU, .index = -1};
  return opc_call_make(&call, context->op, context->base, cpu, context->seed, NULL) == OPC_OK;
}

void opc_finding_from_error(const opc_case_context_t *context, const opc_error_t *error, opc_finding_t *finding) {
  bool declared = opc_case_is_declared(context);
  absent_device_t absent = find_absent_device(context);
  if (error->code == OPC_ERR_UNSUPPORTED && absent.found) {
    opc_finding_skip(finding, OPC_SKIP_NO_DEVICE, "the sample puts %s on %s:%d, which does not exist here", absent.path,
                     opc_device_type_name(absent.device.type), absent.device.index < 0 ? 0 : absent.device.index);
  } else if (error->code == OPC_ERR_MEMORY) {
    finding->out_of_memory = true;
    if (declared)
      opc_finding_error(finding, OPC_RULE_memory, "no memory for the arguments of sample %s: %s", context->base->name,
                        error->message);
    else opc_finding_skip(finding, OPC_SKIP_BUDGET, "no memory for an input that opcheck-c made: %s", error->message);
  } else if ((error->code == OPC_ERR_UNSUPPORTED || error->code == OPC_ERR_NOT_FOUND || error->code == OPC_ERR_TORCH) &&
             (!declared || is_made_as_declared(context))) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the arguments cannot be made: %s", error->message);
  } else {
    opc_finding_error(finding, OPC_RULE_harness, "opcheck-c cannot make the arguments: %s", error->message);
  }
}

bool opc_case_arguments_fit(const opc_case_context_t *context) { return context->provenance.change != OPC_INPUT_ALONE; }

static void see_repeated(const char *path, opc_value_t *tensor, void *context) {
  bool *found = context;
  const opc_tensor_spec_t *spec = tensor->tensor;
  (void)path;
  if (!spec || opc_dtype_class(spec->dtype) == OPC_CLASS_FLOATING || opc_dtype_class(spec->dtype) == OPC_CLASS_COMPLEX)
    return;
  for (int d = 0; d < spec->ndim; d++) *found |= spec->strides[d] == 0 && spec->sizes[d] > 1;
}

bool opc_case_has_other_integers(const opc_case_context_t *context) {
  bool found = false;
  if (!context->sample || context->sample->source != OPC_SAMPLE_SEARCHED) return false;
  for (size_t i = 0; i < context->sample->argument_count; i++)
    opc_value_visit_tensors("", &context->sample->arguments[i], see_repeated, &found);
  return found;
}
