/* What a list may hold: tensors of the tuple are most likely to fit. */
#include "search/engine/search_state.h"

#include <stdlib.h>

enum { ALIKE = 2 };

typedef struct lists {
  opc_value_t *items;
  size_t count;
} lists_t;

static bool may_hold_null(const opc_type_t *type) { return opc_type_given(type)->element->kind == OPC_TYPE_OPTIONAL; }

bool opc_option_lists_are(const opc_type_t *type) {
  const opc_type_t *list = opc_type_given(type);
  if (list->kind != OPC_TYPE_LIST) return false;
  if (list->element->kind == OPC_TYPE_OPTIONAL) return list->element->element->kind == OPC_TYPE_TENSOR;
  return list != type && list->element->kind == OPC_TYPE_TENSOR; /* a required list has its tensors already */
}

static size_t count_tensors(const opc_value_t *value) {
  size_t count = 0;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    count += value->list.items[i].kind == OPC_VALUE_TENSOR;
  return count;
}

bool opc_option_list_is_full(const opc_value_t *value) {
  return count_tensors(value) > 0 && count_tensors(value) == value->list.count;
}

/* Room for one more list of this length, all null. NULL: no room. */
static opc_value_t *search_option_lists_begin(lists_t *lists, size_t length) {
  if (lists->count == OPC_OPTION_LISTS_MAX) return NULL;
  opc_value_t *list = &lists->items[lists->count];
  *list = (opc_value_t){.kind = OPC_VALUE_LIST};
  list->list.items = calloc(length, sizeof *list->list.items);
  if (!list->list.items) return NULL;
  list->list.count = length;
  lists->count++;
  return list;
}

static void drop_last(lists_t *lists) { opc_value_clear(&lists->items[--lists->count]); }

/* A copy in which every null becomes the tensor before it, or the first one. */
static void add_filled(lists_t *lists, const opc_value_t *from) {
  opc_value_t *list = search_option_lists_begin(lists, from->list.count);
  const opc_value_t *last = NULL;
  for (size_t i = 0; list && !last && i < from->list.count; i++)
    if (from->list.items[i].kind == OPC_VALUE_TENSOR) last = &from->list.items[i];
  for (size_t i = 0; list && last && i < from->list.count; i++) {
    if (from->list.items[i].kind == OPC_VALUE_TENSOR) last = &from->list.items[i];
    if (opc_value_copy(last, &list->list.items[i], NULL) == OPC_OK) continue;
    drop_last(lists);
    return;
  }
}

static void add_repeated(lists_t *lists, const opc_value_t *tensor, size_t length) {
  opc_value_t *list = search_option_lists_begin(lists, length);
  for (size_t i = 0; list && i < length; i++) {
    if (opc_value_copy(tensor, &list->list.items[i], NULL) == OPC_OK) continue;
    drop_last(lists);
    return;
  }
}

static void add_without(lists_t *lists, const opc_value_t *from, size_t place) {
  opc_value_t *list = search_option_lists_begin(lists, from->list.count);
  for (size_t i = 0; list && i < from->list.count; i++) {
    if (i == place || opc_value_copy(&from->list.items[i], &list->list.items[i], NULL) == OPC_OK) continue;
    drop_last(lists);
    return;
  }
}

/* ---- indexed tensors ---- */

/* A dimension from its end to its beginning, followed by so many dimensions of size 1. The indices are in range and
 * none occurs twice, so writes through them do not depend on an order. The result also differs from one without an
 * index. */
static bool set_index(opc_value_t *out, int64_t size, int behind) {
  const int64_t sizes[] = {size, 1};
  opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_INT64, 1 + behind, sizes);
  if (!spec) return false;
  *out = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
  spec->fill.kind = OPC_FILL_ZEROS;
  if (size == 0) return true;
  spec->fill.values = calloc((size_t)size, sizeof *spec->fill.values);
  if (!spec->fill.values) return false; /* cleared with its list */
  spec->fill.kind = OPC_FILL_VALUES;
  spec->fill.value_count = (size_t)size;
  for (int64_t i = 0; i < size; i++) spec->fill.values[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = size - 1 - i};
  return true;
}

/* The result has the indexed tensor's shape: indexes its first two dimensions, or one of them. */
static void add_indices(lists_t *lists, const opc_tensor_spec_t *of, bool with_null) {
  if (of->ndim > 1) {
    opc_value_t *list = search_option_lists_begin(lists, 2);
    bool made = list && (with_null || set_index(&list->list.items[0], of->sizes[0], 1)) &&
                set_index(&list->list.items[1], of->sizes[1], 0);
    if (list && !made) drop_last(lists);
  }
  opc_value_t *list = of->ndim > 0 && !with_null ? search_option_lists_begin(lists, 1) : NULL;
  if (list && !set_index(&list->list.items[0], of->sizes[0], 0)) drop_last(lists);
}

/* ---- all together ---- */

static const opc_tensor_spec_t *first_tensor(const opc_slot_t *slots, size_t count, size_t argument) {
  for (size_t i = 0; i < count; i++)
    if (slots[i].argument != argument && slots[i].value->kind == OPC_VALUE_TENSOR) return slots[i].value->tensor;
  return NULL;
}

static void add_full(lists_t *lists, const opc_operator_t *op, const opc_sample_t *sample, size_t argument,
                     size_t length) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  const char *name = op->arguments[argument].name;
  const size_t count = opc_slots_of(sample, slots);
  const opc_tensor_spec_t *first = first_tensor(slots, count, argument);
  const bool indices = opc_seed_synonyms("indices", name);
  if (indices && first) add_indices(lists, first, false);
  for (size_t i = 0; i < sample->argument_count; i++)
    if (i != argument && !sample->absent[i] && opc_option_list_is_full(&sample->arguments[i]))
      add_filled(lists, &sample->arguments[i]);
  int alike = 0;
  for (size_t i = 0; i < count && alike < ALIKE; i++) {
    if (slots[i].argument == argument || slots[i].value->kind != OPC_VALUE_TENSOR) continue;
    add_repeated(lists, slots[i].value, length);
    if (length > 1) add_repeated(lists, slots[i].value, 1);
    alike++;
  }
  if (!indices && first) add_indices(lists, first, false);
}

size_t opc_option_lists_make(const opc_operator_t *op, const opc_sample_t *sample, size_t argument,
                             opc_value_t out[OPC_OPTION_LISTS_MAX]) {
  lists_t lists = {.items = out};
  const opc_value_t *now = &sample->arguments[argument];
  const bool given = !sample->absent[argument] && now->kind == OPC_VALUE_LIST;
  const size_t length = given && now->list.count > 0 ? now->list.count : 2, tensors = given ? count_tensors(now) : 0;
  if (tensors < length) {
    if (tensors > 0) add_filled(&lists, now);
    add_full(&lists, op, sample, argument, length);
  } else if (may_hold_null(&op->arguments[argument].type)) {
    opc_slot_t slots[OPC_SLOTS_MAX];
    const opc_tensor_spec_t *first = first_tensor(slots, opc_slots_of(sample, slots), argument);
    if (first && opc_tensor_holds_integers(&now->list.items[0])) add_indices(&lists, first, true);
    add_without(&lists, now, length - 1);
    if (length > 1) add_without(&lists, now, 0);
  }
  return lists.count;
}
