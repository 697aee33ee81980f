/* A try of a search on a CUDA device, for an operator without another kernel. The results are not examined: on the
 * simulated device nothing is computed, and on a real one the checks examine them. A call that returns counts as
 * accepted. */
#pragma once

#include "wire/protocol.h"
#include "worker/child/try_answer.h"

/* Makes the call and fills in the results: own->call and outputs, facts->effect, depends, outcome and why. `why`
 * holds the text that facts->why points at, and must outlive the facts. If the call leaves a CUDA error, the process
 * aborts, because it can make no other call. */
opc_status_t opc_try_cuda(const opc_operator_t *op, opc_op_handle_t *handle, const opc_sample_t *sample,
                          opc_device_t device, uint64_t seed, opc_crash_record_t *box, try_t *own, try_facts_t *facts,
                          opc_text_t *why, opc_error_t *error) OPC_CHECKED;
