#include "plan/variant/variant.h"

#include <stdlib.h>
#include <string.h>

#include "plan/variant/variant_table.h"

enum { COMPARED_MAX = 1 << 16 }; /* elements of a tensor whose values are compared */

/* ---- differences ---- */

enum {
  DIFFERS_SIZES = 1 << 0,
  DIFFERS_DTYPE = 1 << 1,
  DIFFERS_VALUES = 1 << 2,
  DIFFERS_RANDOMLY = 1 << 3 /* with DIFFERS_VALUES: other random numbers of the same kind */
};

static bool variant_change_is_random(const opc_fill_t *fill) {
  return fill->kind == OPC_FILL_NORMAL || fill->kind == OPC_FILL_UNIFORM || fill->kind == OPC_FILL_RANGE;
}

static bool repeats(const opc_tensor_spec_t *spec) {
  for (int dim = 0; dim < spec->ndim; dim++)
    if (spec->sizes[dim] > 1 && spec->strides[dim] == 0) return true;
  return false;
}

static bool equal_text(const char *left, const char *right) {
  return left == right || (left && right && strcmp(left, right) == 0);
}

/* Compares element by element; the tensor may repeat some. Any seed will do: the streams decide random numbers. */
static bool equal_elements(const opc_tensor_spec_t *left, const opc_tensor_spec_t *right, const char *path) {
  const int64_t numel = opc_tensor_spec_numel(left);
  const size_t bytes = (size_t)numel * opc_dtype_size(left->dtype);
  if (numel > COMPARED_MAX || bytes == 0) return numel == 0;
  OPC_SCOPED(opc_scope_free) char *values = calloc(2, bytes);
  return values && opc_fill_logical(left, path, 0, values, NULL) == OPC_OK &&
         opc_fill_logical(right, path, 0, values + bytes, NULL) == OPC_OK && memcmp(values, values + bytes, bytes) == 0;
}

/* Sizes and dtype are the same. Values with an unchanged fill are unchanged, unless elements repeat that did not
 * before, or the fill uses another argument's stream. */
static unsigned values_differ(const opc_tensor_spec_t *from, const opc_tensor_spec_t *to, const char *path) {
  if (from->fill.special != to->fill.special) return DIFFERS_VALUES;
  bool moved = (repeats(to) && !repeats(from)) || !equal_text(from->identity, to->identity);
  bool filled = from->fill.kind == to->fill.kind && from->fill.filled_as == to->fill.filled_as &&
                from->fill.rounded_to == to->fill.rounded_to && from->fill.lo == to->fill.lo &&
                from->fill.hi == to->fill.hi && from->fill.value_count == to->fill.value_count;
  if (!moved && filled && from->fill.kind != OPC_FILL_VALUES) return 0;
  if (equal_elements(from, to, path)) return 0;
  return DIFFERS_VALUES | (filled && variant_change_is_random(&from->fill) ? DIFFERS_RANDOMLY : 0);
}

static unsigned tensor_differs(const opc_tensor_spec_t *from, const opc_tensor_spec_t *to, const char *path) {
  unsigned differs = from->dtype != to->dtype ? DIFFERS_DTYPE : 0;
  if (from->ndim != to->ndim ||
      (from->ndim > 0 && memcmp(from->sizes, to->sizes, (size_t)from->ndim * sizeof from->sizes[0]) != 0))
    return differs | DIFFERS_SIZES;
  if (differs) return differs | (from->fill.special != to->fill.special ? DIFFERS_VALUES : 0);
  return values_differ(from, to, path);
}

/* ---- what a sample has besides floating tensors ---- */

static bool has_integer(const opc_value_t *value) {
  if (value->kind == OPC_VALUE_INT) return true;
  for (size_t i = 0; value->kind == OPC_VALUE_LIST && i < value->list.count; i++)
    if (has_integer(&value->list.items[i])) return true;
  return false;
}

static bool equal_plain(const opc_value_t *left, const opc_value_t *right) {
  if (left->kind != right->kind) return false;
  switch (left->kind) {
    case OPC_VALUE_INT:
      return left->integer == right->integer;
    case OPC_VALUE_BOOL:
      return left->boolean == right->boolean;
    case OPC_VALUE_FLOAT:
      return left->floating == right->floating;
    case OPC_VALUE_STRING:
      return strcmp(left->string, right->string) == 0;
    case OPC_VALUE_LIST:
      break;
    default: /* no variant changes it, or its tensors are compared */
      return true;
  }
  if (!has_integer(left)) return true; /* lists of tensors are compared by their tensors */
  if (left->list.count != right->list.count) return false;
  for (size_t i = 0; i < left->list.count; i++)
    if (!equal_plain(&left->list.items[i], &right->list.items[i])) return false;
  return true;
}

/* An argument that the sample does not give keeps its default. */
static bool equal_argument(const opc_sample_t *base, const opc_sample_t *varied, size_t index) {
  if (base->absent[index] || varied->absent[index]) return base->absent[index] == varied->absent[index];
  return equal_plain(&base->arguments[index], &varied->arguments[index]);
}

static bool variant_change_is_none(const opc_sample_t *sample, size_t argument) {
  return !sample->absent[argument] && sample->arguments[argument].kind == OPC_VALUE_NONE;
}

/* The sample gives an optional argument, and the variant gives None. */
static bool is_left_out(const opc_sample_t *base, const opc_sample_t *varied, size_t argument) {
  return variant_change_is_none(varied, argument) && !base->absent[argument] && !variant_change_is_none(base, argument);
}

typedef struct comparison {
  opc_variant_tensors_t from, to; /* without tensors that the variant leaves out */
  bool left_out;                  /* an optional argument */
  bool tensor_left_out;
  bool integers; /* a given argument is an integer, or holds some */
  bool plain_differs;
  bool integer_differs; /* an integer, or a list of them */
  bool lists_differ;
  bool integral; /* a tensor of integers */
  size_t own;    /* tensors, each counted once */
} comparison_t;

static void drop_left_out(comparison_t *c, const opc_sample_t *base, const opc_sample_t *varied) {
  size_t kept = 0;
  for (size_t i = 0; i < c->from.count; i++) {
    if (is_left_out(base, varied, c->from.items[i].argument)) free(c->from.items[i].path);
    else c->from.items[kept++] = c->from.items[i];
  }
  c->tensor_left_out = kept < c->from.count;
  c->from.count = kept;
}

static bool variant_change_compare(comparison_t *c, const opc_sample_t *base, const opc_operator_t *op,
                                   const opc_sample_t *varied) {
  /* Collecting takes no const because other callers change what it finds. */
  if (opc_variant_tensors_collect((opc_sample_t *)base, op, &c->from, NULL) != OPC_OK) return false;
  if (opc_variant_tensors_collect((opc_sample_t *)varied, op, &c->to, NULL) != OPC_OK) return false;
  for (size_t i = 0; i < base->argument_count; i++) {
    c->integers |= !base->absent[i] && has_integer(&base->arguments[i]);
    const bool left_out = is_left_out(base, varied, i);
    c->left_out |= left_out;
    const bool differs = !left_out && !equal_argument(base, varied, i);
    c->plain_differs |= differs;
    c->integer_differs |= differs && has_integer(&varied->arguments[i]);
  }
  if (c->left_out) drop_left_out(c, base, varied);
  c->lists_differ = c->from.count != c->to.count;
  for (size_t i = 0; i < c->from.count && !c->lists_differ; i++)
    c->lists_differ = strcmp(c->from.items[i].path, c->to.items[i].path) != 0;
  for (size_t i = 0; i < c->from.count; i++) {
    c->integral |= opc_dtype_is_integral(c->from.items[i].value->tensor->dtype);
    c->own += c->from.items[i].twin == i;
  }
  return true;
}

/* Sizes that were equal are still equal. */
static bool equal_stay_equal(const comparison_t *c) {
  for (size_t i = 0; i < c->from.count; i++) {
    const opc_tensor_spec_t *from = c->from.items[i].value->tensor, *to = c->to.items[i].value->tensor;
    if (from->ndim != to->ndim) return false;
    for (int dim = 0; dim < from->ndim; dim++) {
      for (size_t j = 0; j < c->from.count; j++) {
        const opc_tensor_spec_t *other = c->from.items[j].value->tensor, *other_to = c->to.items[j].value->tensor;
        for (int k = 0; k < other->ndim && k < other_to->ndim; k++)
          if (other->sizes[k] == from->sizes[dim] && other_to->sizes[k] != to->sizes[dim]) return false;
      }
    }
  }
  return true;
}

/* Without relations between the arguments: a lone tensor has no other argument to agree with. With several, equal sizes
 * change together. That is enough if no integer refers to a size. */
static opc_input_change_t change_of_sizes(const comparison_t *c, const char *variant) {
  if (c->integers || c->integral) return OPC_INPUT_ALONE;
  if (c->own == 1) return OPC_INPUT_RELATED;
  bool together = strncmp(variant, "all.", 4) == 0 && equal_stay_equal(c);
  return together ? OPC_INPUT_RELATED : OPC_INPUT_ALONE;
}

/* Relations name arguments and their items: "tensors" of "tensors[1]". */
static bool is_within(const char *path, const char *argument) {
  const size_t length = strlen(argument);
  return strncmp(path, argument, length) == 0 && (path[length] == '\0' || path[length] == '[');
}

/* An argument or a size changed that no relation is known for. */
static bool is_unknown(const opc_relations_t *relations, const char *path, const opc_tensor_spec_t *from,
                       const opc_tensor_spec_t *to) {
  for (size_t i = 0; i < relations->count; i++) {
    const opc_relation_t *relation = &relations->items[i];
    if (relation->kind != OPC_RELATION_UNKNOWN) continue;
    if (relation->values && is_within(path, relation->values)) return true;
    const int dim = relation->place_count ? relation->places[0].dim : -1;
    if (dim < 0 || dim >= from->ndim || strcmp(relation->places[0].path, path) != 0) continue;
    if (dim >= to->ndim || from->sizes[dim] != to->sizes[dim]) return true;
  }
  return false;
}

/* The values of its integers refer to a size. */
static bool has_meaning(const opc_relations_t *relations, const char *path) {
  for (size_t i = 0; i < relations->count; i++)
    if (relations->items[i].values && strcmp(relations->items[i].values, path) == 0) return true;
  return false;
}

static bool has_place(const opc_relations_t *relations, const char *path) {
  for (size_t i = 0; i < relations->count; i++)
    for (size_t j = 0; j < relations->items[i].place_count; j++)
      if (strcmp(relations->items[i].places[j].path, path) == 0) return true;
  return false;
}

static double real_part(opc_number_t number) {
  return number.kind == OPC_NUMBER_INT ? (double)number.i : number.kind == OPC_NUMBER_COMPLEX ? number.c.re : number.f;
}

/* Explicit numbers that ascend or descend: a table of codes, times, the edges of bins. */
static bool have_order(const opc_fill_t *fill) {
  bool ascend = true, descend = true;
  for (size_t i = 1; i < fill->value_count; i++) {
    ascend &= real_part(fill->values[i]) >= real_part(fill->values[i - 1]);
    descend &= real_part(fill->values[i]) <= real_part(fill->values[i - 1]);
  }
  return ascend || descend;
}

/* Numbers towards zero: an operator that takes the sample's takes these. */
static bool is_smaller(const opc_fill_t *fill) {
  switch (fill->special) {
    case OPC_SPECIAL_ZERO:
    case OPC_SPECIAL_ONE_ZERO:
    case OPC_SPECIAL_ZERO_ROW:
    case OPC_SPECIAL_EIGHTHS:
    case OPC_SPECIAL_OVER_64:
    case OPC_SPECIAL_GRADED:
      return true;
    default:
      return fill->kind == OPC_FILL_ZEROS;
  }
}

/* Other integers are other indices, lengths or links; explicit numbers may have an order, or all the same sign. */
static bool is_structured(const opc_tensor_spec_t *from, const opc_tensor_spec_t *to, unsigned differs) {
  if (opc_dtype_is_integral(from->dtype) || from->fill.kind == OPC_FILL_ARANGE || from->fill.kind == OPC_FILL_FILE)
    return true;
  if (to->fill.special == OPC_SPECIAL_ONES || to->fill.special == OPC_SPECIAL_TIMES_64) return true;
  if (from->fill.kind == OPC_FILL_VALUES) return !is_smaller(&to->fill) || have_order(&from->fill);
  if (to->fill.kind == OPC_FILL_ZEROS) return false;
  return from->fill.special == to->fill.special && !(differs & DIFFERS_RANDOMLY);
}

/* Offsets that begin and end where they did, with other segments between, which the operator need not have from
 * elsewhere. */
static bool are_moved_ends(const opc_relations_t *relations, const char *path, const opc_tensor_spec_t *from,
                           const opc_tensor_spec_t *to) {
  bool ends = false;
  OPC_SCOPED(opc_integers_clear) opc_integers_t before = {0}, after = {0};
  for (size_t i = 0; i < relations->count && !ends; i++)
    ends = relations->items[i].kind == OPC_RELATION_ASCENDING && relations->items[i].movable &&
           strcmp(relations->items[i].values, path) == 0;
  if (!ends || !opc_dtype_is_integral(from->dtype) || !opc_integers_of(from, &before)) return false;
  return opc_integers_of(to, &after) && before.values && after.values && after.count == before.count &&
         after.count > 0 && opc_integers_ascend(&after) && after.values[0] == before.values[0] &&
         after.values[after.count - 1] == before.values[after.count - 1];
}

/* Lengths that add up to a size still do, and the operator need not have them from elsewhere. */
static bool are_moved_lengths(const opc_relations_t *relations, const char *path, const opc_tensor_spec_t *to) {
  bool lengths = false;
  OPC_SCOPED(opc_integers_clear) opc_integers_t after = {0};
  for (size_t i = 0; i < relations->count && !lengths; i++)
    lengths = relations->items[i].kind == OPC_RELATION_SUM && strcmp(relations->items[i].values, path) == 0;
  return lengths && opc_integers_of(to, &after) && after.values && after.lowest >= 0;
}

/* Sizes, or an integer, changed: the integers that follow them change, too. */
static bool is_resized(const comparison_t *c) {
  bool resized = c->plain_differs;
  for (size_t i = 0; i < c->from.count && !resized; i++)
    resized = (tensor_differs(c->from.items[i].value->tensor, c->to.items[i].value->tensor, c->from.items[i].path) &
               DIFFERS_SIZES) != 0;
  return resized;
}

/* The operator takes negative ones down to some number, and refuses those below. */
static bool are_negative_taken(const opc_relations_t *relations, const char *argument) {
  for (size_t i = 0; i < relations->count; i++)
    if (relations->items[i].kind == OPC_RELATION_LEAST && relations->items[i].number < 0 &&
        relations->items[i].values && strcmp(relations->items[i].values, argument) == 0)
      return true;
  return false;
}

/* Nobody has tried other values of the argument, or negative ones: a number that the sample leaves at its
 * default is never tried. */
static bool is_untried(const opc_relations_t *relations, const opc_sample_t *base, const opc_sample_t *varied,
                       const opc_operator_t *op, size_t index) {
  const opc_value_t *from = &base->arguments[index], *to = &varied->arguments[index];
  for (size_t i = 0; i < relations->count; i++)
    if (relations->items[i].kind == OPC_RELATION_UNKNOWN && relations->items[i].values &&
        is_within(relations->items[i].values, op->arguments[index].name))
      return true;
  if (to->kind == OPC_VALUE_LIST && from->kind == OPC_VALUE_LIST && to->list.count != from->list.count) return true;
  if (to->kind == OPC_VALUE_LIST && to->list.count > 0) to = &to->list.items[0];
  if (from->kind == OPC_VALUE_LIST && from->list.count > 0) from = &from->list.items[0];
  if (to->kind != OPC_VALUE_INT) return false;
  const char *name = op->arguments[index].name;
  return base->absent[index] || from->kind != OPC_VALUE_INT ||
         (to->integer < 0 && from->integer >= 0 && !are_negative_taken(relations, name));
}

static bool has_untried(const opc_relations_t *relations, const opc_sample_t *base, const opc_sample_t *varied,
                        const opc_operator_t *op) {
  for (size_t i = 0; i < base->argument_count; i++)
    if (!is_left_out(base, varied, i) && !equal_argument(base, varied, i) && is_untried(relations, base, varied, op, i))
      return true;
  return false;
}

static bool is_of_left_out(const opc_sample_t *base, const opc_sample_t *varied, const opc_operator_t *op,
                           const char *path) {
  for (size_t i = 0; path && i < base->argument_count; i++)
    if (is_left_out(base, varied, i) && is_within(path, op->arguments[i].name)) return true;
  return false;
}

/* An argument that is left out has no size that others must agree with. */
static bool hold_without_left_out(const opc_relations_t *relations, const opc_sample_t *base,
                                  const opc_sample_t *varied, const opc_operator_t *op) {
  OPC_SCOPED(opc_scope_relations) opc_relations_t *left = NULL;
  if (opc_relations_copy(relations, &left, NULL) != OPC_OK) return false;
  bool holds = true;
  for (size_t i = 0; i < left->count; i++) {
    opc_relation_t *relation = &left->items[i];
    const size_t before = relation->place_count;
    size_t kept = 0;
    for (size_t k = 0; k < before; k++) {
      if (is_of_left_out(base, varied, op, relation->places[k].path)) free(relation->places[k].path);
      else relation->places[kept++] = relation->places[k];
    }
    relation->place_count = kept;
    if ((before > 0 && kept == 0) || is_of_left_out(base, varied, op, relation->values)) continue;
    const opc_relations_t one = {.items = relation, .count = 1};
    holds = holds && opc_relations_hold(&one, varied, op, NULL, NULL, NULL, 0);
  }
  return holds;
}

/* The integers may not be larger than some number, which nothing checks, and no size is known that it comes from: one
 * that becomes smaller may be that one. */
static bool loses_room(const comparison_t *c, const opc_relations_t *relations) {
  bool bounded = false;
  for (size_t i = 0; i < relations->count; i++)
    bounded |= relations->items[i].kind == OPC_RELATION_BOUND && relations->items[i].place_count == 0 &&
               !relations->items[i].checked;
  for (size_t i = 0; bounded && i < c->from.count; i++) {
    const opc_tensor_spec_t *from = c->from.items[i].value->tensor, *to = c->to.items[i].value->tensor;
    for (int dim = 0; dim < from->ndim && from->ndim == to->ndim; dim++)
      if (to->sizes[dim] < from->sizes[dim]) return true;
  }
  return false;
}

/* A row of offsets has one more than there are segments: it is never empty. */
static bool loses_offsets(const opc_tensor_spec_t *from, const opc_tensor_spec_t *to) {
  OPC_SCOPED(opc_integers_clear) opc_integers_t offsets = {0};
  if (!opc_dtype_is_integral(from->dtype) || from->ndim != 1 || from->sizes[0] < 2 || opc_tensor_spec_numel(to) > 0)
    return false;
  return opc_integers_of(from, &offsets) && offsets.values && offsets.values[0] == 0 &&
         offsets.values[offsets.count - 1] > 0 && opc_integers_ascend(&offsets);
}

/* With relations: those that hold vouch for every change. */
static opc_input_change_t change_along(const comparison_t *c, const opc_relations_t *relations,
                                       const opc_sample_t *base, const opc_sample_t *varied, const opc_operator_t *op) {
  opc_input_change_t change = OPC_INPUT_SAME_VALUES;
  if (c->lists_differ || has_untried(relations, base, varied, op) || loses_room(c, relations)) return OPC_INPUT_ALONE;
  const bool resized = is_resized(c);
  for (size_t i = 0; i < c->from.count; i++) {
    const char *path = c->from.items[i].path;
    const opc_tensor_spec_t *from = c->from.items[i].value->tensor, *to = c->to.items[i].value->tensor;
    unsigned differs = tensor_differs(from, to, path);
    if (!differs) continue;
    change = OPC_INPUT_RELATED;
    if (!equal_text(from->identity, to->identity) || is_unknown(relations, path, from, to)) return OPC_INPUT_ALONE;
    if (loses_offsets(from, to)) return OPC_INPUT_ALONE;
    if ((differs & DIFFERS_DTYPE) && !opc_dtype_is_inexact(from->dtype) && has_meaning(relations, path))
      return OPC_INPUT_ALONE;
    if (opc_dtype_is_integral(from->dtype) && from->fill.special != to->fill.special) return OPC_INPUT_ALONE;
    if (!resized && (differs & DIFFERS_VALUES) && is_structured(from, to, differs) &&
        !are_moved_ends(relations, path, from, to) && !are_moved_lengths(relations, path, to))
      return OPC_INPUT_ALONE;
    if (from->ndim != to->ndim && (has_place(relations, path) || has_meaning(relations, path))) return OPC_INPUT_ALONE;
  }
  if (c->plain_differs || c->left_out) change = OPC_INPUT_RELATED;
  if (change == OPC_INPUT_SAME_VALUES) return change;
  return hold_without_left_out(relations, base, varied, op) ? change : OPC_INPUT_ALONE;
}

static opc_input_change_t variant_change_of(const comparison_t *c, const char *variant) {
  opc_input_change_t change = OPC_INPUT_SAME_VALUES;
  bool resized = false;
  /* With one tensor and no integer there is nothing to agree with. */
  const bool lone = c->own <= 1 && !c->integers && !c->integral && !c->integer_differs;
  if (c->left_out) return lone && !c->tensor_left_out ? OPC_INPUT_RELATED : OPC_INPUT_ALONE;
  if (c->lists_differ)
    return c->from.items[0].argument == c->from.items[c->from.count - 1].argument && !c->integers && !c->integral &&
                   !c->plain_differs
               ? OPC_INPUT_RELATED
               : OPC_INPUT_ALONE;
  for (size_t i = 0; i < c->from.count; i++) {
    const opc_tensor_spec_t *from = c->from.items[i].value->tensor, *to = c->to.items[i].value->tensor;
    unsigned differs = tensor_differs(from, to, c->from.items[i].path);
    if (!differs) continue;
    change = OPC_INPUT_RELATED;
    if (!equal_text(from->identity, to->identity)) return OPC_INPUT_ALONE;
    if ((differs & (DIFFERS_DTYPE | DIFFERS_VALUES)) && !opc_dtype_is_inexact(from->dtype)) return OPC_INPUT_ALONE;
    if ((differs & DIFFERS_VALUES) && !(differs & DIFFERS_DTYPE) && is_structured(from, to, differs))
      return OPC_INPUT_ALONE;
    resized |= (differs & DIFFERS_SIZES) != 0;
  }
  if (c->plain_differs) return lone && !resized ? OPC_INPUT_RELATED : OPC_INPUT_ALONE;
  return resized ? change_of_sizes(c, variant) : change;
}

bool opc_variant_has_other_dimensions(const opc_sample_t *base, const opc_sample_t *varied) {
  const opc_tensor_spec_t *from, *to;
  for (size_t i = 0; (from = opc_sample_tensor(base, i)) && (to = opc_sample_tensor(varied, i)); i++)
    if (to->ndim > 0 && to->ndim != from->ndim) return true;
  return false;
}

/* A small size that becomes smaller may be one that the operator takes for granted: of colours with alpha, of a
 * quaternion. With several tensors, it may also be another one that equals it only by chance; a first dimension is
 * usually a number of rows. A tensor of integers is often a row of offsets, and one alone makes no segment. */
static bool loses_needed_size(const opc_sample_t *base, const opc_sample_t *varied, const char *variant) {
  enum { SMALL = 4 };
  const bool single = strncmp(variant, "all.single", 10) == 0,
             fewer =
                 strncmp(variant, "all.fewer", 9) == 0 || (strncmp(variant, "all.empty", 9) == 0 && variant[9] != '_');
  if (!single && !(fewer && opc_sample_tensor(base, 1))) return false;
  const opc_tensor_spec_t *from, *to;
  for (size_t i = 0; (from = opc_sample_tensor(base, i)) && (to = opc_sample_tensor(varied, i)); i++)
    for (int dim = 0; dim < from->ndim && from->ndim == to->ndim; dim++) {
      const bool small = from->sizes[dim] <= SMALL && (single || dim > 0);
      if (to->sizes[dim] < from->sizes[dim] && (small || (single && opc_dtype_is_integral(from->dtype)))) return true;
    }
  return false;
}

/* A width, a rate or a temperature is not negative. */
static const char positive_names[] =
    "delta eps epsilon sigma std stdev temperature tau width radius tolerance tol rate lr prob probability rtol atol";

static bool turns_negative(const opc_sample_t *base, const opc_sample_t *varied, const opc_operator_t *op) {
  for (size_t i = 0; i < base->argument_count; i++) {
    const opc_value_t *to = &varied->arguments[i];
    if (!varied->absent[i] && to->kind == OPC_VALUE_FLOAT && to->floating < 0 && opc_sample_number(base, op, i) >= 0 &&
        opc_argument_is_named(op->arguments[i].name, positive_names))
      return true;
  }
  return false;
}

/* Whether it takes int32 or int64 is for the operator to say. */
static bool has_other_width(const char *variant) { return strstr(variant, ".other_width"); }

opc_input_change_t opc_variant_change(const opc_sample_t *base, const opc_operator_t *op, const opc_sample_t *varied,
                                      const char *variant) {
  comparison_t comparison = {0};
  opc_input_change_t change = OPC_INPUT_ALONE;
  if (variant_change_compare(&comparison, base, op, varied) && !opc_variant_has_other_dimensions(base, varied) &&
      !loses_needed_size(base, varied, variant) && !turns_negative(base, varied, op) && !has_other_width(variant))
    change = base->relations ? change_along(&comparison, base->relations, base, varied, op)
                             : variant_change_of(&comparison, variant);
  opc_variant_tensors_clear(&comparison.from);
  opc_variant_tensors_clear(&comparison.to);
  return change;
}

bool opc_variant_keeps_integers(const opc_sample_t *base, const opc_sample_t *varied) {
  for (size_t i = 0; i < base->argument_count; i++)
    if (!base->absent[i] && !equal_plain(&base->arguments[i], &varied->arguments[i])) return false;
  return true;
}
