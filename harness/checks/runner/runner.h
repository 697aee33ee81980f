/* Runs the planned cases of an operator (plan/cases/planner.h) in a worker's child.
 *
 * Ownership: the request is the caller's. Threads: one. Fork: runs after it. */
#ifndef OPC_CHECKS_RUNNER_H
#define OPC_CHECKS_RUNNER_H

#include "checks/framework/check.h"

typedef struct opc_runner_request {
  const opc_operator_t *op;
  const opc_sample_t *samples;
  size_t sample_count;
  const char *const *checks; /* names; none: all */
  size_t check_count;
  const char *const *devices; /* "cpu"… */
  size_t device_count;
  uint64_t seed;
  const char *only;  /* exactly this case; NULL: all */
  bool only_ran;     /* it has run before, so the plan has it: the variants beside it need not be made to see that */
  const char *after; /* what comes after this case; NULL: from the first on */
  const char *from, *to;   /* this stretch, both ends included; NULL: open */
  const char *const *skip; /* "CHECK RANK": cases of the check whose input is of this rank or a worse one
                              (opc_standing_rank) are reported as skip/after_crash and not run */
  size_t skip_count;
  const char *const
      *crashed; /* ids of cases: those of other checks with the same device, dtype, sample and variant are
                 * skip/after_crash too; an id without a sample stands for all samples, and for its own check as well */
  size_t crashed_count;
  double out_of_time; /* seconds that the operator's cases have used up, so that variants are skip/budget; 0: they have
                         not */
  bool out_of_time_for_all; /* so are the samples themselves */
} opc_runner_request_t;

typedef struct opc_runner_sink {
  /* Before a case runs; why it is tried, and its standing as a text. */
  void (*begin)(const char *case_id, const char *why, const char *standing, void *context);
  /* (optional) After begin, for the case that `only` or `to` names: its arguments by name (opc_sample_evidence), the
   * runner's. */
  void (*input)(const json_t *input, void *context);
  /* After it. The finding is decided and is cleared afterwards. False: nothing more is to run. */
  bool (*end)(const char *case_id, const char *standing, const opc_finding_t *finding, double seconds, void *context);
  void (*phase)(const char *what); /* given to the checks */
  /* (optional) Behind the last `end`: what is left of the plan is for another process. The case broke this one
   * (checks/cuda_log/cuda_fault.h), or the next one wants other memory (checks/framework/device_zones_use.h). */
  void (*spent)(void *context);
  void *context;
} opc_runner_sink_t;

/* Runs what the request selects; *out_cases counts it. OPC_ERR_NOT_FOUND: `only`, `after`, `from` or `to` names no case
 * of the plan, or a check or device is unknown; the message says which part was not found. OPC_ERR_USAGE: `only` or one
 * of `crashed` is no case's id. */
opc_status_t opc_runner_run(const opc_runner_request_t *request, const opc_runner_sink_t *sink, uint64_t *out_cases,
                            opc_error_t *error) OPC_CHECKED;

#endif
