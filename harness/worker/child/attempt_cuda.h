/* A try of a search on a CUDA device, for an operator that has no other kernel. What it computes is not looked at: on
 * the simulated device nothing is, and on a real one it is the checks' business. Accepted is what returns. */
#ifndef OPC_WORKER_CHILD_ATTEMPT_CUDA_H
#define OPC_WORKER_CHILD_ATTEMPT_CUDA_H

#include "wire/protocol.h"
#include "worker/child/attempt_answer.h"

/* Makes the call and fills in what came of it: attempt->call and outputs, facts->effect, depends, outcome and why. why
 * holds the words, for as long as the facts are used. A device that is lost by it ends the process: nothing could be
 * tried on it any more. */
opc_status_t opc_attempt_cuda(const opc_operator_t *op, opc_op_handle_t *handle, const opc_sample_t *sample,
                              opc_device_t device, uint64_t seed, opc_crash_record_t *box, attempt_t *attempt,
                              attempt_facts_t *facts, opc_text_t *why, opc_error_t *error) OPC_CHECKED;

#endif
