#include "catalogue/severity.h"

unsigned opc_rule_claims(const char *rule) {
  const opc_rule_t *row = opc_rule_find(rule);
  return row ? row->claims : OPC_CLAIM_ALWAYS;
}

bool opc_rule_needs_valid_input(const char *rule) { return (opc_rule_claims(rule) & OPC_CLAIMS_UNCHECKED) != 0; }

bool opc_rule_warns_on_searched(const char *rule) { return (opc_rule_claims(rule) & OPC_CLAIM_UNSURE) != 0; }
