/* A simple value of a type, for constructors and methods whose arguments nobody specified.
 *
 * Ownership: the JSON is the caller's. Threads: any. */
#pragma once

#include "model/schema/schema.h"

enum { OPC_SIMPLE_ROUNDS = 4 };

/* How objects are made: the schema of a class's constructor ("ns.Name"), with the object itself as its first argument.
 * The text is the caller's; NULL: there is no such class, or it has no constructor. */
typedef struct opc_simple_classes {
  char *(*constructor)(const char *class_name, const void *context);
  const void *context;
} opc_simple_classes_t;

/* A VALUE of the sample format, a different one each round (0 to OPC_SIMPLE_ROUNDS - 1). Small positive numbers come
 * first, as most sizes and counts are such. Objects get simple values for their own constructors. NULL: no simple value
 * of this type. */
json_t *opc_simple_value(const opc_type_t *type, int round, const opc_simple_classes_t *classes);
