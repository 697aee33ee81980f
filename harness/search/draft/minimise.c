#include "search/draft/minimise.h"

#include <math.h>
#include <stdlib.h>

#include "plan/variant/variant.h"
#include "search/draft/search_inside.h"

/* What is tried, in this order, from what removes most to what removes least. */
typedef struct kind {
  size_t (*targets)(const opc_minimiser_t *minimiser);
  /* Changes the candidate. False: the edit does not apply, or makes nothing simpler. */
  bool (*edit)(opc_minimiser_t *minimiser, size_t target, int step);
  int steps;
} kind_t;

struct opc_minimiser {
  const opc_operator_t *op;
  bool valid;
  opc_sample_t given, best, candidate;
  size_t kind, target;
  int step;
  bool progress; /* in this pass over all kinds */
};

/* ---- arguments and lists ---- */

static size_t per_argument(const opc_minimiser_t *minimiser) { return minimiser->best.argument_count; }

static bool leave_argument_out(opc_minimiser_t *minimiser, size_t target, int step) {
  const opc_argument_t *argument = &minimiser->op->arguments[target];
  opc_sample_t *sample = &minimiser->candidate;
  (void)step;
  const bool optional = argument->type.kind == OPC_TYPE_OPTIONAL;
  const bool given = !sample->absent[target] && sample->arguments[target].kind != OPC_VALUE_NONE;
  if (!given || !(argument->has_default || optional)) return false;
  opc_value_clear(&sample->arguments[target]);
  sample->absent[target] = argument->has_default;
  return true;
}

static bool shorten_list(opc_minimiser_t *minimiser, size_t target, int step) {
  opc_value_t *value = &minimiser->candidate.arguments[target];
  if (value->kind != OPC_VALUE_LIST || !opc_type_is_any_length(&minimiser->op->arguments[target].type)) return false;
  const size_t count = value->list.count, lengths[] = {1, count / 2, count - 1};
  return count > 1 && lengths[step] > 0 && opc_edit_list_length(value, lengths[step]);
}

/* ---- sizes ---- */

/* The distinct sizes above 1, largest first. */
static size_t sizes_of(const opc_sample_t *sample, int64_t *out, size_t room) {
  size_t count = 0;
  const opc_tensor_spec_t *spec;
  for (size_t number = 0; (spec = opc_sample_tensor(sample, number)); number++) {
    for (int dim = 0; dim < spec->ndim; dim++) {
      size_t at = 0;
      while (at < count && out[at] > spec->sizes[dim]) at++;
      if (spec->sizes[dim] < 2 || count == room || (at < count && out[at] == spec->sizes[dim])) continue;
      for (size_t i = count++; i > at; i--) out[i] = out[i - 1];
      out[at] = spec->sizes[dim];
    }
  }
  return count;
}

enum { SIZES_MAX = 16, SIZE_STEPS = 4 };

static int64_t smaller_size(int64_t size, int step) {
  const int64_t sizes[SIZE_STEPS] = {1, 2, size / 2, size - 1};
  return sizes[step] > 0 && sizes[step] < size ? sizes[step] : 0;
}

static size_t per_size(const opc_minimiser_t *minimiser) {
  int64_t sizes[SIZES_MAX];
  return sizes_of(&minimiser->best, sizes, SIZES_MAX);
}

/* What the relations tie to a changed size follows it. */
static bool follow_sizes(opc_minimiser_t *minimiser) {
  return !minimiser->best.relations || opc_related_fit(&minimiser->candidate, &minimiser->best, minimiser->op);
}

/* Every dimension of one size at once: a product or a sum of tensors needs them equal. */
static bool shrink_equal(opc_minimiser_t *minimiser, size_t target, int step) {
  int64_t sizes[SIZES_MAX];
  opc_resized_t resized;
  bool possible = false;
  if (target >= sizes_of(&minimiser->best, sizes, SIZES_MAX)) return false;
  const int64_t size = smaller_size(sizes[target], step);
  const opc_resize_t resize = {.where = opc_resize_where_size, .context = &sizes[target], .add = size};
  if (size == 0 || opc_sample_resize(&minimiser->candidate, &resize, &resized, &possible, NULL) != OPC_OK) return false;
  return possible && resized.changed > 0 && follow_sizes(minimiser);
}

typedef struct place {
  size_t tensor;
  int dim;
} place_t;

static bool is_minimised_place(const opc_variant_tensor_t *tensor, size_t number, int dim, void *context) {
  const place_t *place = context;
  (void)tensor;
  return number == place->tensor && dim == place->dim;
}

static size_t per_dimension(const opc_minimiser_t *minimiser) {
  size_t count = 0;
  const opc_tensor_spec_t *spec;
  for (size_t number = 0; (spec = opc_sample_tensor(&minimiser->best, number)); number++) count += (size_t)spec->ndim;
  return count;
}

/* The dimension with this number, counted over all tensors. */
static bool minimise_place(const opc_sample_t *sample, size_t target, place_t *out, int64_t *out_size) {
  const opc_tensor_spec_t *spec;
  for (size_t number = 0; (spec = opc_sample_tensor(sample, number)); number++) {
    if (target < (size_t)spec->ndim) {
      *out = (place_t){number, (int)target};
      *out_size = spec->sizes[target];
      return true;
    }
    target -= (size_t)spec->ndim;
  }
  return false;
}

static bool shrink_alone(opc_minimiser_t *minimiser, size_t target, int step) {
  place_t place;
  int64_t size;
  opc_resized_t resized;
  bool possible = false;
  if (!minimise_place(&minimiser->best, target, &place, &size)) return false;
  const opc_resize_t resize = {.where = is_minimised_place, .context = &place, .add = smaller_size(size, step)};
  if (resize.add == 0 || opc_sample_resize(&minimiser->candidate, &resize, &resized, &possible, NULL) != OPC_OK)
    return false;
  return possible && resized.changed > 0 && follow_sizes(minimiser);
}

/* ---- values ---- */

static size_t per_slot(const opc_minimiser_t *minimiser) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  return opc_slots_of(&minimiser->best, slots);
}

static opc_value_t *minimise_slot(opc_sample_t *sample, size_t target, opc_value_kind_t kind) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  if (target >= opc_slots_of(sample, slots) || slots[target].value->kind != kind) return NULL;
  return slots[target].value;
}

/* A tensor that shares nothing with another one. */
static opc_tensor_spec_t *own_tensor(opc_sample_t *sample, size_t target) {
  const opc_value_t *value = minimise_slot(sample, target, OPC_VALUE_TENSOR);
  return value && !value->tensor->storage && !value->tensor->identity ? value->tensor : NULL;
}

static bool make_plain(opc_minimiser_t *minimiser, size_t target, int step) {
  opc_tensor_spec_t *spec = own_tensor(&minimiser->candidate, target);
  (void)step;
  if (!spec) return false;
  const bool plain = opc_tensor_spec_is_contiguous(spec) && spec->storage_offset == 0 &&
                     spec->storage_size == opc_tensor_spec_numel(spec);
  if (plain && !spec->conj && !spec->neg && !spec->requires_grad) return false;
  spec->conj = spec->neg = spec->requires_grad = false;
  opc_tensor_spec_make_contiguous(spec);
  return true;
}

/* Counting numbers first: of equal ones nobody sees which went where. A single number is 1: much is right for 0. */
enum { SIMPLE_FILLS = 3 };
static const opc_fill_kind_t simple_fills[2][SIMPLE_FILLS] = {{OPC_FILL_ARANGE, OPC_FILL_ONES, OPC_FILL_ZEROS},
                                                              {OPC_FILL_ONES, OPC_FILL_ARANGE, OPC_FILL_ZEROS}};

static const opc_fill_kind_t *fills_for(const opc_tensor_spec_t *spec) {
  return simple_fills[opc_tensor_spec_numel(spec) < 2];
}

static int rank_of_fill(const opc_tensor_spec_t *spec) {
  int rank = 0;
  while (rank < SIMPLE_FILLS && fills_for(spec)[rank] != spec->fill.kind) rank++;
  return rank;
}

static bool simplify_fill(opc_minimiser_t *minimiser, size_t target, int step) {
  const opc_tensor_spec_t *spec = own_tensor(&minimiser->candidate, target);
  if (!spec || spec->fill.special != OPC_SPECIAL_NONE || step >= rank_of_fill(spec)) return false;
  return opc_edit_fill(minimise_slot(&minimiser->candidate, target, OPC_VALUE_TENSOR), fills_for(spec)[step]);
}

enum { NUMBER_STEPS = 4 };

static bool simplify_integer(opc_minimiser_t *minimiser, size_t target, int step) {
  opc_value_t *value = minimise_slot(&minimiser->candidate, target, OPC_VALUE_INT);
  if (!value) return false;
  const int64_t simpler[NUMBER_STEPS] = {0, 1, 2, value->integer / 2};
  if (fabs((double)simpler[step]) >= fabs((double)value->integer)) return false;
  return opc_edit_number(value, simpler[step]);
}

static bool simplify_number(opc_minimiser_t *minimiser, size_t target, int step) {
  opc_value_t *value = minimise_slot(&minimiser->candidate, target, OPC_VALUE_FLOAT);
  if (!value) return false;
  const bool whole = value->floating == floor(value->floating);
  const double simpler[NUMBER_STEPS] = {0, 1, 2, floor(value->floating / 2)};
  if (whole && fabs(simpler[step]) >= fabs(value->floating)) return false;
  return fabs(simpler[step]) < 0x1p53 && opc_edit_number(value, (int64_t)simpler[step]);
}

static const kind_t kinds[] = {{per_argument, leave_argument_out, 1},
                               {per_argument, shorten_list, 3},
                               {per_size, shrink_equal, SIZE_STEPS},
                               {per_dimension, shrink_alone, SIZE_STEPS},
                               {per_slot, make_plain, 1},
                               {per_slot, simplify_fill, SIMPLE_FILLS},
                               {per_slot, simplify_integer, NUMBER_STEPS},
                               {per_slot, simplify_number, NUMBER_STEPS}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- the steps ---- */

static void scope_minimiser(opc_minimiser_t **minimiser) { opc_minimiser_free(*minimiser); }

opc_status_t opc_minimiser_new(const opc_operator_t *op, const opc_sample_t *sample, bool valid, opc_minimiser_t **out,
                               opc_error_t *error) {
  OPC_SCOPED(scope_minimiser) opc_minimiser_t *minimiser = calloc(1, sizeof *minimiser);
  if (!minimiser) return opc_out_of_memory(error);
  minimiser->op = op;
  minimiser->valid = valid;
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &minimiser->given, error));
  OPC_RETURN_IF_ERROR(opc_sample_copy(sample, &minimiser->best, error));
  OPC_MOVE(out, minimiser);
  return OPC_OK;
}

void opc_minimiser_free(opc_minimiser_t *minimiser) {
  if (!minimiser) return;
  opc_sample_clear(&minimiser->given);
  opc_sample_clear(&minimiser->best);
  opc_sample_clear(&minimiser->candidate);
  free(minimiser);
}

/* Results that somebody stated are those of the given arguments. */
static bool is_fixed(const opc_minimiser_t *minimiser) {
  return minimiser->given.expect.output_count > 0 || minimiser->given.expect.rejects;
}

static bool is_allowed(const opc_minimiser_t *minimiser) {
  return !minimiser->valid ||
         opc_variant_change(&minimiser->given, minimiser->op, &minimiser->candidate, "plain") != OPC_INPUT_ALONE;
}

/* To the next edit; after the last one, a new pass if this one has found something. False: none is left. */
static bool advance(opc_minimiser_t *minimiser) {
  while (minimiser->kind < KINDS) {
    const kind_t *kind = &kinds[minimiser->kind];
    if (minimiser->target < kind->targets(minimiser) && minimiser->step < kind->steps) return true;
    minimiser->step = 0;
    if (minimiser->target < kind->targets(minimiser)) {
      minimiser->target++;
    } else {
      minimiser->target = 0;
      minimiser->kind++;
    }
    if (minimiser->kind < KINDS || !minimiser->progress) continue;
    minimiser->kind = 0;
    minimiser->progress = false;
  }
  return false;
}

opc_status_t opc_minimiser_next(opc_minimiser_t *minimiser, const opc_sample_t **out, opc_error_t *error) {
  *out = NULL;
  while (!is_fixed(minimiser) && advance(minimiser)) {
    opc_sample_clear(&minimiser->candidate);
    OPC_RETURN_IF_ERROR(opc_sample_copy(&minimiser->best, &minimiser->candidate, error));
    if (kinds[minimiser->kind].edit(minimiser, minimiser->target, minimiser->step++) && is_allowed(minimiser)) {
      *out = &minimiser->candidate;
      break;
    }
  }
  return OPC_OK;
}

/* The same edit may apply once more: to half of half the size. */
void opc_minimiser_answer(opc_minimiser_t *minimiser, bool fails) {
  if (!fails) return;
  opc_sample_clear(&minimiser->best);
  OPC_MOVE(&minimiser->best, minimiser->candidate);
  minimiser->progress = true;
  minimiser->step = 0;
}

const opc_sample_t *opc_minimiser_best(const opc_minimiser_t *minimiser) { return &minimiser->best; }
