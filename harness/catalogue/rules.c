#include "catalogue/rules.h"

#include <string.h>

const opc_rule_t opc_rules[] = {
#define OPC_RULE(name, severity, title, seen, why, limits, fix, source) \
  {name, OPC_SEVERITY_##severity, title, seen, why, limits, fix, source},
#include "catalogue/rules.def"
#undef OPC_RULE
};
const size_t opc_rule_count = sizeof opc_rules / sizeof opc_rules[0];

const opc_rule_t *opc_rule_find(const char *name) {
  if (!name) return NULL;
  for (size_t i = 0; i < opc_rule_count; i++) {
    if (strcmp(opc_rules[i].name, name) == 0) return &opc_rules[i];
    /* One entry for all signals: their texts would differ only in the number. */
    if (strcmp(opc_rules[i].name, "signal") == 0 && strncmp(name, "signal.", 7) == 0) return &opc_rules[i];
  }
  return NULL;
}

opc_severity_t opc_rule_severity(const char *name) {
  const opc_rule_t *row = opc_rule_find(name);
  return row ? row->severity : OPC_SEVERITY_ERROR;
}

const opc_check_info_t opc_check_infos[] = {
#define OPC_CHECK_ROW(calls, kinds, name, summary) {#name, calls, summary, kinds},
#include "catalogue/checks_in_order.def"
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
