#include "catalogue/severity.h"

unsigned opc_rule_claims(opc_rule_id_t rule) { return opc_rule_of(rule)->claims; }

bool opc_rule_needs_valid_input(opc_rule_id_t rule) { return (opc_rule_claims(rule) & OPC_CLAIMS_UNCHECKED) != 0; }

bool opc_rule_warns_on_searched(opc_rule_id_t rule) { return (opc_rule_claims(rule) & OPC_CLAIM_UNSURE) != 0; }

bool opc_goes_outside(opc_rule_id_t rule) {
  return rule == OPC_RULE_memory_out_of_bounds_read || rule == OPC_RULE_memory_out_of_bounds_write;
}
