#include "checks/determinism/determinism_tags.h"

bool opc_operator_is_seeded(const opc_operator_t *op) { return opc_operator_has_tag(op, "nondeterministic_seeded"); }
bool opc_operator_is_repeatable(const opc_operator_t *op) {
  return !opc_operator_has_tag(op, "nondeterministic_bitwise");
}
