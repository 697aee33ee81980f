#include "checks/determinism/determinism.h"

#include <math.h>

#include "base/system.h"

/* Factor per step for a size. Larger after a fast step, as long as the next one should take at most
 * seconds_most. */
enum { GROWTH = 5 };
static const double seconds_enough = 0.0005; /* the next step may take 125 times as long */
static const double seconds_most = 0.004, seconds_least = 2e-6;
static const double seconds_fewer = 0.0002; /* for operators that are called about fifty times */
static const int64_t numel_max = 4 << 20;

/* ---- sizes ---- */

static const opc_tensor_spec_t *largest_tensor(const opc_sample_t *sample, size_t *out_number) {
  const opc_tensor_spec_t *largest = NULL, *spec;
  for (size_t i = 0; (spec = opc_sample_tensor(sample, i)); i++) {
    if (largest && opc_tensor_spec_numel(spec) <= opc_tensor_spec_numel(largest)) continue;
    largest = spec;
    *out_number = i;
  }
  return largest;
}

typedef struct growing {
  opc_enlargement_t growth;
  size_t largest; /* index of that tensor */
} growing_t;

static bool where_grows(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context) {
  const growing_t *growing = context;
  return tensor->value->tensor->sizes[dim] == growing->growth.size &&
         (growing->growth.size != 1 || (dim == 0 && number == growing->largest));
}

/* *out_largest: elements of the largest tensor; 0: it cannot grow in this way. measures: the sample stays
 * unchanged. */
static opc_status_t sample_resize(opc_sample_t *sample, const opc_enlargement_t *growth, int64_t numel, bool measures,
                                  int64_t *out_largest, opc_error_t *error) {
  growing_t growing = {.growth = *growth};
  opc_resized_t resized;
  bool possible = false;
  const opc_resize_t resize = {.where = where_grows,
                               .context = &growing,
                               .factor = growth->factor,
                               .values = OPC_RESIZE_GIVEN,
                               .numel_max = numel,
                               .measures = measures};
  (void)largest_tensor(sample, &growing.largest);
  *out_largest = 0;
  OPC_RETURN_IF_ERROR(opc_sample_resize(sample, &resize, &resized, &possible, error));
  if (possible) *out_largest = resized.largest;
  return OPC_OK;
}

static opc_status_t sample_grow(const opc_sample_t *sample, const opc_enlargement_t *growth, opc_sample_t *out,
                                int64_t *out_largest, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, out, error));
  return growth->factor ? sample_resize(out, growth, numel_max, false, out_largest, error) : OPC_OK;
}

/* ---- values ---- */

static opc_status_t values_own(opc_case_context_t *context, const opc_sample_t *sample, opc_replay_t *out,
                               opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_again_values(&(opc_again_t){.context = context, .sample = sample}, out, error));
  out->repeats = true;
  return OPC_OK;
}

opc_status_t opc_grown_make(opc_case_context_t *context, const opc_sample_t *sample, const opc_enlargement_t *growth,
                            bool others, opc_grown_t *out, opc_error_t *error) {
  int64_t ignored;
  size_t number;
  bool differs;
  *out = (opc_grown_t){0};
  OPC_RETURN_IF_ERROR(values_own(context, sample, &out->values, error));
  if (others) OPC_RETURN_IF_ERROR(opc_trial_other_values(context, sample, &out->other, &differs, error));
  out->other.repeats = true;
  OPC_RETURN_IF_ERROR(sample_grow(sample, growth, &out->sample, &ignored, error));
  const opc_tensor_spec_t *largest = largest_tensor(&out->sample, &number);
  out->numel = largest ? opc_tensor_spec_numel(largest) : 0;
  return OPC_OK;
}

/* ---- search ---- */

/* One call. *out_largest: elements of the largest tensor; 0: not possible. */
static opc_status_t growth_try(opc_case_context_t *context, const opc_sample_t *sample, const opc_enlargement_t *growth,
                               opc_replay_t *values, int64_t *out_largest, double *out_seconds, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t larger = {0};
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_again_t trial = {.context = context,
                       .sample = &larger,
                       .replay = values,
                       .label = {OPC_CALL_KIND_CALL_OF_OTHERS, "on larger tensors"}};
  OPC_RETURN_IF_ERROR(sample_grow(sample, growth, &larger, out_largest, error));
  if (!*out_largest) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_trial_make(&trial, &call, error));
  double began = opc_clock_of(CLOCK_THREAD_CPUTIME_ID);
  opc_trial_call(&trial, &call);
  *out_seconds = opc_clock_of(CLOCK_THREAD_CPUTIME_ID) - began;
  if (call.outcome != OPC_CALL_RETURNED || opc_trial_out_of_bounds()) *out_largest = 0;

  return OPC_OK;
}

/* The largest factor up to `most` for which no tensor has more than `numel` elements; at least 1. */
static int64_t factor_within(const opc_sample_t *sample, int64_t size, int64_t most, int64_t numel) {
  int64_t within = 1, largest;
  for (int64_t beyond = most + 1; beyond - within > 1;) {
    const opc_enlargement_t growth = {.size = size, .factor = within + (beyond - within) / 2};
    opc_sample_t same = *sample;
    if (sample_resize(&same, &growth, numel, true, &largest, NULL) == OPC_OK && largest) within = growth.factor;
    else beyond = growth.factor;
  }
  return within;
}

/* Time may grow with the cube of a size. The factor is odd, so that threads seldom get parts of equal size or
 * parts that end at a vector's end. */
static int64_t next_factor(const opc_sample_t *sample, const opc_enlargement_t *now, double seconds, int64_t numel,
                           int64_t fewer) {
  int64_t most = (int64_t)((double)now->factor * fmax(GROWTH, cbrt(seconds_most / fmax(seconds, seconds_least))));
  int64_t next = (factor_within(sample, now->size, most, fewer) - 1) | 1;
  return next > now->factor ? next : (factor_within(sample, now->size, most, numel - 1) + 1) | 1;
}

opc_status_t opc_enlargement_search(opc_case_context_t *context, const opc_sample_t *sample, int64_t numel,
                                    int64_t fewer, opc_enlargement_t *out, opc_enlargement_t *out_fewer,
                                    opc_error_t *error) {
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  size_t number;
  const opc_tensor_spec_t *chosen = largest_tensor(sample, &number);
  *out = *out_fewer = (opc_enlargement_t){0};
  OPC_RETURN_IF_ERROR(values_own(context, sample, &values, error));
  for (int dim = 0; chosen && !out->factor && dim < chosen->ndim; dim++) {
    opc_enlargement_t growth = {.size = chosen->sizes[dim], .factor = 1};
    int64_t largest = opc_tensor_spec_numel(chosen);
    double seconds = 0;
    if (growth.size == 0 || (growth.size == 1 && dim > 0)) continue;
    while (largest < numel && seconds < seconds_enough) {
      growth.factor = next_factor(sample, &growth, growth.factor == 1 ? seconds_most : seconds, numel, fewer);
      OPC_RETURN_IF_ERROR(growth_try(context, sample, &growth, &values, &largest, &seconds, error));
      if (!largest) break;
      *out = growth;
      if (seconds <= seconds_fewer && (largest <= fewer || !out_fewer->factor)) *out_fewer = growth;
    }
  }
  return OPC_OK;
}

/* ---- other functions ---- */

void opc_grown_clear(opc_grown_t *grown) {
  opc_sample_clear(&grown->sample);
  opc_replay_clear(&grown->values);
  opc_replay_clear(&grown->other);
  *grown = (opc_grown_t){0};
}

void opc_grown_note(const opc_grown_t *grown, const opc_operator_t *op, opc_text_t *out, opc_finding_t *finding) {
  json_auto_t *input = opc_sample_evidence(op, &grown->sample);
  json_t *value;
  const char *name, *separator = "";
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  json_object_foreach(input, name, value) {
    opc_text_addf(&text, "%s%s = %s", separator, name, json_string_value(value) ? json_string_value(value) : "…");
    separator = ", ";
  }
  opc_text_add(out, opc_text_c(&text));
  opc_finding_note_variant(finding, opc_text_c(&text));
}
