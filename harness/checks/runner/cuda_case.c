/* After each case on a CUDA device: errors left behind by its kernels. */
#include "checks/call/device_faults.h"
#include "checks/cuda_log/cuda_analysis.h"
#include "checks/runner/runner_inside.h"

static bool is_watched(const opc_case_context_t *context) {
  const opc_launch_api_t *launch = opc_launch();
  return context->device.type == OPC_DEVICE_CUDA && !context->simulated && launch && launch->mode == OPC_LAUNCH_THROUGH;
}

void opc_cuda_case_begin(const opc_case_context_t *context) {
  if (is_watched(context)) opc_launch()->log_begin();
}

/* On a GPU it is an error that ends the context; the simulated device goes on. */
static void report_fatal(const opc_device_fault_t *fault, opc_finding_t *finding) {
  const int code = fault->kind == OPC_FAULT_MISALIGNED               ? 716
                   : fault->kind == OPC_FAULT_DEADLOCK               ? 702
                   : fault->kind == OPC_FAULT_TRAP && fault->text[0] ? 710
                                                                     : 719;
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_finding_clear(finding); /* a kernel that stopped computed nothing: what else was found follows from it */
  *finding = (opc_finding_t){0};
  opc_text_addf(&text, "%s (%s, %d)", opc_cuda_fault_meaning(code), opc_cuda_error_name(code), code);
  if (fault->text[0]) opc_text_addf(&text, ": %s", fault->text);
  opc_device_fault_place(fault, &text);
  opc_finding_error(finding, OPC_RULE_launch_asynchronous_error, "%s", opc_text_c(&text));
  opc_finding_evidence(finding, "cuda_error", json_integer(code));
}

bool opc_cuda_case_end(const opc_case_context_t *context, opc_finding_t *finding) {
  if (context->simulated && opc_device_fault_fatal()) report_fatal(opc_device_fault_fatal(), finding);
  if (!is_watched(context)) return false;
  const opc_launch_api_t *launch = opc_launch();
  int code = launch->synchronize(),
      left =
          launch->last_error(); /* an error that is no fault is cleared here, so that the next case does not get it */
  if (!opc_cuda_fault_meaning(code)) code = left;
  if (!opc_cuda_fault_meaning(code)) return false;

  opc_cuda_log_t log = launch->log_end(); /* of the case, or of the last call that a check logged */
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  OPC_SCOPED(opc_finding_clear) opc_finding_t followed = *finding;
  *finding = (opc_finding_t){0};
  opc_cuda_fault_describe(code, &log, &text);
  opc_finding_error(finding, OPC_RULE_launch_asynchronous_error, "%s", opc_text_c(&text));
  /* After a fault the check itself cannot make arguments for a further call, which says nothing new. */
  const bool violation = followed.decided && followed.rule && followed.rule != OPC_RULE_harness &&
                         (followed.verdict == OPC_VERDICT_FAIL || followed.verdict == OPC_VERDICT_ERROR);
  if (violation) opc_finding_error(finding, followed.rule, "%s", opc_text_c(&followed.message));
  opc_finding_evidence(finding, "cuda_error", json_integer(code));
  opc_finding_evidence(finding, "launches", opc_cuda_fault_launches(&log));
  return true;
}
