#include "checks/catalogue/severity.h"

#include <string.h>

typedef enum claim { CLAIM_ALWAYS = 0, CLAIM_UNCHECKED, CLAIM_WARNING, CLAIM_ALONE, CLAIM_RANK } claim_t;

typedef struct claimed {
  const char *rule;
  claim_t claim;
  const char *seen;
} claimed_t;

static const claimed_t table[] = {
#define OPC_CLAIM_UNCHECKED(rule, seen) {rule, CLAIM_UNCHECKED, seen},
#define OPC_CLAIM_WARNING(rule) {rule, CLAIM_WARNING, NULL},
#define OPC_CLAIM_ALONE(rule) {rule, CLAIM_ALONE, NULL},
#define OPC_CLAIM_RANK(rule) {rule, CLAIM_RANK, NULL},
#define OPC_CLAIM_IN_BOUNDS(rule)
#include "checks/catalogue/severity.def"
#undef OPC_CLAIM_UNCHECKED
#undef OPC_CLAIM_WARNING
#undef OPC_CLAIM_ALONE
#undef OPC_CLAIM_RANK
#undef OPC_CLAIM_IN_BOUNDS
};

const char *const opc_claimed_rules[] = {
#define OPC_CLAIM_UNCHECKED(rule, seen) rule,
#define OPC_CLAIM_WARNING(rule) rule,
#define OPC_CLAIM_ALONE(rule) rule,
#define OPC_CLAIM_RANK(rule) rule,
#define OPC_CLAIM_IN_BOUNDS(rule)
#include "checks/catalogue/severity.def"
#undef OPC_CLAIM_UNCHECKED
#undef OPC_CLAIM_WARNING
#undef OPC_CLAIM_ALONE
#undef OPC_CLAIM_RANK
#undef OPC_CLAIM_IN_BOUNDS
};
const size_t opc_claimed_rule_count = sizeof opc_claimed_rules / sizeof *opc_claimed_rules;

const char *const opc_in_bounds_rules[] = {
#define OPC_CLAIM_UNCHECKED(rule, seen)
#define OPC_CLAIM_WARNING(rule)
#define OPC_CLAIM_ALONE(rule)
#define OPC_CLAIM_RANK(rule)
#define OPC_CLAIM_IN_BOUNDS(rule) rule,
#include "checks/catalogue/severity.def"
#undef OPC_CLAIM_UNCHECKED
#undef OPC_CLAIM_WARNING
#undef OPC_CLAIM_ALONE
#undef OPC_CLAIM_RANK
#undef OPC_CLAIM_IN_BOUNDS
};
const size_t opc_in_bounds_rule_count = sizeof opc_in_bounds_rules / sizeof *opc_in_bounds_rules;

static bool claims_in_bounds(const char *rule) {
  for (size_t i = 0; i < opc_in_bounds_rule_count; i++)
    if (strcmp(opc_in_bounds_rules[i], rule) == 0) return true;
  return false;
}

static claimed_t claim_of(const char *rule) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    bool signal = strcmp(table[i].rule, "signal") == 0 && strncmp(rule, "signal.", 7) == 0;
    if (signal || strcmp(table[i].rule, rule) == 0) return table[i];
  }
  return (claimed_t){.rule = rule};
}

bool opc_rule_needs_valid_input(const char *rule) { return rule && claim_of(rule).claim == CLAIM_UNCHECKED; }

opc_judgement_t opc_rule_judge(const opc_judgement_asked_t *asked) {
  const opc_standing_t *standing = &asked->standing;
  claimed_t claimed = claim_of(asked->rule);
  opc_judgement_t judgement = {.rule = asked->rule, .severity = asked->severity};
  bool layout = standing->change == OPC_INPUT_SAME_VALUES && !standing->plain && asked->control_held;
  const bool alone = standing->change == OPC_INPUT_ALONE;
  bool relevant = !layout;
  if (claimed.claim == CLAIM_ALONE) relevant = alone;
  if (claimed.claim == CLAIM_RANK) relevant = alone && asked->other_rank;
  if (standing->voucher == OPC_VOUCHER_NONE || opc_standing_is_valid(standing)) return judgement;
  if (asked->on_gpu && claims_in_bounds(asked->rule)) judgement.severity = OPC_SEVERITY_WARNING;
  if (asked->every_input || !relevant) return judgement;
  if (claimed.claim == CLAIM_WARNING || claimed.claim == CLAIM_ALONE || claimed.claim == CLAIM_RANK)
    judgement.severity = OPC_SEVERITY_WARNING;
  if (claimed.claim != CLAIM_UNCHECKED) return judgement;
  return (opc_judgement_t){.rule = OPC_UNCHECKED_ARGUMENTS,
                           .severity = asked->untrusted_input ? OPC_SEVERITY_ERROR : OPC_SEVERITY_WARNING,
                           .seen = claimed.seen};
}
