/* The order in which the blocks of a kernel run, and the warps of a block: on the simulated device, which has several.
 */
#include "checks/determinism/determinism.h"

#include <math.h>

static const struct schedule_row {
  opc_schedule_t schedule;
  uint64_t seed;
  const char *name;
} schedule_rows[] = {
    {OPC_SCHEDULE_DESCENDING, 0, "with the blocks and warps of its kernels in descending order it"},
    {OPC_SCHEDULE_SEEDED, 1, "with the blocks and warps of its kernels in another order it"},
    {OPC_SCHEDULE_SEEDED, 2, "with the blocks and warps of its kernels in another order it"},
};

/* *out_ran: all kernels ran. One that waits for a block before it may not end in another order. */
static opc_status_t run_in_order(const opc_again_t *trial, const struct schedule_row *row, opc_trial_outcome_t *out,
                                 bool *out_ran, opc_error_t *error) {
  if (row) opc_launch()->schedule(row->schedule, row->seed);
  const opc_status_t status = opc_trial_run(trial, out, error);
  opc_launch()->schedule(OPC_SCHEDULE_ASCENDING, 0);
  *out_ran = !opc_simulated_uncomputed(trial->context);
  if (!*out_ran) opc_simulated_case_resume();
  return status;
}

/* In float64, if the operator takes it, rounding is too small to hide anything else. */
static opc_status_t schedule_is_rounding(const opc_again_t *trial, const struct schedule_row *row,
                                         const opc_trial_outcome_t *first, const opc_trial_outcome_t *again, bool *out,
                                         opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_sample_clear) opc_sample_t wide = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t first_wide = {0}, again_wide = {0};
  opc_again_t trial_wide = *trial;
  bool ran = false, ran_again = false;
  OPC_RETURN_IF_ERROR(opc_trial_make(trial, &call, error));
  OPC_RETURN_IF_ERROR(opc_replay_take(&values, &call, error));
  *out = opc_trial_is_sum_rounding(&values, false, first, again);
  if (!*out) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(trial->sample, &wide, error));
  opc_sample_widen(&wide);
  trial_wide.sample = &wide;
  OPC_RETURN_IF_ERROR(run_in_order(&trial_wide, NULL, &first_wide, &ran, error));
  if (!ran || first_wide.outcome != OPC_CALL_RETURNED) return OPC_OK;
  OPC_RETURN_IF_ERROR(run_in_order(&trial_wide, row, &again_wide, &ran_again, error));
  if (ran_again && again_wide.outcome == OPC_CALL_RETURNED)
    *out = opc_trial_is_sum_rounding(&values, true, &first_wide, &again_wide);
  return OPC_OK;
}

/* The usual order gives the first result again. */
static opc_status_t is_repeated(const opc_again_t *trial, const opc_trial_outcome_t *first, bool *out,
                                opc_error_t *error) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  bool ran = false;
  OPC_RETURN_IF_ERROR(run_in_order(trial, NULL, &again, &ran, error));
  *out = ran && !opc_trial_differ(first, &again, "", NULL);
  return OPC_OK;
}

opc_status_t opc_determinism_schedules(const opc_again_t *trial, const opc_trial_outcome_t *first, int *calls,
                                       opc_schedule_effect_t *out_effect, opc_text_t *out, opc_error_t *error) {
  *out_effect = OPC_SCHEDULE_NO_EFFECT;
  for (size_t i = 0; i < sizeof schedule_rows / sizeof *schedule_rows; i++) {
    OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
    bool ran = false, repeated = false, rounding = false;
    if (opc_simulated_uncomputed(trial->context)) return OPC_OK;
    OPC_RETURN_IF_ERROR(run_in_order(trial, &schedule_rows[i], &again, &ran, error));
    if (!ran) return OPC_OK;
    (*calls)++;
    if (opc_trial_out_of_bounds() || !opc_trial_differ(first, &again, schedule_rows[i].name, NULL)) continue;
    OPC_RETURN_IF_ERROR(is_repeated(trial, first, &repeated, error));
    if (!repeated) return OPC_OK;
    OPC_RETURN_IF_ERROR(schedule_is_rounding(trial, &schedule_rows[i], first, &again, &rounding, error));
    *out_effect = rounding ? OPC_SCHEDULE_ROUNDING : OPC_SCHEDULE_OTHER_RESULT;
    opc_text_reset(out);
    (void)opc_trial_differ(first, &again, schedule_rows[i].name, out);
    if (!rounding) return OPC_OK;
  }
  return OPC_OK;
}
