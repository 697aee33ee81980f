#include "catalogue/severity.h"

#include <string.h>

typedef enum claim {
  CLAIM_ALWAYS = 0,
  CLAIM_UNCHECKED,
  CLAIM_WARNING,
  CLAIM_ALONE,
  CLAIM_UNVOUCHED,
  CLAIM_CHANGED,
  CLAIM_SEVERAL
} claim_t;

typedef struct claimed {
  const char *rule;
  claim_t claim;
  const char *seen;
} claimed_t;

static const claimed_t table[] = {
#define OPC_CLAIM_UNCHECKED(rule, seen) {rule, CLAIM_UNCHECKED, seen},
#define OPC_CLAIM_WARNING(rule) {rule, CLAIM_WARNING, NULL},
#define OPC_CLAIM_ALONE(rule) {rule, CLAIM_ALONE, NULL},
#define OPC_CLAIM_UNVOUCHED(rule) {rule, CLAIM_UNVOUCHED, NULL},
#define OPC_CLAIM_CHANGED(rule) {rule, CLAIM_CHANGED, NULL},
#define OPC_CLAIM_SEVERAL(rule) {rule, CLAIM_SEVERAL, NULL},
#include "catalogue/severity.def"
};

const char *const opc_claimed_rules[] = {
#define OPC_CLAIM_UNCHECKED(rule, seen) rule,
#define OPC_CLAIM_WARNING(rule) rule,
#define OPC_CLAIM_ALONE(rule) rule,
#define OPC_CLAIM_UNVOUCHED(rule) rule,
#define OPC_CLAIM_CHANGED(rule) rule,
#define OPC_CLAIM_SEVERAL(rule) rule,
#include "catalogue/severity.def"
};
const size_t opc_claimed_rule_count = sizeof opc_claimed_rules / sizeof *opc_claimed_rules;

static const char *const in_bounds[] = {
#define OPC_CLAIM_IN_BOUNDS(rule) rule,
#include "catalogue/severity.def"
};

static const char *const one_call[] = {
#define OPC_CLAIM_ONE_CALL(rule) rule,
#include "catalogue/severity.def"
};

static const char *const by_position[] = {
#define OPC_CLAIM_BY_POSITION(rule) rule,
#include "catalogue/severity.def"
};

static const char *const asked_dtype[] = {
#define OPC_CLAIM_ASKED_DTYPE(rule) rule,
#include "catalogue/severity.def"
};

/* ADDED(list): the list and its length. */
#define ADDED(list) (list), sizeof(list) / sizeof *(list)

const char *const opc_added_claim_rules[] = {
#define OPC_CLAIM_IN_BOUNDS(rule) rule,
#define OPC_CLAIM_ONE_CALL(rule) rule,
#define OPC_CLAIM_BY_POSITION(rule) rule,
#define OPC_CLAIM_ASKED_DTYPE(rule) rule,
#include "catalogue/severity.def"
};
const size_t opc_added_claim_rule_count = sizeof opc_added_claim_rules / sizeof *opc_added_claim_rules;

static bool is_in(const char *rule, const char *const *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(list[i], rule) == 0) return true;
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

bool opc_rule_warns_on_searched(const char *rule) { return rule && claim_of(rule).claim == CLAIM_WARNING; }

/* The operator's name has one of these words: "quant::weight_prepack", not "quant::unpack" or "quant::packed_linear".
 */
static bool says_that_it_packs(const char *operator_name) {
  static const char *const words[] = {"pack", "prepack", "repack"};
  const char *at = operator_name != NULL ? strstr(operator_name, "::") : NULL;
  while (at != NULL && *at != '\0') {
    at += strspn(at, "_:.");
    const size_t length = strcspn(at, "_:.");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      if (strlen(words[i]) == length && strncmp(at, words[i], length) == 0) return true;
    at += length;
  }
  return false;
}

/* False: no claim of the first part of the table makes the finding a warning. */
static bool is_weakened(const opc_judgement_asked_t *asked, claim_t claim) {
  const opc_standing_t *standing = &asked->standing;
  const bool alone = standing->change == OPC_INPUT_ALONE;
  switch (claim) {
    case CLAIM_ALONE:
      return alone || asked->other_rank;
    case CLAIM_UNVOUCHED:
      return (alone || asked->other_rank) && !asked->clean_reference;
    case CLAIM_CHANGED:
      return standing->change != OPC_INPUT_SAME_VALUES;
    case CLAIM_SEVERAL:
      if (asked->lone_tensor) return false;
      return standing->change != OPC_INPUT_SAME_VALUES || standing->plain || !asked->control_held || asked->after_other;
    case CLAIM_UNCHECKED:
      if (asked->on_gpu) return true; /* the plain layout may have left its tensors too, where nothing sees it */
      /* fallthrough */
    case CLAIM_WARNING:
      return standing->change != OPC_INPUT_SAME_VALUES || standing->plain || !asked->control_held || asked->after_other;
    default:
      return false;
  }
}

opc_judgement_t opc_rule_judge(const opc_judgement_asked_t *asked) {
  const opc_standing_t *standing = &asked->standing;
  const char *rule = asked->rule;
  claimed_t claimed = claim_of(rule);
  opc_judgement_t judgement = {.rule = rule, .severity = asked->severity};
  if (asked->unasked_dtype && is_in(rule, ADDED(asked_dtype))) judgement.severity = OPC_SEVERITY_WARNING;
  if (standing->voucher == OPC_VOUCHER_NONE || opc_standing_is_valid(standing)) return judgement;
  if (((asked->on_gpu || asked->uneven_lists || asked->index_beyond) && is_in(rule, ADDED(in_bounds))) ||
      (asked->after_other && is_in(rule, ADDED(one_call))) ||
      (says_that_it_packs(asked->operator_name) && is_in(rule, ADDED(by_position))))
    judgement.severity = OPC_SEVERITY_WARNING;
  if (asked->every_input || !is_weakened(asked, claimed.claim)) return judgement;
  if (claimed.claim != CLAIM_UNCHECKED) {
    judgement.severity = OPC_SEVERITY_WARNING;
    return judgement;
  }
  return (opc_judgement_t){.rule = OPC_UNCHECKED_ARGUMENTS,
                           .severity = asked->untrusted_input ? OPC_SEVERITY_ERROR : OPC_SEVERITY_WARNING,
                           .seen = claimed.seen};
}
