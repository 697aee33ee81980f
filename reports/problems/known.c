/* Problems that a baseline or an xfail file lists. */
#include <stdlib.h>
#include <string.h>

#include "reports/problems/problem_merge.h"

enum { LAST_CHECK = 63 };

static bool is_expired(const json_t *known) { return *opc_record_text(known, "expired"); }

/* The first record of a problem, or the first one that has not expired. */
static bool keep_known(const json_t *record, void *context) {
  json_t *known = context;
  const char *id = opc_record_text(record, "problem");
  const json_t *earlier = json_object_get(known, id);
  if (earlier && (!is_expired(earlier) || is_expired(record))) return true;
  return json_object_set(known, id, (json_t *)record) == 0;
}

/* The line with this id, unless it has expired or is of the other kind of file. */
static const json_t *line_with(const opc_problems_t *problems, const char *id, bool baseline) {
  const json_t *known = json_object_get(problems->known, id);
  const bool of_baseline = strcmp(opc_record_text(known, "by"), "baseline") == 0;
  return of_baseline != baseline || is_expired(known) ? NULL : known;
}

bool opc_problem_is_listed(const opc_problems_t *problems, const opc_problem_t *problem) {
  if (problem->in_code && line_with(problems, problem->shared, true)) return true;
  for (size_t i = 0; i < problem->operator_count; i++)
    if (!line_with(problems, problem->operators[i].id, true)) return false;
  return true;
}

static const json_t *excuse_of(const opc_problems_t *problems, const opc_problem_t *problem) {
  const json_t *known = line_with(problems, problem->id, false);
  if (!known) known = line_with(problems, problem->shared, false);
  if (known || !opc_problem_is_listed(problems, problem)) return known;
  known = problem->in_code ? line_with(problems, problem->shared, true) : NULL;
  return known ? known : line_with(problems, problem->operators[0].id, true);
}

/* Keeps the order of both kinds. */
static opc_status_t put_known_last(opc_problems_t *problems, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) opc_problem_t *last = calloc(problems->count + 1, sizeof *last);
  size_t count = 0, fresh = 0;
  if (!last) return opc_out_of_memory(error);
  for (size_t i = 0; i < problems->count; i++) {
    problems->items[i].known = excuse_of(problems, &problems->items[i]);
    if (problems->items[i].known) last[count++] = problems->items[i];
    else problems->items[fresh++] = problems->items[i];
  }
  if (count > 0) memcpy(problems->items + fresh, last, count * sizeof *last);
  problems->fresh = fresh;
  return OPC_OK;
}

static opc_status_t count_fresh(opc_problems_t *problems, opc_error_t *error) {
  const size_t total = opc_journal_reader_operator_count(problems->journal);
  OPC_SCOPED(opc_scope_free) bool *has = calloc(total ? total : 1, sizeof *has);
  if (!has) return opc_out_of_memory(error);
  problems->errors = problems->operators = 0;
  for (size_t i = 0; i < problems->fresh; i++) {
    const opc_problem_t *problem = &problems->items[i];
    problems->errors += !problem->warning;
    for (size_t k = 0; k < problem->operator_count; k++) has[problem->operators[k].index] = true;
  }
  for (size_t i = 0; i < total; i++) problems->operators += has[i];
  return OPC_OK;
}

/* ---- the problems of each operator ---- */

static opc_status_t index_operators(opc_problems_t *problems, opc_error_t *error) {
  const size_t total = opc_journal_reader_operator_count(problems->journal);
  OPC_SCOPED(opc_scope_free) size_t *ends = calloc(total + 1, sizeof *ends);
  opc_problem_of_t *list;
  if (!ends) return opc_out_of_memory(error);
  for (size_t i = 0; i < problems->count; i++)
    for (size_t k = 0; k < problems->items[i].operator_count; k++) ends[problems->items[i].operators[k].index + 1]++;
  for (size_t i = 0; i < total; i++) ends[i + 1] += ends[i];
  list = calloc(ends[total] + 1, sizeof *list);
  if (!list) return opc_out_of_memory(error);
  free(problems->by_operator);
  problems->by_operator = list;
  /* ends[i] is where operator i begins, and moves to its end. */
  for (size_t i = 0; i < problems->count; i++)
    for (size_t k = 0; k < problems->items[i].operator_count; k++) {
      const opc_problem_operator_t *op = &problems->items[i].operators[k];
      list[ends[op->index]++] = (opc_problem_of_t){&problems->items[i], op};
    }
  free(problems->ends);
  OPC_MOVE(&problems->ends, ends);
  return OPC_OK;
}

size_t opc_problems_of(const opc_problems_t *problems, size_t operator_index, const opc_problem_of_t **out) {
  const size_t first = operator_index > 0 ? problems->ends[operator_index - 1] : 0;
  *out = problems->by_operator + first;
  return problems->ends[operator_index] - first;
}

opc_status_t opc_problems_read_known(opc_problems_t *problems, opc_error_t *error) {
  if (!problems->known && !(problems->known = json_object())) return opc_out_of_memory(error);
  return opc_journal_reader_each(problems->journal, "known", keep_known, problems->known, error);
}

opc_status_t opc_problems_take_known(opc_problems_t *problems, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(put_known_last(problems, error));
  OPC_RETURN_IF_ERROR(index_operators(problems, error));
  return count_fresh(problems, error);
}

void opc_known_say(const json_t *known, opc_text_t *out) {
  if (strcmp(opc_record_text(known, "by"), "baseline") == 0)
    opc_text_addf(out, "known: in the baseline %s", opc_base_name(opc_record_text(known, "file")));
  else opc_text_addf(out, "known: %s", opc_record_text(known, "reason"));
}

/* ---- lines without a problem ---- */

static const opc_journal_operator_t *operator_named(const opc_problems_t *problems, const char *name) {
  for (size_t i = 0; i < opc_journal_reader_operator_count(problems->journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(problems->journal, i);
    if (strcmp(op->name, name) == 0) return op;
  }
  return NULL;
}

/* The check of a rule that only one check has, or else any. */
static bool rule_was_checked(const opc_journal_operator_t *op, const char *rule) {
  char check[64];
  snprintf(check, sizeof check, "%.*s", (int)strcspn(rule, "."), rule);
  const int index = strchr(rule, '.') ? opc_check_info_find(check) : -1;
  if (index < 0 || strcmp(rule, opc_rule_name(OPC_RULE_memory_unchecked_arguments)) == 0)
    return opc_operator_is_checked(op);
  return (op->checks >> (index < LAST_CHECK ? index : LAST_CHECK)) & 1U;
}

/* Of an unknown operator and rule: everything was tried that could show the problem. */
static bool all_were_checked(const opc_problems_t *problems) {
  for (size_t i = 0; i < opc_journal_reader_operator_count(problems->journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(problems->journal, i);
    const bool cut = op->skips[OPC_SKIP_BUDGET] || op->skips[OPC_SKIP_AFTER_CRASH] || op->skips[OPC_SKIP_NO_DEVICE];
    if (opc_operator_is_counted(op) && (cut || !opc_operator_is_checked(op))) return false;
  }
  return true;
}

static bool is_line_of(const opc_problem_t *problem, const char *id) {
  if (strcmp(problem->id, id) == 0 || strcmp(problem->shared, id) == 0) return true;
  for (size_t i = 0; i < problem->operator_count; i++)
    if (strcmp(problem->operators[i].id, id) == 0) return true;
  return false;
}

static bool is_found(const opc_problems_t *problems, const char *id) {
  for (size_t i = 0; i < problems->count; i++)
    if (is_line_of(&problems->items[i], id)) return true;
  return false;
}

/* An xfail line names no operator: its problem would have been found in a whole run that checked every operator. */
opc_known_state_t opc_known_state(const opc_problems_t *problems, const json_t *known) {
  opc_journal_summary_t summary;
  const char *name = opc_record_text(known, "operator");
  opc_journal_reader_summary(problems->journal, &summary);
  if (is_found(problems, opc_record_text(known, "problem"))) return OPC_KNOWN_FOUND;
  if (!summary.complete || summary.libraries_failed > 0 || !json_is_true(json_object_get(known, "whole")))
    return OPC_KNOWN_UNCHECKED;
  if (!*name) return all_were_checked(problems) ? OPC_KNOWN_FIXED : OPC_KNOWN_UNCHECKED;
  const opc_journal_operator_t *op = operator_named(problems, name);
  if (!op) return OPC_KNOWN_REMOVED;
  return rule_was_checked(op, opc_record_text(known, "rule")) ? OPC_KNOWN_FIXED : OPC_KNOWN_UNCHECKED;
}

const char *opc_known_state_name(opc_known_state_t state) {
  static const char *const names[] = {"found", "fixed", "removed", "unchecked"};
  return names[state];
}

size_t opc_known_stale(const opc_problems_t *problems) {
  size_t count = 0;
  const char *id;
  json_t *known;
  json_object_foreach(problems->known, id, known) {
    const opc_known_state_t state = opc_known_state(problems, known);
    count += state == OPC_KNOWN_FIXED || state == OPC_KNOWN_REMOVED;
  }
  return count;
}

int opc_known_exit_code(const opc_problems_t *problems, int code, bool strict, bool updated) {
  enum { GOOD = 0, BROKEN = 1, NOTHING = 5 };
  opc_journal_summary_t summary;
  opc_journal_reader_summary(problems->journal, &summary);
  if (code == BROKEN && problems->errors == 0 && problems->fresh < problems->count && summary.stale_lines == 0)
    code = GOOD;
  if (!strict || (code != GOOD && code != NOTHING)) return code;
  return problems->fresh > 0 || (!updated && opc_known_stale(problems) > 0) ? BROKEN : code;
}

/* ---- a finding's problem ---- */

const opc_problem_t *opc_problems_find(const opc_problems_t *problems, size_t operator_index,
                                       const opc_case_result_t *result) {
  opc_finding_facts_t facts;
  const opc_problem_of_t *own;
  const size_t count = opc_problems_of(problems, operator_index, &own);
  if (!opc_case_result_is_finding(result)) return NULL;
  opc_finding_facts_of(result, opc_journal_reader_operator(problems->journal, operator_index)->library, &facts);
  for (size_t i = 0; i < count; i++) {
    const opc_problem_t *problem = own[i].problem;
    for (size_t k = 0; k < problem->part_count; k++) {
      const opc_problem_part_t *part = &problem->parts[k];
      if (part->operator_index == operator_index && part->rule == facts.rule && part->change == facts.change &&
          part->unchecked == facts.unchecked && part->warning == facts.warning &&
          strcmp(part->argument, facts.argument) == 0)
        return problem;
    }
  }
  return NULL;
}
