#include "checks/compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double nearly(opc_dtype_t dtype) { return fmax(1e-6, 64 * opc_dtype_ulp(dtype, 1.0)); }

/* Vectors of an item's matrices: its columns, or its rows. */
typedef struct vectors {
  size_t item;
  bool columns;
  int64_t batches, count, length; /* vectors per matrix, elements per vector */
  bool *flipped;                  /* one per vector */
} vectors_t;

static int64_t element_of(const vectors_t *vectors, int64_t vector, int64_t i) {
  int64_t batch = vector / vectors->count, number = vector % vectors->count;
  int64_t matrix = batch * vectors->count * vectors->length;
  return vectors->columns ? matrix + i * vectors->count + number : matrix + number * vectors->length + i;
}

static bool take_vectors(const opc_result_item_t *item, size_t index, bool columns, vectors_t *out) {
  int ndim = item->meta.ndim;
  if (ndim < 2 || ndim > OPC_MAX_DIMS || !item->meta.numel) return false;
  int64_t rows = item->meta.sizes[ndim - 2], wide = item->meta.sizes[ndim - 1];
  *out = (vectors_t){.item = index,
                     .columns = columns,
                     .batches = item->meta.numel / (rows * wide),
                     .count = columns ? wide : rows,
                     .length = columns ? rows : wide};
  return true;
}

static void negate(const opc_result_item_t *item, int64_t element) {
  void *at = (char *)item->bytes + (size_t)element * item->meta.itemsize;
  opc_number_t number = opc_number_load(item->meta.dtype, at);
  number.f = number.kind == OPC_NUMBER_FLOAT ? -number.f : number.f;
  if (number.kind == OPC_NUMBER_COMPLEX) {
    number.c.re = -number.c.re;
    number.c.im = -number.c.im;
  }
  opc_number_store(number, item->meta.dtype, at);
}

static bool vector_holds(const opc_bound_t *bound, const vectors_t *vectors, int64_t vector) {
  opc_bound_t copy = *bound;
  for (int64_t i = 0; i < vectors->length; i++)
    if (!opc_bound_holds(vectors->item, element_of(vectors, vector, i), &copy)) return false;
  return true;
}

/* Finds the vectors that are right except for their sign. False: some vector is wrong with either sign. */
static bool find_flipped(const opc_bound_t *bound, vectors_t *vectors) {
  const opc_result_item_t *got = &bound->got->items[vectors->item];
  bool all = true;
  for (int64_t v = 0; all && v < vectors->batches * vectors->count; v++) {
    if (vector_holds(bound, vectors, v)) continue;
    for (int64_t i = 0; i < vectors->length; i++) negate(got, element_of(vectors, v, i));
    vectors->flipped[v] = all = vector_holds(bound, vectors, v);
    for (int64_t i = 0; i < vectors->length; i++) negate(got, element_of(vectors, v, i)); /* the original value */
  }
  return all;
}

static void product_add(const opc_result_item_t *item, int64_t left, int64_t right, double sum[2]) {
  opc_number_t a = opc_number_load(item->meta.dtype, (const char *)item->bytes + (size_t)left * item->meta.itemsize);
  opc_number_t b = opc_number_load(item->meta.dtype, (const char *)item->bytes + (size_t)right * item->meta.itemsize);
  if (a.kind == OPC_NUMBER_COMPLEX) {
    sum[0] += a.c.re * b.c.re + a.c.im * b.c.im;
    sum[1] += a.c.re * b.c.im - a.c.im * b.c.re;
  } else {
    sum[0] += a.f * b.f;
  }
}

static bool is_orthonormal(const opc_result_item_t *item, const vectors_t *vectors) {
  for (int64_t batch = 0; batch < vectors->batches; batch++)
    for (int64_t a = 0; a < vectors->count; a++)
      for (int64_t b = 0; b <= a; b++) {
        double sum[2] = {0.0, 0.0};
        int64_t first = batch * vectors->count;
        for (int64_t i = 0; i < vectors->length; i++)
          product_add(item, element_of(vectors, first + a, i), element_of(vectors, first + b, i), sum);
        const double off = nearly(item->meta.dtype);
        if (!(fabs(sum[0] - (a == b ? 1.0 : 0.0)) < off && fabs(sum[1]) < off)) return false;
      }
  return true;
}

static opc_status_t pair_differs(const opc_bound_t *bound, vectors_t pair[2], bool *out, opc_error_t *error) {
  size_t count = (size_t)(pair[0].batches * pair[0].count);
  *out = false;
  if (pair[0].batches != pair[1].batches || pair[0].count != pair[1].count) return OPC_OK;
  OPC_SCOPED(opc_scope_free)
  bool *left = calloc(count + 1, sizeof *left), *right = calloc(count + 1, sizeof *right);
  if (!left || !right) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a comparison");
  pair[0].flipped = left;
  pair[1].flipped = right;
  if (find_flipped(bound, &pair[0]) && find_flipped(bound, &pair[1]))
    *out = memcmp(left, right, count) == 0 && (is_orthonormal(&bound->reference->items[pair[0].item], &pair[0]) ||
                                               is_orthonormal(&bound->reference->items[pair[1].item], &pair[1]));
  return OPC_OK;
}

/* Eigenvectors: the other results are numbers that belong to them, no second matrix. */
static opc_status_t one_differs(const opc_bound_t *bound, size_t item, bool columns, bool *out, opc_error_t *error) {
  vectors_t vectors;
  *out = false;
  for (size_t i = 0; i < bound->got->count; i++)
    if (i != item && bound->got->items[i].meta.ndim >= bound->got->items[item].meta.ndim) return OPC_OK;
  if (bound->got->count < 2 || !take_vectors(&bound->got->items[item], item, columns, &vectors)) return OPC_OK;
  OPC_SCOPED(opc_scope_free)
  bool *flipped = vectors.flipped = calloc((size_t)(vectors.batches * vectors.count) + 1, sizeof *flipped);
  if (!flipped) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a comparison");
  *out = find_flipped(bound, &vectors) && is_orthonormal(&bound->reference->items[item], &vectors);
  return OPC_OK;
}

static bool item_differs(const opc_bound_t *bound, size_t item) {
  opc_bound_t copy = *bound;
  for (int64_t e = 0; e < bound->got->items[item].meta.numel; e++)
    if (!opc_bound_holds(item, e, &copy)) return true;
  return false;
}

opc_status_t opc_signs_differ_only(const opc_bound_t *bound, bool *out, opc_error_t *error) {
  size_t items[2] = {0}, count = 0;
  *out = false;
  for (size_t i = 0; i < bound->got->count && i < bound->reference->count; i++) {
    if (!opc_result_is_measurable(&bound->got->items[i]) || !opc_result_is_measurable(&bound->reference->items[i]))
      continue;
    if (bound->got->items[i].meta.numel != bound->reference->items[i].meta.numel || !item_differs(bound, i)) continue;
    if (count < 2) items[count] = i;
    count++;
  }
  for (int side = 0; count == 1 && !*out && side < 2; side++)
    OPC_RETURN_IF_ERROR(one_differs(bound, items[0], side, out, error));
  for (int sides = 0; count == 2 && !*out && sides < 4; sides++) {
    vectors_t pair[2];
    if (take_vectors(&bound->got->items[items[0]], items[0], sides & 1, &pair[0]) &&
        take_vectors(&bound->got->items[items[1]], items[1], sides & 2, &pair[1]))
      OPC_RETURN_IF_ERROR(pair_differs(bound, pair, out, error));
  }
  return OPC_OK;
}
