#include "checks/determinism/determinism.h"

/* Work before the call on its own stream holds back what waits for that stream, and nothing else: the rest runs too
 * early. Work on another stream slows down what the call itself does not wait for. */
static const struct {
  bool on_current;
  const char *name;
} loads[] = {{false, "while another stream was busy it"}, {true, "while its stream was busy it"}};

enum { CALLS = 4, LOADS = sizeof loads / sizeof *loads };

/* The arguments are made first: copying them waits for the stream. */
static opc_status_t run_loaded(const opc_again_t *trial, bool on_current, opc_trial_outcome_t *out,
                               opc_error_t *error) {
  int device = trial->context->device.index < 0 ? 0 : trial->context->device.index;
  opc_cuda_load_t *load = NULL;
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(opc_trial_make(trial, &call, error));
  OPC_RETURN_IF_ERROR(opc_cuda_load_begin(device, on_current, &load, error));
  opc_trial_call(trial, &call);
  const opc_status_t status = opc_again_take(&call, out, error);
  opc_cuda_load_end(load);
  return status;
}

opc_status_t opc_determinism_under_load(const opc_again_t *trial, const opc_trial_outcome_t *first, bool *out_differs,
                                        int *calls, opc_text_t *out, opc_error_t *error) {
  *out_differs = false;
  for (int i = 0; i < CALLS && !*out_differs; i++) {
    OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
    ++*calls;
    OPC_RETURN_IF_ERROR(run_loaded(trial, loads[i % LOADS].on_current, &again, error));
    *out_differs = opc_trial_differ(first, &again, loads[i % LOADS].name, out) && !opc_trial_out_of_bounds();
  }
  return OPC_OK;
}
