/* All problems of a journal: a pure function of its results.
 *
 * Ownership: opc_problems_clear; the journal has to outlive them, and records are read from it again where a problem is
 * described. Memory: some hundred bytes a problem, whatever the number of results. Threads: one. */
#pragma once

#include <jansson.h>

#include "reports/journal/journal_reader.h"
#include "reports/problems/problem.h"

typedef struct opc_problems {
  opc_journal_reader_t *journal;
  json_t *names;        /* owns rules and arguments */
  opc_problem_t *items; /* errors before warnings, input that somebody vouches for before what was searched, what more
                           operators show before what fewer do, stronger rules before weaker ones */
  size_t count;
  size_t errors;    /* the first of them; the others are warnings */
  size_t operators; /* that have any of them */
} opc_problems_t;

opc_status_t opc_problems_make(opc_journal_reader_t *journal, opc_problems_t *out, opc_error_t *error) OPC_CHECKED;
void opc_problems_clear(opc_problems_t *problems);

/* The fields of the JSON report's problems, which the other reports show, too; a new reference. *out_result (optional)
 * is the case that stands for it: opc_case_result_free. */
opc_status_t opc_problem_to_json(const opc_problems_t *problems, const opc_problem_t *problem, json_t **out,
                                 opc_case_result_t **out_result, opc_error_t *error) OPC_CHECKED;
