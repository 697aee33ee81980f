#include "checks/determinism/determinism_cache.h"

static const char rule[] = "determinism.pointer_cache";
static const char before_text[] = "after other data had been in its arguments' memory, ";
static const char elsewhere_name[] = "on the same data in other memory it";

/* Two calls in one place: the sample's own data, then other data. */
typedef struct reuse {
  opc_places_t *places;
  opc_replay_t other;
  bool changed; /* some value of the other data differs */
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

/* Without other data, makes no call. */
static opc_status_t reuse_run(reuse_t *reuse, opc_case_context_t *context, opc_error_t *error) {
  opc_trial_t trial = {.context = context,
                       .sample = context->sample,
                       .phase = "a call before other data come into its arguments' memory"};
  opc_status_t status = opc_trial_other_values(context, context->sample, &reuse->other, &reuse->changed, error);
  if (status != OPC_OK || !reuse->changed) return status;
  status = place_new(context, &reuse->places, error);
  trial.places = reuse->places;
  if (status == OPC_OK) status = opc_trial_run(&trial, &reuse->own, error);
  trial.values = &reuse->other;
  trial.phase = "a call on other data in the same memory";
  if (status == OPC_OK) status = opc_trial_run(&trial, &reuse->there, error);
  return status;
}

opc_status_t opc_determinism_cache_check(opc_case_context_t *context, int *calls, opc_finding_t *finding,
                                         opc_error_t *error) {
  OPC_SCOPED(reuse_clear) reuse_t reuse = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t elsewhere = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const opc_trial_t trial = {.context = context,
                             .sample = context->sample,
                             .values = &reuse.other,
                             .conditions = OPC_TRIAL_ELSEWHERE,
                             .phase = "a call on other data"};
  opc_status_t status = reuse_run(&reuse, context, error);
  if (status != OPC_OK || !reuse.changed) return status;
  status = opc_trial_run(&trial, &elsewhere, error);
  *calls += 3;
  if (status == OPC_OK && !opc_trial_strays() && !opc_places_kept(reuse.places) &&
      opc_trial_differ(&reuse.there, &elsewhere, elsewhere_name, &text))
    opc_finding_fail(finding, rule, "%s%s", before_text, opc_text_c(&text));
  return status;
}

/* ---- for an operator whose result differs between addresses ---- */

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
  opc_status_t status = OPC_OK;
  for (int i = 0; i < PLACES && status == OPC_OK; i++) {
    opc_trial_t trial = {
        .context = context, .sample = context->sample, .values = values, .phase = "a call on data in new memory"};
    status = place_new(context, &trials->places[i], error);
    trial.places = trials->places[i];
    if (status == OPC_OK) status = opc_trial_run(&trial, &trials->outcomes[i], error);
  }
  return status;
}

static int count_equal(const trials_t *trials, const opc_trial_outcome_t *to) {
  int count = 0;
  for (int i = 0; i < PLACES; i++) count += !opc_trial_differ(&trials->outcomes[i], to, "", NULL);
  return count;
}

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
  opc_status_t status = reuse_run(&reuse, context, error);
  if (status != OPC_OK || !reuse.changed || opc_places_kept(reuse.places) ||
      opc_trial_differ(&reuse.own, &reuse.there, "", NULL))
    return status;
  status = trials_run(&own, context, NULL, error);
  if (status == OPC_OK) status = trials_run(&other, context, &reuse.other, error);
  if (status != OPC_OK || opc_trial_strays()) return status;
  const opc_trial_outcome_t *of_own = usual(&own), *of_other = usual(&other);
  if (!of_own || !of_other || !opc_trial_differ(of_own, of_other, "", NULL) ||
      !opc_trial_differ(&reuse.there, of_other, elsewhere_name, &text))
    return OPC_OK;
  *out = true;
  opc_finding_fail(finding, rule, "%s%s", before_text, opc_text_c(&text));
  return OPC_OK;
}
