/* Runs the planned cases of an operator (plan/cases/planner.h) in a worker's child.
 *
 * Ownership: the caller owns the request. Threads: one. Fork: runs after it. */
#pragma once

#include "checks/framework/check.h"

typedef struct opc_runner_request {
  const opc_operator_t *op;
  const opc_sample_t *samples;
  size_t sample_count;
  const char *const *checks; /* names; count 0: all */
  size_t check_count;
  const char *const *devices; /* "cpu"… */
  size_t device_count;
  uint64_t seed;
  const char *only; /* exactly this case; NULL: all */
  bool only_ran; /* `only` ran before, so it is in the plan: the variants next to it need not be made to check that */
  bool only_if_quick;      /* `only` is skipped like any other case if its input would take too long (slow_input.h) */
  const char *after;       /* cases after this one; NULL: from the first */
  const char *since;       /* with `after` or `from`: cases from this one on count as run by this process; NULL: none */
  const char *from, *to;   /* this range, both ends included; NULL: open */
  const char *const *skip; /* "CHECK RANK": the check's cases whose input has this rank or a worse one
                              (opc_provenance_rank) are not run and reported as skip/after_crash */
  size_t skip_count;
  const char *const *crashed; /* ids of cases: other checks' cases with the same device, dtype, sample and variant are
                                 skip/after_crash too. An id without sample covers all samples, and its own check as
                                 well; one of an unmodified sample also covers all modified ones */
  size_t crashed_count;
  int64_t neighbours;       /* see opc_plan_request_t */
  const char *out_of_time;  /* why no time is left: variants become skip/budget with this text; NULL: time is left */
  bool out_of_time_for_all; /* unmodified samples become skip/budget too */
  bool by_yield, themselves_only; /* see opc_plan_request_t */
  const json_t *found; /* (optional) object: ids of cases that earlier processes ran, of unmodified samples -> the rule
                          of their finding. Cases after them are skipped for it as if this process had run them */
} opc_runner_request_t;

typedef struct opc_runner_sink {
  /* Called before a case runs: why it is tried, and the provenance of its input as text (model/case/case.h). */
  void (*begin)(const char *case_id, const char *why, const char *provenance, void *context);
  /* (optional) After begin, for the case that `only` or `to` names: its arguments by name (opc_sample_evidence), owned
   * by the runner. */
  void (*input)(const json_t *input, void *context);
  /* Called after the case. The finding is decided, and cleared afterwards. False: run no further case. */
  bool (*end)(const char *case_id, const char *provenance, const opc_finding_t *finding, double seconds, void *context);
  void (*announce)(opc_call_label_t label); /* given to the checks */
  /* (optional) Called after the last `end` if another process must run the rest of the plan: the case broke this
   * process (checks/cuda_log/cuda_analysis.h), or the next case needs the other allocator
   * (checks/framework/check.h). */
  void (*must_replace)(void *context);
  void *context;
} opc_runner_sink_t;

typedef struct opc_runner_counts {
  uint64_t cases;    /* that have a result */
  uint64_t left_out; /* that have none: by_yield and out_of_time_for_all, and another case of the check says so */
} opc_runner_counts_t;

/* Runs the selected cases. OPC_ERR_NOT_FOUND: `only`, `after`, `from` or `to` names no case
 * of the plan, or a check or device is unknown; the message says which part was not found. OPC_ERR_USAGE: `only` or one
 * of `crashed` is no case's id. */
opc_status_t opc_runner_run(const opc_runner_request_t *request, const opc_runner_sink_t *sink,
                            opc_runner_counts_t *out, opc_error_t *error) OPC_CHECKED;
