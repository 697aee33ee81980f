#include "checks/determinism/determinism.h"

#include <math.h>

/* ---- every tensor: a dtype, a variant ---- */

static const opc_dtype_t dtypes[] = {OPC_DTYPE_FLOAT32, OPC_DTYPE_FLOAT64,   OPC_DTYPE_FLOAT16,
                                     OPC_DTYPE_INT64,   OPC_DTYPE_COMPLEX64, OPC_DTYPE_BOOL};
static const char *const variants[] = {"all.larger", "all.empty0"};
enum { DTYPES = sizeof dtypes / sizeof *dtypes, VARIANTS = sizeof variants / sizeof *variants };

/* ---- arguments that are not tensors ---- */

enum { PLAIN_FLOAT = 1 << 0, PLAIN_BOOL = 1 << 1, PLAIN_INT = 1 << 2 };
static const struct plain_change {
  unsigned kinds;
  const char *text;
} plain_changes[] = {
    {PLAIN_FLOAT, "other floating-point numbers"},
    {PLAIN_BOOL, "every flag inverted"},
    {PLAIN_FLOAT | PLAIN_BOOL, "other floating-point numbers and every flag inverted"}, /* a dropout needs both */
    {PLAIN_INT, "other integers"}};
enum { PLAIN_CHANGES = sizeof plain_changes / sizeof *plain_changes };
const size_t opc_change_first_misfit = DTYPES + VARIANTS + PLAIN_CHANGES;

/* With the same integer part: a cache may have that as its key. A share or a probability stays between 0 and 1. */
static double other_number(double number) {
  const double whole = trunc(number), fraction = fabs(number - whole);
  if (!isfinite(number)) return 0.125;
  if (number == 1.0) return 0.625;
  return copysign(fabs(whole) + (fraction < 0.5 ? fraction + 0.25 : fraction * 0.5), number);
}

/* The kinds of arguments that were there to change. */
static unsigned plain_change(opc_value_t *value, unsigned kinds) {
  unsigned changed = 0;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    changed |= plain_change(&value->list.items[i], kinds);
  if ((kinds & PLAIN_FLOAT) && value->kind == OPC_VALUE_FLOAT) {
    value->floating = other_number(value->floating);
    changed |= PLAIN_FLOAT;
  } else if ((kinds & PLAIN_BOOL) && value->kind == OPC_VALUE_BOOL) {
    value->boolean = !value->boolean;
    changed |= PLAIN_BOOL;
  } else if ((kinds & PLAIN_INT) && value->kind == OPC_VALUE_INT) {
    value->integer++;
    changed |= PLAIN_INT;
  }
  return changed;
}

/* An argument that was not given: a flag's default is mostly false. */
static unsigned absent_change(const opc_type_t *type, opc_value_t *value, bool *absent, unsigned kinds) {
  unsigned kind = type->kind == OPC_TYPE_FLOAT ? PLAIN_FLOAT : type->kind == OPC_TYPE_BOOL ? PLAIN_BOOL : 0;
  if (!(kind & kinds)) return 0;
  *absent = false;
  if (kind == PLAIN_BOOL) *value = (opc_value_t){.kind = OPC_VALUE_BOOL, .boolean = true};
  else *value = (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = 0.125};
  return kind;
}

/* ---- one tensor: a wrong shape ---- */

typedef enum shape_change { SHAPE_LONGER = 0, SHAPE_DIMENSION, SHAPE_CHANGES } shape_change_t;
static const char *const shape_text[SHAPE_CHANGES] = {"made longer by one", "given one dimension more"};
enum { SHAPED_TENSORS = 3 };

/* False: there is no such shape for it. */
static bool shape_tensor(opc_tensor_spec_t *spec, shape_change_t change) {
  if (spec->storage || spec->identity || (change == SHAPE_LONGER ? spec->ndim == 0 : spec->ndim == OPC_MAX_DIMS))
    return false;
  if (change == SHAPE_LONGER) spec->sizes[spec->ndim - 1]++;
  else spec->sizes[spec->ndim++] = 1;
  opc_tensor_spec_make_contiguous(spec);
  if (spec->fill.kind == OPC_FILL_VALUES || spec->fill.kind == OPC_FILL_FILE)
    spec->fill.kind = OPC_FILL_ZEROS; /* as many as there were elements */
  return true;
}

/* ---- all kinds ---- */

opc_change_state_t opc_change_make(const opc_operator_t *op, const opc_sample_t *sample, size_t number,
                                   opc_sample_t *out, char *what, size_t size) {
  opc_error_t ignored;
  if (number >= DTYPES && number < DTYPES + VARIANTS) {
    const char *name = variants[number - DTYPES];
    snprintf(what, size, "a call with %s", name);
    return opc_variant_apply(sample, op, name, out, &ignored) == OPC_OK ? OPC_CHANGE_MADE : OPC_CHANGE_NOT_HERE;
  }
  if (opc_sample_copy(sample, out, &ignored) != OPC_OK) return OPC_CHANGES_OVER;
  if (number < DTYPES) {
    snprintf(what, size, "a call with %s tensors", opc_dtype_name(dtypes[number]));
    return opc_sample_cast(out, dtypes[number]) ? OPC_CHANGE_MADE : OPC_CHANGE_NOT_HERE;
  }
  number -= DTYPES + VARIANTS;
  if (number < PLAIN_CHANGES) {
    unsigned changed = 0;
    snprintf(what, size, "a call with %s", plain_changes[number].text);
    for (size_t i = 0; i < out->argument_count; i++) {
      unsigned kinds = plain_changes[number].kinds;
      if (out->absent[i]) changed |= absent_change(&op->arguments[i].type, &out->arguments[i], &out->absent[i], kinds);
      else changed |= plain_change(&out->arguments[i], kinds);
    }
    return changed == plain_changes[number].kinds ? OPC_CHANGE_MADE : OPC_CHANGE_NOT_HERE;
  }
  number -= PLAIN_CHANGES;
  const size_t tensor = number / SHAPE_CHANGES;
  const shape_change_t change = (shape_change_t)(number % SHAPE_CHANGES);
  opc_variant_tensors_t tensors;
  if (tensor >= SHAPED_TENSORS || opc_variant_tensors_collect(out, op, &tensors, &ignored) != OPC_OK)
    return OPC_CHANGES_OVER;
  bool made = tensor < tensors.count && shape_tensor(tensors.items[tensor].value->tensor, change);
  if (made) snprintf(what, size, "a call with %s %s", tensors.items[tensor].path, shape_text[change]);
  opc_variant_tensors_clear(&tensors);
  return made ? OPC_CHANGE_MADE : OPC_CHANGE_NOT_HERE;
}

static opc_change_state_t change_options(const opc_operator_t *op, const opc_sample_t *sample, opc_sample_t *out,
                                         char *what, size_t size) {
  static const unsigned wanted[] = {PLAIN_FLOAT | PLAIN_BOOL, PLAIN_BOOL, PLAIN_FLOAT};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    for (size_t number = 0; number < PLAIN_CHANGES; number++) {
      if (plain_changes[number].kinds != wanted[i]) continue;
      opc_change_state_t state = opc_change_make(op, sample, DTYPES + VARIANTS + number, out, what, size);
      if (state != OPC_CHANGE_NOT_HERE) return state;
      opc_sample_clear(out);
    }
  return OPC_CHANGE_NOT_HERE;
}

static opc_change_state_t change_dtype(const opc_sample_t *sample, opc_sample_t *out, char *what, size_t size) {
  const opc_dtype_t own = opc_sample_main_dtype(sample);
  const opc_dtype_t other = own == OPC_DTYPE_FLOAT64 ? OPC_DTYPE_FLOAT32 : OPC_DTYPE_FLOAT64;
  opc_error_t error;
  *out = (opc_sample_t){0};
  if (opc_dtype_class(own) != OPC_CLASS_FLOATING || opc_sample_copy(sample, out, &error) != OPC_OK ||
      !opc_sample_cast(out, other))
    return OPC_CHANGE_NOT_HERE;
  snprintf(what, size, "dtype %s", opc_dtype_name(other));
  return OPC_CHANGE_MADE;
}

/* Of every tensor, whatever was learned of their relations: calls with other sizes in one process taught those. */
static opc_change_state_t change_larger(const opc_operator_t *op, const opc_sample_t *sample, opc_sample_t *out,
                                        char *what, size_t size) {
  opc_sample_t unrelated = *sample;
  opc_error_t ignored;
  unrelated.relations = NULL;
  snprintf(what, size, "a call on larger tensors");
  return opc_variant_apply(&unrelated, op, "all.larger", out, &ignored) == OPC_OK ? OPC_CHANGE_MADE
                                                                                  : OPC_CHANGE_NOT_HERE;
}

opc_change_state_t opc_change_turn(const opc_operator_t *op, const opc_sample_t *sample, opc_turn_t turn,
                                   opc_sample_t *out, char *what, size_t size) {
  switch (turn) {
    case OPC_TURN_DTYPE:
      return change_dtype(sample, out, what, size);
    case OPC_TURN_LARGER:
      return change_larger(op, sample, out, what, size);
    default:
      return change_options(op, sample, out, what, size);
  }
}
