#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "reports/problems/problems.h"

static opc_status_t differences_find(opc_run_differences_t *differences, opc_run_difference_kind_t kind,
                                     const char *key, opc_run_difference_t **out, opc_error_t *error) {
  for (size_t i = 0; i < differences->count; i++) {
    *out = &differences->items[i];
    if ((*out)->kind == kind && strcmp((*out)->key, key) == 0) return OPC_OK;
  }
  if (!OPC_ARRAY_GROW(differences->items, differences->count)) return opc_out_of_memory(error);
  *out = &differences->items[differences->count];
  **out = (opc_run_difference_t){.kind = kind};
  OPC_RETURN_IF_ERROR(opc_string_copy_to(key, &(*out)->key, error));
  differences->count++;
  return OPC_OK;
}

static opc_status_t add_problem_of_run(opc_run_differences_t *differences, const opc_problems_t *problems,
                                       const opc_problem_t *problem, uint32_t run, opc_error_t *error) {
  opc_run_difference_t *difference = NULL;
  json_auto_t *shown = NULL;
  OPC_RETURN_IF_ERROR(differences_find(differences, OPC_RUN_DIFFERENCE_PROBLEM, problem->id, &difference, error));
  difference->runs |= 1U << run;
  if (difference->text) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_problem_to_json(problems, problem, &shown, NULL, error));
  const char *operator_name = json_string_value(json_array_get(json_object_get(shown, "operators"), 0));
  difference->text = opc_string_format("%s: %s: %s", operator_name ? operator_name : "?",
                                       opc_record_text(shown, "rule"), opc_record_text(shown, "message"));
  return difference->text ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t add_run(opc_run_differences_t *differences, const opc_problems_t *problems, uint32_t run,
                            opc_error_t *error) {
  opc_journal_reader_t *journal = problems->journal;
  opc_run_difference_t *difference = NULL;
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(journal, i);
    if (op->is_file) continue;
    OPC_RETURN_IF_ERROR(differences_find(differences, OPC_RUN_DIFFERENCE_OPERATOR, op->name, &difference, error));
    difference->runs |= 1U << run;
  }
  for (size_t i = 0; i < problems->count; i++)
    OPC_RETURN_IF_ERROR(add_problem_of_run(differences, problems, &problems->items[i], run, error));
  return OPC_OK;
}

/* What all runs have is no difference. */
static void drop_common(opc_run_differences_t *differences, uint32_t all) {
  size_t kept = 0;
  for (size_t i = 0; i < differences->count; i++) {
    if (differences->items[i].runs != all) {
      differences->items[kept++] = differences->items[i];
      continue;
    }
    free(differences->items[i].key);
    free(differences->items[i].text);
  }
  differences->count = kept;
}

opc_status_t opc_run_differences_make(const opc_problems_t *runs, size_t count, opc_run_differences_t *out,
                                      opc_error_t *error) {
  OPC_SCOPED(opc_run_differences_clear) opc_run_differences_t differences = {0};
  *out = (opc_run_differences_t){0};
  for (uint32_t i = 0; i < count; i++) OPC_RETURN_IF_ERROR(add_run(&differences, &runs[i], i, error));
  drop_common(&differences, (uint32_t)((UINT64_C(1) << count) - 1));
  OPC_MOVE(out, differences);
  return OPC_OK;
}

void opc_run_differences_clear(opc_run_differences_t *differences) {
  for (size_t i = 0; i < differences->count; i++) {
    free(differences->items[i].key);
    free(differences->items[i].text);
  }
  free(differences->items);
  *differences = (opc_run_differences_t){0};
}
