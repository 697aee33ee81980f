/* Operators made of rows, for tests that need a schema but no libtorch. */
#ifndef OPC_TESTS_PLAN_FIXTURE_H
#define OPC_TESTS_PLAN_FIXTURE_H

#include <stdbool.h>
#include <stdlib.h>

#include "base/text.h"
#include "model/schema/schema.h"
#include "unit.h"

typedef struct fixture_argument {
  const char *name, *type, *default_text;
  bool kwarg_only;
} fixture_argument_t;

static inline opc_argument_t *fixture_arguments(const fixture_argument_t *rows, size_t count) {
  opc_argument_t *arguments = calloc(count + 1, sizeof *arguments);
  for (size_t i = 0; i < count; i++) {
    arguments[i].name = opc_string_copy(rows[i].name);
    arguments[i].type_text = opc_string_copy(rows[i].type);
    arguments[i].default_text = opc_string_copy(rows[i].default_text);
    arguments[i].has_default = rows[i].default_text != NULL;
    arguments[i].kwarg_only = rows[i].kwarg_only;
    assert_int_equal(opc_type_parse(rows[i].type, &arguments[i].type, NULL), OPC_OK);
  }
  return arguments;
}

static inline opc_operator_t fixture_operator(const char *name, const char *schema, const fixture_argument_t *arguments,
                                              size_t argument_count, const fixture_argument_t *returns,
                                              size_t return_count) {
  return (opc_operator_t){
      .name = opc_string_copy(name),
      .schema = opc_string_copy(schema),
      .arguments = fixture_arguments(arguments, argument_count),
      .argument_count = argument_count,
      .returns = fixture_arguments(returns, return_count),
      .return_count = return_count,
      .defined_here = true,
  };
}

#endif
