#include "checks/numerics/equivalent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/compare/compare.h"

/* Positions: fewer could not show that one is an exception. At most every fourth may be one. */
enum { POSITIONS_LEAST = 8, EXCEPTIONS = 4 };
enum { OUTSIDE = 1u << OPC_ACCESS_OUTSIDE };
/* How many of the exceptions, and of the other positions, are changed alone. */
enum { TRIED = 3 };
/* Relative to the numbers themselves, and to the largest number of all: sums in another order stay below. */
static const double close_enough = 1e-3, rounding = 1e-5;

typedef enum part { ELEMENTS = 0, ROWS, COLUMNS, PARTS } part_t;
static const char *const part_names[] = {"element", "row", "column"};

/* What is made equal: the elements of tensors of one shape, or the rows or columns of tensors that have as many. */
typedef struct way {
  part_t part;
  int64_t count;                  /* positions */
  const opc_tensor_meta_t *shape; /* of the result that decides the above */
} way_t;

typedef struct uneven {
  opc_case_context_t *context;
  const opc_call_t *call;
  opc_replay_t *values; /* of the next call */
  void **own;           /* the case's own values, for each tensor argument */
  way_t way;
  opc_error_t *error;
} uneven_t;

/* ---- positions ---- */

static bool belongs(const way_t *way, const opc_tensor_meta_t *meta) {
  if (meta->ndim == 0 || meta->numel == 0) return false;
  if (way->part == ROWS) return meta->sizes[0] == way->count;
  if (way->part == COLUMNS) return meta->sizes[meta->ndim - 1] == way->count;
  return opc_tensor_same_sizes(meta, way->shape);
}

/* The element that is number `within` of its position, counted from 0. */
static int64_t element_of_position(const way_t *way, int64_t numel, int64_t position, int64_t within) {
  return way->part == COLUMNS ? within * way->count + position : position * (numel / way->count) + within;
}

static bool mentions(const opc_tensor_meta_t *meta, int64_t size) {
  for (int dim = 0; dim < meta->ndim; dim++)
    if (meta->sizes[dim] == size) return true;
  return false;
}

/* True: the arguments stay valid with equal positions, nothing in them tells one position from another, and the
 * operator writes all positions. Integers may be indices, also where no relation was learned. */
static bool applies(const uneven_t *uneven) {
  bool any = false;
  for (size_t i = 0; i < uneven->call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *arg = &uneven->call->tensor_args[i];
    const bool member = belongs(&uneven->way, &arg->before), floating = opc_dtype_is_inexact(arg->before.dtype);
    if (!arg->before.dtype_known || !uneven->own[i] || opc_dtype_is_integral(arg->before.dtype)) return false;
    if (!member && (opc_tensor_arg_is_mutable(arg) || (uneven->way.part == ELEMENTS && !floating) ||
                    (uneven->way.part != ELEMENTS && mentions(&arg->before, uneven->way.count))))
      return false;
    any |= member && floating;
  }
  return any;
}

/* ---- values ---- */

static void copy_position(const uneven_t *uneven, size_t arg, int64_t to, int64_t from) {
  const struct opc_replay_tensor_arg *values = &uneven->values->tensor_args[arg];
  const size_t size = opc_dtype_size(values->dtype);
  for (int64_t i = 0; i < values->numel / uneven->way.count; i++)
    memcpy((char *)values->bytes + (size_t)element_of_position(&uneven->way, values->numel, to, i) * size,
           (const char *)uneven->own[arg] + (size_t)element_of_position(&uneven->way, values->numel, from, i) * size,
           size);
}

static void fill_with_first(const uneven_t *uneven, size_t arg) {
  const struct opc_replay_tensor_arg *values = &uneven->values->tensor_args[arg];
  const size_t size = opc_dtype_size(values->dtype);
  for (int64_t i = 0; i < values->numel; i++) memcpy((char *)values->bytes + (size_t)i * size, uneven->own[arg], size);
}

static int64_t usual_position(const uneven_t *uneven) { return uneven->way.count / 2; }

static void make_equal(const uneven_t *uneven) {
  for (size_t arg = 0; arg < uneven->values->count; arg++) {
    const struct opc_replay_tensor_arg *values = &uneven->values->tensor_args[arg];
    if (belongs(&uneven->way, &uneven->call->tensor_args[arg].before))
      for (int64_t i = 0; i < uneven->way.count; i++) copy_position(uneven, arg, i, usual_position(uneven));
    else if (uneven->way.part == ELEMENTS) fill_with_first(uneven, arg);
    else memcpy(values->bytes, uneven->own[arg], (size_t)values->numel * opc_dtype_size(values->dtype));
  }
}

/* Gives one position, in all tensors, what another one had. */
static void change(const uneven_t *uneven, int64_t position) {
  const int64_t other = (usual_position(uneven) + 1) % uneven->way.count;
  for (size_t arg = 0; arg < uneven->values->count; arg++)
    if (belongs(&uneven->way, &uneven->call->tensor_args[arg].before)) copy_position(uneven, arg, position, other);
}

/* *out is empty unless the call returned. */
static opc_status_t run_with_values(const uneven_t *uneven, opc_result_t *out, bool *out_returned) {
  const opc_again_t again = {.context = uneven->context,
                             .replay = uneven->values,
                             .label = {OPC_CALL_KIND_ON_OTHERS, "equal elements, rows or columns"}};
  return opc_again_try(&again, out, out_returned, uneven->error);
}

/* ---- results ---- */

typedef struct look {
  const uneven_t *uneven;
  const opc_result_item_t *item; /* on equal positions */
  int64_t within;                /* elements of a position */
  double noise;
} look_t;

static const void *bytes_at(const look_t *look, const opc_result_item_t *item, int64_t position, int64_t within) {
  return (const char *)item->bytes +
         (size_t)element_of_position(&look->uneven->way, item->meta.numel, position, within) *
             opc_dtype_size(item->meta.dtype);
}

static bool is_near_usual(const look_t *look, double left, double right) {
  if (isnan(left) || isnan(right)) return isnan(left) && isnan(right);
  const double distance = fabs(left - right);
  return left == right || distance <= close_enough * fmax(fabs(left), fabs(right)) || distance <= look->noise;
}

static bool is_close_to_usual(const look_t *look, const void *left, const void *right) {
  const opc_dtype_t dtype = look->item->meta.dtype;
  if (opc_number_is_same(dtype, left, right)) return true;
  const opc_number_t a = opc_number_load(dtype, left), b = opc_number_load(dtype, right);
  if (a.kind == OPC_NUMBER_COMPLEX) return is_near_usual(look, a.c.re, b.c.re) && is_near_usual(look, a.c.im, b.c.im);
  return a.kind == OPC_NUMBER_FLOAT && is_near_usual(look, a.f, b.f);
}

/* The first element of the position that differs from the same one of the usual position; -1: none. */
static int64_t first_uneven(const look_t *look, int64_t position) {
  const int64_t usual = usual_position(look->uneven);
  for (int64_t i = 0; i < look->within; i++)
    if (!is_close_to_usual(look, bytes_at(look, look->item, position, i), bytes_at(look, look->item, usual, i)))
      return i;
  return -1;
}

/* Changes one position. *out: the result changes there and nowhere else, and in the same elements as in `pattern`, or,
 * if `first`, `pattern` gets them. */
static opc_status_t is_local(const look_t *look, size_t number, int64_t position, bool first, bool *pattern,
                             bool *out) {
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  const uneven_t *uneven = look->uneven;
  bool any = false;
  make_equal(uneven);
  change(uneven, position);
  OPC_RETURN_IF_ERROR(run_with_values(uneven, &result, out));
  if (!*out) return OPC_OK;
  const opc_result_item_t *item = number < result.count ? &result.items[number] : NULL;
  *out = item && item->bytes && item->size == look->item->size;
  for (int64_t p = 0; p < uneven->way.count && *out; p++)
    for (int64_t i = 0; i < look->within && *out; i++) {
      const bool changed = !is_close_to_usual(look, bytes_at(look, item, p, i), bytes_at(look, look->item, p, i));
      if (p != position) *out = !changed;
      else if (first) pattern[i] = changed;
      else *out = pattern[i] == changed;
      any |= changed;
    }
  *out &= any;
  return OPC_OK;
}

/* *out: at the exceptions as elsewhere, each position of the result depends on the same position of the arguments. */
static opc_status_t are_local(const look_t *look, size_t number, bool *out) {
  const uneven_t *uneven = look->uneven;
  OPC_SCOPED(opc_scope_free) bool *pattern = calloc((size_t)look->within, sizeof *pattern);
  int exceptions = 0, others = 0;
  *out = pattern;
  if (!pattern) return opc_out_of_memory(uneven->error);
  for (int64_t p = 0; p < uneven->way.count && *out; p++) {
    int *tried = first_uneven(look, p) >= 0 ? &exceptions : &others;
    if (*tried == TRIED) continue;
    OPC_RETURN_IF_ERROR(is_local(look, number, p, exceptions + others == 0, pattern, out));
    ++*tried;
  }
  return OPC_OK;
}

static void report_uneven(const look_t *look, int64_t position, int64_t exceptions, opc_finding_t *finding) {
  const way_t *way = &look->uneven->way;
  const opc_result_item_t *item = look->item;
  const int64_t within = first_uneven(look, position), usual = usual_position(look->uneven);
  char there[160], elsewhere[160], value[96], usual_value[96];
  opc_index_text(&item->meta, element_of_position(way, item->meta.numel, position, within), there, sizeof there);
  opc_index_text(&item->meta, element_of_position(way, item->meta.numel, usual, within), elsewhere, sizeof elsewhere);
  opc_element_text(item->meta.dtype, bytes_at(look, item, position, within), value, sizeof value);
  opc_element_text(item->meta.dtype, bytes_at(look, item, usual, within), usual_value, sizeof usual_value);
  opc_finding_fail(
      finding, OPC_RULE_equivalent_uneven,
      "all %ss of the arguments are equal, but %s%s is %s and %s%s is %s; %lld of %lld %ss differ from the "
      "others. A change in one %s of the arguments shows in the same %s of the result alone",
      part_names[way->part], item->path, there, value, item->path, elsewhere, usual_value, (long long)exceptions,
      (long long)way->count, part_names[way->part], part_names[way->part], part_names[way->part]);
}

static double noise_of(const uneven_t *uneven, const opc_result_item_t *item) {
  enum { ULPS = 8 };
  double largest = opc_result_largest(item);
  for (size_t i = 0; i < uneven->values->count; i++) largest = fmax(largest, uneven->values->tensor_args[i].largest);
  return largest * fmax(rounding, ULPS * opc_dtype_ulp(item->meta.dtype, 1.0));
}

static opc_status_t check_item(const uneven_t *uneven, const opc_result_t *equal, size_t number, bool *out_compared,
                               opc_finding_t *finding) {
  const opc_result_item_t *item = &equal->items[number];
  bool local = false, random = false;
  int64_t exceptions = 0, first = -1;
  if (item->kind != OPC_VALUE_TENSOR || !item->bytes || !item->meta.dtype_known || !belongs(&uneven->way, &item->meta))
    return OPC_OK;
  const look_t look = {
      .uneven = uneven, .item = item, .within = item->meta.numel / uneven->way.count, .noise = noise_of(uneven, item)};
  for (int64_t p = 0; p < uneven->way.count; p++) {
    if (first_uneven(&look, p) < 0) continue;
    exceptions++;
    if (first < 0) first = p;
  }
  *out_compared |= exceptions == 0;
  if (exceptions == 0 || exceptions > uneven->way.count / EXCEPTIONS) return OPC_OK;
  OPC_RETURN_IF_ERROR(are_local(&look, number, &local));
  make_equal(uneven);
  const opc_again_t again = {
      .context = uneven->context, .replay = uneven->values, .label = {OPC_CALL_KIND_OPERATOR, "again"}};
  if (local) OPC_RETURN_IF_ERROR(opc_result_is_nondeterministic(&again, equal, &random, uneven->error));
  if (!local || random) return OPC_OK;
  *out_compared = true;
  report_uneven(&look, first, exceptions, finding);
  return OPC_OK;
}

/* ---- the case ---- */

/* The first tensor of the result that is large enough decides. False: none is. */
static bool choose_way(uneven_t *uneven, part_t part, const opc_result_t *result) {
  for (size_t i = 0; i < result->count; i++) {
    const opc_tensor_meta_t *meta = &result->items[i].meta;
    if (result->items[i].kind != OPC_VALUE_TENSOR || meta->ndim == 0) continue;
    const int64_t counts[PARTS] = {meta->numel, meta->sizes[0], meta->sizes[meta->ndim - 1]};
    uneven->way = (way_t){.part = part, .count = counts[part], .shape = meta};
    if (counts[part] >= POSITIONS_LEAST && meta->numel >= POSITIONS_LEAST) return applies(uneven);
  }
  return false;
}

static opc_status_t check_parts(uneven_t *uneven, const opc_result_t *result, opc_finding_t *finding) {
  bool compared = false;
  for (int part = 0; part < PARTS && !finding->decided; part++) {
    OPC_SCOPED(opc_result_clear) opc_result_t equal = {0};
    bool returned = false;
    if (!choose_way(uneven, (part_t)part, result)) continue;
    make_equal(uneven);
    OPC_RETURN_IF_ERROR(run_with_values(uneven, &equal, &returned));
    /* The result is then that of memory outside: the relation that equal values break is not known. */
    returned &= opc_accesses_count(OUTSIDE) == 0;
    for (size_t i = 0; returned && i < equal.count && !finding->decided; i++)
      OPC_RETURN_IF_ERROR(check_item(uneven, &equal, i, &compared, finding));
  }
  if (compared)
    return opc_finding_pass(finding, "equal elements, rows or columns give equal results at every position");
  return opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE,
                          "the result depends on the position, or no elements, rows or columns could be made equal");
}

static opc_status_t keep_own(uneven_t *uneven) {
  uneven->own = calloc(uneven->values->count + 1, sizeof *uneven->own);
  if (!uneven->own) return opc_out_of_memory(uneven->error);
  for (size_t i = 0; i < uneven->values->count; i++) {
    const struct opc_replay_tensor_arg *values = &uneven->values->tensor_args[i];
    const size_t size = (size_t)values->numel * opc_dtype_size(values->dtype);
    if (!size || !values->bytes) continue;
    uneven->own[i] = malloc(size);
    if (!uneven->own[i]) return opc_out_of_memory(uneven->error);
    memcpy(uneven->own[i], values->bytes, size);
  }
  return OPC_OK;
}

static void own_free(uneven_t *uneven) {
  for (size_t i = 0; uneven->own && i < uneven->values->count; i++) free(uneven->own[i]);
  free(uneven->own);
}

static opc_status_t check_positions(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  OPC_SCOPED(own_free) uneven_t uneven = {.context = context, .call = &call, .values = &values, .error = error};
  if (!opc_case_call_keeping(context, &values, &call, finding)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_result_take(&result, &call, OPC_RESULT_ARGUMENTS, error));
  OPC_RETURN_IF_ERROR(keep_own(&uneven));
  return check_parts(&uneven, &result, finding);
}

opc_status_t opc_equivalent_uneven(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) {
  if (opc_variant_change(context->base, context->op, context->sample, context->id.variant) == OPC_INPUT_ALONE)
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it is not known whether arguments of these sizes fit together");
  else if (opc_operator_is_random(context->op))
    opc_finding_skip(finding, OPC_SKIP_NOT_APPLICABLE, "it is random: equal rows may get other random numbers");
  else return check_positions(context, finding, error);
  return OPC_OK;
}
