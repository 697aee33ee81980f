/* Plans an operator's cases: the only reader of the checks' tables (plan/cases/case_rule.h).
 *
 * The plan depends only on (operator, samples, tables, devices): results never change it, so a case's id means the same
 * in every run. Order: first the unmodified samples under every check, then their variants under every check, so that a
 * variant's misbehaviour does not cost a sample its checks. Checks that leave graphs behind do both after all others.
 * Within that: each table; the check's case for the operator once; otherwise each device and each sample: first
 * variants at the sample's own dtype, then other dtypes; last, per device, the case about all samples. If nothing can
 * be called, a calling check has one skipped case `op/check/device/-/-/-` (no_sample, no_kernel, no_device, simulated).
 * A sample that expects a rejection has one plain case per calling check; the first of these makes the call.
 *
 * by_yield: the same cases, in turns. In turn 0 come the unmodified samples, but for brief ones, and cases without a
 * sample. The others come in the turns of yield.def; in each, the order is the one above. Of checks that
 * come after all others, only the first turn does not.
 *
 * Ownership: the caller owns what a request points to; a planned case and its sample are valid during the callback.
 * Threads: no shared state. No libtorch. */
#pragma once

#include "plan/cases/case_rule.h"

typedef struct opc_plan_device {
  const char *name; /* in case ids: "cpu", "cuda-sim" */
  unsigned bit;     /* OPC_ON_…; opc_plan_simulated */
  bool usable;      /* the device exists */
  bool served;      /* the operator has a kernel that could serve it */
} opc_plan_device_t;

enum { OPC_NEIGHBOURS_AS_OWN = -1 };

typedef struct opc_plan_request {
  const opc_operator_t *op;
  const opc_case_table_t *tables;
  size_t table_count;
  const bool *wanted; /* (optional) one per table: whether to plan it */
  const opc_plan_device_t *devices;
  size_t device_count;
  const opc_sample_t *samples;
  size_t sample_count;
  const opc_case_id_t *only;  /* (optional) plan only this case: skips other checks and samples */
  bool only_exists;           /* the plan is known to contain `only`: builds just its variant, by name */
  const opc_case_id_t *start; /* (optional) the caller passes over what comes before this case: variants that do are not
                                 made, unless of its own check, device and sample. The caller sets it to NULL once it
                                 has been given the case. Not with by_yield */
  bool by_yield;        /* cases that show the most problems a second first (yield.def), for a run with --budget */
  bool themselves_only; /* with by_yield: only the first of its turns */
  int64_t neighbours;   /* at most so many cases of neighbours for the first sample that was searched, and for each
                           other one, shared by the checks; OPC_NEIGHBOURS_AS_OWN: as many as the sample has cases of
                           its own, or a quarter if it was searched */
} opc_plan_request_t;

/* What to do with a case. */
typedef enum opc_plan_action { OPC_PLAN_CHECK = 0, OPC_PLAN_SKIP, OPC_PLAN_MUST_REJECT } opc_plan_action_t;

typedef struct opc_planned_case {
  size_t table;  /* index of its check's table */
  size_t device; /* index; a case of the whole operator has none (device_name NULL) */
  const char *device_name;
  size_t index;                /* of the sample; a case without a sample has none (base NULL) */
  const opc_sample_t *base;    /* the sample before variant and dtype */
  const opc_sample_t *sample;  /* after variant and dtype; the base itself if neither changes anything */
  opc_sample_source_t source;  /* the base's */
  opc_provenance_t provenance; /* source NONE without a sample */
  const char *variant;         /* "plain", "x.sliced"…; NULL without a sample */
  opc_variant_facts_t facts;   /* about the variant and the dtype */
  opc_dtype_t dtype;           /* OPC_DTYPE_OTHER: the sample's own */
  const opc_method_t *method;  /* the class method that the case is about; NULL: none */
  const opc_case_rule_t *rule; /* never NULL: the planner has its own rules for cases that no table asks for */
  opc_plan_action_t action;
  int turn;                 /* with by_yield: 0: unmodified samples, then up to 2 * OPC_YIELD_TURNS; else 0 */
  opc_skip_reason_t reason; /* of OPC_PLAN_SKIP */
  const char *detail;
} opc_planned_case_t;

/* False: stops planning. */
typedef bool opc_plan_emit_t(const opc_planned_case_t *planned, void *context);

typedef enum opc_plan_part {
  OPC_PLAN_SAMPLES_THEMSELVES = 0, /* plain, at their own dtype */
  OPC_PLAN_VARIANTS                /* variants, other dtypes, and arguments that nobody considers valid */
} opc_plan_part_t;

/* All cases. */
opc_status_t opc_plan_all(const opc_plan_request_t *request, opc_plan_emit_t *emit, void *context,
                          opc_error_t *error) OPC_CHECKED;

/* Fills in the parts of a case's id that the plan knows, including check and operator. */
void opc_planned_case_id(const opc_plan_request_t *request, const opc_planned_case_t *planned, opc_case_id_t *out);
/* The unmodified sample: plain, at its own dtype. */
bool opc_planned_is_unmodified(const opc_planned_case_t *planned);

enum { OPC_YIELD_TURNS = 5 };
/* Turn of a case of the check that is no unmodified sample: from 1 to OPC_YIELD_TURNS. */
int opc_yield_turn(const char *check, const opc_planned_case_t *planned);

unsigned opc_case_table_devices(const opc_case_table_t *table); /* OPC_ON_… of all its rules */
unsigned opc_case_table_needs(const opc_case_table_t *table);   /* OPC_NEEDS_… of all its rules */
/* True for samples that every check may call: they neither expect a rejection nor are unchecked. */
bool opc_sample_is_callable(const opc_sample_t *sample);

/* Evaluates the conditions of case rules on an operator and a sample. No libtorch, no call.
 *
 * Threads: any. Ownership: nothing is kept. */

/* True if all conditions (OPC_WHEN_…) hold. The planner evaluates OPC_WHEN_DTYPE_CHANGES, which is about a case. */
bool opc_case_conditions_hold(const opc_case_rule_t *rule, const opc_operator_t *op, const opc_sample_t *sample);

/* The size of the sample that the rule chooses; 0: none. */
int64_t opc_case_size(const opc_case_rule_t *rule, const opc_sample_t *sample);
bool opc_sample_has_float8(const opc_sample_t *sample);
bool opc_sample_has_complex(const opc_sample_t *sample);
/* A variant made numbers negative of which the sample says that they are between 0 and 1. */
bool opc_sample_leaves_range(const opc_sample_t *sample);
int64_t opc_sample_numel_max(const opc_sample_t *sample); /* elements of its largest tensor */
