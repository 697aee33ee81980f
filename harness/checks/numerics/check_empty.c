/* empty: a dimension becomes 0. The output's shape continues the sequence for sizes 1, 2 and 3, or is what the Meta
 * kernel says; its values are defined. */
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"
#include "checks/framework/throw_site.h"
#include "memory/cpu_memory.h"

enum { STEPS = 3 /* sizes 1, 2, 3 */, FAR = 9 /* no multiple of a power of two */ };

/* ---- the case's sample with size n instead of 0: a piece of the sample from which it was made ---- */

typedef struct narrower {
  const opc_call_t *base; /* the sample before the variant, as a call */
  const opc_call_t *empty;
  opc_replay_t *values;          /* of base */
  int64_t size;                  /* n */
  size_t others_from, others_to; /* the range of tensors that get other values; others_to is excluded */
  unsigned char other;           /* the value of their integers */
} narrower_t;

/* The same tensors, and the only changed sizes became 0. For example, offsets of an empty batch have one element, and
 * with sizes 1, 2 and 3 they would have other sizes. */
static bool same_tree(const opc_call_t *base, const opc_call_t *empty) {
  if (base->tensor_arg_count != empty->tensor_arg_count) return false;
  for (size_t i = 0; i < base->tensor_arg_count; i++) {
    const opc_tensor_spec_t *from = base->tensor_args[i].spec, *to = empty->tensor_args[i].spec;
    if (from->ndim != to->ndim) return false;
    for (int d = 0; d < from->ndim; d++)
      if (to->sizes[d] != 0 && to->sizes[d] != from->sizes[d]) return false;
  }
  return true;
}

static bool where_emptied(const opc_variant_tensor_t *tensor, size_t tensor_arg, int dim, void *context) {
  const narrower_t *narrower = context;
  (void)tensor;
  return narrower->empty->tensor_args[tensor_arg].spec->sizes[dim] == 0 &&
         narrower->base->tensor_args[tensor_arg].spec->sizes[dim] > 0;
}

/* All elements equal: 0, or `integer` for integers. */
static void give_others(const opc_tensor_spec_t *spec, unsigned char integer, unsigned char *logical) {
  const size_t width = opc_dtype_size(spec->dtype), size = (size_t)opc_tensor_spec_numel(spec) * width;
  const opc_dtype_class_t kind = opc_dtype_class(spec->dtype);
  const bool integers = kind == OPC_CLASS_SIGNED || kind == OPC_CLASS_UNSIGNED || kind == OPC_CLASS_BOOLEAN;
  memset(logical, 0, size);
  for (size_t at = 0; integers && at < size; at += width)
    logical[at] = integer; /* the machine is little-endian, as elf_probe.c requires */
}

static opc_status_t give_narrowed(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                  void *context, opc_error_t *error) {
  const narrower_t *narrower = context;
  const opc_tensor_spec_t *base = narrower->base->tensor_args[tensor_arg].spec;
  size_t width = opc_dtype_size(spec->dtype);
  int64_t numel = opc_tensor_spec_numel(spec), index[OPC_MAX_DIMS] = {0};
  (void)path;
  (void)error;
  if (tensor_arg >= narrower->others_from && tensor_arg < narrower->others_to) {
    give_others(spec, narrower->other, logical);
    return OPC_OK;
  }
  for (int64_t e = 0; e < numel; e++) {
    int64_t from = 0;
    for (int d = 0; d < spec->ndim; d++) from = from * base->sizes[d] + index[d];
    memcpy((char *)logical + (size_t)e * width,
           (const char *)narrower->values->tensor_args[tensor_arg].bytes + (size_t)from * width, width);
    for (int d = spec->ndim - 1; d >= 0; d--) {
      if (++index[d] < spec->sizes[d]) break;
      index[d] = 0;
    }
  }
  return OPC_OK;
}

static bool fits_in_base(narrower_t *narrower) {
  for (size_t i = 0; i < narrower->base->tensor_arg_count; i++)
    for (int d = 0; d < narrower->base->tensor_args[i].spec->ndim; d++)
      if (where_emptied(NULL, i, d, narrower) && narrower->base->tensor_args[i].spec->sizes[d] < narrower->size)
        return false;
  return true;
}

/* Integers in tensors that are not emptied would be out of range for another, shortened tensor. */
static bool would_break(const opc_case_context_t *context, const narrower_t *narrower) {
  const opc_relations_t *relations = context->base->relations;
  for (size_t i = 0; relations && i < narrower->base->tensor_arg_count; i++) {
    bool emptied = false;
    for (int d = 0; d < narrower->base->tensor_args[i].spec->ndim; d++)
      emptied |= where_emptied(NULL, i, d, (void *)narrower);
    for (size_t k = 0; emptied && k < relations->count; k++) {
      const opc_relation_t *relation = &relations->items[k];
      for (size_t p = 0; relation->values && p < relation->place_count; p++)
        if (strcmp(relation->places[p].path, narrower->base->tensor_args[i].path) == 0) return true;
    }
  }
  return false;
}

/* Result of the call with size n; *out_ran false: there is none. */
static opc_status_t run_narrowed(opc_case_context_t *context, narrower_t *narrower, opc_result_t *out, bool *out_ran,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  opc_resized_t resized;
  const opc_resize_t resize = {
      .where = where_emptied, .context = narrower, .add = narrower->size, .values = OPC_RESIZE_GIVEN, .sharing = true};
  bool possible;
  char detail[96];
  *out_ran = false;
  if (would_break(context, narrower)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(context->base, &sample, error));
  OPC_RETURN_IF_ERROR(opc_sample_resize(&sample, &resize, &resized, &possible, error));
  if (narrower->size <= STEPS && !fits_in_base(narrower)) return OPC_OK;
  opc_sample_make_contiguous(&sample);
  snprintf(detail, sizeof detail, "size %lld instead of 0", (long long)narrower->size);
  const opc_again_t again = {.context = context,
                             .sample = &sample,
                             .values = give_narrowed,
                             .values_context = narrower,
                             .label = {OPC_CALL_KIND_WITH_OTHERS, detail},
                             .only_shapes = true};
  return opc_again_try(&again, out, out_ran, error);
}

static bool steps_are_comparable(const opc_result_t *steps, const opc_result_t *got, size_t i) {
  for (int n = 0; n < STEPS; n++) {
    if (steps[n].count != got->count || steps[n].items[i].kind != OPC_VALUE_TENSOR) return false;
    if (steps[n].items[i].meta.ndim != steps[0].items[i].meta.ndim) return false;
  }
  return got->items[i].kind == OPC_VALUE_TENSOR;
}

/* Extrapolates the sizes for 1, 2 and 3 to 0; false if they are not linear. */
static bool extrapolate(const opc_result_t *steps, size_t i, int64_t *sizes) {
  for (int d = 0; d < steps[0].items[i].meta.ndim; d++) {
    int64_t one = steps[0].items[i].meta.sizes[d], two = steps[1].items[i].meta.sizes[d],
            three = steps[2].items[i].meta.sizes[d];
    if (two - one != three - two || one - (two - one) < 0) return false;
    sizes[d] = one - (two - one);
  }
  return true;
}

/* ---- what the Meta kernel says ---- */

static opc_status_t run_on_meta(opc_case_context_t *context, opc_result_t *out, bool *out_ran, opc_error_t *error) {
  const opc_device_t meta = {OPC_DEVICE_META, -1};
  const opc_again_t again = {
      .context = context, .device = &meta, .label = {OPC_CALL_KIND_META, ""}, .only_shapes = true};
  return opc_again_try(&again, out, out_ran, error);
}

static bool has_sizes(const opc_tensor_meta_t *meta, int ndim, const int64_t *sizes) {
  return meta->ndim == ndim && memcmp(meta->sizes, sizes, (size_t)ndim * sizeof sizes[0]) == 0;
}

/* If the sizes are 1, 1, 1, "at most one" also leads to 0. */
static bool fits_row(const opc_tensor_meta_t *meta, const opc_tensor_meta_t *step, const int64_t *sizes) {
  bool fits = meta->ndim == step->ndim;
  for (int d = 0; fits && d < step->ndim; d++)
    fits = meta->sizes[d] == sizes[d] || (meta->sizes[d] == 0 && sizes[d] == 1 && step->sizes[d] == 1);
  return fits;
}

/* Checks the sample itself, which is not empty: if the two kernels differ there, the Meta kernel is wrong anyway, and
 * check meta reports it. */
static opc_status_t is_wrong_anyway(opc_case_context_t *context, const opc_result_t *meta_of_empty, size_t item,
                                    bool *out, opc_error_t *error) {
  const opc_device_t meta = {OPC_DEVICE_META, -1};
  const opc_again_t real = {.context = context,
                            .sample = context->base,
                            .label = {OPC_CALL_KIND_ON_OTHERS, "the sample itself"},
                            .only_shapes = true};
  opc_again_t said = real;
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0}, expected = {0};
  bool returned = false, meta_returned = false;
  said.device = &meta;
  said.label = OPC_CALL_LABEL(META_OTHERWISE, "on the sample itself");
  *out = false;
  OPC_RETURN_IF_ERROR(opc_again_try(&real, &got, &returned, error));
  OPC_RETURN_IF_ERROR(opc_again_try(&said, &expected, &meta_returned, error));
  if (returned && meta_returned && item < got.count && item < expected.count && item < meta_of_empty->count)
    *out = !has_sizes(&got.items[item].meta, expected.items[item].meta.ndim, expected.items[item].meta.sizes);
  return OPC_OK;
}

typedef struct shape_oracle {
  opc_result_t meta, steps[STEPS];
  bool has_meta, has_steps;
  uint64_t follow_values; /* no row; one bit per output, for the first 64 */
  bool meta_is_own;       /* not the same kernel again, which would agree with itself */
} shape_oracle_t;

static void shape_oracle_clear(shape_oracle_t *oracle) {
  opc_result_clear(&oracle->meta);
  for (int n = 0; n < STEPS; n++) opc_result_clear(&oracle->steps[n]);
}

/* The largest index determines the number of rows: no sequence of sizes predicts it. */
static void note_other_shapes(shape_oracle_t *oracle, const opc_result_t *others) {
  const opc_result_t *last = &oracle->steps[STEPS - 1];
  for (size_t i = 0; i < others->count && i < last->count && i < 64; i++) {
    if (others->items[i].kind != OPC_VALUE_TENSOR || last->items[i].kind != OPC_VALUE_TENSOR) continue;
    if (!has_sizes(&others->items[i].meta, last->items[i].meta.ndim, last->items[i].meta.sizes))
      oracle->follow_values |= UINT64_C(1) << i;
  }
}

/* A size that is rounded up to a multiple is the same for 1, 2 and 3, and larger for FAR. */
static void note_far_shapes(shape_oracle_t *oracle, const opc_result_t *far) {
  for (size_t i = 0; i < far->count && i < oracle->steps[0].count && i < 64; i++) {
    const opc_tensor_meta_t *meta = &far->items[i].meta, *one = &oracle->steps[0].items[i].meta;
    if (far->items[i].kind != OPC_VALUE_TENSOR || !steps_are_comparable(oracle->steps, far, i)) continue;
    for (int d = 0; d < one->ndim; d++) {
      const int64_t step = oracle->steps[1].items[i].meta.sizes[d] - one->sizes[d];
      if (meta->ndim != one->ndim || meta->sizes[d] != one->sizes[d] + (FAR - 1) * step)
        oracle->follow_values |= UINT64_C(1) << i;
    }
  }
}

static bool has_row(const shape_oracle_t *oracle, const opc_result_t *got, size_t i, int64_t *sizes) {
  const bool follows = i < 64 && (oracle->follow_values >> i & 1) != 0;
  return !follows && oracle->has_steps && steps_are_comparable(oracle->steps, got, i) &&
         extrapolate(oracle->steps, i, sizes);
}

/* The Meta kernel gives another shape for this output. */
static bool disagrees(const shape_oracle_t *oracle, const opc_result_t *got, size_t i) {
  const opc_result_item_t *said = i < oracle->meta.count ? &oracle->meta.items[i] : NULL;
  return said && said->kind == OPC_VALUE_TENSOR && !has_sizes(&got->items[i].meta, said->meta.ndim, said->meta.sizes);
}

/* True: this output could be checked. */
static bool check_shape(const shape_oracle_t *oracle, const opc_result_t *got, size_t i, opc_finding_t *finding) {
  const opc_tensor_meta_t *meta = &got->items[i].meta;
  const opc_result_item_t *said = oracle->has_meta && i < oracle->meta.count ? &oracle->meta.items[i] : NULL;
  int64_t expected[OPC_MAX_DIMS];
  char here[160], there[160];
  if (strcmp(meta->layout, "strided") != 0) return false; /* a sparse tensor's sizes may come from the largest index */
  bool row = has_row(oracle, got, i, expected);
  bool meta_known = said && said->kind == OPC_VALUE_TENSOR;
  bool meta_agrees = meta_known && has_sizes(meta, said->meta.ndim, said->meta.sizes);
  opc_sizes_text(meta->ndim, meta->sizes, here, sizeof here);

  if ((meta_agrees && (oracle->meta_is_own || !row)) ||
      (row && fits_row(meta, &oracle->steps[0].items[i].meta, expected)))
    return true;
  if (row) {
    opc_sizes_text(oracle->steps[0].items[i].meta.ndim, expected, there, sizeof there);
    opc_finding_fail(finding, OPC_RULE_empty_shape, "%s has shape %s; the shapes for sizes 1, 2 and 3 suggest %s",
                     got->items[i].path, here, there);
  } else if (meta_known) {
    opc_sizes_text(said->meta.ndim, said->meta.sizes, there, sizeof there);
    opc_finding_fail(finding, OPC_RULE_empty_shape, "%s has shape %s; the Meta kernel says %s", got->items[i].path,
                     here, there);
  }
  return row || meta_known;
}

/* Whether an output breaks its sequence, for any reason. */
static bool breaks_row(const shape_oracle_t *oracle, const opc_result_t *got) {
  bool breaks = false;
  for (size_t i = 0; !breaks && i < got->count; i++) {
    int64_t expected[OPC_MAX_DIMS];
    breaks =
        has_row(oracle, got, i, expected) && !fits_row(&got->items[i].meta, &oracle->steps[0].items[i].meta, expected);
  }
  return breaks;
}

/* With zeros and ones in all tensors, and in each one alone: the number of values that two tensors have in common
 * depends on both. */
static opc_status_t ask_others(opc_case_context_t *context, narrower_t *narrower, shape_oracle_t *oracle,
                               opc_error_t *error) {
  const size_t count = narrower->base->tensor_arg_count;
  for (size_t round = 0; round < 2 * (count > 1 ? count + 1 : 1); round++) {
    const size_t probe = round / 2;
    OPC_SCOPED(opc_result_clear) opc_result_t others = {0};
    bool ran = false;
    narrower->other = round % 2;
    narrower->others_from = probe > 0 ? probe - 1 : 0;
    narrower->others_to = probe > 0 ? probe : count;
    OPC_RETURN_IF_ERROR(run_narrowed(context, narrower, &others, &ran, error));
    if (ran) note_other_shapes(oracle, &others);
  }
  OPC_SCOPED(opc_result_clear) opc_result_t far = {0};
  bool ran = false;
  narrower->size = FAR;
  narrower->other = 0;
  narrower->others_from = 0;
  narrower->others_to = count;
  OPC_RETURN_IF_ERROR(run_narrowed(context, narrower, &far, &ran, error));
  if (ran) note_far_shapes(oracle, &far);
  return OPC_OK;
}

static opc_status_t ask_oracles(opc_case_context_t *context, const opc_call_t *empty, const opc_result_t *got,
                                shape_oracle_t *oracle, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t base = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  oracle->meta_is_own = opc_operator_kernel(context->op, "Meta");
  OPC_RETURN_IF_ERROR(run_on_meta(context, &oracle->meta, &oracle->has_meta, error));
  OPC_RETURN_IF_ERROR(opc_call_make(&base, context->op, context->base, context->device, context->seed, error));
  OPC_RETURN_IF_ERROR(opc_replay_take(&values, &base, error));
  /* An integer that depends on the size differs here from sizes 1, 2 and 3. */
  oracle->has_steps = opc_variant_keeps_integers(context->base, context->sample) && same_tree(&base, empty);
  for (int n = 0; oracle->has_steps && n < STEPS; n++) {
    narrower_t narrower = {.base = &base, .empty = empty, .values = &values, .size = n + 1};
    OPC_RETURN_IF_ERROR(run_narrowed(context, &narrower, &oracle->steps[n], &oracle->has_steps, error));
  }
  if (!oracle->has_steps || !breaks_row(oracle, got)) return OPC_OK;
  narrower_t narrower = {.base = &base, .empty = empty, .values = &values, .size = STEPS};
  return ask_others(context, &narrower, oracle, error);
}

static opc_status_t check_shapes(opc_case_context_t *context, const opc_call_t *call, const opc_result_t *got,
                                 int *out_known, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(shape_oracle_clear) shape_oracle_t oracle = {0};
  *out_known = 0;
  if (!opc_operator_output_depends_on_data(context->op))
    OPC_RETURN_IF_ERROR(ask_oracles(context, call, got, &oracle, error));
  for (size_t i = 0; i < got->count; i++) {
    bool wrong = false;
    if (got->items[i].kind != OPC_VALUE_TENSOR || got->items[i].argument) continue;
    if (oracle.has_meta && disagrees(&oracle, got, i))
      OPC_RETURN_IF_ERROR(is_wrong_anyway(context, &oracle.meta, i, &wrong, error));
    if (!wrong) *out_known += check_shape(&oracle, got, i, finding);
  }
  return OPC_OK;
}

/* ---- values ---- */

static opc_status_t check_poison(opc_case_context_t *context, const opc_result_t *got, opc_finding_t *finding,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t other = {0}, again = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool returned = false;
  const opc_again_t same = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, "second run"}};
  opc_poison_pattern(OPC_PATTERN_SECOND);
  opc_scratch_memory_fill(OPC_PATTERN_SECOND);
  const opc_status_t status = opc_again_try(&same, &other, &returned, error);
  opc_scratch_memory_plain();
  opc_poison_pattern(OPC_PATTERN_FIRST);
  OPC_RETURN_IF_ERROR(status);
  if (!returned) return OPC_OK;
  const opc_difference_t difference = opc_result_compare(got, &other, NULL, NULL);
  /* A handle depends on what was allocated before (determinism.handle). */
  if (difference.kind != OPC_DIFFERENCE_VALUE || opc_results_are_handles(got, &other)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_again_try(&same, &again, &returned, error));
  /* A result that also changes with the same pattern is no uninitialised memory but chance: run_to_run reports it. */
  if (!returned || opc_result_compare(got, &again, NULL, NULL).kind != OPC_DIFFERENCE_NONE) return OPC_OK;
  opc_difference_text(&difference, got, &other, "with other bytes in new memory it", &text);
  /* An empty list of counts together with what they count into. */
  bool made_up = context->sample->source == OPC_SAMPLE_SEARCHED && context->sample->argument_count > 1 &&
                 !opc_case_arguments_fit(context);
  if (!made_up) opc_finding_fail(finding, OPC_RULE_empty_poison, "%s", opc_text_c(&text));
  else if (!finding->decided)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                     "the search made up these arguments; one is empty, and the others may no longer fit it: %s",
                     opc_text_c(&text));
  return OPC_OK;
}

static opc_status_t check_result(opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_result_clear) opc_result_t got = {0};
  int known = 0;
  OPC_RETURN_IF_ERROR(opc_result_take(&got, call, 0, error));
  const bool touched = opc_accesses_count(OPC_ACCESSES_INVALID) > 0;
  const opc_status_t status = check_shapes(context, call, &got, &known, finding, error);
  /* Uses only part of the sample's values, so its indices may be out of range. */
  if (!touched) opc_guard_accesses_reset();
  OPC_RETURN_IF_ERROR(status);
  OPC_RETURN_IF_ERROR(check_poison(context, &got, finding, error));
  const int64_t numel = opc_result_numel(&got);
  if (finding->decided) return OPC_OK;
  if (known || numel)
    return opc_finding_pass(finding, "%d output shapes are as expected, %lld values are defined", known,
                            (long long)numel);
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it returns, but nothing says what its shape should be");
}

/* ---- refused ---- */

/* A maximum of nothing is rightly refused; here there is nothing to compute. */
static bool are_all_empty(const opc_result_t *result) {
  for (size_t i = 0; i < result->count; i++)
    if (result->items[i].kind != OPC_VALUE_TENSOR || result->items[i].meta.numel > 0) return false;
  return result->count > 0;
}

/* Throws again. What libtorch refuses is no decision of the operator's author. */
static opc_status_t is_own_refusal(opc_case_context_t *context, bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  const opc_again_t again = {.context = context, .label = {OPC_CALL_KIND_OPERATOR, "second run"}};
  opc_throw_watch(true);
  const opc_status_t status = opc_again_call(&again, &call, error);
  *out = call.outcome == OPC_CALL_REJECTED && opc_throw_is_own();
  opc_throw_watch(false);
  return status;
}

static opc_status_t check_refused(opc_case_context_t *context, const opc_call_t *call, opc_finding_t *finding,
                                  opc_error_t *error) {
  enum { MESSAGE_SIZE = 200 };
  OPC_SCOPED(shape_oracle_clear) shape_oracle_t oracle = {0};
  const opc_result_t none = {0};
  bool own = false;
  if (call->outcome != OPC_CALL_REJECTED || finding->rule || !opc_operator_kernel(context->op, "Meta")) return OPC_OK;
  if (!opc_provenance_is_valid(&context->provenance) || opc_operator_output_depends_on_data(context->op)) return OPC_OK;
  OPC_RETURN_IF_ERROR(ask_oracles(context, call, &none, &oracle, error));
  if (!oracle.has_meta || !oracle.has_steps || !are_all_empty(&oracle.meta)) return OPC_OK;
  OPC_RETURN_IF_ERROR(is_own_refusal(context, &own, error));
  if (own)
    opc_finding_fail(finding, OPC_RULE_empty_refused,
                     "it throws, although the result would be empty, too; the Meta kernel accepts the arguments, and "
                     "sizes 1, 2 and 3 instead of 0 are accepted: %.*s",
                     MESSAGE_SIZE, opc_text_c(&call->message));
  return OPC_OK;
}

static opc_status_t empty_run(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  if (opc_case_call(context, false, &call, finding)) return check_result(context, &call, finding, error);
  return check_refused(context, &call, finding, error);
}

const opc_check_t opc_check_empty = {.name = "empty", .run = empty_run};
