#include "reports/problems/problems.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

void opc_problem_id_set(opc_problem_t *problem, const char *library, const char *operator_name, const char *function) {
  opc_text_t text = {0};
  const char *name = library ? opc_base_name(library) : "", *end = strstr(name, ".so");
  opc_text_add_bytes(&text, name, end && end > name ? (size_t)(end - name) : strlen(name));
  opc_text_addf(&text, "\n%s\n", opc_rule_name(opc_problem_rule(problem)));
  if (*function) {
    opc_text_addf(&text, "function\n%s", function);
  } else {
    bool one = problem->unchecked && problem->argument_count == 1; /* the others occur once per kind */
    opc_text_addf(&text, "operator\n%s\n%s\n%s", operator_name, one ? problem->arguments[0] : "",
                  problem->unchecked ? "unchecked" : opc_change_kind_name(problem->change));
  }
  snprintf(problem->id, sizeof problem->id, "%016" PRIx64, (uint64_t)XXH3_64bits(opc_text_c(&text), text.length));
  opc_text_clear(&text);
}
