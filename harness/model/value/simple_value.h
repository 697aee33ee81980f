/* A plain value of a type, for constructors and methods that nobody has given arguments for.
 *
 * Ownership: the JSON is the caller's. Threads: any. */
#ifndef OPC_MODEL_VALUE_SIMPLE_VALUE_H
#define OPC_MODEL_VALUE_SIMPLE_VALUE_H

#include "model/schema/schema.h"

enum { OPC_SIMPLE_ROUNDS = 4 };

/* A VALUE of the sample format, another one each round: sizes and counts are mostly small and positive, so these come
 * first. NULL: no simple value of this type. */
json_t *opc_simple_value(const opc_type_t *type, int round);

#endif
