/* The plan of an operator's cases: the one reader of the checks' tables (plan/cases/case_rule.h).
 *
 * The plan is a function of (operator, samples, tables, devices) alone: no result changes it, so a case's id means the
 * same in every run. Order: the samples themselves under every check, then their variants under every check, so that
 * what a variant does costs no sample its checks; the checks that leave graphs behind do both after all others. Within:
 * each table; a check of the operator once; else each device, each sample: the variants at the sample's own dtype, then
 * other dtypes; and last, a device, the case about all samples. Where there is nothing to call, a calling check has one
 * case `op/check/device/-/-/-`, a skip (no_sample, no_kernel, no_device, simulated). A sample that is there to be
 * refused has one plain case a calling check; the first of these makes the call.
 *
 * It works per sample: samples that are found later are planned with opc_plan_sample.
 * Ownership: what a request points at is the caller's; a planned case and its sample hold for the callback.
 * Threads: none shared. No libtorch. */
#ifndef OPC_PLAN_CASES_PLANNER_H
#define OPC_PLAN_CASES_PLANNER_H

#include "model/case/case.h"
#include "model/case/standing.h"
#include "model/case/verdict.h"
#include "plan/cases/case_rule.h"

typedef struct opc_plan_device {
  const char *name; /* in case ids: "cpu", "cuda-sim" */
  unsigned bit;     /* OPC_ON_… */
  bool usable;      /* there is such a device */
  bool served;      /* the operator has a kernel that could serve it */
} opc_plan_device_t;

typedef struct opc_plan_request {
  const opc_operator_t *op;
  const opc_case_table_t *tables;
  size_t table_count;
  const bool *wanted; /* (optional) one a table: whether it is to be planned */
  const opc_plan_device_t *devices;
  size_t device_count;
  const opc_sample_t *samples;
  size_t sample_count;
  const opc_case_id_t *only; /* (optional) only this case is looked for: other checks and samples are passed over */
  bool only_exists;          /* the plan has it: its variant is built by its name, and those beside it are not */
} opc_plan_request_t;

/* What is to be done with a case. */
typedef enum opc_plan_action { OPC_PLAN_CHECK = 0, OPC_PLAN_SKIP, OPC_PLAN_MUST_REJECT } opc_plan_action_t;

typedef struct opc_planned_case {
  size_t table;  /* index of its check's */
  size_t device; /* index; for a case of the operator alone there is none (device_name NULL) */
  const char *device_name;
  size_t index;                /* of the sample; for a case without a sample there is none (base NULL) */
  const opc_sample_t *base;    /* the sample before variant and dtype */
  const opc_sample_t *sample;  /* with them; the base itself where neither changes anything */
  opc_sample_source_t source;  /* the base's */
  opc_standing_t standing;     /* voucher NONE without a sample */
  const char *variant;         /* "plain", "x.sliced"…; NULL without a sample */
  opc_variant_facts_t facts;   /* of the variant and the dtype */
  opc_dtype_t dtype;           /* OPC_DTYPE_OTHER: the sample's own */
  const opc_method_t *method;  /* of a class, that the case is about; NULL: none */
  const opc_case_rule_t *rule; /* never NULL: a case that no row asks for has one of the planner's own */
  opc_plan_action_t action;
  opc_skip_reason_t reason; /* of OPC_PLAN_SKIP */
  const char *detail;
} opc_planned_case_t;

/* False: the rest of the plan is not wanted. */
typedef bool opc_plan_emit_t(const opc_planned_case_t *planned, void *context);

typedef enum opc_plan_part {
  OPC_PLAN_SAMPLES_THEMSELVES = 0, /* plain, with their own dtype */
  OPC_PLAN_VARIANTS                /* and other dtypes, and arguments that nobody calls valid */
} opc_plan_part_t;

/* All cases. */
opc_status_t opc_plan_all(const opc_plan_request_t *request, opc_plan_emit_t *emit, void *context,
                          opc_error_t *error) OPC_CHECKED;
/* Those of one part of one table on one device of the sample with this index. Of the earlier samples it asks whether
 * they fit (OPC_SCOPE_FIRST_FIT). *out_stopped: the callback wants no more. */
opc_status_t opc_plan_sample(const opc_plan_request_t *request, size_t table, size_t device, size_t index,
                             opc_plan_part_t part, opc_plan_emit_t *emit, void *context, bool *out_stopped,
                             opc_error_t *error) OPC_CHECKED;

/* The parts of a case's id that the plan knows; check and operator too. */
void opc_planned_case_id(const opc_plan_request_t *request, const opc_planned_case_t *planned, opc_case_id_t *out);
/* The unmodified sample: plain, with its own dtype. */
bool opc_planned_is_unmodified(const opc_planned_case_t *planned);

unsigned opc_case_table_devices(const opc_case_table_t *table); /* OPC_ON_… of all its rows */
unsigned opc_case_table_needs(const opc_case_table_t *table);   /* OPC_NEEDS_… of all its rows */
/* Samples that are called whatever the check: neither there to be refused nor unchecked. */
bool opc_sample_is_callable(const opc_sample_t *sample);

#endif
