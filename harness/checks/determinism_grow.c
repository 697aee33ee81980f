#include "checks/determinism_grow.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Odd, so that the parts that threads get seldom have the same size or end where a vector ends. */
enum { GROWTH = 5 };
static const double seconds_enough = 0.0005; /* a step more may take 125 times as long */
static const int64_t numel_max = 4 << 20;

/* ---- sizes ---- */

typedef struct sizes {
  const opc_growth_t *growth;
  int64_t largest;                 /* elements of the largest tensor */
  const opc_tensor_spec_t *chosen; /* that tensor */
  size_t seen, chosen_number;
  bool impossible;
} sizes_t;

static void see_tensor(const char *path, opc_value_t *value, void *context) {
  sizes_t *sizes = context;
  int64_t numel = opc_tensor_spec_numel(value->tensor);
  (void)path;
  if (!sizes->chosen || numel > sizes->largest) {
    sizes->largest = numel;
    sizes->chosen = value->tensor;
    sizes->chosen_number = sizes->seen;
  }
  sizes->seen++;
}

static sizes_t sizes_of(const opc_operator_t *op, const opc_sample_t *sample) {
  sizes_t sizes = {0};
  for (size_t i = 0; i < sample->argument_count; i++)
    opc_value_visit_tensors(op->arguments[i].name, &sample->arguments[i], see_tensor, &sizes);
  return sizes;
}

static void grow_tensor(const char *path, opc_value_t *value, void *context) {
  sizes_t *sizes = context;
  const opc_growth_t *growth = sizes->growth;
  opc_tensor_spec_t *spec = value->tensor;
  bool changed = false, chosen = sizes->seen++ == sizes->chosen_number;
  (void)path;
  for (int dim = 0; dim < spec->ndim; dim++) {
    if (spec->sizes[dim] != growth->size || (growth->size == 1 && (dim > 0 || !chosen))) continue;
    spec->sizes[dim] *= growth->factor;
    changed = true;
  }
  int64_t numel = opc_tensor_spec_numel(spec);
  sizes->impossible |= numel > numel_max || (changed && spec->storage);
  if (changed) opc_tensor_spec_make_contiguous(spec);
  if (numel > sizes->largest) sizes->largest = numel;
}

/* *out_largest: elements of the largest tensor; 0: it cannot grow so. */
static opc_status_t sample_grow(const opc_operator_t *op, const opc_sample_t *sample, const opc_growth_t *growth, opc_sample_t *out,
                                int64_t *out_largest, opc_error_t *error) {
  sizes_t sizes = {.growth = growth, .chosen_number = sizes_of(op, sample).chosen_number};
  opc_status_t status = opc_sample_copy(sample, out, error);
  for (size_t i = 0; status == OPC_OK && growth->factor && i < out->argument_count; i++)
    opc_value_visit_tensors(op->arguments[i].name, &out->arguments[i], grow_tensor, &sizes);
  *out_largest = sizes.impossible ? 0 : sizes.largest;
  return status;
}

/* ---- values ---- */

typedef struct repeating {
  const opc_replay_t *small;
  opc_replay_t *large;
  bool failed;
} repeating_t;

static void repeat_leaf(const char *path, opc_value_t *value, void *context) {
  repeating_t *repeating = context;
  opc_replay_t *large = repeating->large;
  (void)path;
  if (repeating->failed || large->count >= repeating->small->count) return;
  struct opc_replay_leaf *to = &large->leaves[large->count];
  *to = repeating->small->leaves[large->count++];
  size_t period = (size_t)to->numel * opc_dtype_size(to->dtype);
  to->numel = opc_tensor_spec_numel(value->tensor);
  size_t bytes = (size_t)to->numel * opc_dtype_size(to->dtype);
  const void *from = to->bytes;
  to->bytes = malloc(bytes + 1);
  repeating->failed = !to->bytes || (bytes && !period);
  for (size_t at = 0; !repeating->failed && at < bytes; at += period)
    memcpy((char *)to->bytes + at, from, bytes - at < period ? bytes - at : period);
}

/* The values of a small sample, again and again, for a larger one. */
static opc_status_t values_repeat(const opc_operator_t *op, const opc_sample_t *sample, const opc_replay_t *small, opc_replay_t *out,
                                  opc_error_t *error) {
  repeating_t repeating = {.small = small, .large = out};
  *out = (opc_replay_t){.fractions = small->fractions, .leaves = calloc(small->count + 1, sizeof *out->leaves)};
  if (!out->leaves) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a larger sample");
  for (size_t i = 0; i < sample->argument_count; i++)
    opc_value_visit_tensors(op->arguments[i].name, &sample->arguments[i], repeat_leaf, &repeating);
  if (!repeating.failed && out->count == small->count) return OPC_OK;
  opc_replay_clear(out);
  return opc_error_set(error, OPC_ERR_UNSUPPORTED, "there are no values for a larger sample");
}

static opc_status_t values_own(opc_case_context_t *context, const opc_sample_t *sample, opc_replay_t *out, opc_error_t *error) {
  opc_call_t call = {0};
  opc_status_t status = opc_call_make(&call, context->op, sample, context->device, context->seed, error);
  if (status == OPC_OK) status = opc_replay_take(out, &call, error);
  opc_call_clear(&call);
  return status;
}

opc_status_t opc_grown_make(opc_case_context_t *context, const opc_sample_t *sample, const opc_growth_t *growth, bool others, opc_grown_t *out,
                            opc_error_t *error) {
  opc_replay_t values = {0}, other = {0};
  int64_t largest;
  bool differs;
  *out = (opc_grown_t){0};
  opc_status_t status = values_own(context, sample, &values, error);
  if (status == OPC_OK && others) status = opc_trial_other_values(context, sample, &other, &differs, error);
  if (status == OPC_OK) status = sample_grow(context->op, sample, growth, &out->sample, &largest, error);
  if (status == OPC_OK) status = values_repeat(context->op, &out->sample, &values, &out->values, error);
  if (status == OPC_OK && others) status = values_repeat(context->op, &out->sample, &other, &out->other, error);
  opc_replay_clear(&values);
  opc_replay_clear(&other);
  if (status != OPC_OK) opc_grown_clear(out);
  return status;
}

/* ---- search ---- */

static double cpu_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One call. *out_largest: elements of the largest tensor; 0: not so. */
static opc_status_t step(opc_case_context_t *context, const opc_sample_t *sample, const opc_growth_t *growth, const opc_replay_t *small,
                         int64_t *out_largest, double *out_seconds, opc_error_t *error) {
  opc_sample_t larger = {0};
  opc_replay_t values = {0};
  opc_call_t call = {0};
  opc_trial_t trial = {.context = context, .sample = &larger, .values = &values, .phase = "a call on larger tensors"};
  opc_status_t status = sample_grow(context->op, sample, growth, &larger, out_largest, error);
  if (status != OPC_OK || !*out_largest) goto release;
  status = values_repeat(context->op, &larger, small, &values, error);
  if (status == OPC_OK) status = opc_trial_make(&trial, &call, error);
  if (status != OPC_OK) goto release;
  double began = cpu_now();
  opc_trial_call(&trial, &call);
  *out_seconds = cpu_now() - began;
  if (call.outcome != OPC_CALL_RETURNED || opc_trial_strays()) *out_largest = 0;

release:
  opc_call_clear(&call);
  opc_replay_clear(&values);
  opc_sample_clear(&larger);
  return status;
}

opc_status_t opc_growth_search(opc_case_context_t *context, const opc_sample_t *sample, int64_t numel, int64_t fewer, opc_growth_t *out,
                               opc_growth_t *out_fewer, opc_error_t *error) {
  opc_replay_t values = {0};
  sizes_t sizes = sizes_of(context->op, sample);
  *out = *out_fewer = (opc_growth_t){0};
  opc_status_t status = values_own(context, sample, &values, error);
  for (int dim = 0; status == OPC_OK && sizes.chosen && !out->factor && dim < sizes.chosen->ndim; dim++) {
    opc_growth_t growth = {.size = sizes.chosen->sizes[dim], .factor = GROWTH};
    int64_t largest = sizes.largest;
    double seconds = 0;
    if (growth.size == 0 || (growth.size == 1 && dim > 0)) continue;
    while (status == OPC_OK && largest && largest < numel && seconds < seconds_enough) {
      status = step(context, sample, &growth, &values, &largest, &seconds, error);
      if (status != OPC_OK || !largest) break;
      *out = growth;
      if (largest <= fewer || !out_fewer->factor) *out_fewer = growth;
      int64_t next = growth.factor * GROWTH, last = growth.factor * ((numel + largest - 1) / largest) | 1;
      growth.factor = last < next ? last : next;
    }
  }
  opc_replay_clear(&values);
  return status;
}

/* ---- the rest ---- */

void opc_grown_clear(opc_grown_t *grown) {
  opc_sample_clear(&grown->sample);
  opc_replay_clear(&grown->values);
  opc_replay_clear(&grown->other);
  *grown = (opc_grown_t){0};
}

void opc_grown_text(const opc_grown_t *grown, const opc_operator_t *op, opc_text_t *out) {
  json_t *input = opc_sample_evidence(op, &grown->sample), *value;
  const char *name, *separator = "";
  json_object_foreach(input, name, value) {
    opc_text_addf(out, "%s%s = %s", separator, name, json_string_value(value) ? json_string_value(value) : "…");
    separator = ", ";
  }
  json_decref(input);
}
