/* example: no output is NaN where no input is. The smallest check, to be copied; this file is compiled by the tests and
 * is in no program. */
#include <math.h>

#include "checks/framework/case_run.h"
#include "checks/framework/outcome.h"

static bool has_nan(const opc_result_item_t *item) {
  if (item->kind != OPC_VALUE_TENSOR || item->meta.dtype != OPC_DTYPE_FLOAT32 || !item->bytes) return false;
  const float *elements = item->bytes;
  for (int64_t i = 0; i < item->meta.numel; i++)
    if (isnan(elements[i])) return true;
  return false;
}

static void run(opc_case_context_t *context, opc_finding_t *finding) {
  opc_error_t error;
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  if (!opc_case_call(context, false, &call, finding)) return; /* refused, no kernel…: the finding says so */
  if (opc_result_take(&result, &call, OPC_RESULT_ARGUMENTS, &error) != OPC_OK) {
    opc_finding_from_error(context, &error, finding);
    return;
  }
  for (size_t i = 0; i < result.count; i++)
    if (has_nan(&result.items[i]))
      opc_finding_fail(finding, OPC_RULE_example_nan, "%s has a NaN, and no argument has", result.items[i].path);
  if (opc_result_numel(&result) > 0) opc_finding_pass(finding, "no NaN in %zu outputs", result.count);
}

const opc_check_t opc_check_example = {.name = "example", .run = run};
