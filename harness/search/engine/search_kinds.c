/* Other kinds of arguments than those accepted: with more and fewer dimensions, and other dtypes.
 *
 * A kernel that does not check the number of dimensions may take the first two of three for all of them. Then what was
 * added has no effect on the result, and the arguments are not kept. */
#include <math.h>
#include <string.h>

#include "model/sample/relations.h"
#include "search/engine/search_state.h"

enum { DIMENSIONS_MAX = 5, TRIES_MAX = 24, CRASHES_MAX = 2 };

/* Which tensors get another number of dimensions. */
enum { WITH_SAME_SIZES = 0, ALL_TENSORS, FIRST_ALONE, WAYS };

/* What is tried, in this order. */
enum { MORE_DIMENSIONS = 0, FEWER_DIMENSIONS, DTYPES, STAGES };

/* The first accepted one of each row is enough. */
static const opc_dtype_t dtypes[][4] = {{OPC_DTYPE_FLOAT16, OPC_DTYPE_BFLOAT16, OPC_DTYPE_FLOAT64, OPC_DTYPE_FLOAT32},
                                        {OPC_DTYPE_INT64, OPC_DTYPE_INT32, OPC_DTYPE_UINT8, OPC_DTYPE_BOOL}};
enum { ROWS = sizeof dtypes / sizeof *dtypes, COLUMNS = sizeof dtypes[0] / sizeof dtypes[0][0] };

void opc_kinds_clear(opc_kinds_t *kinds) {
  opc_sample_clear(&kinds->next);
  for (size_t i = 0; i < kinds->count; i++) opc_sample_clear(&kinds->found[i].sample);
  *kinds = (opc_kinds_t){0};
}

void opc_kinds_begin(opc_kinds_t *kinds, const opc_kept_t *base, bool dtypes_too) {
  *kinds = (opc_kinds_t){.begun = true, .base = base, .dtypes_too = dtypes_too, .step = 1};
}

/* ---- other numbers of dimensions ---- */

/* The first tensor with the most dimensions; NULL: none has any. */
static const opc_tensor_spec_t *main_tensor(const opc_slot_t *slots, size_t count) {
  const opc_tensor_spec_t *main = NULL;
  for (size_t i = 0; i < count; i++) {
    const opc_tensor_spec_t *spec = slots[i].value->kind == OPC_VALUE_TENSOR ? slots[i].value->tensor : NULL;
    if (spec && spec->ndim > 0 && (!main || spec->ndim > main->ndim)) main = spec;
  }
  return main;
}

static bool finite_value(const opc_number_t *number, double *out) {
  *out = number->kind == OPC_NUMBER_INT ? (double)number->i : number->f;
  return (number->kind == OPC_NUMBER_INT || number->kind == OPC_NUMBER_FLOAT) && isfinite(*out);
}

/* Values that a larger tensor repeats become a little smaller with each repetition, and zeros a little larger: among
 * equal values an operator that sorts or takes a maximum has no gradient. */
static void tell_apart(opc_tensor_spec_t *spec, size_t original) {
  enum { STEPS = 256 };
  double value;
  if (spec->fill.kind != OPC_FILL_VALUES || original == 0 || opc_dtype_class(spec->dtype) != OPC_CLASS_FLOATING) return;
  for (size_t i = original; i < spec->fill.value_count; i++) {
    const double step = (double)(i / original % STEPS) / STEPS;
    if (!finite_value(&spec->fill.values[i], &value)) continue;
    spec->fill.values[i] =
        (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = value == 0 ? step / STEPS : value * (1 - step)};
  }
}

/* Adds dimensions in front, or removes the first ones. Added ones have the size 1 once the tensor is large enough: an
 * operator in Python may take milliseconds for each element. */
static bool search_kinds_change_dimensions(opc_value_t *tensor, int change) {
  enum { ELEMENTS_ENOUGH = 64 };
  static const int64_t added[DIMENSIONS_MAX] = {2, 3, 2, 3, 2};
  int64_t sizes[OPC_MAX_DIMS], elements = opc_tensor_spec_numel(tensor->tensor);
  const opc_tensor_spec_t *spec = tensor->tensor;
  const int ndim = spec->ndim + change;
  if (ndim < 1 || ndim > DIMENSIONS_MAX) return false;
  for (int i = change - 1; i >= 0; i--) { /* the innermost added one first */
    sizes[i] = elements * added[change - 1 - i] <= ELEMENTS_ENOUGH || i == change - 1 ? added[change - 1 - i] : 1;
    elements *= sizes[i];
  }
  for (int i = change > 0 ? change : 0; i < ndim; i++) sizes[i] = spec->sizes[i - change];
  const size_t original = spec->fill.kind == OPC_FILL_VALUES ? spec->fill.value_count : 0;
  if (!opc_edit_shape(tensor, ndim, sizes)) return false;
  tell_apart(tensor->tensor, original);
  return true;
}

static bool other_dimensions(const opc_kinds_t *kinds, opc_sample_t *out) {
  opc_slot_t slots[OPC_SLOTS_MAX], own[OPC_SLOTS_MAX];
  const size_t count = opc_slots_of(&kinds->base->sample, slots);
  const opc_tensor_spec_t *main = main_tensor(slots, count);
  const int change = kinds->stage == MORE_DIMENSIONS ? kinds->step : -kinds->step;
  bool changed = false;
  if (!main || opc_slots_of(out, own) != count) return false;
  for (size_t i = 0; i < count; i++) {
    const opc_tensor_spec_t *spec = slots[i].value->kind == OPC_VALUE_TENSOR ? slots[i].value->tensor : NULL;
    const bool alike = spec && spec->ndim == main->ndim &&
                       memcmp(spec->sizes, main->sizes, (size_t)main->ndim * sizeof *main->sizes) == 0;
    const bool wanted = kinds->way == WITH_SAME_SIZES ? alike
                        : kinds->way == ALL_TENSORS   ? spec && spec->ndim > 0
                                                      : spec == main;
    if (!wanted) continue;
    if (!search_kinds_change_dimensions(own[i].value, change)) return false;
    changed = true;
  }
  return changed;
}

/* Relations name dimensions by number. One that nothing checks must still hold; one that the operator checks holds in
 * the way that the operator understands it, as it accepts the arguments. */
static bool keeps_unchecked_relations(const opc_search_t *search, const opc_sample_t *sample) {
  const opc_relations_t *all = search->base->relations;
  for (size_t i = 0; all && i < all->count; i++) {
    opc_relations_t one = {.items = &all->items[i], .count = 1};
    if (all->items[i].kind == OPC_RELATION_UNKNOWN) return false;
    if (!all->items[i].checked && !opc_relations_hold(&one, sample, search->op, NULL, NULL, NULL, 0)) return false;
  }
  return true;
}

/* ---- other dtypes ---- */

/* Explicit values survive the cast: none becomes infinite, and they do not all become equal. */
static bool holds_values(const opc_tensor_spec_t *spec) {
  const bool integral = opc_dtype_is_integral(spec->dtype);
  double first = 0, first_before = 0, value;
  bool varied = false, varied_before = false;
  for (size_t i = 0; spec->fill.kind == OPC_FILL_VALUES && i < spec->fill.value_count; i++) {
    if (!finite_value(&spec->fill.values[i], &value)) {
      if (integral) return false;
      continue;
    }
    if (fabs(value) > opc_dtype_max(spec->dtype)) return false;
    const double after = integral ? trunc(value) : value;
    if (i == 0) first = after, first_before = value;
    varied |= after != first;
    varied_before |= value != first_before;
  }
  return varied || !varied_before;
}

static bool other_dtype(const opc_kinds_t *kinds, opc_sample_t *out) {
  const opc_dtype_t dtype = dtypes[kinds->row][kinds->column];
  opc_slot_t slots[OPC_SLOTS_MAX];
  if (!opc_sample_cast(out, dtype)) return false;
  const size_t count = opc_slots_of(out, slots);
  for (size_t i = 0; i < count; i++) {
    const opc_value_t *value = slots[i].value;
    if (value->kind == OPC_VALUE_TENSOR && value->tensor->dtype == dtype && !holds_values(value->tensor)) return false;
  }
  return true;
}

/* ---- the order ---- */

static void next_stage(opc_kinds_t *kinds) {
  kinds->stage++;
  kinds->way = kinds->row = kinds->column = 0;
  kinds->step = 1;
  kinds->over |= kinds->stage == STAGES || (kinds->stage == DTYPES && !kinds->dtypes_too);
}

/* What was tried last was not accepted. */
static void go_on_after_refusal(opc_kinds_t *kinds) {
  if (kinds->stage != DTYPES) {
    if (++kinds->way == WAYS) next_stage(kinds);
  } else if (++kinds->column == COLUMNS) {
    kinds->column = 0;
    if (++kinds->row == ROWS) next_stage(kinds);
  }
}

static void go_on_after_success(opc_kinds_t *kinds) {
  if (kinds->stage != DTYPES) {
    kinds->step++;
    return;
  }
  kinds->column = 0;
  if (++kinds->row == ROWS) next_stage(kinds);
}

/* False: this step makes no arguments that are worth a try. */
static bool search_kinds_make(const opc_search_t *search, opc_kinds_t *kinds) {
  opc_sample_clear(&kinds->next);
  if (opc_sample_copy(&kinds->base->sample, &kinds->next, NULL) != OPC_OK) {
    kinds->over = true;
    return false;
  }
  if (kinds->stage == DTYPES) return other_dtype(kinds, &kinds->next);
  return other_dimensions(kinds, &kinds->next) && keeps_unchecked_relations(search, &kinds->next);
}

const opc_sample_t *opc_kinds_next(opc_search_t *search) {
  opc_kinds_t *kinds = &search->kinds;
  while (!kinds->over) {
    if (kinds->tries == TRIES_MAX || kinds->crashes == CRASHES_MAX || kinds->count == OPC_KINDS_MAX) kinds->over = true;
    else if (search_kinds_make(search, kinds)) return &kinds->next;
    else go_on_after_refusal(kinds);
  }
  return NULL;
}

opc_search_family_t opc_kinds_family(const opc_kinds_t *kinds) {
  return kinds->stage == DTYPES ? OPC_FAMILY_OTHER_DTYPE : OPC_FAMILY_OTHER_RANK;
}

/* With more or fewer elements in other dimensions, the result has another size, unless it has only one element anyway.
 */
static bool has_followed(const opc_kinds_t *kinds, const opc_tried_t *tried) {
  return kinds->stage == DTYPES || tried->output_numel != kinds->base->results || kinds->base->results <= 1 ||
         opc_sample_elements(&kinds->next, NULL, NULL) == kinds->base->numel;
}

bool opc_kinds_report(opc_kinds_t *kinds, const opc_tried_t *tried, bool effect) {
  const bool died = tried->outcome == OPC_TRY_CRASHED || tried->outcome == OPC_TRY_TIMEOUT;
  bool accepted = tried->outcome == OPC_TRY_RETURNED && effect && !tried->refused_on_meta && has_followed(kinds, tried);
  opc_option_sample_t *found = &kinds->found[kinds->count];
  kinds->tries++;
  kinds->crashes += died;
  if (accepted) {
    *found = (opc_option_sample_t){.digest = opc_tried_digest(tried)};
    accepted = opc_sample_copy(&kinds->next, &found->sample, NULL) == OPC_OK;
  }
  if (!accepted) {
    go_on_after_refusal(kinds);
    return false;
  }
  kinds->count++;
  go_on_after_success(kinds);
  return true;
}
