#include "checks/determinism/determinism_grow.h"
#include "base/clock.h"

#include <math.h>
#include <time.h>

/* Of a size, at a time; more after a step that took little time, as far as the next one can be expected to take no more
 * than seconds_most. */
enum { GROWTH = 5 };
static const double seconds_enough = 0.0005; /* a step more may take 125 times as long */
static const double seconds_most = 0.004, seconds_least = 2e-6;
static const double seconds_fewer = 0.0002; /* of what is called some fifty times */
static const int64_t numel_max = 4 << 20;

/* ---- sizes ---- */

typedef struct sizes {
  const opc_enlargement_t *growth;
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

static bool grows(const opc_tensor_spec_t *spec, int dim, const opc_enlargement_t *growth, bool chosen) {
  return spec->sizes[dim] == growth->size && (growth->size != 1 || (dim == 0 && chosen));
}

static void grow_tensor(const char *path, opc_value_t *value, void *context) {
  sizes_t *sizes = context;
  opc_tensor_spec_t *spec = value->tensor;
  bool changed = false, chosen = sizes->seen++ == sizes->chosen_number;
  (void)path;
  for (int dim = 0; dim < spec->ndim; dim++) {
    if (!grows(spec, dim, sizes->growth, chosen)) continue;
    spec->sizes[dim] *= sizes->growth->factor;
    changed = true;
  }
  int64_t numel = opc_tensor_spec_numel(spec);
  sizes->impossible |= numel > numel_max || (changed && spec->storage);
  if (changed) opc_tensor_spec_make_contiguous(spec);
  if (numel > sizes->largest) sizes->largest = numel;
}

/* *out_largest: elements of the largest tensor; 0: it cannot grow so. */
static opc_status_t sample_grow(const opc_operator_t *op, const opc_sample_t *sample, const opc_enlargement_t *growth,
                                opc_sample_t *out, int64_t *out_largest, opc_error_t *error) {
  sizes_t sizes = {.growth = growth, .chosen_number = sizes_of(op, sample).chosen_number};
  opc_status_t status = opc_sample_copy(sample, out, error);
  for (size_t i = 0; status == OPC_OK && growth->factor && i < out->argument_count; i++)
    opc_value_visit_tensors(op->arguments[i].name, &out->arguments[i], grow_tensor, &sizes);
  *out_largest = sizes.impossible ? 0 : sizes.largest;
  return status;
}

/* ---- values ---- */

static opc_status_t values_own(opc_case_context_t *context, const opc_sample_t *sample, opc_replay_t *out,
                               opc_error_t *error) {
  opc_call_t call = {0};
  opc_status_t status = opc_call_make(&call, context->op, sample, context->device, context->seed, error);
  if (status == OPC_OK) status = opc_replay_take(out, &call, error);
  out->repeats = true;
  opc_call_clear(&call);
  return status;
}

opc_status_t opc_grown_make(opc_case_context_t *context, const opc_sample_t *sample, const opc_enlargement_t *growth,
                            bool others, opc_grown_t *out, opc_error_t *error) {
  int64_t ignored;
  bool differs;
  *out = (opc_grown_t){0};
  opc_status_t status = values_own(context, sample, &out->values, error);
  if (status == OPC_OK && others) status = opc_trial_other_values(context, sample, &out->other, &differs, error);
  if (status == OPC_OK) status = sample_grow(context->op, sample, growth, &out->sample, &ignored, error);
  out->other.repeats = true;
  out->numel = sizes_of(context->op, &out->sample).largest;
  if (status != OPC_OK) opc_grown_clear(out);
  return status;
}

/* ---- search ---- */

typedef struct grown_size {
  opc_enlargement_t growth;
  size_t seen, chosen_number;
  double largest;
} grown_size_t;

/* One call. *out_largest: elements of the largest tensor; 0: not so. */
static opc_status_t step(opc_case_context_t *context, const opc_sample_t *sample, const opc_enlargement_t *growth,
                         opc_replay_t *values, int64_t *out_largest, double *out_seconds, opc_error_t *error) {
  opc_sample_t larger = {0};
  opc_call_t call = {0};
  opc_trial_t trial = {.context = context, .sample = &larger, .values = values, .phase = "a call on larger tensors"};
  opc_status_t status = sample_grow(context->op, sample, growth, &larger, out_largest, error);
  if (status != OPC_OK || !*out_largest) goto release;
  status = opc_trial_make(&trial, &call, error);
  if (status != OPC_OK) goto release;
  double began = opc_clock_of(CLOCK_THREAD_CPUTIME_ID);
  opc_trial_call(&trial, &call);
  *out_seconds = opc_clock_of(CLOCK_THREAD_CPUTIME_ID) - began;
  if (call.outcome != OPC_CALL_RETURNED || opc_trial_strays()) *out_largest = 0;

release:
  opc_call_clear(&call);
  opc_sample_clear(&larger);
  return status;
}

static void see_grown(const char *path, opc_value_t *value, void *context) {
  grown_size_t *grown = context;
  double numel = (double)opc_tensor_spec_numel(value->tensor);
  bool chosen = grown->seen++ == grown->chosen_number;
  (void)path;
  for (int dim = 0; dim < value->tensor->ndim; dim++)
    if (grows(value->tensor, dim, &grown->growth, chosen)) numel *= (double)grown->growth.factor;
  grown->largest = fmax(grown->largest, numel);
}

/* The largest factor up to `most` at which no tensor has more than `numel` elements; at least 1. */
static int64_t factor_within(const opc_operator_t *op, const opc_sample_t *sample, int64_t size, int64_t most,
                             int64_t numel) {
  int64_t within = 1;
  for (int64_t beyond = most + 1; beyond - within > 1;) {
    grown_size_t grown = {.growth = {.size = size, .factor = within + (beyond - within) / 2},
                          .chosen_number = sizes_of(op, sample).chosen_number};
    for (size_t i = 0; i < sample->argument_count; i++)
      opc_value_visit_tensors("", &sample->arguments[i], see_grown, &grown);
    if (grown.largest <= (double)numel) within = grown.growth.factor;
    else beyond = grown.growth.factor;
  }
  return within;
}

/* Time may grow with the cube of a size. Odd, so that the parts that threads get seldom have the same size or end where
 * a vector ends. */
static int64_t next_factor(const opc_operator_t *op, const opc_sample_t *sample, const opc_enlargement_t *now,
                           double seconds, int64_t numel, int64_t fewer) {
  int64_t most = (int64_t)((double)now->factor * fmax(GROWTH, cbrt(seconds_most / fmax(seconds, seconds_least))));
  int64_t next = (factor_within(op, sample, now->size, most, fewer) - 1) | 1;
  return next > now->factor ? next : (factor_within(op, sample, now->size, most, numel - 1) + 1) | 1;
}

opc_status_t opc_enlargement_search(opc_case_context_t *context, const opc_sample_t *sample, int64_t numel,
                                    int64_t fewer, opc_enlargement_t *out, opc_enlargement_t *out_fewer,
                                    opc_error_t *error) {
  opc_replay_t values = {0};
  sizes_t sizes = sizes_of(context->op, sample);
  *out = *out_fewer = (opc_enlargement_t){0};
  opc_status_t status = values_own(context, sample, &values, error);
  for (int dim = 0; status == OPC_OK && sizes.chosen && !out->factor && dim < sizes.chosen->ndim; dim++) {
    opc_enlargement_t growth = {.size = sizes.chosen->sizes[dim], .factor = 1};
    int64_t largest = sizes.largest;
    double seconds = 0;
    if (growth.size == 0 || (growth.size == 1 && dim > 0)) continue;
    while (status == OPC_OK && largest < numel && seconds < seconds_enough) {
      growth.factor =
          next_factor(context->op, sample, &growth, growth.factor == 1 ? seconds_most : seconds, numel, fewer);
      status = step(context, sample, &growth, &values, &largest, &seconds, error);
      if (status != OPC_OK || !largest) break;
      *out = growth;
      if (seconds <= seconds_fewer && (largest <= fewer || !out_fewer->factor)) *out_fewer = growth;
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

void opc_grown_note(const opc_grown_t *grown, const opc_operator_t *op, opc_text_t *out, opc_finding_t *finding) {
  json_t *input = opc_sample_evidence(op, &grown->sample), *value;
  const char *name, *separator = "";
  opc_text_t text = {0};
  json_object_foreach(input, name, value) {
    opc_text_addf(&text, "%s%s = %s", separator, name, json_string_value(value) ? json_string_value(value) : "…");
    separator = ", ";
  }
  opc_text_add(out, opc_text_c(&text));
  opc_finding_note_variant(finding, opc_text_c(&text));
  opc_text_clear(&text);
  json_decref(input);
}
