/* What the plan of a run (runner.c) and the performance of one of its cases (runner_case.c) share; nobody else includes
 * it. */
#ifndef OPC_CHECKS_RUNNER_RUNNER_INSIDE_H
#define OPC_CHECKS_RUNNER_RUNNER_INSIDE_H

#include "checks/catalogue/case_rules.h"
#include "checks/runner/runner.h"
#include "plan/cases/planner.h"

/* Which part of the plan is wanted, and where in it the enumeration stands. */
typedef enum opc_selection { OPC_SELECTION_BEFORE = 0, OPC_SELECTION_INSIDE, OPC_SELECTION_OVER } opc_selection_t;

/* What a check found for an unmodified sample that leaves nothing for other checks to find: whatever they saw would
 * follow from it. */
typedef struct opc_unsound {
  const char *rule; /* NULL: nothing */
  size_t check;
} opc_unsound_t;

typedef struct opc_run {
  const opc_runner_request_t *request;
  const opc_runner_sink_t *sink;
  opc_plan_request_t plan;
  opc_device_t *devices;
  opc_plan_device_t *plan_devices; /* the same for the planner */
  bool *wanted;                    /* one a check */
  opc_sample_t *callable; /* shallow copies of the samples that are neither there to be refused nor unchecked */
  size_t callable_count;
  bool *reported; /* a device and a sample each: its refusal was told */
  opc_op_handle_t *handle;
  void *own[64];               /* a check's own pointer each */
  int starved, starved_before; /* cases that ran out of memory: of the running check, and of those before it */
  opc_unsound_t *unsound;      /* a device and a sample each */
  opc_case_id_t only;
  opc_case_id_t *crashed;
  /* Where the enumeration is. */
  size_t check;
  size_t device;
  size_t sample;
  opc_selection_t selection;
  bool found_only, found_to;
  bool spent; /* the process cannot go on */
  uint64_t cases;
  opc_error_t *error;
} opc_run_t;

/* A case of the check whose input is of this rank is not to run: others crashed or hung. */
bool opc_run_skips(const opc_runner_request_t *request, const char *check, int rank);
bool opc_run_names(const char *name, const char *const *list, size_t count); /* the list has the name */
/* Runs the case and tells the sink. False: the rest of the plan is not to run. */
bool opc_run_case(opc_run_t *run, const char *id_text, opc_case_context_t *context, const opc_planned_case_t *planned);

#endif
