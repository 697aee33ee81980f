#include "model/sample/relations.h"

#include <stdlib.h>
#include <string.h>

enum { INTEGERS_MAX = 1 << 16 };

/* ---- lists ---- */

void opc_relation_clear(opc_relation_t *relation) {
  for (size_t i = 0; i < relation->place_count; i++) free(relation->places[i].path);
  free(relation->places);
  free(relation->values);
  *relation = (opc_relation_t){0};
}

opc_status_t opc_relation_add_place(opc_relation_t *relation, const char *path, int dim, int64_t more,
                                    opc_error_t *error) {
  opc_size_place_t *grown = realloc(relation->places, (relation->place_count + 1) * sizeof *grown);
  if (!grown) return opc_out_of_memory(error);
  relation->places = grown;
  grown[relation->place_count] = (opc_size_place_t){.path = opc_string_copy(path), .dim = dim, .more = more};
  if (!grown[relation->place_count].path) return opc_out_of_memory(error);
  relation->place_count++;
  return OPC_OK;
}

void opc_relations_free(opc_relations_t *relations) {
  for (size_t i = 0; relations && i < relations->count; i++) opc_relation_clear(&relations->items[i]);
  if (relations) free(relations->items);
  free(relations);
}

opc_status_t opc_relations_add(opc_relations_t *relations, opc_relation_t *relation, opc_error_t *error) {
  opc_relation_t *grown = realloc(relations->items, (relations->count + 1) * sizeof *grown);
  if (!grown) {
    opc_relation_clear(relation);
    return opc_out_of_memory(error);
  }
  relations->items = grown;
  grown[relations->count++] = *relation;
  *relation = (opc_relation_t){0};
  return OPC_OK;
}

static opc_status_t relation_copy(const opc_relation_t *relation, opc_relation_t *out, opc_error_t *error) {
  *out = *relation;
  out->places = NULL;
  out->place_count = 0;
  OPC_RETURN_IF_ERROR(opc_string_copy_to(relation->values, &out->values, error));
  for (size_t i = 0; i < relation->place_count; i++) {
    const opc_size_place_t *place = &relation->places[i];
    OPC_RETURN_IF_ERROR(opc_relation_add_place(out, place->path, place->dim, place->more, error));
  }
  return OPC_OK;
}

void opc_scope_relations(opc_relations_t **relations) { opc_relations_free(*relations); }

opc_status_t opc_relations_copy(const opc_relations_t *relations, opc_relations_t **out, opc_error_t *error) {
  *out = NULL;
  if (!relations) return OPC_OK;
  OPC_SCOPED(opc_scope_relations) opc_relations_t *copies = calloc(1, sizeof *copies);
  if (!copies) return opc_out_of_memory(error);
  for (size_t i = 0; i < relations->count; i++) {
    OPC_SCOPED(opc_relation_clear) opc_relation_t copy = {0};
    OPC_RETURN_IF_ERROR(relation_copy(&relations->items[i], &copy, error));
    OPC_RETURN_IF_ERROR(opc_relations_add(copies, &copy, error));
  }
  OPC_MOVE(out, copies);
  return OPC_OK;
}

/* ---- places ---- */

/* The item that the text before the next "]" names: "[1]" of a list, ".init[1]" of an object's constructor. Moves *path
 * past it. NULL: there is none. */
static opc_value_t *next_item(const opc_value_t *value, const char **path) {
  static const char constructor[] = ".init";
  const bool init = strncmp(*path, constructor, sizeof constructor - 1) == 0;
  const char *bracket = *path + (init ? sizeof constructor - 1 : 0);
  char *end;
  if (*bracket != '[' || value->kind != (init ? OPC_VALUE_OBJECT : OPC_VALUE_LIST)) return NULL;
  const unsigned long long at = strtoull(bracket + 1, &end, 10);
  if (end == bracket + 1 || *end != ']' || at >= (init ? value->object.init_count : value->list.count)) return NULL;
  *path = end + 1;
  return init ? &value->object.init[at] : &value->list.items[at];
}

opc_value_t *opc_sample_value(const opc_sample_t *sample, const opc_operator_t *op, const char *path) {
  size_t length = strcspn(path, "[.");
  for (size_t i = 0; i < op->argument_count && i < sample->argument_count; i++) {
    if (strlen(op->arguments[i].name) != length || strncmp(op->arguments[i].name, path, length) != 0) continue;
    if (sample->absent && sample->absent[i]) return NULL;
    opc_value_t *value = &sample->arguments[i];
    for (const char *rest = path + length; *rest && value;) value = next_item(value, &rest);
    return value;
  }
  return NULL;
}

bool opc_sample_size(const opc_sample_t *sample, const opc_operator_t *op, const opc_size_place_t *place,
                     int64_t *out_size) {
  const opc_value_t *value = opc_sample_value(sample, op, place->path);
  if (!value) return false;
  if (place->dim == OPC_PLACE_INTEGER) {
    if (value->kind != OPC_VALUE_INT) return false;
    *out_size = value->integer;
    return true;
  }
  if (value->kind != OPC_VALUE_TENSOR || !value->tensor || place->dim < 0 || place->dim >= value->tensor->ndim)
    return false;
  *out_size = value->tensor->sizes[place->dim];
  return true;
}

/* ---- integers ---- */

/* See value.h for the range of random integers. */
static bool random_range(const opc_tensor_spec_t *spec, int64_t *out_lowest, int64_t *out_highest) {
  const bool is_signed = opc_dtype_class(spec->dtype) == OPC_CLASS_SIGNED;
  switch (spec->fill.kind) {
    case OPC_FILL_RANGE:
      *out_lowest = spec->fill.lo;
      *out_highest = spec->fill.hi - 1;
      return true;
    case OPC_FILL_UNIFORM:
      *out_lowest = 0;
      *out_highest = 1;
      return true;
    case OPC_FILL_NORMAL:
      *out_lowest = is_signed ? -4 : 0;
      *out_highest = is_signed ? 4 : 8;
      return true;
    default:
      return false;
  }
}

void opc_integers_clear(opc_integers_t *integers) { free(integers->values); }

bool opc_integers_of(const opc_tensor_spec_t *spec, opc_integers_t *out) {
  const int64_t numel = opc_tensor_spec_numel(spec);
  const size_t width = opc_dtype_size(spec->dtype);
  *out = (opc_integers_t){.highest = -1};
  if (!opc_dtype_is_integral(spec->dtype) || spec->fill.special != OPC_SPECIAL_NONE || numel > INTEGERS_MAX)
    return false;
  if (spec->fill.filled_as != OPC_DTYPE_OTHER && !opc_dtype_is_integral(spec->fill.filled_as)) return false;
  if (numel == 0) return (out->values = calloc(1, sizeof *out->values));
  if (random_range(spec, &out->lowest, &out->highest)) return true;
  OPC_SCOPED(opc_scope_free) char *bytes = calloc((size_t)numel, width);
  out->values = calloc((size_t)numel, sizeof *out->values);
  /* Any seed will do: these fills are not random. */
  bool filled = bytes && out->values && opc_fill_logical(spec, "", 0, bytes, NULL) == OPC_OK;
  for (size_t i = 0; filled && i < (size_t)numel; i++) {
    const opc_number_t number = opc_number_load(spec->dtype, bytes + i * width);
    const int64_t value = number.kind == OPC_NUMBER_INT ? number.i : INT64_MAX; /* only uint64 has larger ones */
    out->values[i] = value;
    if (i == 0 || value < out->lowest) out->lowest = value;
    if (i == 0 || value > out->highest) out->highest = value;
  }
  out->count = (size_t)numel;
  if (filled) return true;
  free(out->values);
  *out = (opc_integers_t){.highest = -1};
  return false;
}

/* UNKNOWN names an argument: "tensors" of "tensors[1]". */
bool opc_relations_name_values(const opc_relations_t *relations, const char *path) {
  for (size_t i = 0; i < relations->count; i++) {
    const char *values = relations->items[i].values;
    const size_t length = values ? strlen(values) : 0;
    if (values && strncmp(path, values, length) == 0 && (path[length] == '\0' || path[length] == '[')) return true;
  }
  return false;
}

bool opc_integers_ascend(const opc_integers_t *integers) {
  for (size_t i = 1; i < integers->count; i++)
    if (integers->values[i] < integers->values[i - 1]) return false;
  return true;
}

/* The integers of an argument: a tensor's, or a plain integer. */
static bool integers_at(const opc_sample_t *sample, const opc_operator_t *op, const char *path, opc_integers_t *out) {
  const opc_value_t *value = opc_sample_value(sample, op, path);
  *out = (opc_integers_t){.highest = -1};
  if (value && value->kind == OPC_VALUE_TENSOR && value->tensor) return opc_integers_of(value->tensor, out);
  if (!value || value->kind != OPC_VALUE_INT || !(out->values = calloc(1, sizeof *out->values))) return false;
  out->values[0] = out->lowest = out->highest = value->integer;
  out->count = 1;
  return true;
}

bool opc_relation_has_ends(const opc_relation_t *relation) {
  return relation->kind == OPC_RELATION_ASCENDING ||
         (relation->kind == OPC_RELATION_BOUND && relation->inclusive && relation->place_count > 0);
}

/* ---- checking relations ---- */

static const char *place_text(const opc_size_place_t *place, int64_t size, char out[120]) {
  if (place->dim == OPC_PLACE_INTEGER) snprintf(out, 120, "%.60s (%lld)", place->path, (long long)size);
  else snprintf(out, 120, "%.60s dim %d (%lld)", place->path, place->dim, (long long)size);
  return out;
}

typedef struct holding {
  const opc_sample_t *sample;
  const opc_operator_t *op;
  size_t place;
  char *message;
  size_t size;
} holding_t;

static bool fails(holding_t *h, size_t place, const char *format, ...) OPC_PRINTF(3, 4);
static bool fails(holding_t *h, size_t place, const char *format, ...) {
  va_list arguments;
  h->place = place;
  va_start(arguments, format);
  if (h->message) vsnprintf(h->message, h->size, format, arguments);
  va_end(arguments);
  return false;
}

static bool size_of(holding_t *h, const opc_size_place_t *place, size_t index, int64_t *out) {
  if (opc_sample_size(h->sample, h->op, place, out)) return true;
  if (place->dim == OPC_PLACE_INTEGER) return fails(h, index, "the sample gives no integer %.60s", place->path);
  return fails(h, index, "the sample gives no tensor %.60s with a dimension %d", place->path, place->dim);
}

/* a - b == c - d. Numbers of more than 64 bits are equal to none. */
static bool less_is_equal(int64_t a, int64_t b, int64_t c, int64_t d) {
  int64_t left, right;
  return !__builtin_sub_overflow(a, b, &left) && !__builtin_sub_overflow(c, d, &right) && left == right;
}

static bool equal_holds(holding_t *h, const opc_relation_t *relation) {
  char first[120], other[120];
  int64_t size = 0, own = 0;
  for (size_t i = 0; i < relation->place_count; i++) {
    const opc_size_place_t *place = &relation->places[i], *before = &relation->places[0];
    if (!size_of(h, place, i, i ? &own : &size)) return false;
    if (i == 0 || less_is_equal(own, place->more, size, before->more)) continue;
    if (place->more == before->more)
      return fails(h, i, "sizes of %s and %s are said to be equal", place_text(before, size, first),
                   place_text(place, own, other));
    return fails(h, i, "%s is said to be %lld more than %s", place_text(place, own, other),
                 (long long)(place->more - before->more), place_text(before, size, first));
  }
  return true;
}

static bool bound_holds(holding_t *h, const opc_relation_t *relation, const opc_integers_t *integers) {
  const char *words = relation->inclusive ? "at most" : "below";
  char text[120];
  for (size_t i = 0; i < relation->place_count || (i == 0 && relation->place_count == 0); i++) {
    int64_t limit = relation->number;
    if (relation->place_count && !size_of(h, &relation->places[i], i, &limit)) return false;
    if (integers->highest < limit || (relation->inclusive && integers->highest == limit)) continue;
    if (!relation->place_count) snprintf(text, sizeof text, "%lld", (long long)limit);
    else place_text(&relation->places[i], limit, text);
    return fails(h, i, "%.60s holds %lld, but is said to be %s %s", relation->values, (long long)integers->highest,
                 words, text);
  }
  return true;
}

static bool values_hold(holding_t *h, const opc_relation_t *relation) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t integers = {0};
  char text[120];
  int64_t sum = 0, size = 0;
  if (!integers_at(h->sample, h->op, relation->values, &integers))
    return fails(h, 0, "the sample gives no integers %.60s that can be read", relation->values);
  bool holds = true, beyond = false;
  for (size_t i = 0; integers.values && i < integers.count; i++) {
    beyond |= __builtin_add_overflow(sum, integers.values[i], &sum);
    if (relation->kind == OPC_RELATION_ASCENDING && i > 0 && integers.values[i] < integers.values[i - 1] && holds)
      holds = fails(h, 0, "%.60s is said to ascend, but holds %lld after %lld", relation->values,
                    (long long)integers.values[i], (long long)integers.values[i - 1]);
  }
  if (relation->kind == OPC_RELATION_BOUND && integers.highest >= integers.lowest)
    holds = bound_holds(h, relation, &integers);
  if (relation->kind == OPC_RELATION_LEAST && integers.highest >= integers.lowest && integers.lowest < relation->number)
    holds = fails(h, 0, "%.60s holds %lld, but is said to be at least %lld", relation->values,
                  (long long)integers.lowest, (long long)relation->number);
  if (relation->kind == OPC_RELATION_SUM && integers.values) {
    holds = size_of(h, &relation->places[0], 0, &size);
    if (holds && beyond) holds = fails(h, 0, "%.60s has a sum of more than 64 bits", relation->values);
    else if (holds && sum != size)
      holds = fails(h, 0, "%.60s sums to %lld, but is said to sum to %s", relation->values, (long long)sum,
                    place_text(&relation->places[0], size, text));
  }
  return holds;
}

static bool relation_holds(holding_t *h, const opc_relation_t *relation) {
  int64_t size = 0;
  char text[120];
  switch (relation->kind) {
    case OPC_RELATION_EQUAL:
      return equal_holds(h, relation);
    case OPC_RELATION_FIXED:
      if (!size_of(h, &relation->places[0], 0, &size)) return false;
      if (size == relation->number) return true;
      return fails(h, 0, "%s is said to be always %lld", place_text(&relation->places[0], size, text),
                   (long long)relation->number);
    case OPC_RELATION_MULTIPLE:
      if (!size_of(h, &relation->places[0], 0, &size)) return false;
      if (relation->number < 1 || size % relation->number == 0) return true;
      return fails(h, 0, "%s is said to be a multiple of %lld", place_text(&relation->places[0], size, text),
                   (long long)relation->number);
    case OPC_RELATION_LEAST:
      if (relation->values) return values_hold(h, relation);
      if (!size_of(h, &relation->places[0], 0, &size)) return false;
      if (size >= relation->number) return true;
      return fails(h, 0, "%s is said to be at least %lld", place_text(&relation->places[0], size, text),
                   (long long)relation->number);
    case OPC_RELATION_BOUND:
    case OPC_RELATION_ASCENDING:
    case OPC_RELATION_SUM:
      return values_hold(h, relation);
    case OPC_RELATION_UNKNOWN:
      return relation->place_count == 0 || size_of(h, &relation->places[0], 0, &size);
  }
  return true;
}

bool opc_relations_hold(const opc_relations_t *relations, const opc_sample_t *sample, const opc_operator_t *op,
                        size_t *out_index, size_t *out_place, char *message, size_t size) {
  holding_t h = {.sample = sample, .op = op, .message = message, .size = size};
  for (size_t i = 0; relations && i < relations->count; i++) {
    if (relation_holds(&h, &relations->items[i])) continue;
    if (out_index) *out_index = i;
    if (out_place) *out_place = h.place;
    return false;
  }
  return true;
}
