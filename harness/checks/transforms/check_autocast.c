/* autocast: under torch.autocast the operator's own autocast kernel (torch.library.register_autocast, or a kernel at
 * AutocastCPU) accepts what the operator accepts, and computes the same in some precision. */
#include <math.h>
#include <string.h>

#include "checks/compare/compare.h"

/* torch.autocast for the CPU knows these two. */
static const opc_dtype_t autocast_dtypes[] = {OPC_DTYPE_BFLOAT16, OPC_DTYPE_FLOAT16};
enum { DTYPES = sizeof autocast_dtypes / sizeof *autocast_dtypes };

/* A kernel may cast some arguments and not others, and round in between: 1/32 of the largest number in bfloat16. */
static const double ULPS_OF_LARGEST = 8.0;

/* torch.library.register_autocast casts to a dtype of its own, whichever autocast has. */
static const opc_dtype_t casts[] = {OPC_DTYPE_OTHER, OPC_DTYPE_BFLOAT16, OPC_DTYPE_FLOAT16, OPC_DTYPE_FLOAT32};
enum { CANDIDATES = sizeof casts / sizeof *casts };

typedef struct candidate {
  opc_dtype_t cast;    /* OTHER: the sample's own */
  opc_result_t result; /* empty: the operator refuses that dtype */
  opc_tolerance_t change;
} candidate_t;

typedef struct autocast_case {
  opc_case_context_t *context;
  opc_finding_t *finding;
  opc_replay_t values;
  opc_dtype_t dtype; /* autocast's */
  candidate_t candidates[CANDIDATES];
  size_t compared; /* elements */
  bool found;
  opc_error_t *error;
} autocast_case_t;

/* ---- calls ---- */

static opc_status_t cast_sample(autocast_case_t *run, opc_dtype_t dtype, opc_sample_t *out) {
  OPC_RETURN_IF_ERROR(opc_sample_copy(run->context->sample, out, run->error));
  if (dtype != OPC_DTYPE_OTHER) (void)opc_sample_cast(out, dtype);
  return OPC_OK;
}

/* The operator without autocast. A dtype that it refuses is no candidate. */
static opc_status_t compute(autocast_case_t *run, candidate_t *candidate) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  OPC_RETURN_IF_ERROR(cast_sample(run, candidate->cast, &sample));
  const opc_again_t again = {.context = run->context,
                             .sample = &sample,
                             .replay = &run->values,
                             .label = {OPC_CALL_KIND_OTHERWISE, "without autocast"}};
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &candidate->result, &outcome, NULL, run->error));
  if (outcome == OPC_CALL_RETURNED)
    OPC_RETURN_IF_ERROR(opc_tolerance_measure(&candidate->change, &again, &candidate->result, run->error));
  return OPC_OK;
}

static opc_status_t call_under_autocast(autocast_case_t *run, opc_sample_t *sample, opc_call_t *call) {
  const opc_again_t again = {.context = run->context, .sample = sample, .replay = &run->values};
  OPC_RETURN_IF_ERROR(opc_again_make(&again, call, run->error));
  run->context->announce(OPC_CALL_LABEL(OTHERWISE, "under torch.autocast"));
  opc_bridge_seed(run->context->seed);
  call->outcome = opc_op_call_autocast(run->context->handle, call->arguments, call->absent, call->argument_count,
                                       run->dtype, &call->returns, &call->return_count, &call->message);
  return OPC_OK;
}

/* ---- comparing ---- */

static double part(const opc_result_item_t *item, int64_t element, bool imaginary) {
  const opc_number_t number =
      opc_number_load(item->meta.dtype, (const char *)item->bytes + (size_t)element * opc_dtype_size(item->meta.dtype));
  if (number.kind == OPC_NUMBER_COMPLEX) return imaginary ? number.c.im : number.c.re;
  if (imaginary) return 0.0;
  return number.kind == OPC_NUMBER_INT ? (double)number.i : number.f;
}

static double bound_of(const autocast_case_t *run, const candidate_t *candidate, size_t item) {
  const double largest = opc_result_largest(&candidate->result.items[item]);
  const double change = item < candidate->change.count ? candidate->change.change[item] : 0.0;
  return ULPS_OF_LARGEST * opc_dtype_ulp(run->dtype, largest) + OPC_TOLERANCE_FACTOR * change;
}

/* In some candidate the element is as in `got`, or nothing can be said: rounding made an infinity or a NaN of it. */
static bool element_fits(const autocast_case_t *run, const opc_result_t *got, size_t item, int64_t element) {
  for (size_t k = 0; k < CANDIDATES; k++) {
    const candidate_t *candidate = &run->candidates[k];
    if (candidate->result.count != got->count) continue;
    const opc_result_item_t *wanted = &candidate->result.items[item];
    const double bound = bound_of(run, candidate, item);
    bool fits = true;
    for (int imaginary = 0; imaginary < 2 && fits; imaginary++) {
      const double its = part(wanted, element, imaginary), own = part(&got->items[item], element, imaginary);
      fits = !isfinite(its) || fabs(own - its) <= bound;
    }
    if (fits) return true;
  }
  return false;
}

static bool has_same_shape(const opc_result_item_t *left, const opc_result_item_t *right) {
  return left->kind == right->kind && opc_tensor_same_sizes(&left->meta, &right->meta);
}

static void report_element(autocast_case_t *run, const opc_result_item_t *got, int64_t element,
                           const opc_result_item_t *wanted) {
  char index[128], own[64], its[64];
  const size_t width = opc_dtype_size(got->meta.dtype), wanted_width = opc_dtype_size(wanted->meta.dtype);
  opc_index_text(&got->meta, element, index, sizeof index);
  opc_element_text(got->meta.dtype, (const char *)got->bytes + (size_t)element * width, own, sizeof own);
  opc_element_text(wanted->meta.dtype, (const char *)wanted->bytes + (size_t)element * wanted_width, its, sizeof its);
  opc_finding_fail(
      run->finding, OPC_RULE_autocast_wrong_result,
      "under torch.autocast with %s, %s%s is %s; without it, it is %s, and not nearer with arguments in bfloat16, "
      "float16 or float32",
      opc_dtype_name(run->dtype), got->path, index, own, its);
  run->found = true;
}

/* Whole numbers may change with the precision of what was compared or rounded: they are not compared. */
static void compare_autocast(autocast_case_t *run, const opc_result_t *got) {
  const opc_result_t *plain = &run->candidates[0].result;
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const opc_difference_t difference = opc_result_compare(got, plain, NULL, NULL);
  if (difference.kind == OPC_DIFFERENCE_COUNT || difference.kind == OPC_DIFFERENCE_SHAPE) {
    opc_difference_text(&difference, got, plain, "the operator without autocast", &text);
    opc_finding_fail(run->finding, OPC_RULE_autocast_wrong_result, "under torch.autocast with %s, %s",
                     opc_dtype_name(run->dtype), opc_text_c(&text));
    run->found = true;
    return;
  }
  for (size_t i = 0; i < got->count && !run->found; i++) {
    const opc_result_item_t *item = &got->items[i];
    if (!opc_result_is_measurable(item) || !opc_result_is_measurable(&plain->items[i]) ||
        !has_same_shape(item, &plain->items[i]))
      continue;
    for (int64_t element = 0; element < item->meta.numel && !run->found; element++, run->compared++)
      if (!element_fits(run, got, i, element)) report_element(run, item, element, &plain->items[i]);
  }
}

/* ---- one dtype ---- */

static opc_status_t try_dtype(autocast_case_t *run, opc_dtype_t dtype) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0};
  run->dtype = dtype;
  OPC_RETURN_IF_ERROR(cast_sample(run, OPC_DTYPE_OTHER, &sample));
  OPC_RETURN_IF_ERROR(call_under_autocast(run, &sample, &call));
  if (call.outcome != OPC_CALL_RETURNED) {
    const char *message = opc_text_c(&call.message);
    opc_finding_fail(run->finding, OPC_RULE_autocast_fails,
                     "the operator accepts the arguments; under torch.autocast with %s it throws: %.*s",
                     opc_dtype_name(dtype), (int)strcspn(message, "\n"), message);
    run->found = true;
    return OPC_OK;
  }
  for (size_t i = 0; i < CANDIDATES; i++) {
    if (run->candidates[i].result.items && casts[i] == run->candidates[i].cast) continue;
    opc_result_clear(&run->candidates[i].result);
    opc_tolerance_clear(&run->candidates[i].change);
    run->candidates[i].cast = casts[i];
    OPC_RETURN_IF_ERROR(compute(run, &run->candidates[i]));
  }
  OPC_RETURN_IF_ERROR(opc_result_take(&got, &call, 0, run->error));
  compare_autocast(run, &got);
  return OPC_OK;
}

/* Layers before and after the operator give and expect different dtypes under autocast: one tensor alone in autocast's
 * dtype. */
static opc_status_t try_mixed(autocast_case_t *run) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_tensor_spec_t *first = NULL, *spec;
  size_t floats = 0;
  OPC_RETURN_IF_ERROR(cast_sample(run, OPC_DTYPE_OTHER, &sample));
  for (size_t i = 0; (spec = opc_sample_tensor(&sample, i)); i++) {
    if (spec->dtype != OPC_DTYPE_FLOAT32) continue;
    if (floats++ == 0) first = spec;
  }
  /* A tensor that shares its memory with another one cannot have another dtype. */
  if (floats < 2 || first->identity || first->storage) return OPC_OK;
  first->dtype = run->dtype;
  OPC_RETURN_IF_ERROR(call_under_autocast(run, &sample, &call));
  if (call.outcome == OPC_CALL_RETURNED) return OPC_OK;
  const char *message = opc_text_c(&call.message);
  opc_finding_fail(
      run->finding, OPC_RULE_autocast_mixed,
      "under torch.autocast with %s the operator accepts tensors of float32; if the first of them is of %s, "
      "it throws: %.*s",
      opc_dtype_name(run->dtype), opc_dtype_name(run->dtype), (int)strcspn(message, "\n"), message);
  run->found = true;
  return OPC_OK;
}

static opc_status_t is_nondeterministic(autocast_case_t *run, bool *out) {
  OPC_SCOPED(opc_result_clear) opc_result_t plain = {0};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  const opc_again_t again = {
      .context = run->context, .replay = &run->values, .label = {OPC_CALL_KIND_OTHERWISE, "without autocast"}};
  *out = false;
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &plain, &outcome, NULL, run->error));
  if (outcome == OPC_CALL_RETURNED)
    OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, &plain, out, run->error));
  return OPC_OK;
}

static void autocast_case_clear(autocast_case_t *run) {
  for (size_t i = 0; i < CANDIDATES; i++) {
    opc_result_clear(&run->candidates[i].result);
    opc_tolerance_clear(&run->candidates[i].change);
  }
  opc_replay_clear(&run->values);
}

static opc_status_t check_dtypes(autocast_case_t *run) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  bool random = false;
  if (!opc_case_call_keeping(run->context, &run->values, &call, run->finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(is_nondeterministic(run, &random));
  if (random) return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  for (size_t i = 0; i < DTYPES && !run->found; i++) {
    OPC_RETURN_IF_ERROR(try_dtype(run, autocast_dtypes[i]));
    if (!run->found) OPC_RETURN_IF_ERROR(try_mixed(run));
  }
  if (run->found) return OPC_OK;
  if (run->compared == 0)
    return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                            "no result holds floating numbers: nothing to compare");
  return opc_finding_pass(run->finding,
                          "under torch.autocast the operator computes the same, with bfloat16 and with float16");
}

/* The operator's words about the sample in this dtype; empty: it accepts it. */
static opc_status_t refusal_in(autocast_case_t *run, opc_dtype_t dtype, bool *out_refuses, opc_text_t *out) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  opc_call_outcome_t outcome = OPC_CALL_UNCONVERTIBLE;
  OPC_RETURN_IF_ERROR(cast_sample(run, dtype, &sample));
  const opc_again_t again = {.context = run->context,
                             .sample = &sample,
                             .replay = &run->values,
                             .label = {OPC_CALL_KIND_OTHERWISE, "in a dtype of torch.autocast"}};
  OPC_RETURN_IF_ERROR(opc_again_run(&again, &result, &outcome, out, run->error));
  *out_refuses = outcome == OPC_CALL_REJECTED || outcome == OPC_CALL_INTERNAL_ASSERT;
  return OPC_OK;
}

static bool has_float32(const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++)
    if (spec->dtype == OPC_DTYPE_FLOAT32) return true;
  return false;
}

/* Its author knows that autocast's dtypes need a cast, and made one for CUDA. */
static opc_status_t check_cuda_alone(autocast_case_t *run) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  if (!opc_case_call_keeping(run->context, &run->values, &call, run->finding)) return OPC_OK;
  if (!has_float32(run->context->sample))
    return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "no argument has a dtype that torch.autocast casts");
  for (size_t i = 0; i < DTYPES; i++) {
    bool refuses = false;
    opc_text_reset(&words);
    OPC_RETURN_IF_ERROR(refusal_in(run, autocast_dtypes[i], &refuses, &words));
    if (!refuses)
      return opc_finding_pass(run->finding, "there is no kernel at AutocastCPU, and the operator accepts %s",
                              opc_dtype_name(autocast_dtypes[i]));
  }
  return opc_finding_fail(run->finding, OPC_RULE_autocast_cuda_alone,
                          "there is a kernel at AutocastCUDA and none at AutocastCPU, and the operator accepts float32 "
                          "on the CPU, but neither bfloat16 nor float16: %.*s",
                          (int)strcspn(opc_text_c(&words), "\n"), opc_text_c(&words));
}

static opc_status_t autocast_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(autocast_case_clear) autocast_case_t autocast = {.context = context, .finding = finding, .error = error};
  return opc_operator_has_kernel(context->op, "AutocastCPU") ? check_dtypes(&autocast) : check_cuda_alone(&autocast);
}

const opc_check_t opc_check_autocast = {.name = "autocast", .run = autocast_run};
