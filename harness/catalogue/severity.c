#include "catalogue/severity.h"

#include <string.h>

static unsigned claims_of(const char *rule) {
  const opc_rule_t *row = opc_rule_find(rule);
  return row ? row->claims : OPC_CLAIM_ALWAYS;
}

static const char *unchecked_effect(unsigned claims) {
  if (claims & OPC_CLAIM_UNCHECKED_WRITE) return "write";
  if (claims & OPC_CLAIM_UNCHECKED_CRASH) return "crash";
  if (claims & OPC_CLAIM_UNCHECKED_READ) return "read";
  return claims & OPC_CLAIM_UNCHECKED_HANG ? "hang" : "memory";
}

bool opc_rule_needs_valid_input(const char *rule) { return (claims_of(rule) & OPC_CLAIMS_UNCHECKED) != 0; }

bool opc_rule_warns_on_searched(const char *rule) { return (claims_of(rule) & OPC_CLAIM_UNSURE) != 0; }

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

/* False: what the rule claims of its input does not make the finding a warning. */
static bool is_weakened(const opc_judgement_asked_t *asked, unsigned claims) {
  const opc_standing_t *standing = &asked->standing;
  const bool alone = standing->change == OPC_INPUT_ALONE;
  const bool other_values = standing->change != OPC_INPUT_SAME_VALUES;
  const bool not_the_layout = other_values || standing->plain || !asked->control_held || asked->after_other;
  if (claims & OPC_CLAIM_ALONE) return alone || asked->other_rank;
  if (claims & OPC_CLAIM_UNVOUCHED) return (alone || asked->other_rank) && !asked->clean_reference;
  if (claims & OPC_CLAIM_CHANGED) return other_values;
  if (claims & OPC_CLAIM_SEVERAL) return !asked->lone_tensor && not_the_layout;
  /* On a GPU the plain layout may have left its tensors too, where nothing sees it. */
  if (claims & OPC_CLAIMS_UNCHECKED) return asked->on_gpu || not_the_layout;
  return (claims & OPC_CLAIM_UNSURE) && not_the_layout;
}

opc_judgement_t opc_rule_judge(const opc_judgement_asked_t *asked) {
  const opc_standing_t *standing = &asked->standing;
  const char *rule = asked->rule;
  const unsigned claims = claims_of(rule);
  opc_judgement_t judgement = {.rule = rule, .severity = asked->severity};
  if (asked->unasked_dtype && (claims & OPC_CLAIM_ASKED_DTYPE)) judgement.severity = OPC_SEVERITY_WARNING;
  if (standing->voucher == OPC_VOUCHER_NONE || opc_standing_is_valid(standing)) return judgement;
  if (((asked->on_gpu || asked->uneven_lists || asked->index_beyond) && (claims & OPC_CLAIM_IN_BOUNDS)) ||
      (asked->after_other && (claims & OPC_CLAIM_ONE_CALL)) ||
      (says_that_it_packs(asked->operator_name) && (claims & OPC_CLAIM_BY_POSITION)))
    judgement.severity = OPC_SEVERITY_WARNING;
  if (asked->every_input || !is_weakened(asked, claims)) return judgement;
  if (!(claims & OPC_CLAIMS_UNCHECKED)) {
    judgement.severity = OPC_SEVERITY_WARNING;
    return judgement;
  }
  return (opc_judgement_t){.rule = OPC_UNCHECKED_ARGUMENTS,
                           .severity = asked->untrusted_input ? OPC_SEVERITY_ERROR : OPC_SEVERITY_WARNING,
                           .seen = unchecked_effect(claims)};
}
