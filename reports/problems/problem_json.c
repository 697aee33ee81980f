#include "reports/problems/problems.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/json/json_write.h"
#include "reports/problems/problem_merge.h"

static void add_arguments(opc_text_t *out, const opc_problem_t *problem) {
  for (size_t i = 0; i < problem->argument_count; i++)
    opc_text_addf(out, "%s`%s`", i ? ", " : "", problem->arguments[i]);
}

static bool only_aborts(const opc_problem_t *problem) {
  bool only = problem->seen[OPC_SEEN_ABORT] > 0;
  for (size_t i = 0; i < OPC_SEEN_COUNT; i++) only = only && (i == OPC_SEEN_ABORT || problem->seen[i] == 0);
  return only;
}

/* "does not check `offsets`: reads out of bounds (6 inputs), crashes (2), never returns (1)". An operator that ends the
 * process may still have checked its argument. */
static void problem_json_add_unchecked(opc_text_t *out, const opc_problem_t *problem) {
  static const char *const words[OPC_SEEN_COUNT] = {"writes out of bounds",
                                                    "reads out of bounds",
                                                    "crashes",
                                                    "ends the process",
                                                    "never returns",
                                                    "allocates without limit",
                                                    "converts numbers that do not fit"};
  bool first = true;
  opc_text_add(out, only_aborts(problem) ? "does not refuse " : "does not check ");
  if (problem->argument_count) add_arguments(out, problem);
  else opc_text_add(out, "its arguments");
  for (size_t i = 0; i < OPC_SEEN_COUNT; i++) {
    if (problem->seen[i] == 0) continue;
    opc_text_addf(out, "%s%s (%" PRIu64 "%s)", first ? ": " : ", ", words[i], problem->seen[i],
                  !first                  ? ""
                  : problem->seen[i] == 1 ? " input"
                                          : " inputs");
    first = false;
  }
}

/* Of the case that is shown. */
static const char *layout_words(const opc_case_id_t *id) {
  if (opc_variant_family(id->variant) != OPC_VARIANT_BITS) return "depends on the layout of ";
  return strstr(id->variant, ".conj") ? "ignores the conjugate bit of " : "ignores the negative bit of ";
}

/* In front, where no report cuts it off. */
static void add_expired(opc_text_t *out, const json_t *known) {
  const char *date = opc_record_text(known, "expired");
  if (*date)
    opc_text_addf(
        out, "line %" JSON_INTEGER_FORMAT " of %s expired on %s: ", json_integer_value(json_object_get(known, "line")),
        opc_base_name(opc_record_text(known, "file")), date);
}

static char *message_of(const opc_problem_t *problem, const opc_case_result_t *result, const json_t *known) {
  opc_text_t text = {0};
  const char *own = result->message;
  add_expired(&text, known);
  if (problem->unchecked) {
    problem_json_add_unchecked(&text, problem);
    if (*own) opc_text_add(&text, "; the worst: ");
  } else if (problem->change == OPC_CHANGE_LAYOUT) {
    opc_text_add(&text, layout_words(&result->id));
    if (problem->argument_count) add_arguments(&text, problem);
    else opc_text_add(&text, "its arguments");
    if (*own) opc_text_add(&text, ": ");
  }
  opc_text_add(&text, own);
  return opc_text_take(&text);
}

static bool append(json_t *list, json_t *item) { return json_array_append_new(list, item) == 0; }

/* Puts the problem's main case first, then the simplest ones. */
static opc_status_t add_cases(const opc_problems_t *problems, const opc_problem_t *problem, json_t *cases,
                              const opc_case_result_t *result, opc_error_t *error) {
  uint64_t shown = problem->symptoms[0].best.offset;
  bool kept = append(cases, json_string(result->case_id));
  for (size_t i = 0; i < problem->case_count && kept && json_array_size(cases) < OPC_PROBLEM_CASES; i++) {
    OPC_SCOPED(opc_scope_case_result) opc_case_result_t *other = NULL;
    if (problem->cases[i].offset == shown) continue;
    OPC_RETURN_IF_ERROR(opc_journal_reader_result(problems->journal, problem->cases[i].offset, &other, error));
    kept = append(cases, json_string(other->case_id));
  }
  return kept ? OPC_OK : opc_out_of_memory(error);
}

/* The operator of the problem's main case comes first. */
static bool add_operators(const opc_problems_t *problems, const opc_problem_t *problem, json_t *names,
                          const char *first) {
  bool kept = append(names, json_string(first));
  for (size_t i = 0; i < problem->operator_count && kept; i++) {
    const char *name = opc_journal_reader_operator(problems->journal, problem->operators[i].index)->name;
    if (strcmp(name, first) != 0) kept = append(names, json_string(name));
  }
  return kept;
}

static const char *problem_json_library_of(const opc_problems_t *problems, const opc_problem_t *problem) {
  return opc_journal_reader_operator(problems->journal, problem->operators[0].index)->library;
}

static json_t *known_json(const json_t *known) {
  static const char *const copied[] = {"by", "file", "line", "reason"};
  json_t *json = known ? json_object() : NULL;
  for (size_t i = 0; json && i < sizeof copied / sizeof *copied; i++)
    if (json_object_get(known, copied[i])) json_object_set(json, copied[i], json_object_get(known, copied[i]));
  return json;
}

static json_t *whole(const opc_problem_t *problem, json_t *operators, json_t *cases, const opc_case_result_t *result,
                     const opc_code_place_t *place, const json_t *line) {
  char provenance[32], *message = message_of(problem, result, line);
  json_t *symptoms = json_array(), *arguments = json_array();
  bool kept = symptoms && arguments && message;
  for (size_t i = 0; i < problem->symptom_count && kept; i++)
    kept = append(symptoms, json_string(opc_rule_name(problem->symptoms[i].rule)));
  for (size_t i = 0; i < problem->argument_count && kept; i++)
    kept = append(arguments, json_string(problem->arguments[i]));
  json_t *json = json_pack(
      "{s:s, s:O, s:s?, s:s, s:o, s:s, s:s?, s:o, s:o*, s:o*, s:s, s:O, s:I, s:s?, s:s, s:o, s:o*}", "id", problem->id,
      "operators", operators, "argument", problem->argument_count == 1 ? problem->arguments[0] : NULL, "rule",
      opc_rule_name(opc_problem_rule(problem)), "symptoms", symptoms, "severity",
      problem->warning ? "warning" : "error", "standing", opc_provenance_order_name(problem->provenance, provenance),
      "location", *place->text ? opc_json_string(place->text) : json_null(), "file",
      *place->file ? opc_json_string(place->file) : NULL, "line", *place->file ? json_integer(place->line) : NULL,
      "message", message ? message : "", "cases", cases, "count", (json_int_t)problem->count, "repro", result->repro,
      "change", opc_change_kind_name(problem->change), "arguments", arguments, "known", known_json(problem->known));
  if (!kept) {
    json_decref(json);
    json = NULL;
  }
  free(message);
  return json;
}

opc_status_t opc_problem_to_json(const opc_problems_t *problems, const opc_problem_t *problem, json_t **out,
                                 opc_case_result_t **out_result, opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  json_auto_t *cases = json_array(), *operators = json_array();
  opc_code_place_t place;
  *out = NULL;
  if (out_result) *out_result = NULL;
  if (!cases || !operators) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_journal_reader_result(problems->journal, problem->symptoms[0].best.offset, &result, error));
  OPC_RETURN_IF_ERROR(add_cases(problems, problem, cases, result, error));
  if (!add_operators(problems, problem, operators, result->id.operator_name)) return opc_out_of_memory(error);
  opc_code_place_of(result, problem_json_library_of(problems, problem), &place);
  *out = whole(problem, operators, cases, result, &place, json_object_get(problems->known, problem->id));
  if (!*out) return opc_out_of_memory(error);
  if (!out_result) return OPC_OK;
  *out_result = result;
  result = NULL;
  return OPC_OK;
}
