/* Inside of check determinism: one call of the operator under stated conditions, and what it came to.
 *
 * All calls run in guarded memory with one poison, so that what is never written, or lies outside a tensor, looks the
 * same to each of them: those are the findings of other checks. Ownership: opc_trial_outcome_clear. Threads: one. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_TRIAL_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_TRIAL_H

#include "checks/call/argument_places.h"
#include "checks/call/replay.h"
#include "checks/call/result.h"
#include "checks/framework/check.h"

typedef enum opc_trial_condition {
  OPC_TRIAL_ELSEWHERE = 1 << 0, /* tensors in other memory and in the opposite order, small blocks of malloc at other
                                   addresses; on the CPU */
  OPC_TRIAL_NO_GRAD = 1 << 1,   /* grad mode off */
  OPC_TRIAL_REQUIRES_GRAD = 1 << 2, /* every floating and complex argument that is not written requires a gradient */
  OPC_TRIAL_DEFAULT_DTYPE = 1 << 3, /* float64 is the default dtype */
  OPC_TRIAL_OTHER_SEED = 1 << 4     /* of the generators; the arguments' values stay */
} opc_trial_condition_t;

typedef struct opc_trial {
  opc_case_context_t *context;
  const opc_sample_t *sample;
  opc_replay_t *values; /* NULL: the sample's own fills */
  unsigned conditions;  /* OPC_TRIAL_… */
  opc_places_t *places; /* NULL: libtorch's allocator chooses */
  const char *phase;    /* what a crash report calls it */
} opc_trial_t;

typedef struct opc_trial_outcome {
  opc_call_outcome_t outcome;
  opc_result_t result; /* with mutable arguments; empty unless it returned */
  opc_text_t message;  /* of a call that did not return */
} opc_trial_outcome_t;
void opc_trial_outcome_clear(opc_trial_outcome_t *outcome);

/* The memory that trials run in; the runner ends it behind the case, opc_trial_memory_end what is not the runner's. */
void opc_trial_memory_begin(void);
void opc_trial_memory_end(void);

/* One call, from the arguments to what it came to. */
opc_status_t opc_trial_run(const opc_trial_t *trial, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;
/* Its parts; conditions other than ELSEWHERE. The caller clears the call, whatever the status, and then the places. */
opc_status_t opc_trial_make(const opc_trial_t *trial, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
void opc_trial_call(const opc_trial_t *trial, opc_call_t *call);
opc_status_t opc_trial_take(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;
/* Without a copy of what need not be copied: for an outcome that is cleared before the call. */
opc_status_t opc_trial_look(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;

/* Whether two calls gave other bits, or one threw where the other returned. Then *out (may be NULL) says where:
 * "returns[0][1] is 1, NAME has 2…". */
bool opc_trial_differ(const opc_trial_outcome_t *left, const opc_trial_outcome_t *right, const char *right_name,
                      opc_text_t *out);

/* Other values for the sample's tensors, valid ones as far as the fills tell: random fills take other numbers, and
 * given floating numbers that are not 0 move by one unit in the last place. *out_changed: any is another. The caller
 * clears *out. */
opc_status_t opc_trial_other_values(opc_case_context_t *context, const opc_sample_t *sample, opc_replay_t *out,
                                    bool *out_changed, opc_error_t *error) OPC_CHECKED;

/* Anything was read or written outside its memory since the case began: check memory's business, and bits may differ
 * for that. */
bool opc_trial_strays(void);

#endif
