#include <string.h>

#include "catalogue/case_kernel.h"
#include "reports/problems/problem_merge.h"
#include "reports/text/finding_text.h"

static void add_registered(const char *text, const char *place, const char *library, opc_text_t *out) {
  if (strncmp(place, "registered ", 11) == 0) opc_text_addf(out, "%s%s", text, place); /* torch::RegisterOperators */
  else opc_text_addf(out, "%sregistered at %s", text, opc_base_name(place));
  if (*library && !strstr(place, ".py:")) opc_text_addf(out, " in %s", opc_base_name(library));
}

static const json_t *find_kernel(const json_t *op, const char *key) {
  const json_t *kernel;
  size_t i;
  json_array_foreach(json_object_get(op, "kernels"), i, kernel) {
    if (strcmp(opc_record_text(kernel, "key"), key) == 0 && *opc_record_text(kernel, "registered_at")) return kernel;
  }
  return NULL;
}

/* "sum (ops.cpp:12) in libops.so", "Meta kernel shape_of (ops.cpp:12)" */
static void add_code(const opc_case_result_t *result, const opc_code_place_t *place, const char *library,
                     opc_text_t *out) {
  const opc_case_kernel_t *kernel = place->key == 0 ? opc_case_kernel_of(&result->id) : NULL;
  const char *key = opc_record_text(json_object_get(result->evidence, "kernel"), "key");
  if (kernel) opc_text_addf(out, "%s ", strcmp(key, kernel->keys[0]) == 0 ? kernel->text : "kernel");
  opc_text_add(out, place->text);
  if (*library && !(kernel && *place->file) && !strstr(place->text, opc_base_name(library)))
    opc_text_addf(out, " in %s", opc_base_name(library));
}

const char *opc_finding_registration(const opc_case_result_t *result, const json_t *op) {
  const opc_case_kernel_t *wanted = opc_case_kernel_of(&result->id);
  const json_t *kernel = wanted ? find_kernel(op, wanted->keys[0]) : NULL;
  return opc_record_text(kernel ? kernel : op, "registered_at");
}

void opc_finding_place(const opc_case_result_t *result, const json_t *op, opc_text_t *out) {
  opc_code_place_t place;
  const char *registered = opc_record_text(op, "registered_at"), *library = opc_record_text(op, "library");
  if (opc_code_place_of(result, library, &place) && *place.text) {
    add_code(result, &place, library, out);
    return;
  }
  const opc_case_kernel_t *wanted = opc_case_kernel_of(&result->id);
  const json_t *kernel = wanted ? find_kernel(op, wanted->keys[0]) : NULL;
  if (kernel && strcmp(opc_record_text(kernel, "registered_at"), registered) != 0) {
    const char *other = opc_record_text(kernel, "library");
    OPC_SCOPED(opc_text_clear) opc_text_t before = {0};
    opc_text_addf(&before, "%s ", wanted->text);
    add_registered(opc_text_c(&before), opc_record_text(kernel, "registered_at"), *other ? other : library, out);
  } else if (*registered) add_registered("", registered, library, out);
}
