#include "checks/determinism/determinism_under_load.h"

enum { CALLS = 3 };

opc_status_t opc_determinism_under_load(const opc_trial_t *trial, const opc_trial_outcome_t *first, bool *out_differs,
                                        int *out_calls, opc_text_t *out, opc_error_t *error) {
  int device = trial->context->device.index < 0 ? 0 : trial->context->device.index;
  opc_status_t status = OPC_OK;
  *out_differs = false;
  *out_calls = 0;
  for (int i = 0; i < CALLS && status == OPC_OK && !*out_differs; i++) {
    opc_cuda_load_t *busy = NULL;
    OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
    status = opc_cuda_load_begin(device, &busy, error);
    if (status == OPC_OK) status = opc_trial_run(trial, &again, error);
    opc_cuda_load_end(busy);
    (*out_calls)++;
    *out_differs = status == OPC_OK && opc_trial_differ(first, &again, "while another stream was busy it", out) &&
                   !opc_trial_strays();
  }
  return status;
}
