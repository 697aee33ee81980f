/* Whether the rows of a batch depend on each other. Runs in a process of its own: nobody vouches for batches of other
 * sizes. */
#include "checks/determinism/determinism.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "bridge/api/inner_work.h"
#include "checks/compare/compare.h"
#include "plan/cases/planner.h"

/* Of rows, for learning: more would cost time, fewer tell no row from its neighbours. */
enum { LEARNT_LEAST = 3, LEARNT_MOST = 6, ITEMS_MOST = 16, TENSORS_MOST = 16 };
/* Few, what vectors and blocks leave over, what kernels of many libraries switch at. Where a size must be a multiple of
 * something, one less. */
static const int64_t row_counts[] = {1, 2, 3, 8, 17, 32, 64, 257, 1025};
enum { ROW_COUNTS = sizeof row_counts / sizeof *row_counts, THREADS = 3 };
static const int64_t pool_numel_most = 1 << 17;
static const double seconds_of_call = 0.04, seconds_of_all = 0.05; /* of processor time */

/* ---- rows ---- */

typedef struct batch {
  opc_case_context_t *context;
  const opc_sample_t *sample;
  opc_variant_tensors_t tensors; /* of the sample */
  opc_size_place_t place;        /* a dimension that may be a batch; other sizes follow it */
  int dims[TENSORS_MOST];        /* of each tensor: the dimension of rows; -1: none */
  opc_replay_t pool;             /* values of as many rows as will be called */
  int64_t pool_rows, all_rows;   /* of the largest call */
  int row_dims[ITEMS_MOST];      /* of each item of the result: the dimension of rows; -1: it has none */
  size_t item_count;
  opc_tolerance_t tolerance; /* measured with `learnt` rows */
  int64_t learnt;
  bool by_number;     /* each row depends on how many there are, by definition: a mean's gradient */
  bool only_integers; /* there is no floating argument: nothing is rounded */
  double began;
  opc_batch_t *out;
  opc_error_t *error;
} batch_t;

/* A call on some rows of the pool, in this order. */
typedef struct rows {
  const batch_t *batch;
  const int64_t *order;
  int64_t count;
  bool loud; /* every other row is much larger */
} rows_t;

static void batch_state_clear(batch_t *batch) {
  opc_variant_tensors_clear(&batch->tensors);
  opc_replay_clear(&batch->pool);
  opc_tolerance_clear(&batch->tolerance);
}

/* Sizes that nothing is known about follow if they are the same one of another tensor. */
static bool resize_unrelated(const batch_t *batch, int64_t count, opc_sample_t *out) {
  const int dim = batch->place.dim;
  const opc_value_t *value = opc_sample_value(batch->sample, batch->context->op, batch->place.path);
  opc_tensor_spec_t *spec;
  bool made = true;
  for (size_t i = 0; made && (spec = opc_sample_tensor(out, i)); i++) {
    int64_t sizes[OPC_MAX_DIMS];
    if (dim >= spec->ndim || spec->sizes[dim] != value->tensor->sizes[dim]) continue;
    memcpy(sizes, spec->sizes, sizeof sizes);
    sizes[dim] = count;
    made = opc_variant_resize(spec, spec->ndim, sizes);
  }
  return made;
}

/* False: there is no such sample. The caller clears it in any case. */
static bool rows_sample(const batch_t *batch, int64_t count, opc_sample_t *out) {
  const opc_operator_t *op = batch->context->op;
  *out = (opc_sample_t){0};
  if (opc_sample_copy(batch->sample, out, NULL) != OPC_OK) return false;
  if (!batch->sample->relations) return resize_unrelated(batch, count, out);
  return opc_related_resize(out, op, &batch->place, count) && opc_related_fit(out, batch->sample, op);
}

static size_t tensor_at(const batch_t *batch, const char *path) {
  size_t i = 0;
  while (i < batch->tensors.count && strcmp(batch->tensors.items[i].path, path) != 0) i++;
  return i;
}

static void make_loud(opc_dtype_t dtype, char *row, size_t bytes) {
  static const double factor = 64;
  const size_t width = opc_dtype_size(dtype);
  for (size_t at = 0; at < bytes && opc_dtype_is_inexact(dtype); at += width) {
    opc_number_t number = opc_number_load(dtype, row + at);
    number.f *= factor;
    number.c.re *= number.kind == OPC_NUMBER_COMPLEX ? factor : 1;
    opc_number_store(number, dtype, row + at);
  }
}

/* The values of a call's tensors, from the pool. */
static opc_status_t give_rows(size_t tensor_arg, const char *path, const opc_tensor_spec_t *spec, void *logical,
                              void *context, opc_error_t *error) {
  const rows_t *rows = context;
  const batch_t *batch = rows->batch;
  const size_t number = tensor_at(batch, path), width = opc_dtype_size(spec->dtype);
  const int dim = number < batch->tensors.count ? batch->dims[number] : -1;
  const struct opc_replay_tensor_arg *pool = &batch->pool.tensor_args[tensor_arg];
  const size_t numel = (size_t)opc_tensor_spec_numel(spec);
  if (tensor_arg >= batch->pool.count || (dim < 0 && (size_t)pool->numel != numel))
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "a tensor that is no batch has another size");
  if (dim < 0) {
    memcpy(logical, pool->bytes, numel * width);
    return OPC_OK;
  }
  size_t inner = width, outer = 1;
  for (int d = 0; d < spec->ndim; d++) *(d < dim ? &outer : &inner) *= d == dim ? 1 : (size_t)spec->sizes[d];
  for (size_t o = 0; o < outer; o++)
    for (size_t r = 0; r < (size_t)rows->count; r++) {
      char *row = (char *)logical + (o * (size_t)rows->count + r) * inner;
      memcpy(row, (const char *)pool->bytes + (o * (size_t)batch->pool_rows + (size_t)rows->order[r]) * inner, inner);
      if (rows->loud && r % 2 == 1) make_loud(spec->dtype, row, inner);
    }
  return OPC_OK;
}

static opc_status_t rows_call_of(const rows_t *rows, int threads, opc_trial_outcome_t *out, bool *out_returned) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  const batch_t *batch = rows->batch;
  rows_t given = *rows;
  const opc_again_t trial = {
      .context = batch->context, .sample = &sample, .values = give_rows, .values_context = &given};
  *out_returned = false;
  if (!rows_sample(batch, rows->count, &sample)) return OPC_OK;
  opc_bridge_threads(threads);
  const opc_status_t status = opc_trial_run(&trial, out, batch->error);
  opc_bridge_threads(1);
  OPC_RETURN_IF_ERROR(status);
  *out_returned = out->outcome == OPC_CALL_RETURNED && !opc_trial_out_of_bounds();
  return OPC_OK;
}

/* *out_returned: it returned, and stayed inside its tensors. */
static opc_status_t rows_call(batch_t *batch, const int64_t *order, int64_t count, int threads,
                              opc_trial_outcome_t *out, bool *out_returned) {
  const rows_t rows = {.batch = batch, .order = order, .count = count};
  return rows_call_of(&rows, threads, out, out_returned);
}

/* ---- comparing ---- */

typedef struct rows_difference {
  int64_t values, rows, rows_differ; /* compared */
  bool beyond;                       /* more than rounding */
  double largest, units;             /* difference; in units in the last place */
  size_t item;
  int64_t left, right; /* elements of the largest difference */
} rows_difference_t;

static double batch_distance(const opc_result_item_t *left, const void *a, const void *b, double *out_size) {
  const opc_number_t x = opc_number_load(left->meta.dtype, a), y = opc_number_load(left->meta.dtype, b);
  if (x.kind == OPC_NUMBER_COMPLEX) {
    *out_size = fmax(hypot(x.c.re, x.c.im), hypot(y.c.re, y.c.im));
    return hypot(x.c.re - y.c.re, x.c.im - y.c.im);
  }
  *out_size = fmax(fabs(x.f), fabs(y.f));
  return fabs(x.f - y.f);
}

/* Integers and flags jump where the numbers that they are made of are rounded. */
static void batch_difference_add(const batch_t *batch, const opc_result_t *left, const opc_result_t *right, size_t item,
                                 int64_t at_left, int64_t at_right, rows_difference_t *difference) {
  const opc_result_item_t *l = &left->items[item], *r = &right->items[item];
  const size_t width = opc_dtype_size(l->meta.dtype);
  const char *a = (const char *)l->bytes + (size_t)at_left * width,
             *b = (const char *)r->bytes + (size_t)at_right * width;
  double size = 0, far = 1, units = 0;
  if (opc_result_is_measurable(l)) {
    const opc_tolerance_t *tolerance = &batch->tolerance;
    const double change = item < tolerance->count ? tolerance->change[item] : 0.0;
    far = batch_distance(l, a, b, &size);
    const double unit = opc_dtype_ulp(l->meta.dtype, size);
    units = unit > 0 ? far / unit : 0;
    difference->beyond |= !(far <= OPC_TOLERANCE_FACTOR * change + OPC_TOLERANCE_ULPS * unit);
  } else {
    difference->beyond |= batch->only_integers;
  }
  if (difference->rows_differ > 0 && far <= difference->largest) return;
  difference->largest = far;
  difference->units = units;
  difference->item = item;
  difference->left = at_left;
  difference->right = at_right;
}

/* Of one item. False: the row is the same. */
static bool row_differs(const batch_t *batch, const opc_result_t *left, const opc_result_t *right, size_t item,
                        int64_t at_left, int64_t at_right, rows_difference_t *difference) {
  const opc_tensor_meta_t *l = &left->items[item].meta, *r = &right->items[item].meta;
  const int dim = batch->row_dims[item];
  const size_t width = opc_dtype_size(l->dtype);
  int64_t inner = 1, outer = 1;
  bool differs = false;
  for (int d = 0; d < l->ndim; d++) *(d < dim ? &outer : &inner) *= d == dim ? 1 : l->sizes[d];
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) {
      const int64_t a = (o * l->sizes[dim] + at_left) * inner + i, b = (o * r->sizes[dim] + at_right) * inner + i;
      difference->values++;
      if (opc_number_is_same(l->dtype, (const char *)left->items[item].bytes + (size_t)a * width,
                             (const char *)right->items[item].bytes + (size_t)b * width))
        continue;
      differs = true;
      batch_difference_add(batch, left, right, item, a, b, difference);
    }
  return differs;
}

/* Row l of the left result is row order[l] of the right one; negative: not compared. False: the results do not have
 * rows like the learnt ones. */
static bool compare_rows(const batch_t *batch, const opc_trial_outcome_t *left, const opc_trial_outcome_t *right,
                         const int64_t *order, int64_t count, rows_difference_t *out) {
  *out = (rows_difference_t){0};
  if (left->result.count != batch->item_count || right->result.count != batch->item_count) return false;
  for (size_t i = 0; i < batch->item_count; i++) {
    const opc_result_item_t *l = &left->result.items[i], *r = &right->result.items[i];
    if (batch->row_dims[i] < 0) continue;
    if (!l->bytes || !r->bytes || l->meta.ndim != r->meta.ndim || l->meta.dtype != r->meta.dtype) return false;
    for (int d = 0; d < l->meta.ndim; d++)
      if (d != batch->row_dims[i] && l->meta.sizes[d] != r->meta.sizes[d]) return false;
  }
  for (int64_t row = 0; row < count; row++) {
    bool differs = false;
    if (order[row] < 0) continue;
    for (size_t i = 0; i < batch->item_count; i++)
      if (batch->row_dims[i] >= 0 && row_differs(batch, &left->result, &right->result, i, row, order[row], out)) {
        differs = true;
        out->rows_differ += out->rows_differ == 0; /* there is a largest difference now */
      }
    out->rows++;
    out->rows_differ += differs;
  }
  out->rows_differ -= out->rows_differ > 0;
  return true;
}

/* ---- learning which dimension is a batch ---- */

/* The tensors that follow the place, by one row each; what follows otherwise (offsets, indices of rows) is no batch. */
static bool find_dims(batch_t *batch) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t larger = {0};
  const opc_tensor_spec_t *before, *after;
  int64_t size = 0;
  size_t i = 0;
  bool any = false;
  if (!opc_sample_size(batch->sample, batch->context->op, &batch->place, &size) ||
      !rows_sample(batch, size + LEARNT_MOST, &larger))
    return false;
  for (; (before = opc_sample_tensor(batch->sample, i)); i++) {
    after = opc_sample_tensor(&larger, i);
    if (i == TENSORS_MOST || !after || after->ndim != before->ndim) return false;
    for (int d = 0; d < before->ndim; d++) {
      if (after->sizes[d] == before->sizes[d]) continue;
      if (batch->dims[i] >= 0 || before->sizes[d] != size || after->sizes[d] != size + LEARNT_MOST) return false;
      batch->dims[i] = d;
      any = true;
    }
  }
  return any && i == batch->tensors.count;
}

static bool is_row_place(const batch_t *batch, const char *path, int dim) {
  const size_t tensor = tensor_at(batch, path);
  return tensor < batch->tensors.count && batch->dims[tensor] >= 0 && batch->dims[tensor] == dim;
}

/* Integers that mean rows, or split them: they are not valid for other rows. */
static bool rows_have_numbers(const batch_t *batch) {
  const opc_relations_t *relations = batch->sample->relations;
  for (size_t i = 0; relations && i < relations->count; i++) {
    const opc_relation_t *relation = &relations->items[i];
    if (relation->kind == OPC_RELATION_ASCENDING && is_row_place(batch, relation->values, 0)) return true;
    if (relation->kind != OPC_RELATION_BOUND && relation->kind != OPC_RELATION_SUM) continue;
    for (size_t k = 0; k < relation->place_count; k++)
      if (is_row_place(batch, relation->places[k].path, relation->places[k].dim)) return true;
    if (relation->kind == OPC_RELATION_SUM && is_row_place(batch, relation->values, 0)) return true;
  }
  return false;
}

/* As many rows as are needed, and are not too large. */
static opc_status_t fill_pool(batch_t *batch, bool *out_filled) {
  const opc_tensor_spec_t *spec;
  *out_filled = false;
  for (size_t i = ROW_COUNTS; i-- > 0 && !*out_filled;) {
    for (int64_t less = 0; less < 2 && !*out_filled; less++) {
      OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
      int64_t numel = 0;
      batch->pool_rows = row_counts[i] - less;
      if (batch->pool_rows < 2 * LEARNT_MOST) return OPC_OK;
      if (!rows_sample(batch, batch->pool_rows, &sample)) continue;
      for (size_t k = 0; (spec = opc_sample_tensor(&sample, k)); k++)
        if (opc_tensor_spec_numel(spec) > numel) numel = opc_tensor_spec_numel(spec);
      if (numel > pool_numel_most) break;
      OPC_RETURN_IF_ERROR(
          opc_again_values(&(opc_again_t){.context = batch->context, .sample = &sample}, &batch->pool, batch->error));
      *out_filled = true;
    }
  }
  batch->only_integers = true;
  for (size_t i = 0; i < batch->pool.count; i++)
    batch->only_integers &= !opc_dtype_is_inexact(batch->pool.tensor_args[i].dtype);
  return OPC_OK;
}

/* Flags of the learnt rows that are all alike: rows that count those before them do not show it. */
static bool has_constant_flags(const batch_t *batch) {
  for (size_t i = 0; i < batch->pool.count; i++) {
    const struct opc_replay_tensor_arg *pool = &batch->pool.tensor_args[i];
    if (i >= batch->tensors.count || batch->dims[i] < 0 || pool->dtype != OPC_DTYPE_BOOL) continue;
    const opc_tensor_spec_t *spec = batch->tensors.items[i].value->tensor;
    size_t learnt = (size_t)batch->learnt;
    for (int d = batch->dims[i] + 1; d < spec->ndim; d++) learnt *= (size_t)spec->sizes[d];
    if (learnt > (size_t)pool->numel || !memchr(pool->bytes, 0, learnt) || !memchr(pool->bytes, 1, learnt)) return true;
  }
  return false;
}

/* The dimension of each item that grows with the number of rows, by as much. */
static bool find_row_dims(batch_t *batch, const opc_trial_outcome_t *learnt, const opc_trial_outcome_t *more) {
  bool any = false;
  batch->item_count = learnt->result.count;
  if (batch->item_count > ITEMS_MOST || more->result.count != batch->item_count) return false;
  for (size_t i = 0; i < batch->item_count; i++) {
    const opc_result_item_t *l = &learnt->result.items[i], *m = &more->result.items[i];
    int others = 0;
    batch->row_dims[i] = -1;
    if (l->kind != OPC_VALUE_TENSOR || !l->bytes || !m->bytes || l->meta.ndim != m->meta.ndim || !l->meta.dtype_known)
      continue;
    for (int d = 0; d < l->meta.ndim; d++) {
      if (l->meta.sizes[d] == m->meta.sizes[d]) continue;
      others += l->meta.sizes[d] != batch->learnt || m->meta.sizes[d] != batch->learnt + 1;
      others += batch->row_dims[i] >= 0;
      batch->row_dims[i] = d;
    }
    if (others || l->meta.numel == 0) batch->row_dims[i] = -1;
    any |= batch->row_dims[i] >= 0;
  }
  return any;
}

static opc_status_t measure_rounding(batch_t *batch, const int64_t *order, const opc_trial_outcome_t *learnt) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  rows_t rows = {.batch = batch, .order = order, .count = batch->learnt};
  opc_again_t again = {.context = batch->context, .sample = &sample, .values = give_rows, .values_context = &rows};
  if (!rows_sample(batch, batch->learnt, &sample)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_again_values(&again, &values, batch->error));
  again = (opc_again_t){.context = batch->context, .sample = &sample, .replay = &values};
  return opc_tolerance_measure(&batch->tolerance, &again, &learnt->result, batch->error);
}

/* Which rows of a learnt call another one has, and where: all in reverse; others at every other place, of both kinds,
 * so that a largest row is replaced once; much larger ones there. */
typedef enum learning { NATURAL = 0, REVERSED, REPLACED_ODD, REPLACED_EVEN, LOUD, LEARNINGS } learning_t;

static bool is_replaced(learning_t how, int64_t row) {
  return how >= REPLACED_ODD && row % 2 == (how == REPLACED_EVEN ? 0 : 1);
}

static void batch_learn_order(learning_t how, int64_t count, int64_t *order) {
  for (int64_t i = 0; i < count; i++) {
    order[i] = i;
    if (how == REVERSED) order[i] = count - 1 - i;
    if (how != LOUD && is_replaced(how, i)) order[i] = (i + 1) % count;
  }
}

/* *out: other rows change no bit of a row at the same place among as many. A call that fails says nothing. */
static opc_status_t are_rows_untouched(batch_t *batch, learning_t how, const opc_trial_outcome_t *learnt, bool *out) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  int64_t order[LEARNT_MOST + 1];
  rows_difference_t difference;
  const rows_t rows = {.batch = batch, .order = order, .count = batch->learnt, .loud = how == LOUD};
  bool returned = false;
  batch_learn_order(how, batch->learnt, order);
  OPC_RETURN_IF_ERROR(rows_call_of(&rows, 1, &again, &returned));
  *out = returned || how == LOUD;
  for (int64_t i = 0; i < batch->learnt; i++)
    if (is_replaced(how, i)) order[i] = -1;
  if (returned)
    *out = compare_rows(batch, &again, learnt, order, batch->learnt, &difference) && difference.rows_differ == 0;
  return OPC_OK;
}

/* *out: the result of each row depends on this row alone, as far as a few rows show. */
static opc_status_t batch_learn(batch_t *batch, bool *out) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t learnt = {0}, more = {0}, reversed = {0};
  int64_t order[LEARNT_MOST + 1], same[LEARNT_MOST + 1];
  const int64_t count = batch->learnt;
  rows_difference_t difference;
  bool returned = false, tells = false;
  *out = false;
  batch_learn_order(NATURAL, count + 1, same);
  OPC_RETURN_IF_ERROR(rows_call(batch, same, count, 1, &learnt, &returned));
  if (returned) OPC_RETURN_IF_ERROR(rows_call(batch, same, count + 1, 1, &more, &returned));
  if (!returned || !find_row_dims(batch, &learnt, &more)) return OPC_OK;
  OPC_RETURN_IF_ERROR(measure_rounding(batch, same, &learnt));
  batch_learn_order(REVERSED, count, order);
  OPC_RETURN_IF_ERROR(rows_call(batch, order, count, 1, &reversed, &returned));
  if (!returned || !compare_rows(batch, &reversed, &learnt, order, count, &difference) || difference.beyond)
    return OPC_OK;
  tells = compare_rows(batch, &reversed, &learnt, same, count, &difference) && difference.beyond;
  for (learning_t how = REPLACED_ODD; tells && how < LEARNINGS; how++)
    OPC_RETURN_IF_ERROR(are_rows_untouched(batch, how, &learnt, &tells));
  if (!tells || !compare_rows(batch, &learnt, &more, same, count, &difference)) return OPC_OK;
  batch->by_number = difference.beyond;
  *out = true;
  return OPC_OK;
}

/* ---- batches of other sizes ---- */

static void batch_say_place(const opc_result_item_t *item, int64_t element, opc_text_t *out) {
  char index[64], value[96];
  const size_t width = opc_dtype_size(item->meta.dtype);
  opc_index_text(&item->meta, element, index, sizeof index);
  opc_element_text(item->meta.dtype, (const char *)item->bytes + (size_t)element * width, value, sizeof value);
  opc_text_addf(out, "%s%s is %s", item->path, index, value);
}

static void say_dims(const batch_t *batch, opc_text_t *out) {
  const char *separator = "";
  for (size_t i = 0; i < batch->tensors.count; i++) {
    if (batch->dims[i] < 0) continue;
    opc_text_addf(out, "%sdimension %d of %s", separator, batch->dims[i], batch->tensors.items[i].path);
    separator = ", ";
  }
}

/* One way to call rows, and what it is compared with. */
typedef struct rows_pair {
  int64_t left, right; /* rows of the two calls */
  int threads;
} rows_pair_t;

static void batch_say_difference(const batch_t *batch, const rows_pair_t *pair, const opc_trial_outcome_t *left,
                                 const opc_trial_outcome_t *right, const rows_difference_t *difference) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const opc_result_item_t *l = &left->result.items[difference->item], *r = &right->result.items[difference->item];
  opc_text_addf(&text, "in a batch of %lld ", (long long)pair->left);
  batch_say_place(l, difference->left, &text);
  opc_text_addf(&text, ", and for the same row in a batch of %lld ", (long long)pair->right);
  batch_say_place(r, difference->right, &text);
  if (difference->units > 0)
    opc_text_addf(&text, ": a difference of %.3g, %.3g units in the last place, the largest of all",
                  difference->largest, difference->units);
  opc_text_addf(&text, "; %lld of %lld rows differ%s. Rows are ", (long long)difference->rows_differ,
                (long long)difference->rows, pair->threads > 1 ? ", with 3 intra-op threads" : "");
  say_dims(batch, &text);
  if (l->meta.dtype_known) opc_text_addf(&text, "; %s", opc_meta_dtype_text(&l->meta));
  snprintf(batch->out->text, sizeof batch->out->text, "%s", opc_text_c(&text));
  snprintf(batch->out->variant, sizeof batch->out->variant, "batches of %lld and of %lld rows", (long long)pair->left,
           (long long)pair->right);
}

/* *out: both calls give the same bits again, so it is not by chance. *out_inside: the operator computes by means of
 * libtorch's. */
static opc_status_t is_repeatable(batch_t *batch, const rows_pair_t *pair, const int64_t *order, const int64_t *natural,
                                  const opc_trial_outcome_t *left, const opc_trial_outcome_t *right, bool *out,
                                  bool *out_inside) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t left_again = {0}, right_again = {0};
  opc_bridge_inner_work_begin();
  const opc_status_t status = rows_call(batch, order, pair->left, pair->threads, &left_again, out);
  *out_inside = opc_bridge_inner_work_end();
  OPC_RETURN_IF_ERROR(status);
  if (*out) OPC_RETURN_IF_ERROR(rows_call(batch, natural, pair->right, pair->threads, &right_again, out));
  *out = *out && !opc_trial_differ(left, &left_again, "", NULL) && !opc_trial_differ(right, &right_again, "", NULL);
  return OPC_OK;
}

/* The worst difference is kept. */
static opc_status_t compare_calls_of_rows(batch_t *batch, const rows_pair_t *pair, const int64_t *order,
                                          const int64_t *natural, const opc_trial_outcome_t *left,
                                          const opc_trial_outcome_t *right) {
  rows_difference_t difference;
  opc_batch_t *out = batch->out;
  bool repeatable = false, inside = false;
  if (!compare_rows(batch, left, right, order, pair->left, &difference)) return OPC_OK;
  out->values += difference.values;
  if (pair->left > out->rows) out->rows = pair->left;
  opc_batch_kind_t kind = !difference.rows_differ ? OPC_BATCH_SAME
                          : difference.beyond     ? OPC_BATCH_MIXED
                                                  : OPC_BATCH_ROUNDED;
  if (kind < out->kind || (kind == out->kind && difference.units <= out->units)) return OPC_OK;
  if (kind != OPC_BATCH_SAME)
    OPC_RETURN_IF_ERROR(is_repeatable(batch, pair, order, natural, left, right, &repeatable, &inside));
  if (kind != OPC_BATCH_SAME && !repeatable) return OPC_OK;
  if (kind == OPC_BATCH_ROUNDED && inside) kind = OPC_BATCH_INSIDE;
  out->kind = kind;
  out->units = difference.units;
  if (kind != OPC_BATCH_SAME) batch_say_difference(batch, pair, left, right, &difference);
  return OPC_OK;
}

static bool has_time(const batch_t *batch) {
  return opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - batch->began < seconds_of_all;
}

/* Alone, the last row of all, too. Otherwise the first rows, in the reverse order. */
static void choose_rows(const batch_t *batch, int64_t count, bool last, int64_t *order) {
  for (int64_t i = 0; i < count; i++) order[i] = count - 1 - i;
  if (last) order[0] = batch->all_rows - 1;
}

/* Rows whose result depends on their number are compared with those of as many. */
static opc_status_t compare_count(batch_t *batch, int64_t count, bool last, int threads, const int64_t *natural,
                                  int64_t *order, const opc_trial_outcome_t *all) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t few = {0}, as_many = {0};
  bool returned = false;
  rows_pair_t pair = {.left = count, .right = batch->all_rows, .threads = threads};
  choose_rows(batch, count, last, order);
  OPC_RETURN_IF_ERROR(rows_call(batch, order, count, threads, &few, &returned));
  if (!returned) return OPC_OK;
  if (!batch->by_number) return compare_calls_of_rows(batch, &pair, order, natural, &few, all);
  if (last) return OPC_OK;
  pair.right = count;
  OPC_RETURN_IF_ERROR(rows_call(batch, natural, count, threads, &as_many, &returned));
  return returned ? compare_calls_of_rows(batch, &pair, order, natural, &few, &as_many) : OPC_OK;
}

static opc_status_t compare_counts(batch_t *batch, int threads, const int64_t *natural, int64_t *order) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t all = {0};
  bool returned = false;
  OPC_RETURN_IF_ERROR(rows_call(batch, natural, batch->all_rows, threads, &all, &returned));
  for (size_t i = 0; returned && i < ROW_COUNTS && row_counts[i] <= batch->all_rows; i++) {
    const bool chosen = threads == 1 || row_counts[i] < THREADS || row_counts[i] == 64;
    if (!chosen || !has_time(batch) || opc_trial_out_of_bounds()) continue;
    OPC_RETURN_IF_ERROR(compare_count(batch, row_counts[i], false, threads, natural, order, &all));
    if (i == 0) OPC_RETURN_IF_ERROR(compare_count(batch, row_counts[i], true, threads, natural, order, &all));
  }
  return OPC_OK;
}

/* Time may grow with the square of the number of rows. */
static opc_status_t choose_all(batch_t *batch, const int64_t *natural) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t some = {0};
  bool returned = false;
  const int64_t tried = batch->pool_rows < 64 ? batch->pool_rows : 64;
  const double began = opc_clock_of(CLOCK_THREAD_CPUTIME_ID);
  OPC_RETURN_IF_ERROR(rows_call(batch, natural, tried, 1, &some, &returned));
  const double seconds = opc_clock_of(CLOCK_THREAD_CPUTIME_ID) - began;
  batch->all_rows = batch->pool_rows;
  for (size_t i = ROW_COUNTS; i-- > 0;) {
    const double times = (double)batch->all_rows / (double)tried;
    if (times <= 1 || seconds * times * times < seconds_of_call || row_counts[i] < tried) break;
    if (row_counts[i] < batch->all_rows) batch->all_rows = row_counts[i] - (batch->pool_rows % 2 == 0);
  }
  return OPC_OK;
}

/* A result that depends on the number of threads, but not on the batch, is no concern here. */
static opc_status_t compare_batches(batch_t *batch) {
  OPC_SCOPED(opc_scope_free) int64_t *natural = calloc((size_t)batch->pool_rows + 1, sizeof *natural);
  OPC_SCOPED(opc_scope_free) int64_t *order = calloc((size_t)batch->pool_rows + 1, sizeof *order);
  if (!natural || !order) return opc_out_of_memory(batch->error);
  batch_learn_order(NATURAL, batch->pool_rows, natural);
  OPC_RETURN_IF_ERROR(choose_all(batch, natural));
  OPC_RETURN_IF_ERROR(compare_counts(batch, 1, natural, order));
  return batch->out->kind == OPC_BATCH_SAME ? compare_counts(batch, THREADS, natural, order) : OPC_OK;
}

/* ---- the look at a sample ---- */

static opc_status_t look_at_place(batch_t *batch, bool *out_is_batch) {
  int64_t size = 0;
  bool filled = false;
  *out_is_batch = false;
  opc_replay_clear(&batch->pool);
  opc_tolerance_clear(&batch->tolerance);
  for (size_t i = 0; i < TENSORS_MOST; i++) batch->dims[i] = -1;
  (void)opc_sample_size(batch->sample, batch->context->op, &batch->place, &size);
  batch->learnt = size < LEARNT_LEAST ? LEARNT_LEAST : size > LEARNT_MOST ? LEARNT_MOST : size;
  if (!find_dims(batch) || rows_have_numbers(batch)) return OPC_OK;
  OPC_RETURN_IF_ERROR(fill_pool(batch, &filled));
  if (filled && !has_constant_flags(batch)) OPC_RETURN_IF_ERROR(batch_learn(batch, out_is_batch));
  return OPC_OK;
}

/* Tensors that are one, or share a storage, have no rows of their own. */
static const opc_variant_tensor_t *largest_of(const opc_variant_tensors_t *tensors) {
  const opc_variant_tensor_t *largest = NULL;
  for (size_t i = 0; i < tensors->count; i++) {
    const opc_variant_tensor_t *tensor = &tensors->items[i];
    if (tensor->shared || tensor->twin != i) return NULL;
    if (!largest || opc_tensor_spec_numel(tensor->value->tensor) > opc_tensor_spec_numel(largest->value->tensor))
      largest = tensor;
  }
  return largest;
}

/* Stops at a batch. *tried: the tensors whose first dimension was tried, one bit each. */
static opc_status_t look_at_dims(batch_t *batch, const opc_variant_tensor_t *tensor, int dims, unsigned *tried,
                                 bool *out_is_batch) {
  const opc_tensor_spec_t *spec = tensor->value->tensor;
  for (int dim = 0; dim < spec->ndim && dim < dims && !*out_is_batch && !opc_trial_out_of_bounds(); dim++) {
    batch->place = (opc_size_place_t){.path = tensor->path, .dim = dim};
    if (spec->sizes[dim] == 0) continue;
    OPC_RETURN_IF_ERROR(look_at_place(batch, out_is_batch));
    for (size_t i = 0; i < batch->tensors.count && i < TENSORS_MOST; i++)
      *tried |= (unsigned)(batch->dims[i] == 0) << i;
  }
  return OPC_OK;
}

/* A batch is mostly a dimension of the largest tensor, or the first one of another. */
static opc_status_t batch_look(batch_t *batch) {
  OPC_RETURN_IF_ERROR(opc_variant_tensors_collect((opc_sample_t *)(uintptr_t)batch->sample, batch->context->op,
                                                  &batch->tensors, batch->error));
  const opc_variant_tensor_t *largest = largest_of(&batch->tensors);
  unsigned tried = 0;
  bool is_batch = false;
  batch->began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  if (batch->out->kind == OPC_BATCH_UNKNOWN) batch->out->kind = OPC_BATCH_NONE;
  if (!largest || batch->tensors.count > TENSORS_MOST) return OPC_OK;
  OPC_RETURN_IF_ERROR(look_at_dims(batch, largest, OPC_MAX_DIMS, &tried, &is_batch));
  for (size_t i = 0; i < batch->tensors.count && has_time(batch); i++)
    if (!(tried & 1u << i)) OPC_RETURN_IF_ERROR(look_at_dims(batch, &batch->tensors.items[i], 1, &tried, &is_batch));
  return is_batch ? compare_batches(batch) : OPC_OK;
}

static opc_status_t look_at_batches_of(opc_case_context_t *context, const opc_sample_t *sample, opc_batch_t *out,
                                       opc_error_t *error) {
  OPC_SCOPED(batch_state_clear) batch_t batch = {.context = context, .sample = sample, .out = out, .error = error};
  return opc_trial_out_of_bounds() ? OPC_OK : batch_look(&batch);
}

/* In rows of a few numbers, another order of adding often rounds alike. False: nothing larger fits together. */
static bool make_larger(const opc_case_context_t *context, const opc_sample_t *sample, opc_sample_t *out) {
  static const char larger[] = "all.larger";
  enum { NUMEL_MOST = 1 << 13 };
  return opc_variant_apply(sample, context->op, larger, out, NULL) == OPC_OK &&
         opc_variant_change(sample, context->op, out, larger) != OPC_INPUT_ALONE &&
         opc_sample_numel_max(out) <= NUMEL_MOST;
}

opc_status_t opc_batch_look(opc_case_context_t *context, const opc_sample_t *sample, opc_batch_t *out,
                            opc_error_t *error) {
  enum { WIDE = 256 };
  OPC_SCOPED(opc_sample_clear) opc_sample_t larger = {0}, wider = {0};
  const opc_dtype_t dtype = opc_sample_main_dtype(sample);
  if (opc_sample_numel_max(sample) < WIDE && make_larger(context, sample, &larger))
    OPC_RETURN_IF_ERROR(look_at_batches_of(context, &larger, out, error));
  if (out->kind < OPC_BATCH_SAME || (out->kind == OPC_BATCH_SAME && sample->expect.batch_invariant))
    OPC_RETURN_IF_ERROR(look_at_batches_of(context, sample, out, error));
  /* In numbers of 16 bits, rounding hides most differences. */
  if (out->kind > OPC_BATCH_SAME || opc_dtype_size(dtype) != 2 || !opc_dtype_is_inexact(dtype)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &wider, error));
  return opc_sample_cast(&wider, OPC_DTYPE_FLOAT32) ? look_at_batches_of(context, &wider, out, error) : OPC_OK;
}
