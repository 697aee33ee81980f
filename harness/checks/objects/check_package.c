/* package: a package's model runs on the inputs for which it was made, and returns the same bits again. On the
 * simulated device its CUDA calls are checked first. Check bitwise handles a sample's promises. */
#include <string.h>

#include "checks/objects/package_cases.h"
#include "memory/cpu_memory.h"

/* Adds, for each output, the input that has the same bits: only information, no promise is needed. */
static void add_same_bits(const opc_call_t *call, const opc_replay_t *values, const opc_result_t *result,
                          opc_text_t *out) {
  for (size_t i = 0; i < result->count; i++) {
    const opc_result_item_t *item = &result->items[i];
    if (item->argument || item->kind != OPC_VALUE_TENSOR || !item->bytes || item->meta.numel == 0) continue;
    for (size_t k = 0; k < values->count; k++) {
      const struct opc_replay_tensor_arg *tensor_arg = &values->tensor_args[k];
      bool alike = tensor_arg->dtype == item->meta.dtype && tensor_arg->numel == item->meta.numel &&
                   memcmp(tensor_arg->bytes, item->bytes, item->size) == 0;
      if (!alike) continue;
      opc_text_addf(out, "; the output's bits equal the input's: %s is %s, all %lld elements of %s", item->path,
                    call->tensor_args[k].path, (long long)tensor_arg->numel, opc_dtype_name(tensor_arg->dtype));
      break;
    }
  }
}

static opc_status_t package_run_again(opc_case_context_t *context, opc_replay_t *values, opc_result_t *out,
                                      opc_finding_t *finding, opc_error_t *error) {
  opc_again_t again = {.context = context, .replay = values, .label = {OPC_CALL_KIND_OPERATOR, "a second time"}};
  opc_call_outcome_t outcome;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  unsigned char before = opc_poison_byte();
  opc_poison_pattern(OPC_PATTERN_SECOND); /* unwritten bytes must not show */
  const opc_status_t status = opc_again_run(&again, out, &outcome, &message, error);
  opc_poison_pattern(before);
  OPC_RETURN_IF_ERROR(status);
  if (outcome != OPC_CALL_RETURNED)
    opc_finding_fail(finding, OPC_RULE_package_not_repeatable, "the second run on the same inputs is refused: %s",
                     opc_text_c(&message));
  return OPC_OK;
}

/* `before`: what was found before, for a pass. */
static opc_status_t check_two_runs(opc_case_context_t *context, const char *before, opc_finding_t *finding,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t first = {0}, second = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  OPC_RETURN_IF_ERROR(opc_call_make(&call, context->op, context->sample, context->device, context->seed, error));
  OPC_RETURN_IF_ERROR(opc_replay_take(&values, &call, error));
  context->announce(OPC_CALL_LABEL(OPERATOR, ""));
  opc_call_run(&call, context->handle, context->seed);
  if (opc_package_refuses_its_own(context, &call, finding) || opc_finding_from_outcome(context, &call, finding))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&first, &call, 0, error));
  OPC_RETURN_IF_ERROR(package_run_again(context, &values, &second, finding, error));
  if (finding->decided) return OPC_OK;
  if (opc_simulated_uncomputed(context))
    return opc_finding_pass(finding, "%sno values were compared: %s", before, opc_simulated_kernels().not_run);
  opc_difference_t difference = opc_result_compare(&first, &second, NULL, NULL);
  if (difference.kind != OPC_DIFFERENCE_NONE) {
    opc_difference_text(&difference, &first, &second, "the second run", &text);
    opc_finding_fail(finding, OPC_RULE_package_not_repeatable, "%s", opc_text_c(&text));
  } else if (opc_result_numel(&first) == 0) {
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the model ran but returned nothing that could be compared");
  } else {
    add_same_bits(&call, &values, &first, &text);
    opc_finding_pass(finding, "%sthe model ran twice, with the same bits%s", before, opc_text_c(&text));
  }
  return OPC_OK;
}

static opc_status_t package_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t launches = {0};
  if (!context->simulated) return check_two_runs(context, "", finding, error);
  OPC_RETURN_IF_ERROR(opc_package_run_simulated(context, &launches, finding, error));
  opc_text_add(&launches, "; ");
  return finding->decided ? OPC_OK : check_two_runs(context, opc_text_c(&launches), finding, error);
}

const opc_check_t opc_check_package = {.name = "package", .run = package_run};
