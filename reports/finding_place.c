#include <string.h>

#include "reports/terminal.h"

/* What a check looks at where it is no kernel of the case's device. Schema and tags belong to the operator itself. */
static const struct {
  const char *check, *key, *text;
} checked[] = {{"meta", "Meta", "Meta kernel"},
               {"symbolic", "Meta", "Meta kernel"},
               {"fake", "Meta", "fake kernel"},
               {"autograd", "Autograd", "derivative"},
               {"vmap", "FuncTorchBatched", "rule for torch.vmap"},
               {"autocast", "AutocastCPU", "autocast kernel"},
               {"registration", NULL, NULL},
               {"tags", NULL, NULL}};
static const struct {
  const char *device, *key, *text;
} devices[] = {{"cpu", "CPU", "CPU kernel"}, {"cuda", "CUDA", "CUDA kernel"}, {"cuda-sim", "CUDA", "CUDA kernel"}};

/* False: a finding about the operator itself. */
static bool find_key(const opc_case_id_t *id, const char **key, const char **text) {
  for (size_t i = 0; i < sizeof checked / sizeof *checked; i++) {
    *key = checked[i].key, *text = checked[i].text;
    if (strcmp(checked[i].check, id->check) == 0) return *key;
  }
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
    *key = devices[i].key, *text = devices[i].text;
    if (strcmp(devices[i].device, id->device) == 0) return true;
  }
  return false;
}

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

void opc_finding_place(const json_t *finding, const opc_case_id_t *id, const json_t *op, opc_text_t *out) {
  const char *location = opc_record_text(finding, "location"), *registered = opc_record_text(op, "registered_at");
  const char *library = opc_record_text(op, "library"), *key, *text;
  if (*location) {
    opc_text_add(out, location);
    if (*library && !strstr(location, opc_base_name(library))) opc_text_addf(out, " in %s", opc_base_name(library));
    return;
  }
  const json_t *kernel = find_key(id, &key, &text) ? find_kernel(op, key) : NULL;
  if (kernel && strcmp(opc_record_text(kernel, "registered_at"), registered) != 0) {
    const char *other = opc_record_text(kernel, "library");
    OPC_SCOPED(opc_text_clear) opc_text_t before = {0};
    opc_text_addf(&before, "%s ", text);
    add_registered(opc_text_c(&before), opc_record_text(kernel, "registered_at"), *other ? other : library, out);
  } else if (*registered) add_registered("", registered, library, out);
}
