/* Operators made from tables, and samples for them, for tests that need a schema but no libtorch. */
#ifndef OPC_TESTS_PLAN_FIXTURE_H
#define OPC_TESTS_PLAN_FIXTURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "model/sample/sample.h"
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

/* A sample of the operator, as in a file. The format gives the other fields in JSON, with ' instead of ". */
static inline opc_sample_t fixture_sample(const opc_operator_t *op, const char *format, ...) OPC_PRINTF(2, 3);
static inline opc_sample_t fixture_sample(const opc_operator_t *op, const char *format, ...) {
  opc_sample_t sample;
  opc_error_t error = {0};
  char fields[2048], text[2304];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fields, sizeof fields, format, arguments);
  va_end(arguments);
  snprintf(text, sizeof text, "{'operator': '%s', %s}", op->name, fields);
  for (char *c = text; *c; c++)
    if (*c == '\'') *c = '"';
  json_t *json = json_loads(text, 0, NULL);
  assert_non_null(json);
  assert_ok(opc_sample_from_json(json, op, NULL, &sample, NULL, 0, &error), error);
  json_decref(json);
  return sample;
}

#endif
