/* Neighbours of a sample: how many each rule may have, and which. */
#include "plan/cases/planner_inside.h"

/* The rules of all checks share the sample's neighbours; earlier rules get what does not divide evenly. Rules with a
 * few additional neighbours get them if the sample has many. */
int64_t opc_plan_neighbours_of(const plan_t *plan, const opc_case_rule_t *rule) {
  enum { MANY = 16 };
  const opc_plan_request_t *request = plan->request;
  int64_t rules = 0, before = 0;
  const int64_t all = plan->neighbours;
  if (rule->beside) return all / MANY < rule->neighbours ? all / MANY : rule->neighbours;
  for (size_t i = 0; i < request->table_count; i++) {
    for (size_t k = 0; k < request->tables[i].rule_count; k++) {
      const opc_case_rule_t *other = &request->tables[i].rules[k];
      if (other == rule) before = rules;
      rules += other->neighbours > 0 && !other->beside && (opc_plan_rule_devices(other) & plan->device->bit);
    }
  }
  const int64_t share = rules ? all / rules + (before < all % rules) : 0;
  return share < rule->neighbours ? share : rule->neighbours;
}

bool opc_plan_has_neighbours(plan_t *plan) {
  bool has = false;
  for (size_t i = 0; i < plan->table->rule_count && !has && !plan->request->only; i++)
    has = plan->table->rules[i].neighbours > 0 && opc_plan_is_active(plan, &plan->table->rules[i]);
  return has && opc_sample_is_callable(plan->planned.base);
}

typedef struct neighbours {
  plan_t *plan;
  const opc_case_rule_t *rule;
  int64_t left;
} neighbours_t;

static bool give_neighbour(const char *variant, const opc_sample_t *sample, void *context) {
  neighbours_t *neighbours = context;
  const opc_case_rule_t *rule = neighbours->rule;
  if (!opc_plan_name_matches(rule, variant) ||
      opc_plan_is_given(neighbours->plan, rule, variant, OPC_DTYPE_OTHER, false))
    return true;
  if ((rule->numel_max && opc_sample_numel_max(sample) > rule->numel_max) || opc_sample_leaves_range(sample))
    return true;
  if ((rule->when & OPC_WHEN_RELATED) &&
      opc_variant_change(neighbours->plan->planned.base, neighbours->plan->request->op, sample, variant) ==
          OPC_INPUT_ALONE)
    return true;
  return opc_plan_give_variant(neighbours->plan, rule, variant, OPC_DTYPE_OTHER, sample) && --neighbours->left > 0;
}

void opc_plan_neighbours(plan_t *plan) {
  const opc_plan_request_t *request = plan->request;
  if (plan->part != OPC_PLAN_VARIANTS || plan->neighbours == 0 || request->only) return;
  for (size_t i = 0; i < plan->table->rule_count && opc_plan_goes_on(plan); i++) {
    const opc_case_rule_t *rule = &plan->table->rules[i];
    if (!rule->neighbours || !opc_plan_is_rule_of_own(plan, rule)) continue;
    neighbours_t neighbours = {.plan = plan, .rule = rule, .left = opc_plan_neighbours_of(plan, rule)};
    if (!plan->status && neighbours.left > 0)
      plan->status = opc_variants_of(plan->planned.base, request->op, opc_plan_rule_families(plan, rule),
                                     give_neighbour, &neighbours, plan->error);
  }
}
