/* vmap: under torch.vmap the operator's own rule (torch.library.register_vmap, or a kernel at FuncTorchBatched) gives
 * for each slice of a batch what a call with that slice gives. */
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

enum {
  SLICES_MAX = 5,
  ALONE_MAX = 6, /* tensors that are batched alone */
  ULPS_MORE = 8  /* a rule may call another function for the whole batch, and that adds in another order */
};

/* One way of batching: torch.vmap's in_dims. */
typedef struct batching {
  int *dims; /* one per tensor argument: as opc_op_call_vmap's */
  size_t tensor_count, slice_count;
  opc_text_t name; /* "x batched in dimension 0" */
} batching_t;

typedef enum attempt {
  ATTEMPT_COMPARED,
  ATTEMPT_THREW,  /* under vmap only */
  ATTEMPT_REFUSED /* nothing can be said: a slice alone is refused, tensors cannot be stacked, the result is empty */
} attempt_t;

typedef struct vmap_case {
  opc_case_context_t *context;
  opc_finding_t *finding;
  opc_replay_t values; /* of the sample: the first slice */
  batching_t batching;
  opc_text_t message;     /* of the first way of batching that threw */
  opc_text_t threw;       /* its name */
  opc_text_t unsupported; /* what the rule says where it does not support a way */
  size_t compared, thrown;
  int64_t elements; /* compared */
  bool wrong;
  opc_error_t *error;
} vmap_case_t;

/* ---- the slices ---- */

typedef struct slice_values {
  const batching_t *batching;
  opc_replay_t *values;
  size_t slice;
} slice_values_t;

static bool values_ascend(const char *bytes, opc_dtype_t dtype, int64_t count, size_t width) {
  for (int64_t i = 1; i < count; i++)
    if (opc_number_load_double(dtype, bytes + (size_t)i * width) <
        opc_number_load_double(dtype, bytes + (size_t)(i - 1) * width))
      return false;
  return true;
}

static void reverse_elements(char *bytes, int64_t count, size_t width) {
  char kept[16];
  for (int64_t i = 0, k = count - 1; i < k && width <= sizeof kept; i++, k--) {
    memcpy(kept, bytes + (size_t)i * width, width);
    memcpy(bytes + (size_t)i * width, bytes + (size_t)k * width, width);
    memcpy(bytes + (size_t)k * width, kept, width);
  }
}

static void shrink(char *bytes, opc_dtype_t dtype, int64_t count, double factor) {
  const size_t width = opc_dtype_size(dtype);
  for (int64_t i = 0; i < count; i++) {
    opc_number_t number = opc_number_load(dtype, bytes + (size_t)i * width);
    if (number.kind == OPC_NUMBER_FLOAT) number.f *= factor;
    if (number.kind == OPC_NUMBER_COMPLEX) number.c.re *= factor, number.c.im *= factor;
    (void)opc_number_store(number, dtype, bytes + (size_t)i * width);
  }
}

/* Slices are as valid as the sample, as far as that can be: floating numbers are halved; integers are in the
 * reverse order, unless they ascend, as offsets do. An opc_tensor_arg_values_t. */
static opc_status_t values_of_slice(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                    void *context, opc_error_t *error) {
  const slice_values_t *slice = context;
  OPC_RETURN_IF_ERROR(opc_replay_values(tensor_arg, path, spec, logical, slice->values, error));
  if (slice->slice == 0 || slice->batching->dims[tensor_arg] == OPC_NOT_BATCHED) return OPC_OK;
  const int64_t count = slice->values->tensor_args[tensor_arg].numel;
  if (opc_dtype_is_inexact(spec->dtype)) shrink(logical, spec->dtype, count, 1.0 / (double)(1ULL << slice->slice));
  else if (slice->slice % 2 == 1 && !values_ascend(logical, spec->dtype, count, opc_dtype_size(spec->dtype)))
    reverse_elements(logical, count, opc_dtype_size(spec->dtype));
  return OPC_OK;
}

/* ---- one way of batching ---- */

/* The slice alone; the sample's own values are in `replay`. */
static opc_status_t call_slice(vmap_case_t *run, size_t slice, opc_replay_t *replay, opc_call_t *call,
                               opc_result_t *result) {
  slice_values_t of = {.batching = &run->batching, .values = &run->values, .slice = slice};
  const opc_again_t first = {.context = run->context, .values = values_of_slice, .values_context = &of};
  OPC_RETURN_IF_ERROR(opc_again_values(&first, replay, run->error));
  const opc_again_t again = {
      .context = run->context, .replay = replay, .label = {OPC_CALL_KIND_WITH_OTHERS, "a slice"}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, call, run->error));
  if (call->outcome == OPC_CALL_RETURNED) OPC_RETURN_IF_ERROR(opc_result_take(result, call, 0, run->error));
  return OPC_OK;
}

static opc_status_t compare_slice(vmap_case_t *run, size_t slice, opc_replay_t *replay, const opc_result_t *got,
                                  const opc_result_t *alone) {
  opc_difference_t difference = opc_result_compare(got, alone, NULL, NULL);
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const opc_again_t again = {
      .context = run->context, .replay = replay, .label = {OPC_CALL_KIND_WITH_OTHERS, "a slice once more"}};
  bool nondeterministic = false;
  char name[64];
  if (difference.kind == OPC_DIFFERENCE_NONE) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, alone, &nondeterministic, run->error));
  if (nondeterministic) {
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
    run->wrong = true;
    return OPC_OK;
  }
  OPC_RETURN_IF_ERROR(opc_tolerance_measure(&tolerance, &again, alone, run->error));
  opc_bound_t bound = {.got = got,
                       .reference = alone,
                       .tolerance = &tolerance,
                       .ulps = ULPS_MORE + OPC_TOLERANCE_ULPS,
                       .narrow = OPC_DTYPE_OTHER};
  if (difference.kind == OPC_DIFFERENCE_VALUE) difference = opc_result_compare(got, alone, opc_bound_holds, &bound);
  if (difference.kind == OPC_DIFFERENCE_NONE) return OPC_OK;
  run->wrong = true;
  snprintf(name, sizeof name, "a call with slice %zu alone", slice);
  opc_difference_text(&difference, got, alone, name, &text);
  opc_finding_differences(run->finding, &difference, got, alone, opc_bound_holds, &bound);
  return opc_finding_fail(run->finding, OPC_RULE_vmap_wrong_result, "under torch.vmap, with %s (slice %zu of %zu): %s",
                          opc_text_c(&run->batching.name), slice, run->batching.slice_count, opc_text_c(&text));
}

/* The rule says itself that it leaves this out. */
static bool says_unsupported(const char *message) {
  static const char *const words[] = {"not support", "unsupported", "not implemented",  "NotImplemented",
                                      "NYI",         "not yet",     "cannot be vmapped"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcasestr(message, words[i])) return true;
  return false;
}

/* The slices' calls are made; `got` has room for the returns of each. */
static opc_status_t call_batch(vmap_case_t *run, const opc_call_t *alone, opc_call_t *got, attempt_t *attempt) {
  const opc_value_t *arguments[SLICES_MAX];
  opc_value_t *returns[SLICES_MAX];
  size_t return_count = 0;
  int64_t slices = 0;
  for (size_t i = 0; i < run->batching.slice_count; i++) arguments[i] = alone[i].arguments;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  run->context->announce(OPC_CALL_LABEL(OTHERWISE, "under torch.vmap"));
  opc_bridge_seed(run->context->seed);
  const opc_call_outcome_t outcome = opc_op_call_vmap(
      run->context->handle, arguments, run->batching.slice_count, alone[0].absent, alone[0].argument_count,
      run->batching.dims, run->batching.tensor_count, returns, &return_count, &slices, &message);
  if (outcome == OPC_CALL_UNCONVERTIBLE) {
    *attempt = ATTEMPT_REFUSED;
    return OPC_OK;
  }
  *attempt = outcome == OPC_CALL_RETURNED ? ATTEMPT_COMPARED : ATTEMPT_THREW;
  for (size_t i = 0; i < run->batching.slice_count; i++)
    got[i] = (opc_call_t){.returns = returns[i], .return_count = return_count, .outcome = outcome};
  if (outcome == OPC_CALL_RETURNED && slices == 0)
    *attempt = ATTEMPT_REFUSED; /* an empty result has no slices to compare */
  else if (outcome == OPC_CALL_RETURNED && slices != (int64_t)run->batching.slice_count) {
    run->wrong = true;
    opc_finding_fail(run->finding, OPC_RULE_vmap_wrong_result,
                     "under torch.vmap, with %s, the batch of %zu slices comes back with %lld",
                     opc_text_c(&run->batching.name), run->batching.slice_count, (long long)slices);
  }
  if (outcome == OPC_CALL_RETURNED || run->message.length) return OPC_OK;
  const char *text = opc_text_c(&message);
  if (says_unsupported(text)) {
    *attempt = ATTEMPT_REFUSED;
    if (!run->unsupported.length) opc_text_addf(&run->unsupported, "%.*s", (int)strcspn(text, "\n"), text);
    return OPC_OK;
  }
  opc_text_addf(&run->message, "%.*s", (int)strcspn(text, "\n"), text);
  opc_text_add(&run->threw, opc_text_c(&run->batching.name));
  return OPC_OK;
}

/* The calls of one batch, and their results. */
typedef struct batch {
  opc_replay_t replays[SLICES_MAX];
  opc_call_t alone[SLICES_MAX], got[SLICES_MAX];
  opc_result_t results[SLICES_MAX], got_results[SLICES_MAX];
} batch_t;
static void batch_clear(batch_t *batch) {
  for (size_t i = 0; i < SLICES_MAX; i++) {
    opc_result_clear(&batch->got_results[i]);
    opc_result_clear(&batch->results[i]);
    opc_call_clear(&batch->got[i]);
    opc_call_clear(&batch->alone[i]);
    opc_replay_clear(&batch->replays[i]);
  }
}

static opc_status_t try_batching(vmap_case_t *run, attempt_t *attempt) {
  OPC_SCOPED(batch_clear) batch_t batch = {0};
  *attempt = ATTEMPT_COMPARED;
  for (size_t i = 0; i < run->batching.slice_count && *attempt == ATTEMPT_COMPARED; i++) {
    OPC_RETURN_IF_ERROR(call_slice(run, i, &batch.replays[i], &batch.alone[i], &batch.results[i]));
    if (batch.alone[i].outcome != OPC_CALL_RETURNED) *attempt = ATTEMPT_REFUSED;
  }
  if (*attempt == ATTEMPT_COMPARED) OPC_RETURN_IF_ERROR(call_batch(run, batch.alone, batch.got, attempt));
  for (size_t i = 0; i < run->batching.slice_count && *attempt == ATTEMPT_COMPARED && !run->wrong; i++) {
    OPC_RETURN_IF_ERROR(opc_result_take(&batch.got_results[i], &batch.got[i], 0, run->error));
    run->elements += opc_result_numel(&batch.results[i]);
    OPC_RETURN_IF_ERROR(compare_slice(run, i, &batch.replays[i], &batch.got_results[i], &batch.results[i]));
  }
  return OPC_OK;
}

/* ---- which ways ---- */

/* The smallest number that is no size of a tensor, so that the batch's dimension is not taken for another. */
static size_t slices_for(const opc_call_t *call) {
  for (size_t count = 2; count < SLICES_MAX; count++) {
    bool taken = false;
    for (size_t i = 0; i < call->tensor_arg_count; i++)
      for (int dim = 0; dim < call->tensor_args[i].before.ndim; dim++)
        taken = taken || call->tensor_args[i].before.sizes[dim] == (int64_t)count;
    if (!taken) return count;
  }
  return SLICES_MAX;
}

/* `only`: one tensor is batched alone; last: in its last dimension. */
static void choose_dims(vmap_case_t *run, const opc_call_t *call, size_t only, bool last) {
  opc_text_reset(&run->batching.name);
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    run->batching.dims[i] = only != SIZE_MAX && i != only ? OPC_NOT_BATCHED
                            : last                        ? call->tensor_args[i].before.ndim
                                                          : 0;
  opc_text_addf(&run->batching.name, "%s batched in %s",
                only != SIZE_MAX             ? call->tensor_args[only].path
                : call->tensor_arg_count > 1 ? "all tensors"
                                             : call->tensor_args[0].path,
                last ? "the last dimension" : "dimension 0");
}

static opc_status_t try_one(vmap_case_t *run, const opc_call_t *call, size_t only, bool last) {
  attempt_t attempt;
  if (run->wrong) return OPC_OK;
  choose_dims(run, call, only, last);
  OPC_RETURN_IF_ERROR(try_batching(run, &attempt));
  run->compared += attempt == ATTEMPT_COMPARED;
  run->thrown += attempt == ATTEMPT_THREW;
  return OPC_OK;
}

/* A tensor that is given twice has the same values in both places, batched or not. */
static bool some_share_memory(const opc_call_t *call) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (!call->tensor_args[i].storage) return true;
  return false;
}

static opc_status_t try_all(vmap_case_t *run, const opc_call_t *call) {
  run->batching.slice_count = slices_for(call);
  run->batching.tensor_count = call->tensor_arg_count;
  run->batching.dims = calloc(call->tensor_arg_count + 1, sizeof *run->batching.dims);
  if (!run->batching.dims) return opc_out_of_memory(run->error);
  OPC_RETURN_IF_ERROR(try_one(run, call, SIZE_MAX, false));
  OPC_RETURN_IF_ERROR(try_one(run, call, SIZE_MAX, true));
  const size_t alone = call->tensor_arg_count < 2 || some_share_memory(call) ? 0 : call->tensor_arg_count;
  for (size_t i = 0; i < alone && i < ALONE_MAX; i++) OPC_RETURN_IF_ERROR(try_one(run, call, i, false));
  return OPC_OK;
}

static void report_thrown(const vmap_case_t *run) {
  const char *message = opc_text_c(&run->message), *way = opc_text_c(&run->threw);
  if (run->compared > 0)
    opc_finding_fail(run->finding, OPC_RULE_vmap_refuses, "torch.vmap works in %zu of %zu ways; with %s it throws: %s",
                     run->compared, run->compared + run->thrown, way, message);
  else
    opc_finding_fail(run->finding, OPC_RULE_vmap_fails,
                     "the operator accepts each slice alone; under torch.vmap, with %s, it throws: %s", way, message);
}

static void vmap_conclude(const vmap_case_t *run) {
  if (run->thrown > 0) report_thrown(run);
  else if (run->compared == 0 && run->unsupported.length)
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "the rule says that it does not support this: %s",
                     opc_text_c(&run->unsupported));
  else if (run->compared == 0)
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE,
                     "no batch could be made: the operator refuses other values, or its tensors cannot be stacked");
  else if (run->elements == 0)
    opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "the results are empty: nothing to compare");
  else if (!run->wrong)
    opc_finding_pass(run->finding, "torch.vmap gives what calls with the slices give, for %zu ways to batch",
                     run->compared);
}

static opc_status_t check_batches(vmap_case_t *run) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (!opc_case_call_keeping(run->context, &run->values, &call, run->finding)) return OPC_OK;
  if (opc_operator_is_random(run->context->op))
    return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, OPC_NONDETERMINISTIC_TEXT);
  if (call.tensor_arg_count == 0)
    return opc_finding_skip(run->finding, OPC_SKIP_NOT_APPLICABLE, "the sample gives no tensor that could be batched");
  OPC_RETURN_IF_ERROR(try_all(run, &call));
  vmap_conclude(run);
  return OPC_OK;
}

static void vmap_case_clear(vmap_case_t *run) {
  free(run->batching.dims);
  opc_text_clear(&run->batching.name);
  opc_text_clear(&run->message);
  opc_text_clear(&run->threw);
  opc_text_clear(&run->unsupported);
  opc_replay_clear(&run->values);
}

static opc_status_t vmap_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(vmap_case_clear) vmap_case_t vmap = {.context = context, .finding = finding, .error = error};
  return check_batches(&vmap);
}

const opc_check_t opc_check_vmap = {.name = "vmap", .run = vmap_run};
