/* functionalisation: whether torch.compile accepts the operator, and what a call does under libtorch's
 * functionalisation. */
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

typedef struct functional_case {
  opc_case_context_t *context;
  opc_finding_t *finding;
  opc_call_t plain, functional;
  opc_result_t plain_result, functional_result;
  bool *replaced; /* one per tensor argument of the functional call */
  opc_error_t *error;
} functional_case_t;

static opc_status_t call_functional(functional_case_t *run) {
  opc_case_context_t *context = run->context;
  opc_call_t *call = &run->functional;
  OPC_RETURN_IF_ERROR(opc_call_make(call, context->op, context->sample, context->device, context->seed, run->error));
  OPC_RETURN_IF_ERROR(opc_call_snapshot(call, run->error));
  run->replaced = calloc(call->tensor_arg_count + 1, sizeof *run->replaced);
  if (!run->replaced) return opc_error_set(run->error, OPC_ERR_MEMORY, "out of memory for a call");
  context->announce(OPC_CALL_LABEL(OTHERWISE, "under functionalisation"));
  opc_bridge_seed(context->seed);
  call->outcome =
      opc_op_call_functional(context->handle, call->arguments, call->absent, call->argument_count, run->replaced,
                             call->tensor_arg_count, &call->returns, &call->return_count, &call->message);
  return OPC_OK;
}

/* Whether a call on plain tensors writes the argument too: then check mutation reports it. */
static opc_status_t changes_plainly(const functional_case_t *run, size_t tensor_arg, bool *out) {
  opc_change_t change;
  OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(&run->plain.tensor_args[tensor_arg], &change, run->error));
  *out = change.inside || change.outside;
  return OPC_OK;
}

static opc_status_t compare_arguments(functional_case_t *run) {
  if (opc_operator_may_alias_or_mutate(run->context->op)) return OPC_OK;
  for (size_t i = 0; i < run->functional.tensor_arg_count && i < run->plain.tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &run->functional.tensor_args[i];
    opc_change_t change;
    bool plainly = false;
    OPC_RETURN_IF_ERROR(opc_tensor_arg_changed(tensor_arg, &change, run->error));
    OPC_RETURN_IF_ERROR(changes_plainly(run, i, &plainly));
    bool base = change.inside || change.outside;
    if (plainly || (!base && !run->replaced[i])) continue;
    opc_finding_fail(run->finding, OPC_RULE_functionalisation_hidden_mutation,
                     base ? "under functionalisation the call writes the memory of argument %s, which it does not "
                            "write otherwise and which its schema does not declare mutable"
                          : "under functionalisation argument %s has another value after the call, though its schema "
                            "does not declare it mutable",
                     tensor_arg->path);
  }
  return OPC_OK;
}

/* The results differ in bits: by chance, by rounding, or because they are wrong. */
static opc_status_t check_functional_result(functional_case_t *run, opc_difference_t difference) {
  opc_case_context_t *context = run->context;
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  bool nondeterministic = false;
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_again_t again = {.context = context, .replay = &values, .label = {OPC_CALL_KIND_OTHERWISE, "once more"}};
  OPC_RETURN_IF_ERROR(opc_again_values(&(opc_again_t){.context = context}, &values, run->error));
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, &run->plain_result, &nondeterministic, run->error));
  if (nondeterministic) opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  if (nondeterministic) return OPC_OK;

  OPC_RETURN_IF_ERROR(opc_tolerance_measure(&tolerance, &again, &run->plain_result, run->error));
  opc_bound_t bound = {.got = &run->functional_result,
                       .reference = &run->plain_result,
                       .tolerance = &tolerance,
                       .ulps = OPC_TOLERANCE_ULPS,
                       .narrow = OPC_DTYPE_OTHER};
  if (difference.kind == OPC_DIFFERENCE_VALUE)
    difference = opc_result_compare(bound.got, bound.reference, opc_bound_holds, &bound);
  if (difference.kind == OPC_DIFFERENCE_NONE) return OPC_OK;
  opc_difference_text(&difference, bound.got, bound.reference, "on plain tensors it", &text);
  opc_finding_differences(run->finding, &difference, bound.got, bound.reference, opc_bound_holds, &bound);
  return opc_finding_fail(run->finding, OPC_RULE_functionalisation_wrong_result, "under functionalisation %s",
                          opc_text_c(&text));
}

/* The fallback calls the same kernel as a plain call, so functionalisation does not cause a different result. */
static bool has_other_code(const opc_operator_t *op) {
  OPC_SCOPED(opc_text_clear) opc_text_t reason = {0};
  opc_functionalise_t rule = opc_functionalise_rule(op, &reason);
  return rule == OPC_FUNCTIONALISE_OWN_KERNEL || rule == OPC_FUNCTIONALISE_DECOMPOSED;
}

static opc_status_t compare_functional(functional_case_t *run) {
  const char *message = opc_text_c(&run->functional.message);
  if (run->functional.outcome != OPC_CALL_RETURNED && opc_torch_says(OPC_TORCH_WANTS_DATA, message) &&
      opc_operator_fake_may_be_in_python(run->context->op))
    return opc_finding_skip(run->finding, OPC_SKIP_NO_KERNEL,
                            "there is no Meta kernel in C++, and the kernel for every device needs data: %.*s",
                            (int)strcspn(message, "\n"), message);
  if (run->functional.outcome != OPC_CALL_RETURNED)
    return opc_finding_fail(run->finding, OPC_RULE_functionalisation_fails,
                            "the call returns on plain tensors; under functionalisation it throws: %.*s",
                            (int)strcspn(message, "\n"), message);
  const bool other_code = has_other_code(run->context->op);
  opc_difference_t difference = {.kind = OPC_DIFFERENCE_NONE};
  OPC_RETURN_IF_ERROR(opc_result_take(&run->plain_result, &run->plain, 0, run->error));
  OPC_RETURN_IF_ERROR(opc_result_take(&run->functional_result, &run->functional, 0, run->error));
  OPC_RETURN_IF_ERROR(compare_arguments(run));
  if (other_code) difference = opc_result_compare(&run->functional_result, &run->plain_result, NULL, NULL);
  if (difference.kind != OPC_DIFFERENCE_NONE) OPC_RETURN_IF_ERROR(check_functional_result(run, difference));
  if (run->functional.tensor_arg_count)
    return opc_finding_pass(run->finding, "under functionalisation the call returns and no argument changes%s",
                            other_code ? "; its results are those of a plain call" : "");
  return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "no tensor among the arguments");
}

static void functional_case_clear(functional_case_t *run) {
  free(run->replaced);
  opc_result_clear(&run->functional_result);
  opc_result_clear(&run->plain_result);
  opc_call_clear(&run->functional);
  opc_call_clear(&run->plain);
}

static opc_status_t check_functional(functional_case_t *run) {
  OPC_RETURN_IF_ERROR(call_functional(run));
  return compare_functional(run);
}

static opc_status_t run_functional(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(functional_case_clear)
  functional_case_t run = {.context = context, .finding = finding, .error = error};
  return opc_case_call(context, true, &run.plain, finding) ? check_functional(&run) : OPC_OK;
}

static void report_rule(const opc_case_context_t *context, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t reason = {0};
  switch (opc_functionalise_rule(context->op, &reason)) {
    case OPC_FUNCTIONALISE_REFUSED:
      opc_finding_fail(finding, OPC_RULE_functionalisation_refused, "torch.compile refuses this operator: %s",
                       opc_text_c(&reason));
      break;
    case OPC_FUNCTIONALISE_BUILT_IN:
      opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "%s, so functionalisation has its own code for it",
                       opc_text_c(&reason));
      break;
    case OPC_FUNCTIONALISE_FUNCTIONAL:
    case OPC_FUNCTIONALISE_AUTOMATIC:
    case OPC_FUNCTIONALISE_OWN_KERNEL:
    case OPC_FUNCTIONALISE_DECOMPOSED:
      opc_finding_pass(finding, "torch.compile can functionalise it: %s", opc_text_c(&reason));
      break;
  }
}

static opc_status_t run_functionalisation(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (context->sample) return run_functional(context, finding, error);
  report_rule(context, finding);
  return OPC_OK;
}

const opc_check_t opc_check_functionalisation = {.name = "functionalisation", .run = run_functionalisation};
