#include "checks/device/device_values.h"

#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

/* CUDA's mathematical functions are less accurate than the CPU's: up to 8 units in the last place (CUDA C++ Programming
 * Guide, "Mathematical Functions"). Results of both are compared. */
enum { CUDA_ULPS = 8 + OPC_TOLERANCE_ULPS };

typedef struct comparison {
  opc_case_context_t *context;
  opc_case_context_t host; /* the same case on the CPU */
  opc_replay_t values;     /* of the arguments, as passed to the CUDA kernel */
  opc_result_t cuda, cpu;
} comparison_t;

static opc_again_t again_on(comparison_t *comparison, opc_case_context_t *context, opc_call_label_t label) {
  return (opc_again_t){
      .context = context, .sample = comparison->context->sample, .replay = &comparison->values, .label = label};
}

/* The sample promises bits. */
static bool is_promised(const comparison_t *comparison, size_t item) {
  const opc_sample_t *base = comparison->context->base;
  for (size_t i = 0; base && i < base->expect.same_bits_count; i++) {
    char path[32];
    snprintf(path, sizeof path, "returns[%zu]", base->expect.same_bits[i].output);
    if (strcmp(comparison->cpu.items[item].path, path) == 0) return true;
  }
  return false;
}

static bool must_be_equal(const comparison_t *comparison, size_t item) {
  return is_promised(comparison, item) || opc_result_moves_data(&comparison->cpu.items[item], &comparison->values);
}

static void report_cuda_values(const opc_bound_t *bound, const opc_difference_t *difference, opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_difference_text(difference, bound->got, bound->reference, "on the CPU it", &text);
  opc_finding_fail(finding, OPC_RULE_device_other_values, "on cuda %s", opc_text_c(&text));
  opc_finding_differences(finding, difference, bound->got, bound->reference, opc_bound_holds, (void *)(uintptr_t)bound);
  if (difference->kind != OPC_DIFFERENCE_VALUE || bound->got->items[difference->item].kind != OPC_VALUE_TENSOR) return;
  if (bound->exact[difference->item]) {
    opc_finding_evidence(finding, "tolerance",
                         json_string("none: on the CPU every output element is an input element"));
    return;
  }
  opc_finding_evidence(finding, "tolerance", opc_bound_evidence(bound, difference));
}

/* Different bits may be due to chance or to rounding. These expensive tests come only now. */
static opc_status_t check_other_bits(comparison_t *comparison, opc_difference_t difference, opc_finding_t *finding,
                                     opc_error_t *error) {
  opc_case_context_t *context = comparison->context;
  opc_again_t on_cpu = again_on(comparison, &comparison->host, OPC_CALL_LABEL(ON_OTHERS, "the CPU")),
              on_cuda = again_on(comparison, context, OPC_CALL_LABEL(OPERATOR, "again"));
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  OPC_SCOPED(opc_scope_free) bool *exact = calloc(comparison->cpu.count + 1, sizeof *exact);
  opc_bound_t bound = {.got = &comparison->cuda,
                       .reference = &comparison->cpu,
                       .tolerance = &tolerance,
                       .ulps = CUDA_ULPS,
                       .exact = exact,
                       .narrow = OPC_DTYPE_OTHER};
  bool nondeterministic = false, signs = false, promised = false;
  if (!exact) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a comparison");
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&on_cpu, &comparison->cpu, &nondeterministic, error));
  if (!nondeterministic)
    OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&on_cuda, &comparison->cuda, &nondeterministic, error));
  if (nondeterministic) return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  if (context->base && context->base->expect.has_tolerance) bound.relative = context->base->expect.tolerance;
  for (size_t i = 0; !bound.relative && i < comparison->cpu.count; i++) {
    exact[i] = must_be_equal(comparison, i);
    promised = promised || is_promised(comparison, i);
  }
  /* An output whose elements are all NaN looks like moved data. */
  bound.any_nan = !promised || opc_case_loses_nan_bits(context);
  OPC_RETURN_IF_ERROR(opc_tolerance_measure(&tolerance, &on_cpu, &comparison->cpu, error));
  if (difference.kind == OPC_DIFFERENCE_VALUE)
    difference = opc_result_compare(&comparison->cuda, &comparison->cpu, opc_bound_holds, &bound);
  if (difference.kind == OPC_DIFFERENCE_VALUE) OPC_RETURN_IF_ERROR(opc_signs_differ_only(&bound, &signs, error));
  if (signs)
    opc_finding_pass(finding, "equal to the CPU kernel's but for the signs of whole vectors of an orthonormal basis");
  else if (difference.kind == OPC_DIFFERENCE_NONE)
    opc_finding_pass(
        finding,
        "equal to the CPU kernel's within its own sensitivity to the last place (%d times the change measured)",
        OPC_TOLERANCE_FACTOR);
  else report_cuda_values(&bound, &difference, finding);
  return OPC_OK;
}

static opc_status_t compare_with_cpu(comparison_t *comparison, opc_finding_t *finding, opc_error_t *error) {
  opc_again_t on_cpu = again_on(comparison, &comparison->host, OPC_CALL_LABEL(ON_OTHERS, "the CPU"));
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  OPC_RETURN_IF_ERROR(opc_again_run(&on_cpu, &comparison->cpu, &outcome, &message, error));
  const int64_t numel = opc_result_numel(&comparison->cuda);
  if (outcome != OPC_CALL_RETURNED)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the CPU kernel refuses the same arguments: %.300s",
                            opc_text_c(&message));
  if (!numel)
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "the operator returns nothing that could be compared");
  const opc_difference_t difference = opc_result_compare(&comparison->cuda, &comparison->cpu, NULL, NULL);
  if (difference.kind != OPC_DIFFERENCE_NONE) return check_other_bits(comparison, difference, finding, error);
  return opc_finding_pass(finding, "%lld values have the bits of the CPU kernel's", (long long)numel);
}

/* FNV-1a of all values' bits. */
static uint64_t values_digest(const opc_result_t *result) {
  uint64_t digest = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < result->count; i++) {
    const unsigned char *bytes = result->items[i].bytes;
    for (size_t k = 0; bytes && k < result->items[i].size; k++) digest = (digest ^ bytes[k]) * UINT64_C(0x100000001b3);
  }
  return digest;
}

/* So that a GPU's values can be compared with those of the simulated device (tests/gpu/compare_values.py). */
static void add_digest(const opc_result_t *result, opc_finding_t *finding) {
  char text[24];
  snprintf(text, sizeof text, "%016llx", (unsigned long long)values_digest(result));
  opc_finding_evidence(finding, "digest", json_string(text));
}

static void comparison_clear(comparison_t *comparison) {
  opc_result_clear(&comparison->cuda);
  opc_result_clear(&comparison->cpu);
  opc_replay_clear(&comparison->values);
}

static opc_status_t check_values(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(comparison_clear) comparison_t comparison = {.context = context, .host = *context};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  comparison.host.device = (opc_device_t){OPC_DEVICE_CPU, -1};
  if (!opc_case_call_keeping(context, &comparison.values, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&comparison.cuda, &call, OPC_RESULT_ARGUMENTS, error));
  opc_call_clear(&call);
  OPC_RETURN_IF_ERROR(compare_with_cpu(&comparison, finding, error));
  if (finding->decided && finding->verdict != OPC_VERDICT_SKIP) add_digest(&comparison.cuda, finding);
  return OPC_OK;
}

opc_status_t opc_device_values_check(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (!opc_operator_serves(context->op, OPC_DEVICE_CPU))
    return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "there is no CPU kernel to compare with");
  const bool rounding = opc_cuda_tf32_set(false); /* convolutions round their arguments to 10 bits otherwise */
  const opc_status_t status = check_values(context, finding, error);
  (void)opc_cuda_tf32_set(rounding);
  return status;
}
