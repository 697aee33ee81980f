#include "reports/problems/problems.h"

#include <stdlib.h>
#include <string.h>

#include "reports/problems/problem_merge.h"

typedef struct making {
  opc_problems_t *problems;
  size_t capacity;
  opc_operator_findings_t findings; /* of one operator */
  opc_status_t status;
  opc_error_t *error;
} making_t;

static bool visit_finding(const opc_case_result_t *result, void *context) {
  making_t *making = context;
  making->status = opc_operator_findings_add(&making->findings, result,
                                             opc_journal_reader_offset(making->problems->journal), making->error);
  return !making->status;
}

/* Each unchecked argument is one problem, wherever the operator fails because of it. */
static bool same_argument(const opc_problem_t *left, const opc_problem_t *right) {
  if (left->unchecked != right->unchecked) return false;
  if (!left->unchecked) return true;
  return left->argument_count == right->argument_count &&
         (left->argument_count == 0 || strcmp(left->arguments[0], right->arguments[0]) == 0);
}

/* A problem of an earlier operator with the same cause and rule. What a baseline has stays apart from what is new. */
static opc_problem_t *same_cause(const opc_problems_t *problems, const opc_problem_t *problem) {
  for (size_t i = 0; problem->cause != 0 && i < problems->count; i++) {
    opc_problem_t *known = &problems->items[i];
    if (known->cause == problem->cause && known->warning == problem->warning && known->listed == problem->listed &&
        same_argument(known, problem) && opc_problem_rule(known) == opc_problem_rule(problem))
      return known;
  }
  return NULL;
}

/* Takes the problem, even if it fails. */
static opc_status_t problems_take(making_t *making, opc_problem_t *problem) {
  opc_problems_t *problems = making->problems;
  opc_problem_t *known = same_cause(problems, problem);
  if (known) return opc_problem_absorb(known, problem, making->error);
  if (problems->count == making->capacity) {
    size_t capacity = making->capacity ? making->capacity * 2 : 32;
    opc_problem_t *grown = realloc(problems->items, capacity * sizeof *grown);
    if (!grown) return opc_out_of_memory(making->error);
    problems->items = grown;
    making->capacity = capacity;
  }
  problems->items[problems->count++] = *problem;
  *problem = (opc_problem_t){0};
  return OPC_OK;
}

/* A mistake in one place of the code. */
static void share_place(opc_problem_t *problem, const opc_journal_operator_t *op, const opc_case_result_t *result) {
  opc_code_place_t place;
  opc_code_place_of(result, op->library, &place);
  problem->cause = problem->unchecked && *place.function ? opc_code_function_key(&place) : problem->symptoms[0].place;
  if (*place.function) opc_problem_id(problem, op->library, op->name, place.function, problem->shared);
  problem->in_code = *place.function && !opc_rule_is_of(result->rule, "registration");
}

/* A warning that says the same of several operators of a library: their author does it like that everywhere. */
static opc_status_t share_habit(opc_problem_t *problem, const opc_journal_operator_t *op,
                                const opc_case_result_t *result, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  if (!problem->warning || problem->unchecked || !op->library) return OPC_OK;
  opc_habit_say(result, &text);
  if (text.failed) return opc_out_of_memory(error);
  problem->cause = opc_habit_key(&text, op->library);
  opc_problem_id(problem, op->library, op->name, opc_text_c(&text), problem->shared);
  return OPC_OK;
}

/* The ids of a problem of one operator: its own, and the one that it has if others have it, too. */
static opc_status_t name_alone(const opc_problems_t *problems, opc_problem_t *problem, opc_error_t *error) {
  const opc_journal_operator_t *op = opc_journal_reader_operator(problems->journal, problem->operators[0].index);
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  opc_problem_id(problem, op->library, op->name, "", problem->operators[0].id);
  if (problem->symptoms[0].place != 0 || problem->warning) {
    OPC_RETURN_IF_ERROR(opc_journal_reader_result(problems->journal, problem->symptoms[0].best.offset, &result, error));
    if (problem->symptoms[0].place != 0) share_place(problem, op, result);
    else OPC_RETURN_IF_ERROR(share_habit(problem, op, result, error));
  }
  problem->listed = opc_problem_is_listed(problems, problem);
  return OPC_OK;
}

static opc_status_t take_findings(making_t *making, size_t index) {
  OPC_RETURN_IF_ERROR(
      opc_journal_reader_findings(making->problems->journal, index, visit_finding, making, making->error));
  OPC_RETURN_IF_ERROR(making->status);
  OPC_RETURN_IF_ERROR(opc_operator_findings_merge(&making->findings, making->error));
  for (size_t i = 0; i < making->findings.count; i++) {
    opc_problem_t *problem = &making->findings.problems[i];
    OPC_RETURN_IF_ERROR(name_alone(making->problems, problem, making->error));
    OPC_RETURN_IF_ERROR(problems_take(making, problem));
  }
  return OPC_OK;
}

static opc_status_t take_operator(making_t *making, size_t index) {
  const opc_journal_operator_t *op = opc_journal_reader_operator(making->problems->journal, index);
  if (op->counts.fail + op->counts.error + op->counts.warnings == 0) return OPC_OK;
  making->findings = (opc_operator_findings_t){
      .names = making->problems->names, .library = op->library, .operator_index = (uint32_t)index};
  const opc_status_t status = take_findings(making, index);
  opc_operator_findings_clear(&making->findings);
  return status;
}

/* ---- order and names ---- */

/* Memory that is not the operator's and a process that ends come first, however many operators have another problem. */
static int harm(const opc_problem_t *problem) {
  const int rank = problem->symptoms[0].rank;
  return rank < OPC_RANK_HARMFUL ? rank : OPC_RANK_HARMFUL;
}

static int by_weight(const void *left, const void *right) {
  const opc_problem_t *a = left, *b = right;
  int mine = opc_provenance_order_source(a->provenance), theirs = opc_provenance_order_source(b->provenance);
  if (a->warning != b->warning) return a->warning ? 1 : -1;
  if (mine != theirs) return mine < theirs ? -1 : 1;
  /* The ranks of these two kinds are not comparable. */
  if (a->unchecked == b->unchecked && harm(a) != harm(b)) return harm(a) < harm(b) ? -1 : 1;
  if (a->operator_count != b->operator_count) return a->operator_count > b->operator_count ? -1 : 1;
  if (a->unchecked != b->unchecked) return a->unchecked ? -1 : 1;
  if (a->symptoms[0].rank != b->symptoms[0].rank) return a->symptoms[0].rank < b->symptoms[0].rank ? -1 : 1;
  /* Not by the places in the journal, which are others in each run: the first of two may get the shorter id. */
  if (a->operators[0].index != b->operators[0].index) return a->operators[0].index < b->operators[0].index ? -1 : 1;
  if (a->change != b->change) return a->change < b->change ? -1 : 1;
  if (a->symptoms[0].rule != b->symptoms[0].rule) return a->symptoms[0].rule < b->symptoms[0].rule ? -1 : 1;
  if (a->symptoms[0].best.offset == b->symptoms[0].best.offset) return 0;
  return a->symptoms[0].best.offset < b->symptoms[0].best.offset ? -1 : 1;
}

static bool is_taken(const opc_problems_t *problems, size_t index) {
  for (size_t i = 0; i < problems->count; i++)
    if (i != index && strcmp(problems->items[i].id, problems->items[index].shared) == 0) return true;
  return false;
}

/* Two lines of one function: the second problem is named by its first operator. */
static void name_problem(const opc_problems_t *problems, size_t index) {
  opc_problem_t *problem = &problems->items[index];
  const bool shares = problem->operator_count > 1 && *problem->shared && !is_taken(problems, index);
  memcpy(problem->id, shares ? problem->shared : problem->operators[0].id, sizeof problem->id);
}

/* What a baseline has keeps the id that it had before there was more of it. */
static void name_problems(const opc_problems_t *problems) {
  for (size_t i = 0; i < problems->count; i++)
    if (problems->items[i].listed) name_problem(problems, i);
  for (size_t i = 0; i < problems->count; i++)
    if (!problems->items[i].listed) name_problem(problems, i);
}

opc_status_t opc_problems_make(opc_journal_reader_t *journal, opc_problems_t *out, opc_error_t *error) {
  *out = (opc_problems_t){.journal = journal, .names = json_object()};
  making_t making = {.problems = out, .error = error};
  if (!out->names) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_problems_read_known(out, error));
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++)
    OPC_RETURN_IF_ERROR(take_operator(&making, i));
  if (out->count > 0) qsort(out->items, out->count, sizeof *out->items, by_weight);
  name_problems(out);
  return opc_problems_take_known(out, error);
}

void opc_problems_clear(opc_problems_t *problems) {
  for (size_t i = 0; i < problems->count; i++) opc_problem_clear(&problems->items[i]);
  free(problems->items);
  json_decref(problems->names);
  json_decref(problems->known);
  free(problems->by_operator);
  free(problems->ends);
  *problems = (opc_problems_t){0};
}
