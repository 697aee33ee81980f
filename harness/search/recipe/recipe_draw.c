/* Draws arguments from a recipe: sizes first, each when an expression names it, then the values. It is a part of the
 * search and uses the search's random stream. */
#include <stdlib.h>
#include <string.h>

#include "model/value/value_read.h"
#include "search/draft/search_inside.h"
#include "search/recipe/recipe_inside.h"

enum { TRIES = 200, LIST_MAX = 64, GIVEN_PERCENT = 70 };
static const int64_t size_max = 4096, numel_max = 1 << 20;

typedef struct draw {
  const opc_recipe_t *recipe;
  opc_rng_t *rng;
  int64_t values[OPC_RECIPE_SIZES_MAX];
  enum { SIZE_OPEN = 0, SIZE_BUSY, SIZE_KNOWN } states[OPC_RECIPE_SIZES_MAX];
  const char *name; /* of the argument being drawn */
  char *why;
  size_t why_size;
} draw_t;

static bool misfit(draw_t *draw, const char *format, ...) OPC_PRINTF(2, 3);
/* Keeps the first reason: later ones follow from it. */
static bool misfit(draw_t *draw, const char *format, ...) {
  if (!draw->why_size || draw->why[0]) return false;
  char what[160];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  snprintf(draw->why, draw->why_size, "%s%s%s", draw->name ? draw->name : "", draw->name ? ": " : "", what);
  return false;
}

/* ---- sizes and expressions ---- */

static bool integer(draw_t *draw, const opc_want_t *want, int64_t *out);

static bool size_value(const char *name, int64_t *out, void *context) {
  draw_t *draw = context;
  const opc_recipe_size_t *size = opc_recipe_size_find(draw->recipe, name);
  if (!size) return false;
  const size_t index = (size_t)(size - draw->recipe->sizes);
  if (draw->states[index] == SIZE_BUSY) return misfit(draw, "\"%s\" depends on itself", name);
  if (draw->states[index] == SIZE_OPEN) {
    draw->states[index] = SIZE_BUSY;
    if (!integer(draw, size->argument >= 0 ? &draw->recipe->wants[size->argument] : &size->want, &draw->values[index]))
      return false;
    draw->states[index] = SIZE_KNOWN;
  }
  *out = draw->values[index];
  return true;
}

static bool expression(draw_t *draw, const char *text, int64_t *out) {
  char why[128] = "";
  opc_expression_end_t end = opc_expression_value(text, size_value, draw, out, why, sizeof why);
  if (end == OPC_EXPRESSION_VALUE) return true;
  return end == OPC_EXPRESSION_NAME ? misfit(draw, "\"%s\" has no value", why) : misfit(draw, "\"%s\": %s", text, why);
}

/* low <= result <= high, but below INT64_MAX if there is a choice. */
static int64_t number_within(draw_t *draw, int64_t low, int64_t high) {
  return opc_random_range(draw->rng->seed, 0, draw->rng->counter++, low, high < INT64_MAX ? high + 1 : high);
}

static bool between(draw_t *draw, const opc_bounds_t *bounds, int64_t *out) {
  int64_t low, high;
  if (!expression(draw, bounds->low, &low) || !expression(draw, bounds->high, &high)) return false;
  if (low > high) return misfit(draw, "nothing is at least %lld and at most %lld", (long long)low, (long long)high);
  *out = number_within(draw, low, high);
  return true;
}

static bool integer(draw_t *draw, const opc_want_t *want, int64_t *out) {
  if (want->is) return expression(draw, want->is, out);
  if (want->choice_count > 0) {
    *out = want->choices[opc_rng_below(draw->rng, (int64_t)want->choice_count)].integer;
    return true;
  }
  if (want->between.low) return between(draw, &want->between, out);
  *out = 1 + opc_rng_below(draw->rng, 3); /* the recipe says only "given" */
  return true;
}

static bool conditions_hold(draw_t *draw) {
  for (size_t i = 0; i < draw->recipe->condition_count; i++) {
    int64_t holds;
    if (!expression(draw, draw->recipe->conditions[i], &holds)) return false;
    if (!holds) return misfit(draw, "the condition \"%s\" does not hold", draw->recipe->conditions[i]);
  }
  return true;
}

/* ---- integers of a row ---- */

static int compare_integers(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return (a > b) - (a < b);
}

/* Splits `total` into `count` parts, each of them 0 or more. */
static bool lengths(draw_t *draw, int64_t total, int64_t count, int64_t *out) {
  if (total < 0 || (count == 0 && total > 0))
    return misfit(draw, "%lld lengths have no sum of %lld", (long long)count, (long long)total);
  for (int64_t i = 0; i < count; i++) out[i] = total / count;
  for (int64_t i = 0; i < total % count; i++) out[i]++;
  for (int64_t i = 0; i + 1 < count; i++) { /* one part gives what another takes */
    int64_t given = number_within(draw, 0, out[i]);
    out[i] -= given;
    out[opc_rng_below(draw->rng, count)] += given;
  }
  return true;
}

static bool row_fill(draw_t *draw, const opc_want_fill_t *fill, int64_t count, int64_t *out) {
  int64_t low = 0, high = 0;
  if (fill->bounds.low && !expression(draw, fill->bounds.low, &low)) return false;
  if (fill->bounds.high && !expression(draw, fill->bounds.high, &high)) return false;
  if (count == 0)
    return fill->kind != OPC_WANT_FILL_OFFSETS || misfit(draw, "no number can be the last offset: the row is empty");
  switch (fill->kind) {
    case OPC_WANT_FILL_RANGE:
    case OPC_WANT_FILL_SORTED:
      if (low >= high)
        return misfit(draw, "no integer is at least %lld and below %lld", (long long)low, (long long)high);
      for (int64_t i = 0; i < count; i++) out[i] = number_within(draw, low, high - 1);
      if (fill->kind == OPC_WANT_FILL_SORTED) qsort(out, (size_t)count, sizeof *out, compare_integers);
      return true;
    case OPC_WANT_FILL_OFFSETS:
      if (high < 0 || (count == 1 && high > 0))
        return misfit(draw, "%lld offsets do not go from 0 to %lld", (long long)count, (long long)high);
      for (int64_t i = 1; i + 1 < count; i++) out[i] = number_within(draw, 0, high);
      out[0] = 0;
      out[count - 1] = high;
      qsort(out, (size_t)count, sizeof *out, compare_integers);
      return true;
    case OPC_WANT_FILL_LENGTHS:
      return lengths(draw, high, count, out);
    case OPC_WANT_FILL_REACHING:
      if (high < 1) return misfit(draw, "nothing is at least 1 and at most %lld", (long long)high);
      for (int64_t i = 0; i < count; i++) out[i] = 1 + opc_rng_below(draw->rng, high);
      out[opc_rng_below(draw->rng, count)] = high;
      return true;
    default: /* PERMUTATION */
      for (int64_t i = 0; i < count; i++) {
        int64_t at = opc_rng_below(draw->rng, i + 1);
        out[i] = out[at];
        out[at] = i;
      }
      return true;
  }
}

/* ---- tensors ---- */

static bool is_index_fill(opc_want_fill_kind_t kind) {
  return kind >= OPC_WANT_FILL_RANGE && kind <= OPC_WANT_FILL_PERMUTATION;
}

static bool values_fill(draw_t *draw, const opc_want_fill_t *fill, opc_tensor_spec_t *spec) {
  const int64_t numel = opc_tensor_spec_numel(spec), row = spec->ndim > 0 ? spec->sizes[spec->ndim - 1] : 1;
  int64_t integers[LIST_MAX], *drawn = row <= LIST_MAX ? integers : calloc((size_t)row, sizeof *drawn);
  opc_number_t *values = calloc((size_t)numel + 1, sizeof *values);
  bool good = drawn && values;
  for (int64_t at = 0; good && (at < numel || (at == 0 && row == 0)); at += row > 0 ? row : 1) {
    good = fill->kind == OPC_WANT_FILL_BETWEEN || row_fill(draw, fill, row, drawn);
    for (int64_t i = 0; good && i < row; i++) {
      double part = (double)opc_rng_below(draw->rng, 1 << 20) / (double)((1 << 20) - 1);
      if (fill->kind == OPC_WANT_FILL_BETWEEN)
        values[at + i] =
            (opc_number_t){.kind = OPC_NUMBER_FLOAT,
                           .f = fill->bounds.real_low + part * (fill->bounds.real_high - fill->bounds.real_low)};
      else values[at + i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = drawn[i]};
    }
  }
  if (drawn != integers) free(drawn);
  if (!good || numel == 0) {
    free(values);
    return good;
  }
  spec->fill.kind = OPC_FILL_VALUES;
  spec->fill.values = values;
  spec->fill.value_count = (size_t)numel;
  return true;
}

static bool fill_tensor(draw_t *draw, const opc_want_t *want, opc_tensor_spec_t *spec) {
  opc_error_t error = {0};
  opc_json_reader_t reader = {.error = &error};
  int64_t low, high;
  switch (want->fill.kind) {
    case OPC_WANT_FILL_ANY:
      opc_seed_fill(want->name, spec);
      return true;
    case OPC_WANT_FILL_BOXES:
      opc_seed_fill("boxes", spec);
      return true;
    case OPC_WANT_FILL_PLAIN:
      return opc_fill_read(&reader, want->fill.plain, spec) == OPC_OK || misfit(draw, "%s", error.message);
    case OPC_WANT_FILL_RANGE: /* a range also holds for other shapes, those of variants */
      if (!expression(draw, want->fill.bounds.low, &low) || !expression(draw, want->fill.bounds.high, &high))
        return false;
      if (low >= high)
        return misfit(draw, "no integer is at least %lld and below %lld", (long long)low, (long long)high);
      spec->fill.kind = OPC_FILL_RANGE;
      spec->fill.lo = low;
      spec->fill.hi = high;
      return true;
    default:
      return values_fill(draw, &want->fill, spec);
  }
}

static bool tensor(draw_t *draw, const opc_want_t *want, const opc_sample_t *sample, opc_value_t *out) {
  int64_t sizes[OPC_MAX_DIMS], rank = (int64_t)want->rank, numel = 1;
  if (!want->has_shape) rank = 1 + opc_rng_below(draw->rng, 3);
  if (want->ranks.low && !between(draw, &want->ranks, &rank)) return false;
  if (rank < 0 || rank > OPC_MAX_DIMS) return misfit(draw, "a rank of %lld", (long long)rank);
  for (int64_t i = 0; i < rank; i++) {
    if (!want->has_shape) sizes[i] = 1 + opc_rng_below(draw->rng, 4);
    else if (!expression(draw, want->shape[i], &sizes[i])) return false;
    if (sizes[i] < 0 || sizes[i] > size_max)
      return misfit(draw, "dimension %lld would be %lld", (long long)i, (long long)sizes[i]);
    numel *= sizes[i];
    if (numel > numel_max) return misfit(draw, "it would have more than %lld elements", (long long)numel_max);
  }
  opc_dtype_t dtype = is_index_fill(want->fill.kind) ? OPC_DTYPE_INT64 : OPC_DTYPE_FLOAT32;
  if (want->dtype_count > 0) dtype = want->dtypes[opc_rng_below(draw->rng, (int64_t)want->dtype_count)];
  if (want->dtype_of >= 0 && sample->arguments[want->dtype_of].kind == OPC_VALUE_TENSOR)
    dtype = sample->arguments[want->dtype_of].tensor->dtype;
  *out = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = opc_tensor_spec_new(dtype, (int)rank, sizes)};
  if (out->tensor && fill_tensor(draw, want, out->tensor)) return true;
  opc_tensor_spec_free(out->tensor);
  *out = (opc_value_t){0};
  return misfit(draw, "out of memory");
}

/* ---- values ---- */

static bool value(draw_t *draw, const opc_want_t *want, const opc_sample_t *sample, opc_value_t *out);

static bool list_length(draw_t *draw, const opc_want_t *want, int64_t *out) {
  *out = want->each ? 1 + opc_rng_below(draw->rng, 3) : (int64_t)want->item_count;
  if (want->type->fixed_length > 0) *out = want->type->fixed_length;
  else if (!want->items && want->fill.kind != OPC_WANT_FILL_ANY) *out = 1 + opc_rng_below(draw->rng, 3);
  if (want->lengths.low && !between(draw, &want->lengths, out)) return false;
  if (want->type->fixed_length > 0 && *out != want->type->fixed_length)
    return misfit(draw, "a length of %lld where the schema says %s", (long long)*out, want->type_text);
  return (*out >= 0 && *out <= LIST_MAX) || misfit(draw, "a list of %lld", (long long)*out);
}

static bool recipe_draw_list(draw_t *draw, const opc_want_t *want, const opc_sample_t *sample, opc_value_t *out) {
  int64_t count, integers[LIST_MAX];
  if (!list_length(draw, want, &count)) return false;
  bool filled = want->fill.kind != OPC_WANT_FILL_ANY;
  if (filled && !is_index_fill(want->fill.kind)) return misfit(draw, "a list of integers has no such fill");
  if (filled && !row_fill(draw, &want->fill, count, integers)) return false;
  opc_seed_t seed;
  if (!filled && !want->items) opc_seed_begin(&seed, draw->rng);
  const opc_type_t *element = want->type->element;
  const opc_argument_t loose = {.name = (char *)(uintptr_t)want->name, .type = *element};
  *out = (opc_value_t){.kind = OPC_VALUE_LIST};
  out->list.items = calloc((size_t)count + 1, sizeof(opc_value_t));
  bool good = out->list.items;
  for (int64_t i = 0; good && i < count; i++) {
    opc_value_t *item = &out->list.items[i];
    if (filled) *item = (opc_value_t){.kind = OPC_VALUE_INT, .integer = integers[i]};
    else if (want->items) good = value(draw, &want->items[want->each ? 0 : i], sample, item);
    else good = opc_seed_value(&seed, &loose, item);
    out->list.count = (size_t)i + 1;
  }
  if (good) return true;
  opc_value_clear(out);
  return misfit(draw, "a list of %s cannot be made", want->type_text);
}

static bool value(draw_t *draw, const opc_want_t *want, const opc_sample_t *sample, opc_value_t *out) {
  *out = (opc_value_t){0};
  const opc_type_kind_t kind = want->type->kind;
  if (want->choice_count > 0)
    return opc_value_copy(&want->choices[opc_rng_below(draw->rng, (int64_t)want->choice_count)], out, NULL) == OPC_OK ||
           misfit(draw, "out of memory");
  if (kind == OPC_TYPE_TENSOR) return tensor(draw, want, sample, out);
  if (kind == OPC_TYPE_LIST) return recipe_draw_list(draw, want, sample, out);
  if (kind == OPC_TYPE_INT || kind == OPC_TYPE_SYMINT) {
    *out = (opc_value_t){.kind = OPC_VALUE_INT};
    return integer(draw, want, &out->integer);
  }
  if (want->between.low) {
    double part = (double)opc_rng_below(draw->rng, 1 << 20) / (double)((1 << 20) - 1);
    *out =
        (opc_value_t){.kind = OPC_VALUE_FLOAT,
                      .floating = want->between.real_low + part * (want->between.real_high - want->between.real_low)};
    return true;
  }
  opc_seed_t seed; /* the recipe says only "given" */
  opc_seed_begin(&seed, draw->rng);
  const opc_argument_t loose = {.name = (char *)(uintptr_t)want->name, .type = *want->type};
  return opc_seed_value(&seed, &loose, out) || misfit(draw, "a value of type %s cannot be made", want->type_text);
}

/* ---- a sample ---- */

static void put(opc_sample_t *sample, size_t index, bool absent, const opc_value_t *made) {
  opc_value_clear(&sample->arguments[index]);
  sample->arguments[index] = *made;
  sample->absent[index] = absent;
}

static bool draw_argument(draw_t *draw, size_t index, opc_sample_t *sample) {
  const opc_want_t *want = &draw->recipe->wants[index];
  const opc_argument_t *argument = &draw->recipe->op->arguments[index];
  const bool optional = argument->type.kind == OPC_TYPE_OPTIONAL;
  bool given = want->given != OPC_GIVEN_NEVER;
  opc_value_t made = {0};
  draw->name = argument->name;
  if (optional && want->given == OPC_GIVEN_EITHER) given = opc_rng_chance(draw->rng, GIVEN_PERCENT);
  const opc_recipe_size_t *size = want->type->kind == OPC_TYPE_INT || want->type->kind == OPC_TYPE_SYMINT
                                      ? opc_recipe_size_find(draw->recipe, argument->name)
                                      : NULL;
  if (given && size) {
    made = (opc_value_t){.kind = OPC_VALUE_INT};
    if (!size_value(size->name, &made.integer, draw)) return misfit(draw, "it has no value");
  } else if (given && !value(draw, want, sample, &made)) {
    return false;
  }
  put(sample, index, !given && argument->has_default, &made);
  draw->name = NULL;
  return true;
}

static bool draw_once(const opc_recipe_t *recipe, opc_rng_t *rng, opc_sample_t *sample, char *why, size_t size) {
  draw_t draw = {.recipe = recipe, .rng = rng, .why = why, .why_size = size};
  if (size) why[0] = '\0';
  bool good = true;
  for (size_t i = 0; good && i < recipe->size_count; i++) {
    int64_t value;
    draw.name = recipe->sizes[i].name;
    good = size_value(recipe->sizes[i].name, &value, &draw);
  }
  draw.name = NULL;
  good = good && conditions_hold(&draw);
  for (size_t i = 0; good && i < recipe->op->argument_count; i++)
    if (recipe->wanted[i]) good = draw_argument(&draw, i, sample);
  return good;
}

bool opc_recipe_draw(const opc_recipe_t *recipe, opc_rng_t *rng, opc_sample_t *sample, char *why, size_t size) {
  for (int tries = 0; tries < TRIES; tries++)
    if (draw_once(recipe, rng, sample, why, size)) return true;
  return false;
}

bool opc_recipe_restore(const opc_recipe_t *recipe, const opc_sample_t *from, opc_sample_t *sample) {
  for (size_t i = 0; i < recipe->op->argument_count; i++) {
    opc_value_t copy;
    if (!recipe->wanted[i]) continue;
    if (opc_value_copy(&from->arguments[i], &copy, NULL) != OPC_OK) return false;
    put(sample, i, from->absent[i], &copy);
  }
  return true;
}
