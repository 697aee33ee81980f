#include "reports/text/gaps.h"

#include <inttypes.h>
#include <string.h>

#include "reports/journal/journal_reader.h"

enum { GAPS_MAX = 32, GAP_LENGTH = 96 };

/* Arguments with the same gap share an entry: "`x`, `y` were never empty". */
typedef struct gap {
  char tail[GAP_LENGTH]; /* "was never empty" */
  opc_text_t names;
  size_t count;
} gap_t;

typedef struct gaps {
  gap_t items[GAPS_MAX];
  size_t count;
} gaps_t;

static void gaps_add(gaps_t *gaps, const char *argument, const char *tail) {
  size_t i = 0;
  while (i < gaps->count && strcmp(gaps->items[i].tail, tail) != 0) i++;
  if (i == GAPS_MAX) return;
  if (i == gaps->count) {
    gaps->items[i] = (gap_t){.count = 0};
    opc_string_put(gaps->items[i].tail, sizeof gaps->items[i].tail, tail);
    gaps->count++;
  }
  opc_text_addf(&gaps->items[i].names, "%s`%s`", gaps->items[i].count++ > 0 ? ", " : "", argument);
}

static bool was_accepted(const json_t *values, const char *value) {
  return strcmp(opc_record_text(values, value), "accepted") == 0;
}

/* The only value that was tried, if it was accepted; NULL: none or several were. */
static const char *only_value(const json_t *values) {
  void *first = json_object_iter((json_t *)values);
  const char *value = first ? json_object_iter_key(first) : NULL;
  return json_object_size(values) == 1 && was_accepted(values, value) ? value : NULL;
}

/* The usual dtypes that are refused, where another one of their kind is accepted. */
static void gaps_find_refused_dtypes(gaps_t *gaps, const char *argument, const json_t *dtypes) {
  static const char *const kinds[2][5] = {{"float32", "float64", "float16", "bfloat16"}, {"int64", "int32"}};
  for (size_t kind = 0; kind < 2; kind++) {
    char tail[GAP_LENGTH] = "";
    size_t refused = 0, accepted = 0;
    for (size_t i = 0; kinds[kind][i]; i++) {
      const char *outcome = opc_record_text(dtypes, kinds[kind][i]);
      accepted += strcmp(outcome, "accepted") == 0;
      if (strcmp(outcome, "refused") != 0) continue;
      snprintf(tail + strlen(tail), sizeof tail - strlen(tail), "%s%s", refused++ > 0 ? ", " : "is refused as ",
               kinds[kind][i]);
    }
    if (refused > 0 && accepted > 0) gaps_add(gaps, argument, tail);
  }
}

static void gaps_find_layouts(gaps_t *gaps, const char *argument, const json_t *layouts) {
  static const char *const others[] = {"strided", "expanded"};
  bool tried = false;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (was_accepted(layouts, others[i])) return;
    if (json_object_get(layouts, others[i])) tried = true;
  }
  gaps_add(gaps, argument, tried ? "is refused if not contiguous" : "was contiguous in all calls");
}

/* Tensors without dimensions are a special case, which says nothing about other numbers of dimensions. */
static void gaps_find_dimensions(gaps_t *gaps, const char *argument, const json_t *dimensions) {
  char tail[GAP_LENGTH];
  const char *number, *only = NULL;
  json_t *outcome;
  json_object_foreach((json_t *)dimensions, number, outcome) {
    if (strcmp(number, "0") == 0) continue;
    if (only || !was_accepted(dimensions, number)) return;
    only = number;
  }
  if (!only) return;
  snprintf(tail, sizeof tail, "was tried with %s%.8s dimension%s only",
           json_object_get(dimensions, "0") ? "0 and " : "", only, strcmp(only, "1") == 0 ? "" : "s");
  gaps_add(gaps, argument, tail);
}

static void gaps_find_tensor(gaps_t *gaps, const char *argument, const json_t *properties) {
  char tail[GAP_LENGTH];
  const json_t *elements = json_object_get(properties, "elements");
  const char *dtype = only_value(json_object_get(properties, "dtypes"));
  if (json_object_size(elements) == 0) return;
  gaps_find_dimensions(gaps, argument, json_object_get(properties, "dimensions"));
  if (dtype) {
    snprintf(tail, sizeof tail, "was tried as %.32s only", dtype);
    gaps_add(gaps, argument, tail);
  }
  gaps_find_refused_dtypes(gaps, argument, json_object_get(properties, "dtypes"));
  if (json_object_get(elements, "few") || json_object_get(elements, "many"))
    gaps_find_layouts(gaps, argument, json_object_get(properties, "layouts"));
  if (!json_object_get(elements, "none")) gaps_add(gaps, argument, "was never empty");
}

static void gaps_find_argument(gaps_t *gaps, const char *argument, const json_t *properties) {
  char tail[GAP_LENGTH];
  const json_t *presence = json_object_get(properties, "presence"), *values = json_object_get(properties, "values");
  const char *value = only_value(values);
  gaps_find_tensor(gaps, argument, properties);
  if (presence && !was_accepted(presence, "given"))
    gaps_add(gaps, argument, json_object_get(presence, "given") ? "is refused if given" : "was never given");
  if (presence && !json_object_get(presence, "left out")) gaps_add(gaps, argument, "was never left out");
  if (!value) return;
  snprintf(tail, sizeof tail, "was %.60s in all calls", value);
  gaps_add(gaps, argument, tail);
}

static void gaps_add_part(opc_text_t *out, size_t *parts, const char *text) {
  opc_text_addf(out, "%s%s", (*parts)++ > 0 ? "; " : "", text);
}

/* Kernels of a device on which no call was accepted. */
static void gaps_find_devices(const json_t *op, const json_t *devices, opc_text_t *out, size_t *parts) {
  size_t i;
  json_t *key;
  bool has_cuda = false;
  json_array_foreach(json_object_get(op, "dispatch_keys"), i, key) has_cuda |=
      strcmp(json_string_value(key) ? json_string_value(key) : "", "CUDA") == 0;
  if (has_cuda && !was_accepted(devices, "cuda") && !was_accepted(devices, "cuda-sim"))
    gaps_add_part(out, parts, "the CUDA kernel was not called");
}

static void gaps_find_methods(const json_t *op, const json_t *methods, opc_text_t *out, size_t *parts) {
  size_t i, all = 0, called = 0;
  json_t *method;
  char text[GAP_LENGTH];
  json_array_foreach(json_object_get(op, "methods"), i, method) {
    const char *name = opc_record_text(method, "name");
    if (strncmp(name, "__", 2) == 0) continue;
    all++;
    called += was_accepted(methods, name);
  }
  if (called == all) return;
  snprintf(text, sizeof text, "methods called: %zu of %zu", called, all);
  gaps_add_part(out, parts, text);
}

void opc_gaps_of(const json_t *op, const json_t *coverage, opc_text_t *out) {
  gaps_t gaps = {.count = 0};
  const char *argument;
  json_t *properties;
  size_t parts = 0;
  json_object_foreach(json_object_get(coverage, "arguments"), argument, properties)
      gaps_find_argument(&gaps, argument, properties);
  for (size_t i = 0; i < gaps.count; i++) {
    const gap_t *gap = &gaps.items[i];
    const size_t verb = strcspn(gap->tail, " ");
    const char *many = strncmp(gap->tail, "was", verb) == 0 ? "were" : "are";
    gaps_add_part(out, &parts, opc_text_c(&gap->names));
    opc_text_addf(out, " %.*s%s", gap->count > 1 ? 4 : (int)verb, gap->count > 1 ? many : gap->tail, gap->tail + verb);
    opc_text_clear(&gaps.items[i].names);
  }
  gaps_find_devices(op, json_object_get(coverage, "devices"), out, &parts);
  gaps_find_methods(op, json_object_get(coverage, "methods"), out, &parts);
}
