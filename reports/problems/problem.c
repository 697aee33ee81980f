#include "reports/problems/problems.h"

#include <stdlib.h>
#include <string.h>

static const char *const change_names[OPC_CHANGE_COUNT] = {"none",   "layout", "empty",       "sizes",
                                                           "values", "dtype",  "same_tensor", "method"};
enum { CHANGES = OPC_INPUT_CHANGE_COUNT, LAST_BIT = 63 };

const char *opc_change_kind_name(opc_change_kind_t change) { return change_names[change]; }

opc_provenance_order_t opc_provenance_order(const opc_provenance_t *provenance) {
  if (provenance->source == OPC_SOURCE_NONE) return 0;
  return 1 + CHANGES * ((int)provenance->source - OPC_SOURCE_DECLARED) + (int)provenance->change;
}

const char *opc_provenance_order_name(opc_provenance_order_t order, char out[OPC_PROVENANCE_SIZE]) {
  if (order == 0) return NULL;
  const opc_provenance_t provenance = {.source = (opc_source_t)(OPC_SOURCE_DECLARED + (order - 1) / CHANGES),
                                       .change = (opc_input_change_t)((order - 1) % CHANGES)};
  opc_provenance_format(&provenance, out);
  return out;
}

int opc_provenance_order_source(opc_provenance_order_t provenance) {
  return provenance == 0 ? 0 : (provenance - 1) / CHANGES;
}

uint64_t opc_problem_check_bit(const char *check) {
  int index = opc_check_info_find(check);
  return UINT64_C(1) << (index < 0 || index > LAST_BIT ? LAST_BIT : index);
}

opc_rule_id_t opc_problem_rule(const opc_problem_t *problem) {
  return problem->unchecked ? OPC_RULE_memory_unchecked_arguments : problem->symptoms[0].rule;
}

/* Only searched, and no argument was changed against the others. */
static bool is_of_searched_input(opc_provenance_order_t order) {
  const opc_provenance_t same = {.source = OPC_SOURCE_SEARCHED, .change = OPC_INPUT_SAME_VALUES},
                         related = {.source = OPC_SOURCE_SEARCHED, .change = OPC_INPUT_RELATED};
  return order == opc_provenance_order(&same) || order == opc_provenance_order(&related);
}

bool opc_problem_lacks_sample(const opc_problem_t *problem) {
  const opc_rule_t *rule = &opc_rules[opc_problem_rule(problem)];
  if (!problem->warning || rule->severity != OPC_SEVERITY_ERROR) return false;
  /* In a dtype that no sample has, it would be a warning with a sample, too. */
  const bool other_dtype = problem->change == OPC_CHANGE_DTYPE && (rule->claims & OPC_CLAIM_ASKED_DTYPE);
  return is_of_searched_input(problem->provenance) && !other_dtype;
}

/* The order for readers: an input that somebody vouches for comes first, then the simplest case. */
static bool is_better(const opc_problem_case_t *one, const opc_problem_case_t *other) {
  int mine = opc_provenance_order_source(one->provenance), theirs = opc_provenance_order_source(other->provenance);
  return mine != theirs ? mine < theirs : one->complexity < other->complexity;
}

void opc_problem_add_case(opc_problem_t *problem, const opc_problem_case_t *one) {
  size_t at = problem->case_count;
  while (at > 0 && one->complexity < problem->cases[at - 1].complexity) at--;
  if (at == OPC_PROBLEM_CASES) return;
  if (problem->case_count < OPC_PROBLEM_CASES) problem->case_count++;
  memmove(problem->cases + at + 1, problem->cases + at, (problem->case_count - at - 1) * sizeof *problem->cases);
  problem->cases[at] = *one;
}

void opc_problem_add_place(opc_problem_t *problem, uint64_t place) {
  for (size_t i = 0; i < problem->place_count; i++)
    if (problem->places[i] == place) return;
  if (place != 0 && problem->place_count < OPC_PROBLEM_PLACES) problem->places[problem->place_count++] = place;
}

void opc_problem_add_argument(opc_problem_t *problem, const char *argument) {
  for (size_t i = 0; i < problem->argument_count; i++)
    if (strcmp(problem->arguments[i], argument) == 0) return;
  if (problem->argument_count < OPC_PROBLEM_ARGUMENTS) problem->arguments[problem->argument_count++] = argument;
}

static bool is_stronger(const opc_symptom_t *one, const opc_symptom_t *other) {
  if (one->warning != other->warning) return !one->warning;
  if (one->rank != other->rank) return one->rank < other->rank;
  /* Not what comes first in the journal: this rule names the problem, in every run. */
  const int mine = one->best.complexity, theirs = other->best.complexity;
  return mine != theirs ? mine < theirs : one->rule < other->rule;
}

opc_status_t opc_problem_add_symptom(opc_problem_t *problem, const opc_symptom_t *symptom, opc_error_t *error) {
  size_t known = 0;
  opc_symptom_t joined = *symptom;
  while (known < problem->symptom_count && problem->symptoms[known].rule != symptom->rule) known++;
  if (known < problem->symptom_count) {
    const opc_symptom_t *old = &problem->symptoms[known];
    bool stronger = is_stronger(symptom, old);
    if (!stronger && (is_stronger(old, symptom) || !is_better(&symptom->best, &old->best))) joined = *old;
  } else {
    opc_symptom_t *grown = realloc(problem->symptoms, (known + 1) * sizeof *grown);
    if (!grown) return opc_out_of_memory(error);
    problem->symptoms = grown;
    problem->symptom_count++;
  }
  for (; known > 0 && is_stronger(&joined, &problem->symptoms[known - 1]); known--)
    problem->symptoms[known] = problem->symptoms[known - 1];
  problem->symptoms[known] = joined;
  return OPC_OK;
}

bool opc_problem_has_rule(const opc_problem_t *problem, opc_rule_id_t rule) {
  for (size_t i = 0; i < problem->symptom_count; i++)
    if (problem->symptoms[i].rule == rule) return true;
  return false;
}

bool opc_problem_shares_place(const opc_problem_t *left, const opc_problem_t *right) {
  for (size_t i = 0; i < left->place_count; i++)
    for (size_t k = 0; k < right->place_count; k++)
      if (left->places[i] == right->places[k]) return true;
  return false;
}

static opc_status_t add_operator(opc_problem_t *problem, const opc_problem_operator_t *op, opc_error_t *error) {
  for (size_t i = 0; i < problem->operator_count; i++) {
    if (problem->operators[i].index != op->index) continue;
    problem->operators[i].error_checks |= op->error_checks;
    problem->operators[i].warning_checks |= op->warning_checks;
    return OPC_OK;
  }
  opc_problem_operator_t *grown = realloc(problem->operators, (problem->operator_count + 1) * sizeof *grown);
  if (!grown) return opc_out_of_memory(error);
  problem->operators = grown;
  grown[problem->operator_count++] = *op;
  return OPC_OK;
}

static opc_provenance_order_t stronger_provenance(const opc_problem_t *one, const opc_problem_t *other) {
  if (one->warning != other->warning) return one->warning ? other->provenance : one->provenance;
  if (one->provenance == 0 || other->provenance == 0) return one->provenance ? one->provenance : other->provenance;
  return one->provenance < other->provenance ? one->provenance : other->provenance;
}

static opc_status_t problem_add_parts(opc_problem_t *problem, const opc_problem_t *from, opc_error_t *error) {
  for (size_t i = 0; i < from->part_count; i++) {
    if (!OPC_ARRAY_GROW(problem->parts, problem->part_count)) return opc_out_of_memory(error);
    problem->parts[problem->part_count++] = from->parts[i];
  }
  return OPC_OK;
}

opc_status_t opc_problem_absorb(opc_problem_t *into, opc_problem_t *from, opc_error_t *error) {
  OPC_SCOPED(opc_problem_clear) opc_problem_t taken = {0};
  into->provenance = stronger_provenance(into, from);
  into->warning = into->warning && from->warning;
  into->unchecked = into->unchecked && from->unchecked;
  into->off_gpu = into->off_gpu || from->off_gpu;
  into->count += from->count;
  OPC_MOVE(&taken, *from);
  for (size_t i = 0; i < OPC_SEEN_COUNT; i++) into->seen[i] += taken.seen[i];
  for (size_t i = 0; i < taken.argument_count; i++) opc_problem_add_argument(into, taken.arguments[i]);
  for (size_t i = 0; i < taken.case_count; i++) opc_problem_add_case(into, &taken.cases[i]);
  for (size_t i = 0; i < taken.place_count; i++) opc_problem_add_place(into, taken.places[i]);
  for (size_t i = 0; i < taken.symptom_count; i++)
    OPC_RETURN_IF_ERROR(opc_problem_add_symptom(into, &taken.symptoms[i], error));
  for (size_t i = 0; i < taken.operator_count; i++) OPC_RETURN_IF_ERROR(add_operator(into, &taken.operators[i], error));
  return problem_add_parts(into, &taken, error);
}

void opc_problem_clear(opc_problem_t *problem) {
  free(problem->symptoms);
  free(problem->operators);
  free(problem->parts);
  *problem = (opc_problem_t){0};
}
