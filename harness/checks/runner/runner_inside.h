/* Shared by the plan of a run (runner.c) and the execution of one case (runner_case.c, cuda_case.c); included nowhere
 * else. */
#pragma once

#include "checks/runner/runner.h"
#include "plan/cases/planner.h"

/* Where the enumeration is, relative to the selected part of the plan. */
typedef enum opc_selection { OPC_SELECTION_BEFORE = 0, OPC_SELECTION_INSIDE, OPC_SELECTION_OVER } opc_selection_t;

/* A check's finding for an unmodified sample that makes other checks pointless: their findings would only follow from
 * it. */
typedef struct opc_unsound {
  opc_rule_id_t rule; /* OPC_RULE_NONE: nothing */
  size_t check;
} opc_unsound_t;

typedef struct opc_run {
  const opc_runner_request_t *request;
  const opc_runner_sink_t *sink;
  opc_plan_request_t plan;
  opc_device_t *devices;
  opc_plan_device_t *plan_devices; /* the same for the planner */
  bool *wanted;                    /* one per check */
  opc_sample_t *callable; /* shallow copies of the samples, without those to be refused, unchecked and brief ones */
  size_t callable_count;
  bool *reported; /* one per device and sample: its refusal was reported */
  opc_op_handle_t *handle;
  void *own[64];               /* one own pointer per check */
  bool ran[64], has_found[64]; /* one per check: see opc_check_session_t */
  int starved, starved_before; /* cases that ran out of memory: of the running check, and of earlier ones */
  opc_unsound_t *unsound;      /* one per device and sample */
  bool *found;                 /* one per check, device and sample: the unmodified sample has a finding */
  bool change_known;           /* a case says that an argument that is not declared mutable is changed */
  opc_case_id_t only, start;
  opc_case_id_t *crashed;
  /* Position of the enumeration. */
  size_t check;
  size_t device;
  size_t sample;
  opc_selection_t selection;
  bool found_only, found_to;
  bool counts_as_run; /* what is passed over, from request->since on */
  bool called;        /* a call of such a case was made */
  bool must_replace;  /* the process must be replaced */
  bool has_graphs;    /* a check of those that come last has run */
  int turn;           /* of the last case that ran */
  opc_runner_counts_t counts;
  bool told[64]; /* one per check: a result says that its cases are left out */
  opc_error_t *error;
} opc_run_t;

/* True: do not run the check's case whose input has this rank, because others crashed or hung. */
bool opc_run_skips(const opc_runner_request_t *request, const char *check, int rank);
bool opc_run_names(const char *name, const char *const *list, size_t count); /* the list contains the name */
/* Notes a finding of this rule that the case has; OPC_RULE_NONE: it has none. */
void opc_run_note_rule(opc_run_t *run, const opc_case_context_t *context, opc_rule_id_t rule);
/* Makes the call of a case that another process ran, on the CPU. False: there is none, or it did not return. */
bool opc_run_call(const opc_run_t *run, const char *id_text, opc_case_context_t *context,
                  const opc_planned_case_t *planned);
/* Runs the case and reports to the sink. False: do not run the rest of the plan. */
bool opc_run_case(opc_run_t *run, const char *id_text, opc_case_context_t *context, const opc_planned_case_t *planned);

/* Called before and after each case. On a real CUDA device, the end synchronises and queries the error. True: it is a
 * fault that ends the context. It becomes the case's finding, the check's own finding goes to evidence.also as a
 * possible consequence, and the process must be replaced. */
void opc_cuda_case_begin(const opc_case_context_t *context);
bool opc_cuda_case_end(const opc_case_context_t *context, opc_finding_t *finding);
