/* Inside check determinism: the call while the device runs other work, on another stream and on the call's own.
 *
 * An operator that launches on a stream without synchronising, or reads a result too early, is right on an idle device
 * and wrong under concurrent load. Threads: one. */
#pragma once

#include "checks/determinism/determinism_trial.h"

/* Runs the trial several times under load, and compares with `first`. *out_differs: the bits differed at least once;
 * *out says where. *out_calls: number of calls made. */
opc_status_t opc_determinism_under_load(const opc_trial_t *trial, const opc_trial_outcome_t *first, bool *out_differs,
                                        int *out_calls, opc_text_t *out, opc_error_t *error) OPC_CHECKED;
