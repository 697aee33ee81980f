/* Inside of check determinism: the call while the device has other work to do, on another stream.
 *
 * What an operator launches on a stream that waits for nobody, or reads before it is there, is right on an idle device
 * and wrong on a busy one. Threads: one. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_UNDER_LOAD_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_UNDER_LOAD_H

#include "checks/determinism/determinism_trial.h"

/* Runs the trial so, some times, and compares with `first`. *out_differs: the bits did at least once, and *out says
 * where. *out_calls: how many calls were made. */
opc_status_t opc_determinism_under_load(const opc_trial_t *trial, const opc_trial_outcome_t *first, bool *out_differs,
                                        int *out_calls, opc_text_t *out, opc_error_t *error) OPC_CHECKED;

#endif
