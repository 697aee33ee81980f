#include "catalogue/rules.h"

#include <string.h>

#include "base/system.h"

enum {
  ALWAYS = OPC_CLAIM_ALWAYS,
  UNCHECKED_WRITE = OPC_CLAIM_UNCHECKED_WRITE,
  UNCHECKED_CRASH = OPC_CLAIM_UNCHECKED_CRASH,
  UNCHECKED_READ = OPC_CLAIM_UNCHECKED_READ,
  UNCHECKED_HANG = OPC_CLAIM_UNCHECKED_HANG,
  UNCHECKED_MEMORY = OPC_CLAIM_UNCHECKED_MEMORY,
  UNCHECKED_CONVERSION = OPC_CLAIM_UNCHECKED_CONVERSION,
  UNSURE = OPC_CLAIM_UNSURE,
  SEVERAL = OPC_CLAIM_SEVERAL,
  ALONE = OPC_CLAIM_ALONE,
  UNVOUCHED = OPC_CLAIM_UNVOUCHED,
  CHANGED = OPC_CLAIM_CHANGED,
  IN_BOUNDS = OPC_CLAIM_IN_BOUNDS,
  ONE_CALL = OPC_CLAIM_ONE_CALL,
  BY_POSITION = OPC_CLAIM_BY_POSITION,
  ASKED_DTYPE = OPC_CLAIM_ASKED_DTYPE
};

const opc_rule_t opc_rules[] = {
    {.name = NULL},
#define OPC_RULE(check, what, severity, claims, ...) {#check "." #what, OPC_SEVERITY_##severity, claims, __VA_ARGS__},
#define OPC_RULE_ALONE(name, severity, claims, ...) {#name, OPC_SEVERITY_##severity, claims, __VA_ARGS__},
#include "catalogue/checks.def"
};
const size_t opc_rule_count = OPC_RULE_COUNT;

enum { SIGNALS = OPC_RULE_END - OPC_RULE_COUNT };

const char *opc_rule_name(opc_rule_id_t rule) {
  static char signals[SIGNALS][24];
  if (rule < OPC_RULE_COUNT) return opc_rules[rule].name;
  const int number = (int)rule - OPC_RULE_COUNT;
  const char *abbreviation = opc_signal_abbreviation(number);
  snprintf(signals[number], sizeof signals[number], "signal.SIG%s", abbreviation ? abbreviation : "?");
  return signals[number];
}

opc_rule_id_t opc_rule_id(const char *name) {
  for (int i = OPC_RULE_NONE + 1; name && i < OPC_RULE_END; i++)
    if (strcmp(opc_rule_name((opc_rule_id_t)i), name) == 0) return (opc_rule_id_t)i;
  return OPC_RULE_NONE;
}

opc_rule_id_t opc_rule_of_signal(int number) {
  const bool named = number < SIGNALS && opc_signal_abbreviation(number);
  return (opc_rule_id_t)(OPC_RULE_COUNT + (named ? number : 0));
}

const opc_rule_t *opc_rule_of(opc_rule_id_t rule) { return &opc_rules[rule < OPC_RULE_COUNT ? rule : OPC_RULE_signal]; }

bool opc_rule_is_of(opc_rule_id_t rule, const char *name) {
  const char *own = rule == OPC_RULE_NONE ? "" : opc_rule_name(rule);
  const size_t length = strlen(name);
  return strncmp(own, name, length) == 0 && (own[length] == '\0' || own[length] == '.');
}

const opc_check_info_t opc_check_infos[] = {
#define OPC_CHECK(stage, kinds, name, summary) \
  {#name, OPC_STAGE_##stage != OPC_STAGE_NO_CALL, summary, kinds, OPC_STAGE_##stage},
#include "catalogue/checks.def"
};
const size_t opc_check_info_count = sizeof opc_check_infos / sizeof opc_check_infos[0];

int opc_check_info_find(const char *name) {
  for (size_t i = 0; name && i < opc_check_info_count; i++)
    if (strcmp(opc_check_infos[i].name, name) == 0) return (int)i;
  return -1;
}

bool opc_check_info_is_of(const opc_check_info_t *info, const opc_operator_t *op) {
  return (info->kinds & 1u << op->kind) != 0;
}

unsigned opc_rule_claims(opc_rule_id_t rule) { return opc_rule_of(rule)->claims; }

/* A conversion does no harm to other memory. */
bool opc_rule_needs_valid_input(opc_rule_id_t rule) {
  return (opc_rule_claims(rule) & OPC_CLAIMS_UNCHECKED & ~(unsigned)OPC_CLAIM_UNCHECKED_CONVERSION) != 0;
}

bool opc_rule_warns_on_searched(opc_rule_id_t rule) { return (opc_rule_claims(rule) & OPC_CLAIM_UNSURE) != 0; }

bool opc_goes_outside(opc_rule_id_t rule) {
  return rule == OPC_RULE_memory_out_of_bounds_read || rule == OPC_RULE_memory_out_of_bounds_write;
}
