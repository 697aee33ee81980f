#include "checks/determinism/determinism.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "memory/cpu_memory.h"

/* ---- memory ---- */

void opc_trial_memory_begin(void) {
  opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_scratch_memory_fill(OPC_PATTERN_FIRST);
}

void opc_trial_memory_end(void) { opc_scratch_memory_plain(); }

bool opc_trial_out_of_bounds(void) {
  const opc_access_t *accesses = NULL;
  return opc_guard_accesses(&accesses) > 0;
}

/* ---- one call ---- */

static opc_status_t sample_with_grad(const opc_again_t *trial, opc_sample_t *out, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_sample_copy(trial->sample, out, error));
  for (size_t i = 0; i < out->argument_count; i++) {
    const opc_alias_t *alias = &trial->context->op->arguments[i].alias;
    opc_tensor_spec_t *spec;
    for (size_t k = 0, number = 0; (spec = opc_value_tensor(&out->arguments[i], &number)); number = ++k)
      spec->requires_grad |= opc_dtype_is_inexact(spec->dtype) && !(alias->present && alias->is_write);
  }
  return OPC_OK;
}

opc_status_t opc_trial_make(const opc_again_t *trial, opc_call_t *call, opc_error_t *error) {
  opc_again_t again = *trial;
  OPC_SCOPED(opc_sample_clear) opc_sample_t with_grad = {0};
  *call = (opc_call_t){0};
  if (trial->conditions & OPC_TRIAL_REQUIRES_GRAD) {
    OPC_RETURN_IF_ERROR(sample_with_grad(trial, &with_grad, error));
    again.sample = &with_grad;
  }
  OPC_RETURN_IF_ERROR(opc_again_make(&again, call, error));
  if (!call->placed) call->absent = trial->sample->absent; /* the same, and outlives the copy */
  return OPC_OK;
}

void opc_trial_call(const opc_again_t *trial, opc_call_t *call) {
  opc_case_context_t *context = trial->context;
  int64_t settings[OPC_SETTING_COUNT];
  bool changes = trial->conditions & (OPC_TRIAL_NO_GRAD | OPC_TRIAL_DEFAULT_DTYPE | OPC_TRIAL_ONLY_DETERMINISTIC);
  if (changes) opc_bridge_settings_read(settings);
  if (trial->conditions & OPC_TRIAL_NO_GRAD) opc_bridge_grad_mode(false);
  if (trial->conditions & OPC_TRIAL_DEFAULT_DTYPE) opc_bridge_default_dtype(OPC_DTYPE_FLOAT64);
  if (trial->conditions & OPC_TRIAL_ONLY_DETERMINISTIC) opc_bridge_deterministic_algorithms(true);
  context->announce(trial->label);
  opc_call_run(call, context->handle, context->seed + (trial->conditions & OPC_TRIAL_OTHER_SEED ? 1 : 0));
  if (changes) opc_bridge_settings_write(settings);
}

static opc_status_t outcome_take(const opc_call_t *call, unsigned flags, opc_trial_outcome_t *out, opc_error_t *error) {
  *out = (opc_trial_outcome_t){.outcome = call->outcome};
  if (call->outcome == OPC_CALL_RETURNED)
    return opc_result_take(&out->result, call, OPC_RESULT_ARGUMENTS | flags, error);
  opc_text_add(&out->message, opc_text_c(&call->message));
  return OPC_OK;
}

opc_status_t opc_again_take(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) {
  return outcome_take(call, 0, out, error);
}

opc_status_t opc_trial_look(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) {
  return outcome_take(call, OPC_RESULT_BORROW, out, error);
}

static opc_status_t trial_call_once(const opc_again_t *trial, opc_trial_outcome_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(opc_trial_make(trial, &call, error));
  opc_trial_call(trial, &call);
  return opc_again_take(&call, out, error);
}

opc_status_t opc_trial_run(const opc_again_t *trial, opc_trial_outcome_t *out, opc_error_t *error) {
  opc_again_t elsewhere = *trial;
  *out = (opc_trial_outcome_t){0};
  if (!(trial->conditions & OPC_TRIAL_ELSEWHERE)) return trial_call_once(trial, out, error);
  elsewhere.places = opc_places_new(trial->sample);
  if (!elsewhere.places) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the arguments");
  opc_cpu_memory_guard(OPC_GUARD_BEFORE);
  opc_scratch_memory_shift(true);
  opc_status_t status = trial_call_once(&elsewhere, out, error);
  opc_scratch_memory_shift(false);
  opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_places_free(elsewhere.places);
  return status;
}

void opc_trial_outcome_clear(opc_trial_outcome_t *outcome) {
  opc_result_clear(&outcome->result);
  opc_text_clear(&outcome->message);
  *outcome = (opc_trial_outcome_t){0};
}

/* ---- generators ---- */

static opc_status_t generators_read(const opc_case_context_t *context, opc_generators_t *out, opc_error_t *error) {
  const opc_device_t devices[2] = {{.type = OPC_DEVICE_CPU, .index = -1}, context->device};
  *out = (opc_generators_t){0};
  for (int i = 0; i < 2; i++)
    if (i == 0 || devices[i].type != OPC_DEVICE_CPU)
      OPC_RETURN_IF_ERROR(opc_bridge_generator_state(devices[i], &out->states[i].bytes, &out->states[i].size, error));
  return OPC_OK;
}

opc_status_t opc_generators_keep(const opc_case_context_t *context, opc_generators_t *out, opc_error_t *error) {
  opc_bridge_seed(context->seed);
  return generators_read(context, out, error);
}

opc_status_t opc_generators_used(const opc_case_context_t *context, const opc_generators_t *kept, bool *out_used,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_generators_clear) opc_generators_t now = {0};
  OPC_RETURN_IF_ERROR(generators_read(context, &now, error));
  *out_used = false;
  for (int i = 0; i < 2; i++)
    *out_used |= kept->states[i].size && memcmp(kept->states[i].bytes, now.states[i].bytes, kept->states[i].size) != 0;
  return OPC_OK;
}

void opc_generators_clear(opc_generators_t *generators) {
  for (int i = 0; i < 2; i++) free(generators->states[i].bytes);
  *generators = (opc_generators_t){0};
}

opc_status_t opc_trial_run_watched(const opc_again_t *trial, opc_trial_outcome_t *out, bool *out_random,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_generators_clear) opc_generators_t generators = {0};
  *out_random = false;
  OPC_RETURN_IF_ERROR(opc_generators_keep(trial->context, &generators, error));
  OPC_RETURN_IF_ERROR(opc_trial_run(trial, out, error));
  return opc_generators_used(trial->context, &generators, out_random, error);
}

/* ---- two calls ---- */

enum { MESSAGE_SHOWN = 300 };

static void say_thrown(const char *name, const opc_trial_outcome_t *outcome, opc_text_t *out) {
  const char *message = opc_text_c(&outcome->message);
  size_t length = strcspn(message, "\n");
  opc_text_addf(out, "%s throws: %.*s", name, length > MESSAGE_SHOWN ? MESSAGE_SHOWN : (int)length, message);
}

bool opc_trial_differ(const opc_trial_outcome_t *left, const opc_trial_outcome_t *right, const char *right_name,
                      opc_text_t *out) {
  bool left_returned = left->outcome == OPC_CALL_RETURNED, right_returned = right->outcome == OPC_CALL_RETURNED;
  if (left_returned != right_returned) {
    if (out && left_returned) say_thrown(right_name, right, out);
    else if (out) {
      say_thrown("the call", left, out);
      opc_text_addf(out, "; %s returns", right_name);
    }
    return true;
  }
  if (!left_returned) return false; /* both are refused: the text may contain an address */
  opc_difference_t difference = opc_result_compare(&left->result, &right->result, NULL, NULL);
  if (difference.kind == OPC_DIFFERENCE_NONE) return false;
  if (out) opc_difference_text(&difference, &left->result, &right->result, right_name, out);
  return true;
}

/* ---- other values ---- */

typedef struct other_values {
  const opc_sample_t *sample;
  uint64_t seed;
  bool changed;
} other_values_t;

/* Further from zero, with the same integer part and in the same order: a value that is rounded towards zero (an index,
 * a length) keeps its integer. Fractions move by up to 1/64, so that rounding does not hide which of the two was used.
 */
static double moved_within_integer(double number, opc_dtype_t dtype) {
  static const double part = 1.0 / 16;
  const double size = fabs(number), fraction = size - floor(size);
  const double moved = size + part * fraction * (1.0 - fraction), least = size + opc_dtype_ulp(dtype, size);
  return copysign(moved > least ? moved : least, number);
}

static bool nudge(opc_dtype_t dtype, size_t numel, void *values) {
  bool changed = false;
  size_t width = opc_dtype_size(dtype);
  for (size_t i = 0; i < numel; i++) {
    char *at = (char *)values + i * width;
    opc_number_t number = opc_number_load(dtype, at);
    if (!isfinite(number.f) || number.f == 0.0) continue;
    const double moved = moved_within_integer(number.f, dtype);
    if (fabs(moved) > opc_dtype_max(dtype)) continue;
    number.f = moved;
    opc_number_store(number, dtype, at);
    changed = true;
  }
  return changed;
}

static opc_status_t fill_otherwise(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                                   void *context, opc_error_t *error) {
  other_values_t *other = context;
  size_t numel = (size_t)opc_tensor_spec_numel(spec), bytes = numel * opc_dtype_size(spec->dtype);
  OPC_SCOPED(opc_scope_free) void *before = malloc(bytes + 1);
  (void)tensor_arg;
  if (!before) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for other values");
  OPC_RETURN_IF_ERROR(opc_fill_logical(spec, path, other->seed, before, error));
  OPC_RETURN_IF_ERROR(opc_sample_fill_other(other->sample, spec, path, other->seed, other->seed + 1, logical, error));
  other->changed |= memcmp(before, logical, bytes) != 0 ||
                    (opc_dtype_class(spec->dtype) == OPC_CLASS_FLOATING && nudge(spec->dtype, numel, logical));
  return OPC_OK;
}

opc_status_t opc_trial_other_values(opc_case_context_t *context, const opc_sample_t *sample, opc_replay_t *out,
                                    bool *out_changed, opc_error_t *error) {
  other_values_t other = {.sample = sample, .seed = context->seed};
  const opc_again_t again = {.context = context, .sample = sample, .values = fill_otherwise, .values_context = &other};
  OPC_RETURN_IF_ERROR(opc_again_values(&again, out, error));
  *out_changed = other.changed;
  return OPC_OK;
}
