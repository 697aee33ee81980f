/* Changes that no message asked for: random ones, calmer arguments after a crash, elements in empty tensors, and other
 * shapes of accepted arguments. */
#include <string.h>

#include "search/draft/search_inside.h"

static const int64_t sizes_tried[] = {1, 2, 3, 4, 5, 6, 8};
enum { SIZES_TRIED = sizeof sizes_tried / sizeof sizes_tried[0] };

/* ---- random ---- */

static bool mutate_tensor(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *sample, size_t index,
                          const opc_slot_t *slots, size_t count) {
  static const opc_dtype_t dtypes[] = {OPC_DTYPE_FLOAT32, OPC_DTYPE_INT64, OPC_DTYPE_INT32,
                                       OPC_DTYPE_FLOAT64, OPC_DTYPE_BOOL,  OPC_DTYPE_UINT8};
  static const opc_fill_kind_t fills[] = {OPC_FILL_NORMAL, OPC_FILL_UNIFORM, OPC_FILL_ZEROS,
                                          OPC_FILL_ONES,   OPC_FILL_ARANGE,  OPC_FILL_RANGE};
  opc_value_t *tensor = slots[index].value;
  int ndim = tensor->tensor->ndim;
  int64_t draw = opc_rng_below(rng, 100);
  if (draw < 25) return opc_seed_again(op, rng, sample, slots[index].argument);
  if (draw < 50)
    return opc_edit_dim(tensor, (int)opc_rng_below(rng, ndim), sizes_tried[opc_rng_below(rng, SIZES_TRIED)]);
  if (draw < 65) {
    const opc_slot_t *other = &slots[opc_rng_below(rng, (int64_t)count)];
    return other->value->kind == OPC_VALUE_TENSOR &&
           opc_edit_shape(tensor, other->value->tensor->ndim, other->value->tensor->sizes);
  }
  if (draw < 75) return opc_edit_rank(tensor, ndim + (opc_rng_chance(rng, 50) ? 1 : -1), opc_rng_chance(rng, 50));
  if (draw < 82) return opc_edit_dtype(tensor, dtypes[opc_rng_below(rng, (int64_t)(sizeof dtypes / sizeof dtypes[0]))]);
  if (opc_tensor_holds_integers(tensor) && opc_rng_chance(rng, 60)) { /* a size of another tensor, or one less */
    const opc_value_t *other = slots[opc_rng_below(rng, (int64_t)count)].value;
    bool sized = other->kind == OPC_VALUE_TENSOR && other->tensor->ndim > 0;
    if (sized)
      return opc_edit_full(tensor,
                           other->tensor->sizes[opc_rng_below(rng, other->tensor->ndim)] - opc_rng_below(rng, 2));
  }
  return opc_edit_fill(tensor, fills[opc_rng_below(rng, (int64_t)(sizeof fills / sizeof fills[0]))]);
}

static bool mutate_argument(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *sample, size_t argument) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(sample, slots), own[OPC_SLOTS_MAX], own_count = 0;
  for (size_t i = 0; i < count; i++) {
    if (slots[i].argument == argument) own[own_count++] = i;
  }
  const int fresh_percent = op->arguments[argument].type.kind == OPC_TYPE_ANY ? 50 : 15; /* of another type */
  if (own_count == 0 || opc_rng_chance(rng, fresh_percent)) return opc_seed_again(op, rng, sample, argument);
  opc_value_t *list = &sample->arguments[argument];
  if (list->kind == OPC_VALUE_LIST && opc_type_is_any_length(&op->arguments[argument].type) && opc_rng_chance(rng, 30))
    return opc_edit_list_length(list, (size_t)opc_rng_below(rng, 5));
  size_t index = own[opc_rng_below(rng, (int64_t)own_count)];
  opc_value_t *value = slots[index].value;
  if (value->kind == OPC_VALUE_TENSOR) return mutate_tensor(op, rng, sample, index, slots, count);
  if (value->kind == OPC_VALUE_BOOL) {
    value->boolean = !value->boolean;
    return true;
  }
  if (value->kind == OPC_VALUE_INT && opc_rng_chance(rng, 50)) { /* a size of some tensor */
    const opc_value_t *other = slots[opc_rng_below(rng, (int64_t)count)].value;
    if (other->kind == OPC_VALUE_TENSOR && other->tensor->ndim > 0) {
      return opc_edit_number(value, other->tensor->sizes[opc_rng_below(rng, other->tensor->ndim)]);
    }
  }
  static const int64_t numbers[] = {1, 1, 2, 2, 3, 4, 0, -1};
  return opc_edit_number(value, numbers[opc_rng_below(rng, (int64_t)(sizeof numbers / sizeof numbers[0]))]);
}

bool opc_mutate(const opc_operator_t *op, const char *message, opc_rng_t *rng, opc_sample_t *sample) {
  opc_clue_t clue;
  size_t named[OPC_SLOTS_MAX], named_count = 0;
  bool changed = false;
  opc_clue_read(&clue, message);
  if (op->argument_count == 0) return false;
  for (size_t i = 0; i < op->argument_count && named_count < OPC_SLOTS_MAX; i++) {
    if (opc_clue_names(&clue, op->arguments[i].name) == 2) named[named_count++] = i;
  }
  for (int64_t rounds = opc_rng_chance(rng, 65) ? 1 : 2 + opc_rng_below(rng, 2); rounds > 0; rounds--) {
    bool from_text = named_count > 0 && opc_rng_chance(rng, 60);
    size_t argument = from_text ? named[opc_rng_below(rng, (int64_t)named_count)]
                                : (size_t)opc_rng_below(rng, (int64_t)op->argument_count);
    changed |= mutate_argument(op, rng, sample, argument);
  }
  return changed;
}

/* ---- after a crash ---- */

typedef enum calm {
  CALM_POSITIVE, /* division by zero is the most common crash after indices */
  CALM_INDICES_ZERO,
  CALM_INDICES_ONE,
  CALM_INDICES_ARANGE,
  CALM_NUMBERS_ONE,
  CALM_NUMBERS_TWO,
  CALM_ALL,
  CALM_COUNT
} calm_t;

static bool calm(calm_t how, opc_value_t *value) {
  static const struct {
    bool fills, floats;
    opc_fill_kind_t fill;
    int64_t number; /* 0: leaves them unchanged */
  } ways[CALM_COUNT] = {
      [CALM_POSITIVE] = {.number = 1},
      [CALM_INDICES_ZERO] = {.fills = true, .fill = OPC_FILL_ZEROS},
      [CALM_INDICES_ONE] = {.fills = true, .fill = OPC_FILL_ONES},
      [CALM_INDICES_ARANGE] = {.fills = true, .fill = OPC_FILL_ARANGE},
      [CALM_NUMBERS_ONE] = {.number = 1},
      [CALM_NUMBERS_TWO] = {.number = 2},
      [CALM_ALL] = {.fills = true, .floats = true, .fill = OPC_FILL_ZEROS, .number = 1},
  };
  if (value->kind == OPC_VALUE_TENSOR && ways[how].fills) {
    opc_dtype_class_t class_ = opc_dtype_class(value->tensor->dtype);
    if (class_ == OPC_CLASS_SIGNED || class_ == OPC_CLASS_UNSIGNED) return opc_edit_fill(value, ways[how].fill);
    return ways[how].floats && class_ == OPC_CLASS_FLOATING && opc_edit_fill(value, OPC_FILL_UNIFORM);
  }
  if (value->kind != OPC_VALUE_INT || ways[how].number == 0) return false;
  return (how != CALM_POSITIVE || value->integer < 1) && opc_edit_number(value, ways[how].number);
}

void opc_repair_crash(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  (void)op;
  for (int how = 0; how < CALM_COUNT; how++) {
    opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_CALM);
    if (!copy) return;
    bool changed = false;
    size_t count = opc_slots_of(copy, slots);
    for (size_t i = 0; i < count; i++) changed |= calm((calm_t)how, slots[i].value);
    if (!changed) opc_candidates_drop_last(out);
  }
  size_t count = opc_slots_of(sample, slots);
  for (size_t i = 0; i < count && out->count < OPC_CANDIDATES_MAX / 3;
       i++) { /* one number, or the values of one tensor, alone */
    opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_CALM);
    if (!copy) return;
    opc_slots_of(copy, slots);
    if (!calm(CALM_ALL, slots[i].value)) opc_candidates_drop_last(out);
  }
}

/* ---- after a hang ---- */

/* An operator may follow a list or a tree to its end, or look through a table for a free slot: these end with -1. */
void opc_repair_hang(const opc_sample_t *sample, opc_candidates_t *out) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  for (int all = 0; all < 2; all++) {
    opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_CALM);
    if (!copy) return;
    const size_t count = opc_slots_of(copy, slots);
    bool changed = false, first = true;
    for (size_t i = 0; i < count; i++) {
      if (!opc_tensor_holds_integers(slots[i].value)) continue;
      changed |= first || all ? opc_edit_full(slots[i].value, -1) : opc_edit_fill(slots[i].value, OPC_FILL_ZEROS);
      first = false;
    }
    if (!changed) opc_candidates_drop_last(out);
  }
}

/* ---- from nothing to something ---- */

void opc_repair_empty(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  (void)op;
  for (int64_t size = 1; size <= 4; size++) {
    for (int numbers = 0; numbers < 2; numbers++) {
      opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_NON_EMPTY);
      if (!copy) return;
      bool changed = false;
      size_t count = opc_slots_of(copy, slots);
      for (size_t i = 0; i < count; i++) {
        opc_value_t *value = slots[i].value;
        for (int dim = 0; value->kind == OPC_VALUE_TENSOR && dim < value->tensor->ndim; dim++) {
          if (value->tensor->sizes[dim] == 0) changed |= opc_edit_dim(value, dim, size);
        }
        if (numbers && value->kind == OPC_VALUE_INT && value->integer < size) changed |= opc_edit_number(value, size);
      }
      if (!changed) opc_candidates_drop_last(out);
    }
  }
}

/* ---- other shapes of what was accepted ---- */

/* The sizes that occur in tensors, each once. */
enum { DISTINCT_MAX = 32 };
static size_t distinct_sizes(const opc_slot_t *slots, size_t count, int64_t sizes[DISTINCT_MAX]) {
  size_t size_count = 0;
  for (size_t i = 0; i < count; i++) {
    for (int dim = 0; slots[i].value->kind == OPC_VALUE_TENSOR && dim < slots[i].value->tensor->ndim; dim++) {
      bool known = false;
      for (size_t k = 0; k < size_count; k++) known |= sizes[k] == slots[i].value->tensor->sizes[dim];
      if (!known && size_count < DISTINCT_MAX) sizes[size_count++] = slots[i].value->tensor->sizes[dim];
    }
  }
  return size_count;
}

/* Every dimension of size `from` becomes `to`. With numbers, so does every int equal to it. first_only: dimension 0
 * only. */
static bool rescale(opc_sample_t *sample, int64_t from, int64_t to, bool numbers, bool first_only) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(sample, slots);
  bool changed = false;
  for (size_t i = 0; i < count; i++) {
    opc_value_t *value = slots[i].value;
    for (int dim = 0;
         value->kind == OPC_VALUE_TENSOR && dim < (first_only && value->tensor->ndim > 1 ? 1 : value->tensor->ndim);
         dim++) {
      if (value->tensor->sizes[dim] == from) changed |= opc_edit_dim(value, dim, to);
    }
    if (numbers && value->kind == OPC_VALUE_INT && value->integer == from) changed |= opc_edit_number(value, to);
  }
  return changed;
}

void opc_derive_smaller(const opc_sample_t *sample, opc_candidates_t *out) {
  enum { FEW_DIMENSIONS = 4 };
  opc_slot_t slots[OPC_SLOTS_MAX];
  int64_t sizes[DISTINCT_MAX];
  size_t count = opc_slots_of(sample, slots), size_count = distinct_sizes(slots, count, sizes);
  for (int64_t to = 2; to >= 1; to--) {
    for (size_t k = 0; k < size_count; k++) {
      for (int numbers = 1; numbers >= 0 && sizes[k] > to; numbers--) {
        opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_SMALLER);
        if (!copy) return;
        if (!rescale(copy, sizes[k], to, numbers == 1, false)) opc_candidates_drop_last(out);
      }
    }
  }
  for (size_t i = 0; i < count; i++) {
    bool many = slots[i].value->kind == OPC_VALUE_TENSOR && slots[i].value->tensor->ndim > FEW_DIMENSIONS;
    opc_sample_t *copy = many ? opc_candidates_add(out, sample, OPC_FAMILY_SMALLER) : NULL;
    opc_slot_t own[OPC_SLOTS_MAX];
    if (!copy) continue;
    opc_slots_of(copy, own);
    if (!opc_edit_rank(own[i].value, FEW_DIMENSIONS, false)) opc_candidates_drop_last(out);
  }
}

void opc_derive_shapes(const opc_operator_t *op, const opc_sample_t *sample, opc_candidates_t *out) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  int64_t sizes[DISTINCT_MAX];
  size_t count = opc_slots_of(sample, slots), size_count = distinct_sizes(slots, count, sizes);
  (void)op;
  static const struct {
    bool numbers, first_only, twice;
  } ways[] = {
      {false, true, false}, {true, false, false}, {false, false, false}, {true, false, true}, {false, false, true}};
  for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
    for (size_t k = 0; k < size_count; k++) {
      int64_t to = ways[way].twice ? 2 * sizes[k] : sizes[k] + 1;
      opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_OTHER_SHAPE);
      if (!copy) return;
      if (!rescale(copy, sizes[k], to, ways[way].numbers, ways[way].first_only)) opc_candidates_drop_last(out);
    }
  }
  for (size_t i = 0; i < count;
       i++) { /* one tensor alone, one dimension alone; without tensors the numbers define the shape */
    bool tensor = slots[i].value->kind == OPC_VALUE_TENSOR;
    int dims = tensor ? slots[i].value->tensor->ndim : 1;
    for (int dim = 0; dim < dims; dim++) {
      opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_OTHER_SHAPE);
      opc_slot_t own[OPC_SLOTS_MAX];
      if (!copy) return;
      opc_slots_of(copy, own);
      opc_value_t *value = own[i].value;
      bool changed = tensor ? opc_edit_dim(value, dim, value->tensor->sizes[dim] + 1)
                            : value->kind == OPC_VALUE_INT && opc_edit_number(value, value->integer + 1);
      if (!changed) opc_candidates_drop_last(out);
    }
  }
}
