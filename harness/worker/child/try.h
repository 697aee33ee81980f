/* One call of a search: its outcome, and whether it had an effect (protocol.h, "try"). */
#pragma once

#include <jansson.h>

#include "model/sample/sample.h"
#include "wire/protocol.h"

/* Calls the operator with the sample on the device, "cpu", "cuda" or "cuda-sim"; NULL: cpu. values: the answer includes
 * the values of small outputs; ask_meta: the Meta kernel gets the arguments too. *out_answer: the "tried" message (new
 * reference). An error means that the harness, not the operator, failed. */
opc_status_t opc_try_run(const opc_operator_t *op, const opc_sample_t *sample, const char *device, uint64_t seed,
                         bool values, bool ask_meta, opc_crash_record_t *box, json_t **out_answer,
                         opc_error_t *error) OPC_CHECKED;
