#include "checks/meta/sample_fits.h"

#include <stdlib.h>
#include <string.h>

#include "memory/cpu_memory.h"

enum { WIDENED_NUMEL_MAX = 1 << 16 };

typedef struct trials {
  opc_case_context_t *context;
  opc_kernels_agree_t *agree;
  const opc_output_t *outputs; /* of the real kernel */
  size_t output_count;
  bool explained; /* some trial explains the difference */
} trials_t;

bool opc_sample_is_only_searched(const opc_case_context_t *context) {
  return context->unmodified && context->provenance.source == OPC_SOURCE_SEARCHED;
}

static bool has_single_size(const opc_sample_t *sample) {
  const opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++)
    for (int dim = 0; dim < spec->ndim; dim++)
      if (spec->sizes[dim] == 1) return true;
  return false;
}

/* "padding=[0, 0]": it may have a number for each dimension, or for some of them. */
static bool has_list_of_numbers(const opc_sample_t *sample) {
  for (size_t i = 0; i < sample->argument_count; i++) {
    const opc_value_t *value = &sample->arguments[i];
    if (!sample->absent[i] && value->kind == OPC_VALUE_LIST && value->list.count > 0 &&
        value->list.items[0].kind == OPC_VALUE_INT)
      return true;
  }
  return false;
}

static opc_status_t try_sample(trials_t *trials, const opc_sample_t *sample, opc_error_t *error) {
  opc_case_context_t changed = *trials->context;
  changed.sample = sample;
  return trials->agree(&changed, &trials->explained, error);
}

/* ---- sizes ---- */

/* Gives the tensor the first dimensions of the output. False: it has as many, or is not to be changed. */
static bool take_dimensions(opc_tensor_spec_t *spec, const opc_tensor_meta_t *output) {
  const int missing = output->ndim - spec->ndim;
  int64_t sizes[OPC_MAX_DIMS], numel = opc_tensor_spec_numel(spec);
  if (missing <= 0 || output->ndim > OPC_MAX_DIMS || spec->storage || spec->identity) return false;
  for (int dim = 0; dim < missing; dim++) {
    sizes[dim] = output->sizes[dim];
    if (__builtin_mul_overflow(numel, sizes[dim], &numel) || numel > WIDENED_NUMEL_MAX) return false;
  }
  memcpy(sizes + missing, spec->sizes, (size_t)spec->ndim * sizeof *sizes);
  return opc_variant_resize(spec, output->ndim, sizes);
}

static opc_status_t try_widened(trials_t *trials, size_t tensor, const opc_tensor_meta_t *output, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(trials->context->sample, &sample, error));
  return take_dimensions(opc_sample_tensor(&sample, tensor), output) ? try_sample(trials, &sample, error) : OPC_OK;
}

static opc_status_t try_sizes_of_outputs(trials_t *trials, opc_error_t *error) {
  for (size_t i = 0; i < trials->output_count; i++)
    for (size_t k = 0; !trials->explained && opc_sample_tensor(trials->context->sample, k); k++)
      OPC_RETURN_IF_ERROR(try_widened(trials, k, &trials->outputs[i].meta, error));
  return OPC_OK;
}

/* ---- dtypes ---- */

static opc_dtype_t first_of_kind(const opc_variant_tensors_t *tensors, opc_dtype_t like) {
  size_t i = 0;
  while (opc_dtype_class(tensors->items[i].value->tensor->dtype) != opc_dtype_class(like)) i++;
  return tensors->items[i].value->tensor->dtype;
}

/* "y.float32+z.float32": all tensors of a kind get the dtype of the first one. Empty: they have it. */
static void name_of_one_dtype(const opc_variant_tensors_t *tensors, opc_text_t *out) {
  for (size_t i = 0; i < tensors->count; i++) {
    const opc_dtype_t own = tensors->items[i].value->tensor->dtype, first = first_of_kind(tensors, own);
    if (own != first && tensors->items[i].twin == i)
      opc_text_addf(out, "%s%s.%s", out->length ? "+" : "", tensors->items[i].path, opc_dtype_name(first));
  }
}

static opc_status_t try_one_dtype(trials_t *trials, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_variant_tensors_clear) opc_variant_tensors_t tensors = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t name = {0};
  const opc_case_context_t *context = trials->context;
  /* Collecting takes no const because other callers change what it finds. */
  OPC_RETURN_IF_ERROR(
      opc_variant_tensors_collect((opc_sample_t *)(uintptr_t)context->sample, context->op, &tensors, error));
  name_of_one_dtype(&tensors, &name);
  if (!name.length) return OPC_OK;
  const opc_status_t status = opc_variant_apply(context->sample, context->op, opc_text_c(&name), &sample, error);
  if (status == OPC_ERR_NOT_FOUND) return OPC_OK;
  OPC_RETURN_IF_ERROR(status);
  return try_sample(trials, &sample, error);
}

static opc_status_t try_all_floating(trials_t *trials, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(trials->context->sample, &sample, error));
  return opc_sample_cast(&sample, OPC_DTYPE_FLOAT32) ? try_sample(trials, &sample, error) : OPC_OK;
}

/* Integers beside floating numbers: what is computed from both is floating. */
static opc_status_t try_one_floating(trials_t *trials, size_t tensor, opc_dtype_t dtype, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_RETURN_IF_ERROR(opc_sample_copy(trials->context->sample, &sample, error));
  opc_tensor_spec_t *spec = opc_sample_tensor(&sample, tensor);
  if (!opc_dtype_is_integral(spec->dtype) || spec->storage || spec->identity) return OPC_OK;
  if (spec->fill.filled_as == OPC_DTYPE_OTHER) spec->fill.filled_as = spec->dtype;
  spec->dtype = dtype;
  return try_sample(trials, &sample, error);
}

static opc_status_t try_floating(trials_t *trials, opc_error_t *error) {
  const opc_dtype_t own = opc_sample_main_dtype(trials->context->sample);
  if (own == OPC_DTYPE_OTHER) return OPC_OK;
  if (!opc_dtype_is_inexact(own)) return try_all_floating(trials, error);
  for (size_t i = 0; !trials->explained && opc_sample_tensor(trials->context->sample, i); i++)
    OPC_RETURN_IF_ERROR(try_one_floating(trials, i, own, error));
  return OPC_OK;
}

/* ---- values ---- */

/* All numbers zero, or every whole number 1. */
static opc_status_t give_plain_numbers(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec,
                                       void *logical, void *context, opc_error_t *error) {
  const size_t width = opc_dtype_size(spec->dtype), bytes = (size_t)opc_tensor_spec_numel(spec) * width;
  const bool *ones = context;
  (void)tensor_arg;
  (void)path;
  (void)error;
  memset(logical, 0, bytes);
  for (size_t at = 0; *ones && !opc_dtype_is_inexact(spec->dtype) && at < bytes; at += width)
    ((unsigned char *)logical)[at] = 1;
  return OPC_OK;
}

static bool have_other_sizes(const trials_t *trials, const opc_output_t *outputs, size_t count) {
  bool differ = count != trials->output_count;
  for (size_t i = 0; !differ && i < count; i++)
    differ = !opc_tensor_same_sizes(&outputs[i].meta, &trials->outputs[i].meta);
  return differ;
}

static opc_status_t try_plain_numbers(trials_t *trials, bool ones, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  size_t count = 0;
  const opc_again_t again = {.context = trials->context,
                             .values = give_plain_numbers,
                             .values_context = &ones,
                             .label = {OPC_CALL_KIND_ON_OTHERS, "other numbers"}};
  OPC_RETURN_IF_ERROR(opc_again_call(&again, &call, error));
  if (call.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(&call, &outputs, &count, error));
  trials->explained |= have_other_sizes(trials, outputs, count);
  return OPC_OK;
}

static opc_status_t sample_fits_try_all(trials_t *trials, opc_error_t *error) {
  static opc_status_t (*const steps[])(trials_t *, opc_error_t *) = {try_sizes_of_outputs, try_one_dtype, try_floating};
  for (size_t i = 0; !trials->explained && i < sizeof steps / sizeof *steps; i++)
    OPC_RETURN_IF_ERROR(steps[i](trials, error));
  for (int ones = 0; !trials->explained && ones < 2; ones++)
    OPC_RETURN_IF_ERROR(try_plain_numbers(trials, ones, error));
  return OPC_OK;
}

opc_status_t opc_sample_fits(opc_case_context_t *context, const opc_call_t *real, opc_kernels_agree_t *agree, bool *out,
                             opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_output_t *outputs = NULL;
  trials_t trials = {.context = context, .agree = agree};
  const bool guarded = opc_cpu_memory_guarded();
  *out = false;
  if (has_single_size(context->sample) || has_list_of_numbers(context->sample) ||
      opc_accesses_count(OPC_ACCESSES_INVALID))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_call_outputs(real, &outputs, &trials.output_count, error));
  trials.outputs = outputs;
  if (!guarded) opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  const opc_status_t status = sample_fits_try_all(&trials, error);
  if (!guarded) opc_cpu_memory_plain();
  opc_guard_accesses_reset();
  OPC_RETURN_IF_ERROR(status);
  *out = !trials.explained;
  return OPC_OK;
}
