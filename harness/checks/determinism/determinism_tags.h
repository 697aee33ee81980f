/* Inside check determinism: the tags that change what is required.
 *
 * Ownership: nothing is kept. Threads: any. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_TAGS_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_TAGS_H

#include <stdbool.h>

#include "model/schema/schema.h"

bool opc_operator_is_seeded(const opc_operator_t *op);
bool opc_operator_is_repeatable(const opc_operator_t *op); /* not tagged nondeterministic_bitwise */

#endif
