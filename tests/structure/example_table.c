/* The table that harness/checks/README.md says to copy compiles. */
#include "catalogue/rules.h"
#include "plan/cases/case_rule.h"

enum { PLAIN = OPC_VARIANT_PLAIN, LAYOUT = OPC_VARIANT_LAYOUT, ALWAYS = OPC_CLAIM_ALWAYS };
#define OTHER_DTYPES "other dtypes"
#define OPC_CHECK(stage, kinds, name, summary) \
  const opc_check_info_t example_info = {#name, true, summary, kinds, OPC_STAGE_##stage};
#define OPC_CASES(check, ...) const opc_case_rule_t check##_cases[] = {__VA_ARGS__};
#define OPC_RULE(check, what, severity, claims, ...) \
  const opc_rule_t check##_##what = {#check "." #what, OPC_SEVERITY_##severity, claims, __VA_ARGS__};
#include "example_check.def"
