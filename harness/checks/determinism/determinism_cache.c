#include "checks/determinism/determinism.h"

#include <stdlib.h>

static const opc_rule_id_t rule = OPC_RULE_determinism_pointer_cache;
static const char before_text[] = "after other data had been in its arguments' memory, ";
static const char elsewhere_name[] = "on the same data in other memory it";

/* Two calls in one place: the sample's own data, then other data. */
typedef struct reuse {
  opc_places_t *places;
  opc_replay_t other;
  bool changed;      /* some value of the other data differs */
  bool called;       /* the second call of the last pair was made */
  unsigned met, all; /* a bit for each tensor argument: its TensorImpl had the same address in some pair; all of them */
  opc_trial_outcome_t own, there;
} reuse_t;

static void reuse_clear(reuse_t *reuse) {
  opc_trial_outcome_clear(&reuse->own);
  opc_trial_outcome_clear(&reuse->there);
  opc_replay_clear(&reuse->other);
  opc_places_free(reuse->places);
}

static opc_status_t place_new(const opc_case_context_t *context, opc_places_t **out, opc_error_t *error) {
  *out = opc_places_new(context->sample);
  return *out ? OPC_OK : opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the arguments");
}

/* ---- the same tensor objects' addresses ---- */

/* A cache may know an argument by the address of its TensorImpl. malloc often gives the second call's tensor that of
 * the first one's, but other blocks of that size in between change this. */
enum { ATTEMPTS = 8, TENSORS = 16, BLOCK = 200 /* bytes: about a TensorImpl */ };

typedef struct addresses {
  const void *of[TENSORS];
  size_t count;
} addresses_t;

static addresses_t addresses_of(const opc_call_t *call) {
  addresses_t addresses = {.count = call->tensor_arg_count < TENSORS ? call->tensor_arg_count : TENSORS};
  for (size_t i = 0; i < addresses.count; i++) {
    opc_tensor_meta_t meta;
    opc_tensor_describe(call->tensor_args[i].tensor, &meta);
    addresses.of[i] = meta.impl;
  }
  return addresses;
}

/* A bit for each tensor that has the address it had before. */
static unsigned met_of(const addresses_t *before, const addresses_t *now) {
  unsigned met = 0;
  for (size_t i = 0; i < before->count && i < now->count; i++)
    if (before->of[i] == now->of[i]) met |= 1U << i;
  return met;
}

/* Frees the arguments in one order or the other, and after them some blocks of their size. */
static void clear_before(opc_call_t *call, int attempt) {
  const int blocks = attempt / 2;
  void *held[ATTEMPTS] = {0};
  for (int i = 0; i < blocks; i++) held[i] = malloc(BLOCK);
  for (size_t i = 0; attempt % 2 && i < call->argument_count; i++) opc_handle_free(&call->arguments[i]);
  opc_call_clear(call);
  for (int i = 0; i < blocks; i++) free(held[i]);
}

static opc_status_t call_own(reuse_t *reuse, opc_again_t *trial, int attempt, addresses_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_trial_outcome_clear(&reuse->own);
  trial->replay = NULL;
  trial->label = OPC_CALL_LABEL(CALL, "before other data come into its arguments' memory");
  OPC_RETURN_IF_ERROR(opc_trial_make(trial, &call, error));
  *out = addresses_of(&call);
  opc_trial_call(trial, &call);
  OPC_RETURN_IF_ERROR(opc_again_take(&call, &reuse->own, error));
  clear_before(&call, attempt);
  return OPC_OK;
}

/* Does not call if no tensor has its address for the first time, unless `any`. */
static opc_status_t call_there(reuse_t *reuse, opc_again_t *trial, const addresses_t *own, bool any,
                               opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  opc_trial_outcome_clear(&reuse->there);
  trial->replay = &reuse->other;
  trial->label = OPC_CALL_LABEL(CALL_OF_OTHERS, "on other data in the same memory");
  reuse->called = false;
  OPC_RETURN_IF_ERROR(opc_trial_make(trial, &call, error));
  const addresses_t addresses = addresses_of(&call);
  const unsigned met = met_of(own, &addresses);
  reuse->called = any || (met & ~reuse->met);
  reuse->met |= met;
  reuse->all = (1U << addresses.count) - 1;
  if (!reuse->called) return OPC_OK;
  opc_trial_call(trial, &call);
  return opc_again_take(&call, &reuse->there, error);
}

static opc_status_t run_both(reuse_t *reuse, opc_case_context_t *context, int attempt, bool any, opc_error_t *error) {
  opc_again_t trial = {.context = context, .sample = context->sample, .places = reuse->places};
  addresses_t own = {0};
  OPC_RETURN_IF_ERROR(call_own(reuse, &trial, attempt, &own, error));
  return call_there(reuse, &trial, &own, any, error);
}

static opc_status_t reuse_prepare(reuse_t *reuse, opc_case_context_t *context, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_trial_other_values(context, context->sample, &reuse->other, &reuse->changed, error));
  return reuse->changed ? place_new(context, &reuse->places, error) : OPC_OK;
}

/* The other data (NULL: the sample's own) where nothing of it was before: other tensors hold the addresses of the last
 * call's meanwhile. */
static opc_status_t call_elsewhere(opc_case_context_t *context, opc_replay_t *other, opc_trial_outcome_t *out,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t second = {0}, first = {0};
  const opc_again_t holder = {.context = context, .sample = context->sample};
  const opc_again_t trial = {
      .context = context,
      .sample = context->sample,
      .replay = other,
      .conditions = OPC_TRIAL_ELSEWHERE,
      .label = other ? OPC_CALL_LABEL(CALL_OF_OTHERS, "on other data") : OPC_CALL_LABEL(CALL, "at other addresses")};
  OPC_RETURN_IF_ERROR(opc_trial_make(&holder, &first, error));
  OPC_RETURN_IF_ERROR(opc_trial_make(&holder, &second, error));
  return opc_trial_run(&trial, out, error);
}

/* ---- several places ---- */

/* Places that exist at the same time, so that they have different addresses. */
enum { PLACES = 4, MOST = PLACES - 1 };

typedef struct trials {
  opc_places_t *places[PLACES];
  opc_trial_outcome_t outcomes[PLACES];
} trials_t;

static void trials_clear(trials_t *trials) {
  for (int i = 0; i < PLACES; i++) {
    opc_trial_outcome_clear(&trials->outcomes[i]);
    opc_places_free(trials->places[i]);
  }
}

static opc_status_t trials_run(trials_t *trials, opc_case_context_t *context, opc_replay_t *values,
                               opc_error_t *error) {
  for (int i = 0; i < PLACES; i++) {
    OPC_RETURN_IF_ERROR(place_new(context, &trials->places[i], error));
    const opc_again_t trial = {.context = context,
                               .sample = context->sample,
                               .replay = values,
                               .places = trials->places[i],
                               .label = {OPC_CALL_KIND_CALL_OF_OTHERS, "on data in new memory"}};
    OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &trials->outcomes[i], error));
  }
  return OPC_OK;
}

static int count_equal(const trials_t *trials, const opc_trial_outcome_t *to) {
  int count = 0;
  for (int i = 0; i < PLACES; i++) count += !opc_trial_differ(&trials->outcomes[i], to, "", NULL);
  return count;
}

/* A result that is computed from an address is another one in other places. */
static opc_status_t is_same_everywhere(opc_case_context_t *context, opc_replay_t *values,
                                       const opc_trial_outcome_t *expected, bool *out, opc_error_t *error) {
  OPC_SCOPED(trials_clear) trials_t trials = {0};
  OPC_RETURN_IF_ERROR(trials_run(&trials, context, values, error));
  *out = count_equal(&trials, expected) == PLACES;
  return OPC_OK;
}

/* ---- for an operator whose result is the same at all addresses ---- */

opc_status_t opc_determinism_cache_check(opc_case_context_t *context, int *calls, opc_finding_t *finding,
                                         opc_error_t *error) {
  OPC_SCOPED(reuse_clear) reuse_t reuse = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t elsewhere = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool differs = false;
  OPC_RETURN_IF_ERROR(reuse_prepare(&reuse, context, error));
  for (int attempt = 0; reuse.changed && attempt < ATTEMPTS && !differs; attempt++) {
    if (attempt && reuse.met == reuse.all) break;
    OPC_RETURN_IF_ERROR(run_both(&reuse, context, attempt, attempt == 0, error));
    *calls += 1 + reuse.called;
    if (!reuse.called) continue;
    if (attempt == 0) { /* after the first pair: what is kept for the sample's own values comes from there */
      OPC_RETURN_IF_ERROR(call_elsewhere(context, &reuse.other, &elsewhere, error));
      ++*calls;
    }
    differs = !opc_trial_out_of_bounds() && !opc_places_kept(reuse.places) &&
              opc_trial_differ(&reuse.there, &elsewhere, elsewhere_name, &text);
  }
  if (differs) {
    OPC_RETURN_IF_ERROR(is_same_everywhere(context, NULL, &reuse.own, &differs, error));
    *calls += PLACES;
  }
  if (differs) {
    OPC_RETURN_IF_ERROR(is_same_everywhere(context, &reuse.other, &elsewhere, &differs, error));
    *calls += PLACES;
  }
  if (differs) opc_finding_fail(finding, rule, "%s%s", before_text, opc_text_c(&text));
  return OPC_OK;
}

/* ---- for an operator whose result differs between addresses ---- */

/* The outcome that most places have; NULL: there is none, so the address itself counts. */
static const opc_trial_outcome_t *usual(const trials_t *trials) {
  for (int i = 0; i < PLACES; i++)
    if (count_equal(trials, &trials->outcomes[i]) >= MOST) return &trials->outcomes[i];
  return NULL;
}

/* In one place both data have one result, and in most other places each has its own: the place's result was kept. A
 * result that depends on the address alone is another one in each place. */
opc_status_t opc_determinism_cache_is_cause(opc_case_context_t *context, bool *out, opc_finding_t *finding,
                                            opc_error_t *error) {
  OPC_SCOPED(reuse_clear) reuse_t reuse = {0};
  OPC_SCOPED(trials_clear) trials_t own = {0}, other = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  *out = false;
  OPC_RETURN_IF_ERROR(reuse_prepare(&reuse, context, error));
  if (reuse.changed) OPC_RETURN_IF_ERROR(run_both(&reuse, context, 0, true, error));
  if (!reuse.changed || opc_places_kept(reuse.places) || opc_trial_differ(&reuse.own, &reuse.there, "", NULL))
    return OPC_OK;
  OPC_RETURN_IF_ERROR(trials_run(&own, context, NULL, error));
  OPC_RETURN_IF_ERROR(trials_run(&other, context, &reuse.other, error));
  if (opc_trial_out_of_bounds()) return OPC_OK;
  const opc_trial_outcome_t *of_own = usual(&own), *of_other = usual(&other);
  if (!of_own || !of_other || !opc_trial_differ(of_own, of_other, "", NULL) ||
      !opc_trial_differ(&reuse.there, of_other, elsewhere_name, &text))
    return OPC_OK;
  *out = true;
  return opc_finding_fail(finding, rule, "%s%s", before_text, opc_text_c(&text));
}
