/* The tensors of a sample, at any depth. */
#include <stdlib.h>
#include <string.h>

#include "plan/variant/resize.h"

typedef struct collection {
  opc_variant_tensors_t *tensors;
  size_t argument;
  bool written;
} collection_t;

static void variant_tensors_collect(const char *path, opc_value_t *value, void *context) {
  collection_t *collection = context;
  opc_variant_tensors_t *tensors = collection->tensors;
  if (!value->tensor || tensors->failed) return;
  char *copy = OPC_ARRAY_GROW(tensors->items, tensors->count) ? opc_string_copy(path) : NULL;
  tensors->failed = !copy;
  if (!copy) return;
  tensors->items[tensors->count] = (opc_variant_tensor_t){.path = copy,
                                                          .value = value,
                                                          .argument = collection->argument,
                                                          .written = collection->written,
                                                          .twin = tensors->count};
  tensors->count++;
}

static bool both_equal(const char *left, const char *right) { return left && right && strcmp(left, right) == 0; }

opc_status_t opc_variant_tensors_collect(opc_sample_t *sample, const opc_operator_t *op, opc_variant_tensors_t *out,
                                         opc_error_t *error) {
  char name[32];
  *out = (opc_variant_tensors_t){0};
  for (size_t i = 0; i < sample->argument_count; i++) {
    if (sample->absent && sample->absent[i]) continue;
    collection_t collection = {.tensors = out, .argument = i, .written = op && op->arguments[i].alias.is_write};
    snprintf(name, sizeof name, "_%zu", i);
    opc_value_visit_tensors(op ? op->arguments[i].name : name, &sample->arguments[i], variant_tensors_collect,
                            &collection);
  }
  if (out->failed) {
    opc_variant_tensors_clear(out);
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the variants of a sample");
  }
  for (size_t i = 0; i < out->count; i++) {
    const opc_tensor_spec_t *spec = out->items[i].value->tensor;
    for (size_t j = 0; j < out->count; j++) {
      const opc_tensor_spec_t *other = out->items[j].value->tensor;
      if (j == i) continue;
      bool twins = both_equal(spec->identity, other->identity);
      if (twins && j < i && out->items[i].twin == i) out->items[i].twin = out->items[j].twin;
      if (twins) out->items[i].written |= out->items[j].written;
      if (!twins && both_equal(spec->storage, other->storage)) out->items[i].shared = true;
    }
  }
  return OPC_OK;
}

void opc_variant_tensors_clear(opc_variant_tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; i++) free(tensors->items[i].path);
  free(tensors->items);
  *tensors = (opc_variant_tensors_t){0};
}

opc_variant_tensor_t *opc_variant_tensors_find(const opc_variant_tensors_t *tensors, const char *path) {
  for (size_t i = 0; i < tensors->count; i++) {
    if (strcmp(tensors->items[i].path, path) == 0) return &tensors->items[i];
  }
  return NULL;
}

bool opc_variant_twins_follow(const opc_variant_tensors_t *tensors) {
  for (size_t i = 0; i < tensors->count; i++) {
    size_t twin = tensors->items[i].twin;
    if (twin == i) continue;
    opc_tensor_spec_t *copy = opc_tensor_spec_copy(tensors->items[twin].value->tensor);
    if (!copy) return false;
    opc_tensor_spec_free(tensors->items[i].value->tensor);
    tensors->items[i].value->tensor = copy;
  }
  return true;
}
