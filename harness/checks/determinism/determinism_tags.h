/* Inside check determinism: the tags that change what is required.
 *
 * Ownership: nothing is kept. Threads: any. */
#pragma once

#include <stdbool.h>

#include "model/schema/schema.h"

bool opc_operator_is_seeded(const opc_operator_t *op);
bool opc_operator_is_repeatable(const opc_operator_t *op); /* not tagged nondeterministic_bitwise */
