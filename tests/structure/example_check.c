/* example: no output is NaN where no input is. The smallest check, to be copied; this file is compiled by the tests and
 * is in no program. */
#include <math.h>

#include "checks/framework/check.h"

static bool is_float32(const opc_result_item_t *item) {
  return item->kind == OPC_VALUE_TENSOR && item->meta.dtype == OPC_DTYPE_FLOAT32 && item->bytes;
}

static bool has_nan(const opc_result_item_t *item) {
  const float *elements = item->bytes;
  for (int64_t i = 0; i < item->meta.numel; i++)
    if (isnan(elements[i])) return true;
  return false;
}

static opc_status_t check_outputs(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  int64_t seen = 0;
  if (!opc_case_call(context, false, &call, finding)) return OPC_OK; /* refused, no kernel…: the finding says so */
  OPC_RETURN_IF_ERROR(opc_result_take(&result, &call, OPC_RESULT_ARGUMENTS, error));
  for (size_t i = 0; i < result.count; i++) {
    if (!is_float32(&result.items[i])) continue;
    seen += result.items[i].meta.numel;
    if (has_nan(&result.items[i]))
      opc_finding_fail(finding, OPC_RULE_example_nan, "%s has a NaN, and no argument has", result.items[i].path);
  }
  /* A pass does not hide a failure. */
  if (seen > 0) opc_finding_pass(finding, "no NaN in %lld float32 elements", (long long)seen);
  return OPC_OK;
}

const opc_check_t opc_check_example = {.name = "example", .run = check_outputs};
