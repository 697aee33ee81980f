/* New sizes and values for a tuple that got far: its dtypes and ranks were right, and those take longest to find again.
 * Sizes are shared as the arguments of one call share them: the batch in front, few others after it, and lengths that
 * refer to a tensor's second dimension. */
#include <stdlib.h>
#include <string.h>

#include "search/draft/search_inside.h"

enum { SIZES = 4, FILE_PERCENT = 50 };

/* Whole files, as small as possible, for decoding operators: no repair turns random bytes into one. */
static const struct {
  size_t size;
  unsigned char bytes[72];
} files[] = {
    /* GIF, 2 by 2, black and white */
    {36, {'G', 'I', 'F', '8', '9', 'a', 2, 0, 2, 0, 0x80, 0, 0, 0,    0, 0, 255, 255,
          255, ',', 0,   0,   0,   0,   2, 0, 2, 0, 0,    2, 3, 0x44, 2, 5, 0,   ';'}},
    /* PNG, 2 by 2, grey */
    {69, {0x89, 'P',  'N',  'G', 13,  10,  0x1a, 10,  0,    0,    0,   13,   'I',  'H',  'D',  'R', 0,    0,
          0,    2,    0,    0,   0,   2,   8,    0,   0,    0,    0,   'W',  0xdd, 'R',  0xf8, 0,   0,    0,
          12,   'I',  'D',  'A', 'T', 'x', 0xda, 'c', 0x60, 0xf8, 15,  0x84, 0,    6,    0,    1,   0xff, 0xad,
          0x2c, 0x37, 0x25, 0,   0,   0,   0,    'I', 'E',  'N',  'D', 0xae, 'B',  0x60, 0x82}},
    /* WebP, lossless, 1 by 1 */
    {34, {'R', 'I', 'F', 'F',  26, 0, 0, 0,    'W', 'E',  'B',  'P',  'V',  'P',  '8',  'L', 13,
          0,   0,   0,   0x2f, 0,  0, 0, 0x10, 7,   0x10, 0x11, 0x11, 0x88, 0x88, 0xfe, 7,   0}},
};

static bool set_file(opc_rng_t *rng, opc_value_t *tensor) {
  size_t file = (size_t)opc_rng_below(rng, (int64_t)(sizeof files / sizeof *files));
  int64_t size = (int64_t)files[file].size;
  opc_number_t *values = calloc(files[file].size, sizeof *values);
  bool fits = tensor->tensor->sizes[0] == size || opc_edit_shape(tensor, 1, &size);
  if (!values || !fits) {
    free(values);
    return false;
  }
  for (size_t i = 0; i < files[file].size; i++)
    values[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = files[file].bytes[i]};
  opc_edit_fill(tensor, OPC_FILL_RANGE); /* frees earlier values */
  tensor->tensor->fill.kind = OPC_FILL_VALUES;
  tensor->tensor->fill.values = values;
  tensor->tensor->fill.value_count = files[file].size;
  return true;
}

/* The part of "logit_lengths" that says what the lengths describe: "logit", 5 characters. */
static size_t stem_length(const char *name) {
  const char *end = strrchr(name, '_');
  return end ? (size_t)(end - name) : 0;
}

/* The tensor that the lengths describe: the one with the same name ("logits" for "logit_lengths"), or the first. NULL:
 * no tensor has two dimensions. */
static const opc_tensor_spec_t *measured(const opc_operator_t *op, const char *name, const opc_slot_t *slots,
                                         size_t count) {
  const opc_tensor_spec_t *first = NULL;
  size_t stem = stem_length(name);
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind != OPC_VALUE_TENSOR || slots[i].value->tensor->ndim < 2) continue;
    if (!first) first = slots[i].value->tensor;
    if (stem > 0 && strncmp(op->arguments[slots[i].argument].name, name, stem) == 0) return slots[i].value->tensor;
  }
  return first;
}

static bool set_sizes(opc_rng_t *rng, opc_value_t *tensor, int64_t batch, const int64_t sizes[SIZES]) {
  int64_t drawn[OPC_MAX_DIMS];
  const opc_tensor_spec_t *spec = tensor->tensor;
  for (int dim = 0; dim < spec->ndim; dim++) {
    int64_t other = sizes[opc_rng_below(rng, SIZES)];
    bool less = opc_rng_chance(rng, 40) && other > 1;
    drawn[dim] = opc_rng_chance(rng, 60) ? sizes[dim % SIZES] : other - less;
    if (dim == 0 && opc_rng_chance(rng, 80)) drawn[dim] = batch;
  }
  return opc_edit_shape(tensor, spec->ndim, drawn);
}

static bool is_bytes(const opc_value_t *tensor) {
  return tensor->tensor->dtype == OPC_DTYPE_UINT8 && tensor->tensor->ndim == 1;
}

static bool set_values(const opc_operator_t *op, opc_rng_t *rng, const opc_slot_t *slots, size_t count, size_t index) {
  opc_value_t *tensor = slots[index].value;
  const char *name = op->arguments[slots[index].argument].name;
  const opc_tensor_spec_t *of = opc_seed_synonyms(name, "lengths") ? measured(op, name, slots, count) : NULL;
  if (of && of != tensor->tensor) {
    int dim = opc_rng_chance(rng, 80) ? 1 : (int)opc_rng_below(rng, of->ndim);
    return opc_edit_full(tensor, of->sizes[dim] - opc_rng_chance(rng, 20));
  }
  if (is_bytes(tensor) && opc_rng_chance(rng, FILE_PERCENT)) return set_file(rng, tensor);
  bool changed = opc_edit_fill(tensor, OPC_FILL_RANGE);
  if (opc_rng_chance(rng, 50)) tensor->tensor->fill.lo = 1, tensor->tensor->fill.hi = 3; /* labels besides a blank 0 */
  return changed;
}

bool opc_redraw_helps(const opc_operator_t *op, const opc_sample_t *sample) {
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(sample, slots);
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind != OPC_VALUE_TENSOR) continue;
    if (is_bytes(slots[i].value) || opc_seed_synonyms(op->arguments[slots[i].argument].name, "lengths")) return true;
  }
  return false;
}

bool opc_redraw(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *sample) {
  static const int64_t choices[] = {1, 2, 3, 4, 5, 6, 8};
  opc_slot_t slots[OPC_SLOTS_MAX];
  size_t count = opc_slots_of(sample, slots);
  int64_t sizes[SIZES], batch = 1 + opc_rng_below(rng, 3) * opc_rng_below(rng, 2);
  bool changed = false;
  for (int i = 0; i < SIZES; i++) sizes[i] = choices[opc_rng_below(rng, (int64_t)(sizeof choices / sizeof *choices))];
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind == OPC_VALUE_TENSOR) changed |= set_sizes(rng, slots[i].value, batch, sizes);
    else if (slots[i].value->kind == OPC_VALUE_INT && opc_rng_chance(rng, 50))
      changed |= opc_edit_number(slots[i].value, opc_rng_below(rng, 2));
  }
  for (size_t i = 0; i < count; i++)
    if (opc_tensor_holds_integers(slots[i].value)) changed |= set_values(op, rng, slots, count, i);
  return changed;
}
