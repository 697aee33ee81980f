#include "reports/problems/problem_merge.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

size_t opc_library_stem(const char *name) {
  const char *end = strstr(name, ".so");
  while (end && end[3] != '\0' && end[3] != '.') end = strstr(end + 1, ".so");
  return end && end > name ? (size_t)(end - name) : strlen(name);
}

/* "libops" of "libops.so.1", "_C" of "_C.cpython-311-x86_64-linux-gnu.so": another Python finds no other problem. */
static void add_stem(opc_text_t *out, const char *library) {
  static const char *const tags[] = {".cpython-", ".abi3"};
  const char *name = library ? opc_base_name(library) : "", *end = name + opc_library_stem(name);
  for (size_t i = 0; *end && i < sizeof tags / sizeof *tags; i++) {
    const char *tag = strstr(name, tags[i]);
    if (tag && tag > name && tag < end) end = tag;
  }
  opc_text_add_bytes(out, name, (size_t)(end - name));
}

void opc_problem_id(const opc_problem_t *problem, const char *library, const char *operator_name, const char *function,
                    char out[17]) {
  opc_text_t text = {0};
  add_stem(&text, library);
  opc_text_addf(&text, "\n%s\n", opc_rule_kind(opc_problem_rule(problem)));
  if (*function) {
    opc_text_addf(&text, "function\n%s", function);
  } else {
    bool one = problem->unchecked && problem->argument_count == 1; /* the others occur once per kind */
    opc_text_addf(&text, "operator\n%s\n%s\n%s", operator_name, one ? problem->arguments[0] : "",
                  problem->unchecked ? "unchecked" : opc_change_kind_name(problem->change));
  }
  snprintf(out, sizeof((opc_problem_t *)0)->id, "%016" PRIx64, (uint64_t)XXH3_64bits(opc_text_c(&text), text.length));
  opc_text_clear(&text);
}
