/* The findings of one operator, merged into problems (opcheck-c explain problems says how).
 *
 * Ownership: opc_operator_findings_clear; a zeroed one is empty and valid. Names belong to the set that the caller
 * gives. Memory is bounded by rules, arguments and kinds of change, but for eight bytes an input of unchecked arguments
 * until it is cleared. Threads: one. */
#pragma once

#include <jansson.h>

#include "reports/journal/hash_set.h"
#include "reports/problems/problem.h"
#include "result/case_result.h"

typedef struct opc_operator_findings {
  json_t *names;           /* a set: name -> null */
  const char *library;     /* of the operator; NULL: unknown */
  uint32_t operator_index; /* in the journal reader */
  opc_problem_t *problems; /* while findings are added: one a rule, severity, argument and kind of change */
  size_t count, capacity;
  opc_hash_set_t inputs; /* of unchecked arguments */
  json_t *plain;         /* rules that the sample as it is shows */
} opc_operator_findings_t;

/* A failure or an error; offset is where the journal has it. */
opc_status_t opc_operator_findings_add(opc_operator_findings_t *findings, const opc_case_result_t *result,
                                       uint64_t offset, opc_error_t *error) OPC_CHECKED;
/* After the last one: what is left in `problems` has one cause each. */
opc_status_t opc_operator_findings_merge(opc_operator_findings_t *findings, opc_error_t *error) OPC_CHECKED;
void opc_operator_findings_clear(opc_operator_findings_t *findings);
