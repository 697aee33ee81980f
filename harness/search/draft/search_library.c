#include "search/draft/search_library.h"

#include <stdlib.h>
#include <string.h>

#include "search/draft/search_inside.h"

struct opc_search_library {
  opc_search_loaded_t loaded;
  opc_search_entry_t **entries; /* each allocated alone: a running search keeps pointers to them */
  size_t entry_count;
};

opc_status_t opc_search_library_new(const opc_search_loaded_t *loaded, opc_search_library_t **out, opc_error_t *error) {
  *out = calloc(1, sizeof **out);
  if (!*out) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for what searches find");
  **out = (opc_search_library_t){.loaded = *loaded};
  return OPC_OK;
}

/* ---- returned tensors ---- */

/* Values that change when stored as an element of the dtype stay unpacked. */
static void output_pack(opc_search_output_t *output) {
  opc_tensor_spec_t *spec = output->spec;
  size_t width = opc_dtype_size(spec->dtype), count = spec->fill.kind == OPC_FILL_VALUES ? spec->fill.value_count : 0;
  char *elements =
      width > 0 && count > 0 && count == (size_t)opc_tensor_spec_numel(spec) ? malloc(count * width) : NULL;
  bool same = elements;
  for (size_t i = 0; same && i < count; i++) {
    opc_number_t number = spec->fill.values[i], back = {0};
    same = (number.kind == OPC_NUMBER_INT || number.kind == OPC_NUMBER_FLOAT) &&
           opc_number_store(number, spec->dtype, elements + i * width);
    if (same) back = opc_number_load(spec->dtype, elements + i * width);
    same = same && back.kind == number.kind && memcmp(&back.i, &number.i, sizeof number.i) == 0;
  }
  if (!same) {
    free(elements);
    return;
  }
  output->elements = elements;
  free(spec->fill.values);
  spec->fill.values = NULL;
  spec->fill.value_count = 0;
}

bool opc_search_output_value(const opc_search_output_t *output, opc_value_t *out) {
  opc_tensor_spec_t *spec = opc_tensor_spec_copy(output->spec);
  *out = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
  if (spec && output->elements) {
    size_t width = opc_dtype_size(spec->dtype), count = (size_t)opc_tensor_spec_numel(spec);
    spec->fill.values = calloc(count, sizeof *spec->fill.values);
    for (size_t i = 0; spec->fill.values && i < count; i++)
      spec->fill.values[i] = opc_number_load(spec->dtype, (const char *)output->elements + i * width);
    if (spec->fill.values) spec->fill.value_count = count;
  }
  if (spec && (!output->elements || spec->fill.values)) return true;
  opc_value_clear(out);
  *out = (opc_value_t){0};
  return false;
}

static void entry_free(opc_search_entry_t *entry) {
  if (!entry) return;
  opc_sample_clear(&entry->sample);
  for (size_t i = 0; i < entry->output_count; i++) {
    opc_tensor_spec_free(entry->outputs[i].spec);
    free(entry->outputs[i].elements);
  }
  free(entry->outputs);
  free(entry);
}

/* Takes ownership of the tensors; NULL: out of memory, and they are freed. */
static opc_search_entry_t *entry_new(const opc_operator_t *op, int round, opc_value_t *outputs, size_t count) {
  opc_search_entry_t *entry = calloc(1, sizeof *entry);
  if (entry)
    *entry = (opc_search_entry_t){.op = op, .round = round, .outputs = calloc(count + 1, sizeof *entry->outputs)};
  for (size_t i = 0; entry && entry->outputs && i < count; i++) {
    entry->outputs[entry->output_count] = (opc_search_output_t){.spec = outputs[i].tensor};
    output_pack(&entry->outputs[entry->output_count++]);
    outputs[i] = (opc_value_t){0};
  }
  for (size_t i = 0; i < count; i++) opc_value_clear(&outputs[i]);
  free(outputs);
  if (entry && entry->outputs) return entry;
  free(entry);
  return NULL;
}

void opc_search_library_free(opc_search_library_t *library) {
  if (!library) return;
  for (size_t i = 0; i < library->entry_count; i++) entry_free(library->entries[i]);
  free(library->entries);
  free(library);
}

static void scope_entry(opc_search_entry_t **entry) { entry_free(*entry); }

opc_status_t opc_search_library_add(opc_search_library_t *library, const opc_operator_t *op, int round,
                                    const opc_sample_t *sample, opc_value_t *outputs, size_t output_count,
                                    opc_error_t *error) {
  OPC_SCOPED(scope_entry) opc_search_entry_t *entry = entry_new(op, round, outputs, output_count);
  if (entry) OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &entry->sample, error));
  if (!entry || !OPC_ARRAY_GROW(library->entries, library->entry_count))
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for what searches find");
  library->entries[library->entry_count++] = entry;
  entry = NULL;
  return OPC_OK;
}

/* ---- which operators are alike ---- */

static bool are_relatives(const opc_operator_t *op, const opc_operator_t *other) {
  return opc_search_is_backward_of(op, other) || opc_search_is_backward_of(other, op);
}

static int likeness(const opc_operator_t *op, const opc_operator_t *other) {
  enum { RELATIVE = 1000 }; /* before all others */
  int score = are_relatives(op, other) ? RELATIVE : 0;
  score += 3 * opc_search_shared_words(op->name, other->name);
  for (size_t i = 0; i < op->argument_count; i++) {
    for (size_t k = 0; k < other->argument_count; k++) {
      bool same = strcmp(op->arguments[i].name, other->arguments[k].name) == 0 &&
                  strcmp(op->arguments[i].type_text, other->arguments[k].type_text) == 0;
      score += 2 * same;
    }
  }
  for (size_t i = 0; i < other->return_count; i++)
    score += opc_type_holds_tensor(&other->returns[i].type); /* it may return the needed tensor */
  return score;
}

static bool is_own_library(const opc_operator_t *op, const opc_operator_t *other) {
  return op->library == other->library || (op->library && other->library && strcmp(op->library, other->library) == 0);
}

size_t opc_search_helpers(const opc_search_library_t *library, const opc_operator_t *op, int round,
                          size_t out[OPC_HELPERS_MAX]) {
  int scores[OPC_HELPERS_MAX];
  size_t count = 0;
  for (size_t i = 0; i < library->loaded.operator_count; i++) {
    const opc_operator_t *other = &library->loaded.operators[i];
    if (other == op || !is_own_library(op, other) || (round > OPC_SEARCH_ROUNDS && !are_relatives(op, other))) continue;
    int score = likeness(op, other);
    size_t place = count;
    while (place > 0 && scores[place - 1] < score) place--;
    if (place == OPC_HELPERS_MAX) continue;
    if (count < OPC_HELPERS_MAX) count++;
    memmove(&scores[place + 1], &scores[place], (count - 1 - place) * sizeof scores[0]);
    memmove(&out[place + 1], &out[place], (count - 1 - place) * sizeof out[0]);
    scores[place] = score;
    out[place] = i;
  }
  return count;
}

/* What the operator found in earlier rounds. */
static void take_entries(const opc_search_library_t *library, const opc_operator_t *of, int round,
                         const opc_search_entry_t **out, size_t *count) {
  for (size_t i = 0; i < library->entry_count; i++) {
    const opc_search_entry_t *entry = library->entries[i];
    if (entry->op == of && entry->round < round) out[(*count)++] = entry;
  }
}

char *opc_search_class_made(const opc_operator_t *maker) {
  if (maker->kind == OPC_OPERATOR_CLASS) return opc_class_has_constructor(maker) ? opc_class_name_of(maker) : NULL;
  const bool object = maker->return_count == 1 && maker->returns[0].type.kind == OPC_TYPE_OBJECT;
  return object ? opc_string_copy(maker->returns[0].type.class_name) : NULL;
}

/* How the operator takes what the maker makes. */
typedef enum taken { TAKEN_NOT, TAKEN_AS_ANY, TAKEN_BY_NAME } taken_t;

static taken_t how_taken(const opc_operator_t *op, const opc_operator_t *maker) {
  OPC_SCOPED(opc_scope_free) char *name = opc_search_class_made(maker);
  taken_t taken = TAKEN_NOT;
  for (size_t i = 0; i < op->argument_count && name; i++) {
    const opc_type_t *type = &op->arguments[i].type;
    while (type->kind == OPC_TYPE_OPTIONAL || type->kind == OPC_TYPE_LIST) type = type->element;
    if (type->kind == OPC_TYPE_OBJECT && strcmp(type->class_name, name) == 0) return TAKEN_BY_NAME;
    if (type->kind == OPC_TYPE_ANY && is_own_library(op, maker)) taken = TAKEN_AS_ANY;
  }
  return taken;
}

static const opc_operator_t *nth_maker(const opc_search_loaded_t *loaded, size_t index) {
  return index < loaded->operator_count ? &loaded->operators[index]
                                        : &loaded->constructors[index - loaded->operator_count];
}

size_t opc_search_makers(const opc_search_library_t *library, const opc_operator_t *op, size_t out[OPC_MAKERS_MAX]) {
  size_t count = 0;
  const size_t all = library->loaded.operator_count + library->loaded.constructor_count;
  for (taken_t taken = TAKEN_BY_NAME; taken > TAKEN_NOT; taken--) {
    for (size_t i = 0; i < all && count < OPC_MAKERS_MAX; i++) {
      const opc_operator_t *maker = nth_maker(&library->loaded, i);
      if (maker != op && how_taken(op, maker) == taken) out[count++] = i;
    }
  }
  return count;
}

opc_status_t opc_search_view_make(const opc_search_library_t *library, const opc_operator_t *op, int round,
                                  opc_search_view_t *out, opc_error_t *error) {
  size_t helpers[OPC_HELPERS_MAX], makers[OPC_MAKERS_MAX];
  *out = (opc_search_view_t){0};
  if (!library) return OPC_OK;
  out->classes = library->loaded.classes;
  out->class_count = library->loaded.class_count;
  out->library = library;
  if (round < 2 || library->entry_count == 0) return OPC_OK;
  out->entries = calloc(library->entry_count, sizeof(opc_search_entry_t *));
  out->objects = calloc(library->entry_count, sizeof(opc_search_entry_t *));
  if (!out->entries || !out->objects)
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for what searches find");
  size_t helper_count = opc_search_helpers(library, op, round, helpers);
  for (size_t h = 0; h < helper_count; h++)
    take_entries(library, &library->loaded.operators[helpers[h]], round, out->entries, &out->count);
  const size_t maker_count = opc_search_makers(library, op, makers);
  for (size_t m = 0; m < maker_count; m++)
    take_entries(library, nth_maker(&library->loaded, makers[m]), round, out->objects, &out->object_count);
  return OPC_OK;
}

bool opc_search_is_returned(const opc_search_view_t *view, const char *class_name) {
  const opc_search_library_t *library = view ? view->library : NULL;
  bool is = false;
  for (size_t i = 0; library && !is && i < library->loaded.operator_count; i++) {
    OPC_SCOPED(opc_scope_free) char *name = opc_search_class_made(&library->loaded.operators[i]);
    is = name && strcmp(name, class_name) == 0;
  }
  return is;
}

void opc_search_view_clear(opc_search_view_t *view) {
  free(view->entries);
  free(view->objects);
  *view = (opc_search_view_t){0};
}

const char *opc_search_constructor(const opc_search_view_t *view, const char *class_name) {
  for (size_t i = 0; view && class_name && i < view->class_count; i++) {
    if (strcmp(view->classes[i].name, class_name) != 0) continue;
    for (size_t k = 0; k < view->classes[i].method_count; k++)
      if (strcmp(view->classes[i].methods[k].name, "__init__") == 0) return view->classes[i].methods[k].schema;
  }
  return NULL;
}
