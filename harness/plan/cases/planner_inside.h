/* A walk through the plan of a sample. Three files share it, each of which uses only those before it: the rules of a
 * check (planner_rules.c), the neighbours of samples (planner_rules.c), and the planner (planner.c). */
#pragma once

#include "plan/cases/planner.h"

/* Of OPC_SWEEP_REPRESENTATIVE. */
enum { OPC_PLAN_REPRESENTATIVE_COUNT = 6 };
extern const opc_dtype_t opc_plan_representative[OPC_PLAN_REPRESENTATIVE_COUNT];

/* A walk through the cases of one table, one device and one sample. */
typedef struct plan {
  const opc_plan_request_t *request;
  const opc_case_table_t *table;
  const opc_plan_device_t *device;
  opc_planned_case_t planned; /* shared by every case of this walk */
  opc_plan_emit_t *emit;
  void *context;
  opc_plan_part_t part;
  int64_t neighbours; /* at most so many of the sample, shared by the rules of all checks */
  int64_t *counted;   /* not NULL: cases are only counted, and have no provenance */
  bool stopped;
  opc_status_t status; /* of a callback, which cannot return a status */
  opc_error_t *error;
} plan_t;

static inline bool opc_plan_goes_on(const plan_t *plan) { return !plan->stopped && !plan->status; }
/* ---- planner_rules.c ---- */

typedef bool opc_plan_variant_use_t(const char *variant, const opc_sample_t *sample, void *context);

unsigned opc_plan_rule_devices(const opc_case_rule_t *rule);
unsigned opc_plan_rule_samples(const opc_case_rule_t *rule);
/* The rule's families that exist for this operator and sample on this device. */
unsigned opc_plan_rule_families(const plan_t *plan, const opc_case_rule_t *rule);
bool opc_plan_name_matches(const opc_case_rule_t *rule, const char *variant);
/* The variants of one rule alone. */
opc_status_t opc_plan_rule_variants(const plan_t *plan, const opc_case_rule_t *rule, const opc_sample_t *base,
                                    opc_plan_variant_use_t *use, void *context);
opc_source_t opc_plan_source(const opc_sample_t *base);
/* The rule applies to the variants of this accepted sample; of its own: at its own dtype. */
bool opc_plan_is_active(plan_t *plan, const opc_case_rule_t *rule);
bool opc_plan_is_rule_of_own(plan_t *plan, const opc_case_rule_t *rule);
bool opc_plan_sweep_has(const opc_case_rule_t *rule, opc_dtype_t dtype, bool sample_has_float8);
/* A rule before `end` gives these arguments. */
bool opc_plan_is_given(plan_t *plan, const opc_case_rule_t *end, const char *variant, opc_dtype_t dtype, bool float8);
/* False: stops. */
bool opc_plan_give(plan_t *plan, opc_planned_case_t planned);
bool opc_plan_give_variant(plan_t *plan, const opc_case_rule_t *rule, const char *variant, opc_dtype_t dtype,
                           const opc_sample_t *sample);

/* ---- planner_rules.c ---- */

/* The check has neighbours of this sample. */
bool opc_plan_has_neighbours(plan_t *plan);
/* How many of them the rule may have. */
int64_t opc_plan_neighbours_of(const plan_t *plan, const opc_case_rule_t *rule);
/* Those at the sample's own dtype, in the part of the variants. */
void opc_plan_neighbours(plan_t *plan);
