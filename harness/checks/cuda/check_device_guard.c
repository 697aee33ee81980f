/* device_guard: with the tensors on the second device and the first one current, work and memory are on the second, and
 * the first is current again afterwards. */
#include <stdlib.h>

#include "checks/cuda/cuda_watch.h"

enum { CURRENT = 0, TENSORS = 1 };

/* Why the tensors are not all on the second device, or why the operator may choose another; NULL: neither. */
static const char *why_not(const opc_call_t *call) {
  if (!call->tensor_arg_count) return "no argument is a tensor, so any device is right";
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (call->tensor_args[i].spec->device_given) return "the sample chooses the devices of its tensors";
  for (size_t i = 0; i < call->argument_count; i++)
    if (call->arguments[i].kind == OPC_VALUE_DEVICE && !(call->absent && call->absent[i]))
      return "one of the arguments is a device";
  return NULL;
}

static opc_status_t check_outputs(const opc_cuda_watch_t *watch, opc_cuda_founds_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  OPC_RETURN_IF_ERROR(
      watch->facts.returned && !watch->facts.cut ? opc_call_outputs(&watch->call, &outputs, &count, error) : OPC_OK);
  for (size_t i = 0; i < count; i++) {
    const opc_tensor_meta_t *meta = &outputs[i].meta;
    if (!meta->defined || meta->device.type != OPC_DEVICE_CUDA || meta->device.index == TENSORS) continue;
    opc_cuda_found_add(out, &watch->facts.log, OPC_RULE_device_guard_output_device, OPC_CUDA_NO_CALL, OPC_CUDA_NO_CALL,
                       "%s is on device %d while all tensors are on device %d", outputs[i].path, meta->device.index,
                       TENSORS);
  }
  return OPC_OK;
}

static opc_status_t check_devices(opc_cuda_watch_t *watch, opc_finding_t *finding, opc_error_t *error) {
  opc_cuda_founds_t founds = {0};
  OPC_RETURN_IF_ERROR(opc_cuda_device_use(CURRENT, error));
  watch->device = TENSORS;
  OPC_RETURN_IF_ERROR(opc_cuda_watch_make(watch, error));
  const char *why = why_not(&watch->call);
  if (why) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s", why);
  opc_cuda_watch_run(watch, OPC_CALL_LABEL(OPERATOR, ""));
  opc_cuda_analyse_devices(&watch->facts, &founds);
  OPC_RETURN_IF_ERROR(check_outputs(watch, &founds, error));
  const size_t work = opc_cuda_own_work(watch);
  if (!opc_cuda_watch_settle(watch, &founds, finding))
    opc_cuda_pass(watch, work, finding,
                  "the library's launches, copies and fills (%zu calls) go to device %d, where the tensors are, and "
                  "device %d is current afterwards",
                  work, TENSORS, CURRENT);
  return OPC_OK;
}

static opc_status_t device_guard_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_cuda_watch_end) opc_cuda_watch_t watch = {0};
  if (!opc_cuda_watch_begin(&watch, context, finding)) return OPC_OK;
  if (watch.api->device_count() > TENSORS) return check_devices(&watch, finding, error);
  return opc_finding_skip(finding, OPC_SKIP_NO_DEVICE,
                          "there is one CUDA device here, but this needs two: --device cuda-sim has two");
}

const opc_check_t opc_check_device_guard = {.name = "device_guard", .run = device_guard_run};
