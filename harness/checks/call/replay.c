#include "checks/call/call.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* An integer value in a dtype that could hold a fraction of that size. */
static bool is_whole_number(double value, opc_dtype_t dtype) {
  return value == trunc(value) && opc_dtype_ulp(dtype, value) < 1.0;
}

/* Sets the tensor argument's largest value. True: some value is not an integer. */
static bool look_over(struct opc_replay_tensor_arg *tensor_arg) {
  bool fractions = false;
  size_t width = opc_dtype_size(tensor_arg->dtype);
  if (!opc_dtype_is_inexact(tensor_arg->dtype)) return false;
  for (int64_t i = 0; i < tensor_arg->numel; i++) {
    opc_number_t number = opc_number_load(tensor_arg->dtype, (const char *)tensor_arg->bytes + (size_t)i * width);
    double parts[2] = {number.kind == OPC_NUMBER_COMPLEX ? number.c.re : number.f,
                       number.kind == OPC_NUMBER_COMPLEX ? number.c.im : 0.0};
    for (int part = 0; part < 2; part++) {
      if (!isfinite(parts[part])) continue;
      tensor_arg->largest = fmax(tensor_arg->largest, fabs(parts[part]));
      fractions = fractions || parts[part] != trunc(parts[part]);
    }
  }
  return fractions;
}

opc_status_t opc_replay_take(opc_replay_t *replay, const opc_call_t *call, opc_error_t *error) {
  *replay = (opc_replay_t){0};
  replay->tensor_args = calloc(call->tensor_arg_count + 1, sizeof *replay->tensor_args);
  if (!replay->tensor_args) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the arguments' values");
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    size_t size = 0;
    replay->count = i + 1;
    replay->tensor_args[i].dtype = tensor_arg->before.dtype;
    replay->tensor_args[i].numel = tensor_arg->before.numel;
    opc_status_t status = opc_tensor_logical_bytes(tensor_arg->tensor, &replay->tensor_args[i].bytes, &size, error);
    if (status != OPC_OK) {
      opc_replay_clear(replay);
      return status;
    }
    replay->fractions |= look_over(&replay->tensor_args[i]);
  }
  return OPC_OK;
}

void opc_replay_clear(opc_replay_t *replay) {
  for (size_t i = 0; i < replay->count; i++) {
    free(replay->tensor_args[i].bytes);
    free(replay->tensor_args[i].converted);
  }
  free(replay->tensor_args);
  *replay = (opc_replay_t){0};
}

static double moved(double value, const opc_replay_t *replay, const struct opc_replay_tensor_arg *tensor_arg,
                    uint64_t stream, uint64_t counter) {
  if (!isfinite(value) || value == 0.0)
    return value; /* a zero is often a marker (padding, a mask), not a measured number */
  /* A batch index one unit off selects another image. The result's jump would become a tolerance in which every bug
   * hides. */
  if (replay->fractions && is_whole_number(value, tensor_arg->dtype)) return value;
  /* Kernels compute with float8 in wider dtypes, and its own units are as large as its numbers. */
  opc_dtype_t dtype = opc_dtype_is_float8(tensor_arg->dtype) ? OPC_DTYPE_BFLOAT16 : tensor_arg->dtype;
  int pattern = replay->pattern;
  bool away = pattern == OPC_REPLAY_PATTERNS || (opc_random_u64((uint64_t)pattern, stream, counter) & 1) != 0;
  /* Random directions of two numbers are often equal, and a result that depends only on their difference would not
   * move. */
  if (pattern == OPC_REPLAY_BY_TURNS) away = (value > 0.0) == ((counter >> 1 & 1) != 0);
  double step = replay->far ? OPC_REPLAY_FAR * opc_dtype_ulp(dtype, tensor_arg->largest) : opc_dtype_ulp(dtype, value);
  double result = value + (away == (value > 0.0) ? step : -step);
  return fabs(result) > opc_dtype_max(tensor_arg->dtype) ? value : result;
}

static bool values_fit(const opc_replay_t *replay, const struct opc_replay_tensor_arg *tensor_arg, int64_t numel) {
  return tensor_arg->numel == numel || (replay->repeats && tensor_arg->numel > 0 && tensor_arg->numel < numel);
}

/* Repeats what is already there, doubling it each time. */
static void repeat(void *bytes, size_t there, size_t wanted) {
  for (size_t more; there < wanted; there += more) {
    more = there < wanted - there ? there : wanted - there;
    memcpy((char *)bytes + there, bytes, more);
  }
}

/* Without memory for it, values are converted again each time. */
static void converted_keep(struct opc_replay_tensor_arg *tensor_arg, opc_dtype_t dtype, const void *values) {
  size_t size = (size_t)tensor_arg->numel * opc_dtype_size(dtype);
  free(tensor_arg->converted);
  tensor_arg->converted = malloc(size + 1);
  tensor_arg->converted_to = dtype;
  if (tensor_arg->converted) memcpy(tensor_arg->converted, values, size);
}

opc_status_t opc_replay_values(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                               void *context, opc_error_t *error) {
  const opc_replay_t *replay = context;
  const int64_t numel = opc_tensor_spec_numel(spec);
  if (tensor_arg >= replay->count || !values_fit(replay, &replay->tensor_args[tensor_arg], numel))
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "%s: the arguments' values do not fit another shape", path);

  struct opc_replay_tensor_arg *source = &replay->tensor_args[tensor_arg];
  size_t from = opc_dtype_size(source->dtype), to = opc_dtype_size(spec->dtype);
  bool fractional = opc_dtype_is_inexact(source->dtype), move = replay->pattern && fractional;
  const void *ready = source->dtype == spec->dtype          ? source->bytes
                      : source->converted_to == spec->dtype ? source->converted
                                                            : NULL;
  if (!move && ready) {
    memcpy(logical, ready, (size_t)source->numel * to);
    repeat(logical, (size_t)source->numel * to, (size_t)numel * to);
    return OPC_OK;
  }
  uint64_t stream = opc_random_stream(path);
  for (int64_t i = 0; i < source->numel; i++) {
    opc_number_t number = opc_number_load(source->dtype, (const char *)source->bytes + (size_t)i * from);
    uint64_t counter = 2 * (uint64_t)i;
    if (move && number.kind == OPC_NUMBER_FLOAT) number.f = moved(number.f, replay, source, stream, counter);
    if (move && number.kind == OPC_NUMBER_COMPLEX) {
      number.c.re = moved(number.c.re, replay, source, stream, counter);
      number.c.im = moved(number.c.im, replay, source, stream, counter + 1);
    }
    opc_number_store(number, spec->dtype, (char *)logical + (size_t)i * to);
  }
  if (!move && fractional) converted_keep(source, spec->dtype, logical);
  repeat(logical, (size_t)source->numel * to, (size_t)numel * to);
  return OPC_OK;
}

static bool is_wide(opc_dtype_t dtype) { return opc_dtype_is_inexact(dtype) && !opc_dtype_is_float8(dtype); }

void opc_sample_make_contiguous(opc_sample_t *sample) {
  opc_tensor_spec_t *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) {
    opc_tensor_spec_make_contiguous(spec);
    spec->conj = spec->neg = false;
    free(spec->storage);
    spec->storage = NULL;
  }
}

void opc_sample_widen_to(opc_sample_t *sample, opc_dtype_t floating, opc_dtype_t complex) {
  opc_tensor_spec_t *spec;
  bool some_wide = false;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) some_wide |= is_wide(spec->dtype);
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) {
    opc_dtype_class_t kind = opc_dtype_class(spec->dtype);
    if (some_wide && opc_dtype_is_float8(spec->dtype))
      continue; /* quantised values stay quantised next to plain numbers */
    if (kind == OPC_CLASS_FLOATING) spec->dtype = floating;
    if (kind == OPC_CLASS_COMPLEX) spec->dtype = complex;
  }
}

void opc_sample_widen(opc_sample_t *sample) { opc_sample_widen_to(sample, OPC_DTYPE_FLOAT64, OPC_DTYPE_COMPLEX128); }
