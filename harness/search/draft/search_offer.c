/* Offers an operator what others have found: whole tuples, and values for one argument. */
#include <stdlib.h>
#include <string.h>

#include "search/draft/search_inside.h"

/* The first ones are the best; later ones are drawn less and less often. */
static size_t draw_early(opc_rng_t *rng, size_t count, int percent) {
  size_t i = 0;
  while (i + 1 < count && opc_rng_chance(rng, percent)) i++;
  return i;
}

static const opc_value_t *value_called(const opc_search_entry_t *entry, const opc_argument_t *argument,
                                       bool *out_absent) {
  for (size_t i = 0; i < entry->op->argument_count && i < entry->sample.argument_count; i++) {
    const opc_argument_t *own = &entry->op->arguments[i];
    if (strcmp(own->name, argument->name) != 0 || strcmp(own->type_text, argument->type_text) != 0) continue;
    *out_absent = entry->sample.absent[i];
    return *out_absent ? NULL : &entry->sample.arguments[i];
  }
  return NULL;
}

/* A tensor that another operator returned; operators with similar names come first. */
static const opc_search_output_t *produced(const opc_search_view_t *view, const opc_operator_t *op, opc_rng_t *rng) {
  const opc_search_output_t *found[64];
  size_t count = 0;
  for (int named = 1; named >= 0; named--) {
    for (size_t i = 0; i < view->count; i++) {
      if ((opc_search_shared_words(op->name, view->entries[i]->op->name) > 0) != (named == 1)) continue;
      for (size_t k = 0; k < view->entries[i]->output_count && count < 64; k++)
        found[count++] = &view->entries[i]->outputs[k];
    }
  }
  return count == 0 ? NULL : found[draw_early(rng, count, 75)];
}

static bool produce(const opc_search_view_t *view, const opc_operator_t *op, const opc_type_t *type, opc_rng_t *rng,
                    opc_value_t *out) {
  if (type->kind == OPC_TYPE_OPTIONAL) type = type->element;
  bool list = type->kind == OPC_TYPE_LIST && type->element->kind == OPC_TYPE_TENSOR;
  if (!list && type->kind != OPC_TYPE_TENSOR) return false;
  const opc_search_output_t *output = produced(view, op, rng);
  if (!output) return false;
  if (!list) return opc_search_output_value(output, out);
  *out = (opc_value_t){.kind = OPC_VALUE_LIST};
  out->list.items = calloc(1, sizeof *out->list.items);
  out->list.count = out->list.items && opc_search_output_value(output, &out->list.items[0]);
  return out->list.count == 1;
}

/* A value that an argument with this name and type had elsewhere. */
static bool known_value(const opc_search_view_t *view, const opc_argument_t *argument, opc_rng_t *rng,
                        opc_value_t *out) {
  const opc_value_t *found[32];
  size_t count = 0;
  bool absent;
  for (size_t i = 0; i < view->count && count < 32; i++) {
    const opc_value_t *value = value_called(view->entries[i], argument, &absent);
    if (value) found[count++] = value;
  }
  return count > 0 && opc_value_copy(found[draw_early(rng, count, 60)], out, NULL) == OPC_OK;
}

bool opc_search_view_tuple(const opc_search_view_t *view, const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *out) {
  if (view->count == 0 || opc_sample_init(out, op, NULL) != OPC_OK) return false;
  out->source = OPC_SAMPLE_SEARCHED;
  opc_seed_t seed;
  opc_seed_begin(&seed, rng);
  const opc_search_entry_t *like = view->entries[draw_early(rng, view->count, 75)];
  for (size_t i = 0; i < op->argument_count; i++) {
    const opc_argument_t *argument = &op->arguments[i];
    opc_value_t *value = &out->arguments[i];
    bool absent = false, made = false;
    const opc_value_t *same = value_called(like, argument, &absent);
    if (same) made = opc_value_copy(same, value, NULL) == OPC_OK;
    else if (absent && argument->has_default) continue;
    if (!made && opc_rng_chance(rng, 35)) made = produce(view, op, &argument->type, rng, value);
    if (!made && opc_rng_chance(rng, 60)) made = known_value(view, argument, rng, value);
    if (!made && argument->has_default && !opc_rng_chance(rng, 30)) continue;
    if (!made) made = opc_seed_value(&seed, argument, value);
    if (!made) {
      opc_sample_clear(out);
      return false;
    }
    out->absent[i] = false;
    if (value->kind == OPC_VALUE_TENSOR) opc_seed_follow(&seed, value->tensor);
  }
  return true;
}

bool opc_search_view_replace(const opc_search_view_t *view, const opc_operator_t *op, opc_rng_t *rng,
                             opc_sample_t *sample) {
  if (view->count == 0 || op->argument_count == 0) return false;
  size_t argument = (size_t)opc_rng_below(rng, (int64_t)op->argument_count);
  opc_value_t value = {0};
  bool made = opc_rng_chance(rng, 50) && produce(view, op, &op->arguments[argument].type, rng, &value);
  if (!made) made = known_value(view, &op->arguments[argument], rng, &value);
  if (!made) {
    opc_value_clear(&value);
    return false;
  }
  opc_value_clear(&sample->arguments[argument]);
  sample->arguments[argument] = value;
  sample->absent[argument] = false;
  return true;
}
