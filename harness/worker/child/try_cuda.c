#include "worker/child/try.h"

#include <stdlib.h>

#include "checks/call/device_faults.h"
#include "checks/framework/check.h"
#include "worker/child/batch.h"

/* Only shapes and dtypes represent the effects of the call. */
static opc_status_t try_cuda_effects_collect(try_t *own, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_call_outputs(&own->call, &own->outputs, &own->output_count, error));
  for (size_t i = 0; i < own->output_count; i++) {
    const opc_tensor_meta_t *meta = &own->outputs[i].meta;
    opc_text_addf(&own->effects, "%s:%s%d", own->outputs[i].path, meta->dtype_text, meta->ndim);
    for (int d = 0; d < meta->ndim && d < OPC_MAX_DIMS; d++)
      opc_text_addf(&own->effects, ",%lld", (long long)meta->sizes[d]);
  }
  return OPC_OK;
}

static bool has_effect(const try_t *own, const opc_operator_t *op) {
  bool tensors = false;
  for (size_t i = 0; i < own->output_count; i++)
    if (own->outputs[i].meta.numel > 0) return true;
  for (size_t i = 0; i < own->call.tensor_arg_count; i++) {
    tensors = true;
    if (opc_tensor_arg_is_mutable(&own->call.tensor_args[i]) && own->call.tensor_args[i].before.numel > 0) return true;
  }
  return own->output_count == 0 && (op->return_count > 0 || !tensors);
}

/* Kernel errors are asynchronous, and sticky. */
static void require_device(opc_crash_record_t *box) {
  const opc_launch_api_t *launch = opc_launch();
  int code = launch ? launch->synchronize() : 0;
  if (code == 0) return;
  opc_crash_case_announce(box, OPC_CALL_LABEL(SEARCH, "until the device had finished"));
  fprintf(stderr, "CUDA error %d after a call of the search: this process can make no other\n", code);
  abort();
}

opc_status_t opc_try_cuda(const opc_operator_t *op, opc_op_handle_t *handle, const opc_sample_t *sample,
                          opc_device_t device, uint64_t seed, opc_crash_record_t *box, try_t *own, try_facts_t *facts,
                          opc_text_t *why, opc_error_t *error) {
  own->mutated = json_array();
  opc_try_folder_reset();
  if (opc_cuda_simulated()) (void)opc_device_zones_choose(true); /* where a tensor ends is then known */
  opc_guard_accesses_reset();
  opc_device_faults_reset();
  opc_simulated_case_begin();
  opc_status_t status = opc_call_make(&own->call, op, sample, device, seed, error);
  if (status != OPC_OK) { /* an outcome of the search, not a fault of the harness */
    own->call.outcome = status == OPC_ERR_MEMORY ? OPC_CALL_OUT_OF_MEMORY : OPC_CALL_UNCONVERTIBLE;
    opc_text_reset(&own->call.message);
    opc_text_add(&own->call.message, error->message);
    return OPC_OK;
  }
  opc_call_outcome_t outcome = opc_call_run(&own->call, handle, seed);
  require_device(box);
  if (outcome == OPC_CALL_RETURNED) {
    status = try_cuda_effects_collect(own, error);
    facts->effect = facts->depends = has_effect(own, op);
    opc_try_note_accesses(own);
    if (own->wrote_outside || own->read_outside) {
      facts->observed = true;
      facts->outcome = OPC_TRY_UNCLEAN;
      facts->why = own->wrote_outside ? "with these arguments a kernel writes outside its tensors' memory"
                                      : "with these arguments a kernel reads outside its tensors' memory";
    }
  } else if ((outcome == OPC_CALL_REJECTED || outcome == OPC_CALL_INTERNAL_ASSERT) &&
             opc_simulated_cause(opc_text_c(&own->call.message), why) == OPC_SIMULATED_LACKS) {
    /* The operator's own checks have passed: the arguments are good enough, and its cases report what the device
     * lacks. */
    facts->effect = facts->depends = true;
    facts->observed = true;
    facts->outcome = OPC_TRY_RETURNED;
    facts->why = opc_text_c(why);
  }
  return status;
}
