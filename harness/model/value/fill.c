#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/value/value.h"

static opc_number_t fill_integer(int64_t value) { return (opc_number_t){.kind = OPC_NUMBER_INT, .i = value}; }
static opc_number_t floating(double value) { return (opc_number_t){.kind = OPC_NUMBER_FLOAT, .f = value}; }
static opc_number_t complex_of(double re, double im) {
  return (opc_number_t){.kind = OPC_NUMBER_COMPLEX, .c = {.re = re, .im = im}};
}

/* ---- position of an element ---- */

/* Walks the logical elements in row-major order. */
typedef struct walk {
  const opc_tensor_spec_t *spec;
  int64_t index[OPC_MAX_DIMS];
  int64_t
      weights[OPC_MAX_DIMS]; /* per dimension, for `number`: 0 if the stride is 0, so that repeated elements agree */
  int64_t number;            /* the element's number for the generator */
  int64_t place;             /* its position in the storage */
} walk_t;

static void walk_start(walk_t *walk, const opc_tensor_spec_t *spec) {
  *walk = (walk_t){.spec = spec, .place = spec->storage_offset};
  int64_t weight = 1;
  for (int i = spec->ndim - 1; i >= 0; i--) {
    walk->weights[i] = spec->strides[i] == 0 || (spec->repeated >> i & 1) ? 0 : weight;
    weight *= spec->sizes[i];
  }
}

static void fill_walk_next(walk_t *walk) {
  const opc_tensor_spec_t *spec = walk->spec;
  for (int i = spec->ndim - 1; i >= 0; i--) {
    walk->number += walk->weights[i];
    walk->place += spec->strides[i];
    if (++walk->index[i] < spec->sizes[i]) return;
    walk->number -= walk->index[i] * walk->weights[i];
    walk->place -= walk->index[i] * spec->strides[i];
    walk->index[i] = 0;
  }
}

/* ---- the number for an element ---- */

typedef struct source {
  const opc_fill_t *fill;
  opc_dtype_t dtype; /* the dtype to fill as */
  uint64_t seed, stream;
  opc_npy_t npy;
  void *file_data;
} source_t;

static bool fill_is_random(opc_fill_kind_t kind) { return kind == OPC_FILL_NORMAL || kind == OPC_FILL_UNIFORM; }

static opc_number_t random_normal(const source_t *source, uint64_t number) {
  switch (opc_dtype_class(source->dtype)) {
    case OPC_CLASS_COMPLEX:
      return complex_of(opc_random_normal(source->seed, source->stream, 2 * number),
                        opc_random_normal(source->seed, source->stream, 2 * number + 1));
    case OPC_CLASS_SIGNED:
      return fill_integer(opc_random_range(source->seed, source->stream, number, -4, 5));
    case OPC_CLASS_UNSIGNED:
      return fill_integer(opc_random_range(source->seed, source->stream, number, 0, 9));
    case OPC_CLASS_BOOLEAN:
      return fill_integer(opc_random_range(source->seed, source->stream, number, 0, 2));
    default:
      return floating(opc_random_normal(source->seed, source->stream, number));
  }
}

/* [0, 1), truncated to the dtype's digits: rounding to nearest could give 1. */
static double uniform_part(const source_t *source, uint64_t number) {
  int digits = opc_dtype_digits(source->dtype);
  return ldexp(floor(ldexp(opc_random_uniform(source->seed, source->stream, number), digits)), -digits);
}

static opc_number_t random_uniform(const source_t *source, uint64_t number) {
  switch (opc_dtype_class(source->dtype)) {
    case OPC_CLASS_FLOATING:
      return floating(uniform_part(source, number));
    case OPC_CLASS_COMPLEX:
      return complex_of(uniform_part(source, 2 * number), uniform_part(source, 2 * number + 1));
    default:
      return fill_integer(opc_random_range(source->seed, source->stream, number, 0, 2));
  }
}

static opc_number_t source_number(const source_t *source, int64_t number) {
  const opc_fill_t *fill = source->fill;
  switch (fill->kind) {
    case OPC_FILL_NORMAL:
      return random_normal(source, (uint64_t)number);
    case OPC_FILL_UNIFORM:
      return random_uniform(source, (uint64_t)number);
    case OPC_FILL_ARANGE:
      return fill_integer(number);
    case OPC_FILL_ZEROS:
      return fill_integer(0);
    case OPC_FILL_ONES:
      return fill_integer(1);
    case OPC_FILL_FULL:
      return fill->value;
    case OPC_FILL_RANGE:
      return fill_integer(opc_random_range(source->seed, source->stream, (uint64_t)number, fill->lo, fill->hi));
    case OPC_FILL_VALUES:
      return fill->values[number];
    case OPC_FILL_FILE:
      return opc_number_load(source->npy.dtype,
                             (char *)source->file_data + (size_t)number * opc_dtype_size(source->npy.dtype));
  }
  return fill_integer(0);
}

/* ---- conversion between dtypes ---- */

/* The element for the number in this dtype. See value.h for random floating values that become integers. */
static void store_converted(opc_number_t number, opc_dtype_t dtype, bool random, void *element) {
  opc_dtype_class_t kind = opc_dtype_class(dtype);
  if (random && number.kind == OPC_NUMBER_COMPLEX && kind != OPC_CLASS_COMPLEX) number = floating(number.c.re);
  if (random && kind == OPC_CLASS_BOOLEAN)
    number = fill_integer(number.kind == OPC_NUMBER_FLOAT ? number.f > 0.0 : number.i > 0);
  if (random && number.kind == OPC_NUMBER_FLOAT && (kind == OPC_CLASS_SIGNED || kind == OPC_CLASS_UNSIGNED))
    number = floating(4.0 * (kind == OPC_CLASS_UNSIGNED ? fabs(number.f) : number.f));
  opc_number_store(number, dtype, element);
}

static opc_number_t rounded(opc_number_t number, opc_dtype_t dtype, bool random) {
  unsigned char element[16];
  if (number.kind == OPC_NUMBER_COMPLEX && opc_dtype_class(dtype) == OPC_CLASS_FLOATING) {
    opc_number_t re = rounded(floating(number.c.re), dtype, random), im = rounded(floating(number.c.im), dtype, random);
    return complex_of(re.f, im.f);
  }
  store_converted(number, dtype, random, element);
  return opc_number_load(dtype, element);
}

static void store_filled(const opc_tensor_spec_t *spec, opc_dtype_t filled_as, opc_number_t number, void *out) {
  bool random = fill_is_random(spec->fill.kind);
  opc_dtype_t rounded_to = spec->fill.rounded_to;
  if (filled_as == spec->dtype && rounded_to == OPC_DTYPE_OTHER) {
    opc_number_store(number, spec->dtype, out);
    return;
  }
  unsigned char element[16];
  opc_number_store(number, filled_as, element);
  number = opc_number_load(filled_as, element);
  if (rounded_to != OPC_DTYPE_OTHER) number = rounded(number, rounded_to, random);
  store_converted(number, spec->dtype, random, out);
}

/* ---- special numbers ---- */

/* The bits of a special floating number; `odd`: the second of an alternating pair. False: the dtype has none. */
static bool special_floating(opc_special_t special, opc_dtype_t dtype, bool odd, uint64_t *out) {
  const opc_encoding_t encoding = opc_dtype_encoding(dtype);
  const int parts = opc_dtype_class(dtype) == OPC_CLASS_COMPLEX ? 2 : 1, width = 8 * (int)opc_dtype_size(dtype) / parts;
  const int fraction = opc_dtype_digits(dtype) - 1;
  const uint64_t minus = UINT64_C(1) << (width - 1), sign = odd ? minus : 0;
  const uint64_t infinity = ((UINT64_C(1) << (width - 1 - fraction)) - 1) << fraction;
  const bool ieee = encoding == OPC_ENCODING_IEEE, power = encoding == OPC_ENCODING_POWER;
  switch (special) {
    case OPC_SPECIAL_NAN:
    case OPC_SPECIAL_LAST_NAN:
      *out = ieee                            ? infinity | UINT64_C(1) << (fraction - 1) | 1
             : encoding == OPC_ENCODING_FNUZ ? minus
             : power                         ? minus | (minus - 1)
                                             : minus - 1;
      return true;
    case OPC_SPECIAL_NEGATIVE_ZERO:
      *out = minus;
      return ieee || encoding == OPC_ENCODING_FN;
    case OPC_SPECIAL_INFINITY:
      *out = infinity | sign;
      return ieee;
    case OPC_SPECIAL_DENORMAL:
      *out = sign | 1;
      return !power;
    case OPC_SPECIAL_EXTREME:
      if (power) *out = odd ? 0 : (minus | (minus - 1)) - 1;
      else *out = sign | (ieee ? infinity - 1 : encoding == OPC_ENCODING_FN ? minus - 2 : minus - 1);
      return true;
    case OPC_SPECIAL_ZERO:
    case OPC_SPECIAL_ONE_ZERO:
    case OPC_SPECIAL_ZERO_ROW:
      *out = 0;
      return !power; /* which has none */
    default:         /* not a certain number */
      break;
  }
  return false;
}

/* Each element is changed: its new value depends on the old one. */
static bool changes_each(opc_special_t special) {
  switch (special) {
    case OPC_SPECIAL_ONES:
    case OPC_SPECIAL_NEGATED:
    case OPC_SPECIAL_TIES:
    case OPC_SPECIAL_EIGHTHS:
    case OPC_SPECIAL_TIMES_64:
    case OPC_SPECIAL_OVER_64:
    case OPC_SPECIAL_GRADED:
      return true;
    default:
      return false;
  }
}

static int64_t row_length(const opc_tensor_spec_t *spec) { return spec->ndim > 1 ? spec->sizes[spec->ndim - 1] : 1; }

/* number: of the element, in logical order. */
static double part_changed(const opc_tensor_spec_t *spec, int64_t number, double part) {
  switch (spec->fill.special) {
    case OPC_SPECIAL_ONES:
      return number % 3 != 0 ? part : (number / 3) % 2 ? -1 : 1;
    case OPC_SPECIAL_NEGATED:
      return -part;
    case OPC_SPECIAL_TIES:
      return floor(part);
    case OPC_SPECIAL_EIGHTHS:
      return nearbyint(part * 8) / 8;
    case OPC_SPECIAL_TIMES_64:
      return part * 64;
    case OPC_SPECIAL_OVER_64:
      return part / 64;
    case OPC_SPECIAL_GRADED:
      return ldexp(part, -10 * (int)(number / row_length(spec) % 4));
    default:
      return part;
  }
}

/* dtype: the narrow one that the numbers must be of, or the tensor's. */
static void change_each(const opc_tensor_spec_t *spec, int64_t index, opc_dtype_t dtype, void *element) {
  opc_number_t number = opc_number_load(spec->dtype, element);
  unsigned char narrow[16];
  if (number.kind == OPC_NUMBER_COMPLEX) {
    number.c.re = part_changed(spec, index, number.c.re);
    number.c.im = part_changed(spec, index, number.c.im);
  } else {
    number.f = part_changed(spec, index, number.f);
  }
  if (dtype != spec->dtype) {
    opc_number_store(number, dtype, narrow);
    number = opc_number_load(dtype, narrow);
  }
  opc_number_store(number, spec->dtype, element);
}

static bool is_chosen(const opc_tensor_spec_t *spec, int64_t number) {
  const int64_t numel = opc_tensor_spec_numel(spec), row = row_length(spec);
  if (spec->fill.special == OPC_SPECIAL_ONE_ZERO) return number == numel / 2;
  if (spec->fill.special == OPC_SPECIAL_ZERO_ROW) return number / row == numel / row / 2;
  if (spec->fill.special == OPC_SPECIAL_LAST_NAN) return spec->ndim > 1 ? number % row == row - 1 : number == numel - 1;
  return number % 3 == 0;
}

/* False: the dtype has no such number, and the element keeps its fill. */
static bool special_element(opc_special_t special, opc_dtype_t dtype, bool odd, void *out) {
  opc_dtype_class_t kind = opc_dtype_class(dtype);
  size_t size = opc_dtype_size(dtype);
  uint64_t bits;
  if (special == OPC_SPECIAL_NONE) return false;
  if (opc_dtype_is_inexact(dtype)) {
    size_t part = kind == OPC_CLASS_COMPLEX ? size / 2 : size;
    if (!special_floating(special, dtype, odd, &bits)) return false;
    memcpy(out, &bits, part);
    if (kind == OPC_CLASS_COMPLEX) memcpy((char *)out + part, &bits, part);
    return true;
  }
  if (kind == OPC_CLASS_BOOLEAN && (special == OPC_SPECIAL_ZERO || special == OPC_SPECIAL_ZERO_ROW)) {
    memset(out, 0, size);
    return true;
  }
  if (special != OPC_SPECIAL_EXTREME || kind == OPC_CLASS_BOOLEAN || kind == OPC_CLASS_OTHER) return false;
  uint64_t largest = kind == OPC_CLASS_SIGNED ? (UINT64_C(1) << (8 * size - 1)) - 1 : UINT64_MAX;
  bits = odd ? largest : ~largest;
  memcpy(out, &bits, size);
  return true;
}

bool opc_special_exists(opc_special_t special, opc_dtype_t dtype) {
  unsigned char element[16];
  if (changes_each(special)) return opc_dtype_is_inexact(dtype) && !opc_dtype_is_float8(dtype);
  return special_element(special, dtype, false, element);
}

/* Uses the special number of the dtype rounded to, if any: its smallest denormal, not the wide dtype's. */
static void store_special(const opc_tensor_spec_t *spec, int64_t number, void *out) {
  opc_dtype_t dtype = spec->fill.rounded_to == OPC_DTYPE_OTHER ? spec->dtype : spec->fill.rounded_to;
  unsigned char element[16];
  if (changes_each(spec->fill.special)) {
    if (opc_special_exists(spec->fill.special, spec->dtype)) change_each(spec, number, dtype, out);
    return;
  }
  if (!is_chosen(spec, number)) return;
  if (!special_element(spec->fill.special, dtype, (number / 3) % 2 != 0, element)) return;
  if (dtype == spec->dtype) memcpy(out, element, opc_dtype_size(dtype));
  else opc_number_store(opc_number_load(dtype, element), spec->dtype, out);
}

/* ---- public functions ---- */

static opc_status_t open_source(source_t *source, const opc_tensor_spec_t *spec, int64_t numel, const char *path,
                                opc_error_t *error) {
  if (spec->fill.kind == OPC_FILL_VALUES && spec->fill.value_count != (size_t)numel)
    return opc_error_set(error, OPC_ERR_INPUT, "%s: %zu values for %lld elements", path, spec->fill.value_count,
                         (long long)numel);
  if (spec->fill.kind != OPC_FILL_FILE) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_npy_load(spec->fill.file, &source->npy, &source->file_data, error));
  if (source->npy.ndim != spec->ndim ||
      memcmp(source->npy.sizes, spec->sizes, (size_t)spec->ndim * sizeof spec->sizes[0]) != 0)
    return opc_error_set(error, OPC_ERR_INPUT, "%s: the array in %s does not have the tensor's shape", path,
                         spec->fill.file);
  return OPC_OK;
}

static void source_close(source_t *source) { free(source->file_data); }

opc_status_t opc_fill_logical(const opc_tensor_spec_t *spec, const char *path, uint64_t seed, void *out,
                              opc_error_t *error) {
  const size_t size = opc_dtype_size(spec->dtype);
  const int64_t numel = opc_tensor_spec_numel(spec);
  if (!path) path = "";
  if (size == 0)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "%s: the harness cannot fill a tensor of this dtype", path);
  if (numel == 0) return OPC_OK;
  if (spec->fill.kind == OPC_FILL_ZEROS && spec->fill.special == OPC_SPECIAL_NONE) {
    memset(out, 0, (size_t)numel * size);
    return OPC_OK;
  }

  opc_dtype_t filled_as = spec->fill.filled_as == OPC_DTYPE_OTHER ? spec->dtype : spec->fill.filled_as;
  OPC_SCOPED(source_close)
  source_t source = {.fill = &spec->fill,
                     .dtype = filled_as,
                     .seed = seed,
                     .stream = opc_random_stream(spec->stream ? spec->stream : path)};
  OPC_RETURN_IF_ERROR(open_source(&source, spec, numel, path, error));
  walk_t walk;
  walk_start(&walk, spec);
  for (int64_t i = 0; i < numel; i++) {
    char *element = (char *)out + (size_t)i * size;
    store_filled(spec, filled_as, source_number(&source, walk.number), element);
    store_special(spec, walk.number, element);
    fill_walk_next(&walk);
  }
  return OPC_OK;
}

/* One element as stored under a conj or neg bit. IEEE 754 negation flips only the sign bit, also for NaN. */
static void store_behind_bits(const opc_tensor_spec_t *spec, unsigned char *element, size_t size) {
  opc_dtype_class_t kind = opc_dtype_class(spec->dtype);
  if (kind == OPC_CLASS_COMPLEX) {
    if (spec->neg) element[size / 2 - 1] ^= 0x80;
    if (spec->neg != spec->conj) element[size - 1] ^= 0x80;
  } else if (spec->neg && kind == OPC_CLASS_FLOATING) {
    element[size - 1] ^= 0x80;
  } else if (spec->neg && kind != OPC_CLASS_BOOLEAN) {
    uint64_t bits = 0;
    memcpy(&bits, element, size);
    bits = 0 - bits;
    memcpy(element, &bits, size);
  }
}

void opc_fill_scatter(const opc_tensor_spec_t *spec, const void *logical, unsigned char gap, void *storage) {
  const size_t size = opc_dtype_size(spec->dtype);
  const int64_t numel = opc_tensor_spec_numel(spec);
  if (size == 0) return;
  if (spec->storage_size > 0) memset(storage, gap, (size_t)spec->storage_size * size);
  if (numel && !spec->conj && !spec->neg && opc_tensor_spec_is_contiguous(spec)) {
    memcpy((unsigned char *)storage + (size_t)spec->storage_offset * size, logical, (size_t)numel * size);
    return;
  }
  walk_t walk;
  walk_start(&walk, spec);
  for (int64_t i = 0; i < numel; i++) {
    unsigned char *element = (unsigned char *)storage + (size_t)walk.place * size;
    memcpy(element, (const char *)logical + (size_t)i * size, size);
    if (spec->conj || spec->neg) store_behind_bits(spec, element, size);
    fill_walk_next(&walk);
  }
}
