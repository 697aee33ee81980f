/* One call of a search: its outcome, and whether it had an effect (protocol.h, "try"). */
#pragma once

#include "checks/call/call.h"
#include "checks/framework/throw_site.h"
#include "memory/guard.h"
#include "model/sample/tried.h"
#include "wire/protocol.h"

/* Calls the operator with the sample on the device, "cpu", "cuda" or "cuda-sim"; NULL: cpu. values: the answer includes
 * the values of small outputs; ask_meta: the Meta kernel gets the arguments too. *out_answer: the "tried" message (new
 * reference). An error means that the harness, not the operator, failed. */
opc_status_t opc_try_run(const opc_operator_t *op, const opc_sample_t *sample, const char *device, uint64_t seed,
                         bool values, bool ask_meta, opc_crash_record_t *box, json_t **out_answer,
                         opc_error_t *error) OPC_CHECKED;

/* The "tried" message of one call of a search (wire/protocol.h). */

typedef struct try {
  opc_call_t call;
  bool wrote_outside, read_outside;
  opc_access_t access; /* the most informative of these accesses */
  opc_output_t *outputs;
  size_t output_count;
  json_t *mutated;
  opc_text_t effects; /* bytes of outputs and changed arguments */
}
try_t;

typedef struct try_facts {
  const char *refused_on_meta; /* what the operator's own Meta kernel says; NULL: it does not refuse the arguments */
  bool observed;               /* the outcome and its message are what was observed around the call */
  opc_try_outcome_t outcome;
  const char *why;
  double seconds, cpu_seconds;
  bool effect, depends;
  bool steady; /* repeating the call gave the same result */
  bool values; /* the values of small outputs are requested */
  char site[40];
} try_facts_t;

/* Keeps the first of the best accesses: preferably one at a known instruction, then one next to an argument rather than
 * next to the operator's own memory. */
void opc_try_note_accesses(try_t *own);

/* New reference; NULL: out of memory. */
json_t *opc_try_answer(const try_t *own, const try_facts_t *facts);

/* A try of a search on a CUDA device, for an operator without another kernel. The results are not examined: on the
 * simulated device nothing is computed, and on a real one the checks examine them. A call that returns counts as
 * accepted. */

/* Makes the call and fills in the results: own->call and outputs, facts->effect, depends, outcome and why. `why`
 * holds the text that facts->why points at, and must outlive the facts. If the call leaves a CUDA error, the process
 * aborts, because it can make no other call. */
opc_status_t opc_try_cuda(const opc_operator_t *op, opc_op_handle_t *handle, const opc_sample_t *sample,
                          opc_device_t device, uint64_t seed, opc_crash_record_t *box, try_t *own, try_facts_t *facts,
                          opc_text_t *why, opc_error_t *error) OPC_CHECKED;

/* The working directory of a child: private, empty except for one small file, and reset for each try of a search. File
 * names that a search passes for str arguments are relative to it (search_hints.def), so samples found by a search are
 * valid in every child. */

/* Restores the directory's initial contents and makes it the current one. Errors are ignored: a try can run without
 * it. */
void opc_try_folder_reset(void);
