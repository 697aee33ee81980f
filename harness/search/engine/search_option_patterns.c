#include "search/engine/search_state.h"

#include <stdlib.h>

enum {
  SMALLEST = 2,
  LARGEST = 64,
  WIDE = 12,
  BYTES_SMALLEST = 4 /* bytes of an element: int8 and int16 are more often data */
};

typedef enum pattern {
  PATTERN_NEXT = 0,   /* 0 1 2 3, in the second tensor 1 2 3 4: neighbours, starts and ends, a permutation */
  PATTERN_UP_TO_SIZE, /* 0 … the size of a tensor: segments that cover all of it */
  PATTERN_PAIRS,      /* 0 0 1 1, in the second tensor 1 1 2 2: repeated keys, segments without rows */
  PATTERN_DOWN,       /* 3 2 1 0: a permutation that is not in order */
  PATTERN_ENDS        /* 1 2 3 -1: a list, a free slot */
} pattern_t;

typedef struct way {
  pattern_t pattern;
  bool first_only; /* the first integer tensor alone */
  bool room;       /* tensors without integers are twice as long: values may be larger */
  bool wide;       /* every tensor has as many rows: a result then has some numbers */
  bool longer;     /* lists of tensors are one longer, and so are the integer tensors as long as one of them */
  bool hole;       /* the last but one tensor of a list has no rows */
} way_t;
static const way_t ways[] = {{.pattern = PATTERN_NEXT, .longer = true},
                             {.pattern = PATTERN_NEXT, .longer = true, .hole = true},
                             {.pattern = PATTERN_NEXT},
                             {.pattern = PATTERN_UP_TO_SIZE, .first_only = true, .wide = true},
                             {.pattern = PATTERN_UP_TO_SIZE, .first_only = true},
                             {.pattern = PATTERN_NEXT, .room = true},
                             {.pattern = PATTERN_PAIRS},
                             {.pattern = PATTERN_DOWN},
                             {.pattern = PATTERN_ENDS, .first_only = true}};

static bool is_patterned(const opc_value_t *value, int64_t smallest) {
  if (!opc_tensor_holds_integers(value)) return false;
  const opc_tensor_spec_t *spec = value->tensor;
  const int64_t numel = opc_tensor_spec_numel(spec);
  return opc_dtype_class(spec->dtype) == OPC_CLASS_SIGNED && opc_dtype_size(spec->dtype) >= BYTES_SMALLEST &&
         spec->ndim > 0 && numel >= smallest && numel <= LARGEST && spec->fill.kind != OPC_FILL_FILE;
}

/* The first size of the first tensor without integers; if there is none, the tensor's own. */
static int64_t size_for(const opc_slot_t *slots, size_t count, int64_t own) {
  for (size_t i = 0; i < count; i++) {
    const opc_value_t *value = slots[i].value;
    if (value->kind == OPC_VALUE_TENSOR && !opc_tensor_holds_integers(value) && value->tensor->ndim > 0)
      return value->tensor->sizes[0];
  }
  return own;
}

static int64_t value_of(pattern_t pattern, int64_t index, int64_t numel, int64_t number, int64_t size) {
  switch (pattern) {
    case PATTERN_NEXT:
      return index + number;
    case PATTERN_UP_TO_SIZE:
      return index * size / (numel - 1);
    case PATTERN_PAIRS:
      return index / 2 + number;
    case PATTERN_DOWN:
      return numel - 1 - index;
    case PATTERN_ENDS:
      return index + 1 < numel ? index + 1 : -1;
  }
  return 0;
}

static bool set_pattern(opc_value_t *tensor, pattern_t pattern, int64_t number, int64_t size) {
  const int64_t numel = opc_tensor_spec_numel(tensor->tensor);
  opc_number_t *values = calloc((size_t)numel, sizeof *values);
  if (!values) return false;
  for (int64_t i = 0; i < numel; i++)
    values[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = value_of(pattern, i, numel, number, size)};
  (void)opc_edit_fill(tensor, OPC_FILL_RANGE); /* frees earlier values */
  tensor->tensor->fill.kind = OPC_FILL_VALUES;
  tensor->tensor->fill.values = values;
  tensor->tensor->fill.value_count = (size_t)numel;
  return true;
}

/* False: nothing can be longer. */
static bool make_room(const opc_slot_t *slots, size_t count) {
  bool changed = false;
  for (size_t i = 0; i < count; i++) {
    opc_value_t *value = slots[i].value;
    if (value->kind == OPC_VALUE_TENSOR && !opc_tensor_holds_integers(value) && value->tensor->ndim > 0)
      changed |= opc_edit_dim(value, 0, 2 * value->tensor->sizes[0]);
  }
  return changed;
}

/* False: all tensors have so many rows. */
static bool make_wide(const opc_slot_t *slots, size_t count) {
  bool changed = false;
  for (size_t i = 0; i < count; i++) {
    opc_value_t *value = slots[i].value;
    if (value->kind == OPC_VALUE_TENSOR && value->tensor->ndim > 0) changed |= opc_edit_dim(value, 0, WIDE);
  }
  return changed;
}

/* False: no list of tensors has an integer tensor that may refer to it. */
static bool make_longer(opc_sample_t *sample, bool hole) {
  bool changed = false;
  for (size_t i = 0; i < sample->argument_count; i++) {
    opc_value_t *list = &sample->arguments[i];
    if (sample->absent[i] || list->kind != OPC_VALUE_LIST || list->list.count == 0 ||
        list->list.items[0].kind != OPC_VALUE_TENSOR)
      continue;
    const int64_t length = (int64_t)list->list.count;
    bool spoken_of = false;
    for (size_t k = 0; k < sample->argument_count; k++) {
      opc_value_t *value = &sample->arguments[k];
      if (!sample->absent[k] && is_patterned(value, 1) && value->tensor->sizes[0] == length)
        spoken_of |= opc_edit_dim(value, 0, length + 1);
    }
    if (!spoken_of || !opc_edit_list_length(list, (size_t)length + 1)) continue;
    changed |= !hole || opc_edit_dim(&list->list.items[length - 1], 0, 0);
  }
  return changed;
}

static bool search_option_patterns_apply(const way_t *way, opc_sample_t *sample) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  int64_t number = 0;
  if (way->longer && !make_longer(sample, way->hole)) return false;
  const size_t count = opc_slots_of(sample, slots);
  if (way->room && !make_room(slots, count)) return false;
  if (way->wide && !make_wide(slots, count)) return false;
  for (size_t i = 0; i < count; i++) {
    if (!is_patterned(slots[i].value, SMALLEST) || (way->first_only && number > 0)) continue;
    const int64_t size = size_for(slots, count, opc_tensor_spec_numel(slots[i].value->tensor));
    if (!set_pattern(slots[i].value, way->pattern, number, size)) return false;
    number++;
  }
  return number > 0;
}

static void search_option_patterns_offer(const way_t *way, const opc_sample_t *sample, opc_candidates_t *out) {
  opc_sample_t *copy = opc_candidates_add(out, sample, OPC_FAMILY_OPTION);
  if (copy && !search_option_patterns_apply(way, copy)) opc_candidates_drop_last(out);
}

void opc_option_patterns_begin(const opc_sample_t *sample, bool hangs, opc_candidates_t *out) {
  const size_t count = sizeof ways / sizeof ways[0];
  if (hangs) search_option_patterns_offer(&ways[count - 1], sample, out);
  for (size_t i = 0; i < count - hangs; i++) search_option_patterns_offer(&ways[i], sample, out);
}
