/* Fresh arguments from a schema: shared sizes, names as hints, small numbers. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "search/draft/search_inside.h"
#include "search/draft/search_library.h"

typedef enum fill_hint {
  FILL_NORMAL,
  FILL_UNIFORM,
  FILL_ZEROS,
  FILL_ONES,
  FILL_ARANGE,
  FILL_INDEX,
  FILL_BOXES,
  FILL_LENGTHS
} fill_hint_t;

struct opc_tensor_hint {
  const char *words, *dtypes, *shapes;
  fill_hint_t fill;
};

typedef struct number_hint {
  const char *words, *choices;
} number_hint_t;

#define OPC_HINT_TENSOR(words, dtypes, shapes, fill)
#define OPC_HINT_NUMBER(words, choices)
#define OPC_HINT_REAL(words, choices)
#define OPC_HINT_TEXT(words, choices)

#undef OPC_HINT_TENSOR
#define OPC_HINT_TENSOR(words, dtypes, shapes, fill) {words, dtypes, shapes, FILL_##fill},
static const opc_tensor_hint_t tensor_hints[] = {
#include "search/draft/search_hints.def"
};
#undef OPC_HINT_TENSOR
#define OPC_HINT_TENSOR(words, dtypes, shapes, fill)
#undef OPC_HINT_NUMBER
#define OPC_HINT_NUMBER(words, choices) {words, choices},
static const number_hint_t integer_hints[] = {
#include "search/draft/search_hints.def"
};
#undef OPC_HINT_NUMBER
#define OPC_HINT_NUMBER(words, choices)
#undef OPC_HINT_REAL
#define OPC_HINT_REAL(words, choices) {words, choices},
static const number_hint_t real_hints[] = {
#include "search/draft/search_hints.def"
};
#undef OPC_HINT_REAL
#define OPC_HINT_REAL(words, choices)
#undef OPC_HINT_TEXT
#define OPC_HINT_TEXT(words, choices) {words, choices},
static const number_hint_t text_hints[] = {
#include "search/draft/search_hints.def"
};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const int64_t vocabulary[] = {1, 2, 3, 4, 5, 6, 8};

/* ---- names ---- */

static const opc_tensor_hint_t *hint_look_up(const char *name) {
  for (size_t i = 0; i < COUNT(tensor_hints); i++) {
    if (opc_argument_is_named(name, tensor_hints[i].words)) return &tensor_hints[i];
  }
  return NULL;
}

/* A search asks for the same few names some dozens of times a try, and every answer reads the whole table. */
const opc_tensor_hint_t *opc_seed_hint(const char *name) {
  static struct {
    char name[48]; /* "": free */
    const opc_tensor_hint_t *hint;
  } known[4096]; /* the words of all messages, too */
  const size_t length = strlen(name), place = XXH3_64bits(name, length) % COUNT(known);
  if (length == 0 || length >= sizeof known[0].name) return hint_look_up(name);
  if (strcmp(known[place].name, name) != 0) {
    memcpy(known[place].name, name, length + 1);
    known[place].hint = hint_look_up(name);
  }
  return known[place].hint;
}

static const char *number_hint_find(const number_hint_t *hints, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++) {
    if (opc_argument_is_named(name, hints[i].words)) return hints[i].choices;
  }
  return NULL;
}

static const char *text_choices(const char *name) {
  const char *choices = number_hint_find(text_hints, COUNT(text_hints), name);
  return choices ? choices : opc_argument_words(name);
}

bool opc_seed_hint_is_of(const opc_tensor_hint_t *hint, const char *name) {
  return hint && opc_seed_hint(name) == hint;
}

bool opc_seed_synonyms(const char *left, const char *right) { return opc_seed_hint_is_of(opc_seed_hint(left), right); }

/* Draws one of the '|'-separated alternatives and copies it into out. */
static const char *alternative(opc_rng_t *rng, const char *alternatives, char *out, size_t size) {
  int64_t count = 1;
  for (const char *c = alternatives; *c; c++) count += *c == '|';
  for (int64_t skip = opc_rng_below(rng, count); skip > 0; skip--) alternatives = strchr(alternatives, '|') + 1;
  size_t length = strcspn(alternatives, "|");
  if (length >= size) length = size - 1;
  memcpy(out, alternatives, length);
  out[length] = '\0';
  return out;
}

/* ---- sizes ---- */

static int64_t pick(opc_rng_t *rng, const char *digits) {
  return digits[opc_rng_below(rng, (int64_t)strlen(digits))] - '0';
}

void opc_seed_begin(opc_seed_t *seed, opc_rng_t *rng) {
  static const struct {
    char role;
    const char *sizes;
  } roles[] = {{'N', "1223"}, {'C', "1234468"}, {'H', "4568"},  {'W', "4568"},  {'D', "234"}, {'K', "12345"},
               {'P', "1123"}, {'S', "1223"},    {'F', "12346"}, {'T', "34568"}, {'M', "234"}};
  *seed = (opc_seed_t){.rng = rng};
  for (int role = 'A'; role <= 'Z'; role++)
    seed->roles[role] = vocabulary[opc_rng_below(rng, (int64_t)COUNT(vocabulary))];
  for (size_t i = 0; i < COUNT(roles); i++) seed->roles[(int)roles[i].role] = pick(rng, roles[i].sizes);
  seed->roles['Q'] = opc_rng_chance(rng, 70) ? seed->roles['P'] : pick(rng, "123");
  if (opc_rng_chance(rng, 20)) seed->roles['H'] = seed->roles['W'] = pick(rng, "123");
  int64_t style = opc_rng_below(rng, 100);
  seed->style = style < 60 ? OPC_SEED_HINTED : style < 85 ? OPC_SEED_SHARED : OPC_SEED_NAIVE;
  static const char *const ranks = "11222344";
  seed->like_ndim = (int)pick(rng, ranks);
  for (int i = 0; i < seed->like_ndim; i++)
    seed->like_sizes[i] = vocabulary[opc_rng_below(rng, (int64_t)COUNT(vocabulary))];
  seed->like_dtype = opc_rng_chance(rng, 80)   ? OPC_DTYPE_FLOAT32
                     : opc_rng_chance(rng, 60) ? OPC_DTYPE_INT64
                                               : OPC_DTYPE_BOOL;
  seed->fixed_integer = opc_rng_chance(rng, 35) ? 1 + opc_rng_below(rng, 2) : -1;
}

/* Sizes of a shape such as "N C H W", "K 5", "K+1", "=". */
static int shape_read(const opc_seed_t *seed, const char *shape, int64_t sizes[OPC_MAX_DIMS]) {
  int ndim = 0;
  for (const char *c = shape; *c && ndim < OPC_MAX_DIMS; c++) {
    if (*c == '=') {
      memcpy(sizes, seed->like_sizes, sizeof seed->like_sizes);
      return seed->like_ndim;
    }
    if (isupper((unsigned char)*c)) sizes[ndim++] = seed->roles[(int)*c];
    else if (*c == '+' && ndim > 0) sizes[ndim - 1] += strtol(++c, NULL, 10);
    else if (isdigit((unsigned char)*c)) sizes[ndim++] = *c - '0';
  }
  return ndim;
}

static int shape_draw(opc_seed_t *seed, int64_t sizes[OPC_MAX_DIMS]) {
  static const char *const shapes =
      "N|K|C|F|N C|K F|N T|C F|T F|H W|N C H W|N C H W|N C H W|N C W|N T F|C H W|N C D H W|";
  char shape[32];
  if (seed->style == OPC_SEED_SHARED) return shape_read(seed, "=", sizes);
  if (seed->style == OPC_SEED_HINTED)
    return shape_read(seed, alternative(seed->rng, shapes, shape, sizeof shape), sizes);
  int ndim = (int)pick(seed->rng, "0112223345");
  for (int i = 0; i < ndim; i++) sizes[i] = vocabulary[opc_rng_below(seed->rng, (int64_t)COUNT(vocabulary))];
  return ndim;
}

/* ---- fills ---- */

/* Boxes as rows (x1, y1, x2, y2), after an index of 0 if there is a fifth column: small, not empty, no two alike. */
static bool fill_boxes(opc_tensor_spec_t *spec) {
  int64_t numel = opc_tensor_spec_numel(spec), columns = spec->ndim > 0 ? spec->sizes[spec->ndim - 1] : 0;
  if (numel == 0 || (columns != 4 && columns != 5)) return false;
  opc_number_t *values = calloc((size_t)numel, sizeof *values);
  if (!values) return false;
  for (int64_t i = 0; i < numel; i++) {
    int64_t row = i / columns, column = i % columns - (columns - 4);
    double low = (double)(row * 3 % 5) * 0.5, size = 1.5 + (double)(row % 4) * 0.75;
    values[i].kind = OPC_NUMBER_FLOAT;
    if (column >= 0) values[i].f = column < 2 ? low + (double)column * 0.25 : low + size + (double)(column - 2) * 0.5;
  }
  free(spec->fill.values);
  spec->fill.kind = OPC_FILL_VALUES;
  spec->fill.values = values;
  spec->fill.value_count = (size_t)numel;
  return true;
}

static void fill_apply(fill_hint_t hint, opc_tensor_spec_t *spec) {
  opc_dtype_class_t class_ = opc_dtype_class(spec->dtype);
  bool integral = class_ == OPC_CLASS_SIGNED || class_ == OPC_CLASS_UNSIGNED;
  static const opc_fill_kind_t kinds[] = {
      [FILL_NORMAL] = OPC_FILL_NORMAL, [FILL_UNIFORM] = OPC_FILL_UNIFORM, [FILL_ZEROS] = OPC_FILL_ZEROS,
      [FILL_ONES] = OPC_FILL_ONES,     [FILL_ARANGE] = OPC_FILL_ARANGE,   [FILL_INDEX] = OPC_FILL_RANGE,
      [FILL_BOXES] = OPC_FILL_UNIFORM, [FILL_LENGTHS] = OPC_FILL_ONES};
  if (hint == FILL_BOXES && class_ == OPC_CLASS_FLOATING && fill_boxes(spec)) return;
  /* Integers are indices more often than data: 0 and 1 are in range for most things. */
  if (integral && (hint == FILL_NORMAL || hint == FILL_BOXES)) hint = FILL_INDEX;
  spec->fill.kind = kinds[hint];
  spec->fill.lo = 0;
  spec->fill.hi = 2;
}

void opc_seed_fill(const char *name, opc_tensor_spec_t *spec) {
  const opc_tensor_hint_t *hint = opc_seed_hint(name);
  fill_apply(hint ? hint->fill : FILL_NORMAL, spec);
}

/* ---- values ---- */

static bool make_tensor(opc_seed_t *seed, const char *name, opc_value_t *out) {
  const opc_tensor_hint_t *hint =
      seed->style != OPC_SEED_NAIVE && opc_rng_chance(seed->rng, 85) ? opc_seed_hint(name) : NULL;
  int64_t sizes[OPC_MAX_DIMS];
  char text[48];
  int ndim =
      hint ? shape_read(seed, alternative(seed->rng, hint->shapes, text, sizeof text), sizes) : shape_draw(seed, sizes);
  static const opc_dtype_t rare[] = {OPC_DTYPE_FLOAT64, OPC_DTYPE_INT32,     OPC_DTYPE_UINT8,
                                     OPC_DTYPE_BOOL,    OPC_DTYPE_COMPLEX64, OPC_DTYPE_INT64};
  opc_dtype_t dtype = seed->like_dtype;
  if (hint) dtype = opc_dtype_find(alternative(seed->rng, hint->dtypes, text, sizeof text));
  else if (seed->style == OPC_SEED_HINTED) dtype = opc_rng_chance(seed->rng, 80) ? OPC_DTYPE_FLOAT32 : OPC_DTYPE_INT64;
  else if (seed->style == OPC_SEED_NAIVE && opc_rng_chance(seed->rng, 40))
    dtype = rare[opc_rng_below(seed->rng, (int64_t)COUNT(rare))];
  opc_tensor_spec_t *spec = opc_tensor_spec_new(dtype, ndim, sizes);
  if (!spec) return false;
  fill_hint_t fill = hint                            ? hint->fill
                     : opc_rng_chance(seed->rng, 80) ? FILL_NORMAL
                                                     : (fill_hint_t)opc_rng_below(seed->rng, FILL_INDEX + 1);
  fill_apply(fill, spec);
  if (fill == FILL_LENGTHS && seed->like_ndim > 0 &&
      opc_rng_chance(seed->rng, 60)) { /* a size of the first tensor, or one less */
    int64_t length = seed->like_sizes[opc_rng_below(seed->rng, seed->like_ndim)] - opc_rng_chance(seed->rng, 30);
    spec->fill.kind = OPC_FILL_FULL;
    spec->fill.value = (opc_number_t){.kind = OPC_NUMBER_INT, .i = length};
  }
  *out = (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
  if (!seed->has_first && seed->style == OPC_SEED_HINTED) { /* "=" means this tensor from here on */
    seed->has_first = true;
    seed->like_ndim = ndim;
    memcpy(seed->like_sizes, spec->sizes, sizeof seed->like_sizes);
  }
  return true;
}

static int64_t draw_integer(opc_seed_t *seed, const char *name) {
  char text[16];
  const char *choices = seed->style != OPC_SEED_NAIVE && opc_rng_chance(seed->rng, 85)
                            ? number_hint_find(integer_hints, COUNT(integer_hints), name)
                            : NULL;
  if (choices) {
    alternative(seed->rng, choices, text, sizeof text);
    return isupper((unsigned char)text[0]) ? seed->roles[(int)text[0]] : strtoll(text, NULL, 10);
  }
  if (seed->fixed_integer >= 0) return seed->fixed_integer;
  int64_t draw = opc_rng_below(seed->rng, 100);
  if (draw < 35) return 1;
  if (draw < 55) return 2;
  if (draw < 67) return 0;
  if (draw < 77) return 3;
  if (draw < 82) return -1;
  if (seed->like_ndim > 0 && draw < 92) return seed->like_sizes[opc_rng_below(seed->rng, seed->like_ndim)];
  return vocabulary[opc_rng_below(seed->rng, (int64_t)COUNT(vocabulary))];
}

static double draw_real(opc_seed_t *seed, const char *name) {
  char text[16];
  const char *choices = opc_rng_chance(seed->rng, 85) ? number_hint_find(real_hints, COUNT(real_hints), name) : NULL;
  return strtod(alternative(seed->rng, choices ? choices : "1|0.5|2|0.1|0|-1", text, sizeof text), NULL);
}

static bool make_value(opc_seed_t *seed, const char *name, const opc_type_t *type, opc_value_t *out);

static bool make_list(opc_seed_t *seed, const char *name, const opc_type_t *type, opc_value_t *out) {
  size_t length = type->fixed_length > 0 ? (size_t)type->fixed_length : (size_t)pick(seed->rng, "12222334");
  opc_type_kind_t element = type->element->kind;
  bool numbers = element == OPC_TYPE_INT || element == OPC_TYPE_SYMINT;
  bool repeat = opc_rng_chance(seed->rng, numbers ? 60 : 40), as_shape = numbers && opc_rng_chance(seed->rng, 15);
  if (as_shape && type->fixed_length == 0 && seed->like_ndim > 0) length = (size_t)seed->like_ndim;
  *out = (opc_value_t){.kind = OPC_VALUE_LIST};
  out->list.items = calloc(length, sizeof *out->list.items);
  if (!out->list.items) return false;
  for (size_t i = 0; i < length; i++) {
    opc_value_t *item = &out->list.items[i];
    bool made = true;
    if (repeat && i > 0) made = opc_value_copy(&out->list.items[0], item, NULL) == OPC_OK;
    else made = make_value(seed, name, type->element, item);
    if (!made) {
      opc_value_clear(item);
      return element == OPC_TYPE_OBJECT && seed->depth > 0; /* a tree ends somewhere; otherwise the caller clears it */
    }
    out->list.count = i + 1;
    if (as_shape && (int)i < seed->like_ndim) item->integer = seed->like_sizes[i];
  }
  return true;
}

/* Objects get their arguments by position: none may be given after one that is absent. */
static bool has_a_gap(const opc_sample_t *sample) {
  bool ended = false, gap = false;
  for (size_t i = 0; i < sample->argument_count; i++) {
    gap |= ended && !sample->absent[i];
    ended |= sample->absent[i];
  }
  return gap;
}

static bool has_options(const opc_search_entry_t *entry) {
  for (size_t i = 0; i < entry->op->argument_count; i++)
    if (entry->op->arguments[i].has_default && !entry->sample.absent[i]) return true;
  return false;
}

/* With arguments that the constructor accepted, without options if it accepted such. class_name: NULL: of any class. */
static bool make_known_object(opc_seed_t *seed, const char *class_name, opc_value_t *out) {
  const opc_search_view_t *view = seed->rng->view;
  if (!view || view->object_count == 0) return false;
  const size_t first = (size_t)opc_rng_below(seed->rng, (int64_t)view->object_count);
  const opc_search_entry_t *found = NULL;
  for (size_t i = 0; i < view->object_count && (!found || has_options(found)); i++) {
    const opc_search_entry_t *entry = view->objects[(first + i) % view->object_count];
    OPC_SCOPED(opc_scope_free) char *name = opc_search_class_made(entry->op);
    if (!name || (class_name && strcmp(name, class_name) != 0) || has_a_gap(&entry->sample)) continue;
    if (!found || !has_options(entry)) found = entry;
  }
  if (!found) return false;
  const opc_sample_t *sample = &found->sample;
  const bool constructed = found->op->kind == OPC_OPERATOR_CLASS;
  *out = (opc_value_t){.kind = OPC_VALUE_OBJECT,
                       .object = {.class_name = opc_search_class_made(found->op),
                                  .made_by = constructed ? NULL : opc_string_copy(found->op->name)}};
  out->object.init = calloc(sample->argument_count + 1, sizeof *out->object.init);
  bool made = out->object.class_name && (constructed || out->object.made_by) && out->object.init;
  for (size_t i = 0; made && i < sample->argument_count && !sample->absent[i]; i++) {
    made = opc_value_copy(&sample->arguments[i], &out->object.init[i], NULL) == OPC_OK;
    out->object.init_count += made;
  }
  return made; /* the caller clears a partial value */
}

/* By the constructor's schema, whose first argument is the object itself. */
static bool make_object(opc_seed_t *seed, const opc_type_t *type, opc_value_t *out) {
  enum { KNOWN_PERCENT = 75, DEPTH_MAX = 3 }; /* a constructor may take objects of its own class */
  if (seed->depth == DEPTH_MAX) return false;
  if (opc_rng_chance(seed->rng, KNOWN_PERCENT) && make_known_object(seed, type->class_name, out)) return true;
  opc_value_clear(out);
  const char *schema = opc_search_constructor(seed->rng->view, type->class_name);
  OPC_SCOPED(opc_operator_clear) opc_operator_t constructor = {0};
  if (!schema || opc_schema_arguments(schema, &constructor, NULL) != OPC_OK) return false;
  *out = (opc_value_t){.kind = OPC_VALUE_OBJECT, .object = {.class_name = opc_string_copy(type->class_name)}};
  out->object.init = calloc(constructor.argument_count + 1, sizeof *out->object.init);
  bool made = out->object.class_name && out->object.init;
  for (size_t i = 1; made && i < constructor.argument_count; i++) {
    const opc_argument_t *argument = &constructor.arguments[i];
    if (argument->has_default && !opc_rng_chance(seed->rng, 30)) break; /* positional: the rest is left out, too */
    opc_value_t *value = &out->object.init[out->object.init_count];
    seed->depth++;
    made = make_value(seed, argument->name, &argument->type, value);
    seed->depth--;
    if (made) out->object.init_count++;
    else opc_value_clear(value);
  }
  return made;
}

static bool make_string(opc_rng_t *rng, const char *choices, opc_value_t *out) {
  char text[24];
  *out =
      (opc_value_t){.kind = OPC_VALUE_STRING, .string = opc_string_copy(alternative(rng, choices, text, sizeof text))};
  if (!out->string) *out = (opc_value_t){0};
  return out->kind == OPC_VALUE_STRING;
}

static bool make_text(opc_seed_t *seed, const char *name, opc_value_t *out) {
  const char *choices = opc_rng_chance(seed->rng, 85) ? text_choices(name) : NULL;
  return make_string(seed->rng, choices ? choices : "none|mean|sum||linear|input.bin", out);
}

/* A value of one of the types that are given most often for Any. */
static bool make_any(opc_seed_t *seed, const char *name, opc_value_t *out) {
  static const opc_type_t tensor = {.kind = OPC_TYPE_TENSOR}, integer = {.kind = OPC_TYPE_INT},
                          real = {.kind = OPC_TYPE_FLOAT}, boolean = {.kind = OPC_TYPE_BOOL},
                          string = {.kind = OPC_TYPE_STRING};
  static const opc_type_t integers = {.kind = OPC_TYPE_LIST, .element = (opc_type_t *)&integer},
                          strings = {.kind = OPC_TYPE_LIST, .element = (opc_type_t *)&string},
                          tensors = {.kind = OPC_TYPE_LIST, .element = (opc_type_t *)&tensor};
  static const opc_type_t *const types[] = {&tensor, &tensor,  &tensor,  &tensor,  &integer,  &integer,  &real,
                                            &string, &boolean, &strings, &tensors, &integers, &integers, &real};
  enum { OBJECT_PERCENT = 40 };
  const opc_search_view_t *view = seed->rng->view;
  if (view && view->object_count > 0 && opc_rng_chance(seed->rng, OBJECT_PERCENT))
    return make_known_object(seed, NULL, out);
  return make_value(seed, name, types[opc_rng_below(seed->rng, (int64_t)COUNT(types))], out);
}

static bool make_value(opc_seed_t *seed, const char *name, const opc_type_t *type, opc_value_t *out) {
  *out = (opc_value_t){0};
  switch (type->kind) {
    case OPC_TYPE_TENSOR:
      return make_tensor(seed, name, out);
    case OPC_TYPE_INT:
    case OPC_TYPE_SYMINT:
      *out = (opc_value_t){.kind = OPC_VALUE_INT, .integer = draw_integer(seed, name)};
      return true;
    case OPC_TYPE_FLOAT:
      *out = (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = draw_real(seed, name)};
      return true;
    case OPC_TYPE_BOOL:
      *out = (opc_value_t){.kind = OPC_VALUE_BOOL, .boolean = opc_rng_chance(seed->rng, 50)};
      return true;
    case OPC_TYPE_COMPLEX:
      *out = (opc_value_t){.kind = OPC_VALUE_COMPLEX, .complex = {draw_real(seed, name), 0.5}};
      return true;
    case OPC_TYPE_SCALAR:
      if (opc_rng_chance(seed->rng, 50))
        *out = (opc_value_t){.kind = OPC_VALUE_INT, .integer = draw_integer(seed, name)};
      else *out = (opc_value_t){.kind = OPC_VALUE_FLOAT, .floating = draw_real(seed, name)};
      return true;
    case OPC_TYPE_STRING:
      return make_text(seed, name, out);
    case OPC_TYPE_LAYOUT:
      return make_string(seed->rng, opc_rng_chance(seed->rng, 70) ? "strided" : "sparse_coo|sparse_csr|sparse_csc",
                         out);
    case OPC_TYPE_MEMORY_FORMAT:
      return make_string(seed->rng, "contiguous_format|preserve_format", out);
    case OPC_TYPE_DTYPE:
      *out = (opc_value_t){.kind = OPC_VALUE_DTYPE,
                           .dtype = opc_rng_chance(seed->rng, 70) ? OPC_DTYPE_FLOAT32 : OPC_DTYPE_INT64};
      return true;
    case OPC_TYPE_DEVICE:
      *out = (opc_value_t){.kind = OPC_VALUE_DEVICE, .device = {OPC_DEVICE_CPU, -1}};
      return true;
    case OPC_TYPE_GENERATOR:
      *out = (opc_value_t){.kind = OPC_VALUE_GENERATOR, .seed = 0};
      return true;
    case OPC_TYPE_LIST:
      return make_list(seed, name, type, out);
    case OPC_TYPE_OPTIONAL:
      if (!opc_rng_chance(seed->rng, 40) || type->element->kind == OPC_TYPE_GENERATOR) return true;
      if (!make_value(seed, name, type->element, out))
        opc_value_clear(out); /* values that cannot be made are left out */
      return true;
    case OPC_TYPE_OBJECT:
      return make_object(seed, type, out);
    case OPC_TYPE_ANY:
      return make_any(seed, name, out);
    case OPC_TYPE_OTHER:
    case OPC_TYPE_STREAM:
    case OPC_TYPE_STORAGE:
    case OPC_TYPE_DIMNAME:
      return false;
  }
  return false;
}

bool opc_seed_value(opc_seed_t *seed, const opc_argument_t *argument, opc_value_t *out) {
  bool made = make_value(seed, argument->name, &argument->type, out);
  if (!made) opc_value_clear(out);
  return made;
}

void opc_seed_follow(opc_seed_t *seed, const opc_tensor_spec_t *spec) {
  static const char *const roles = "NCHW";
  seed->like_ndim = spec->ndim;
  memcpy(seed->like_sizes, spec->sizes, sizeof seed->like_sizes);
  seed->has_first = true;
  for (int dim = 0; dim < spec->ndim && dim < 4; dim++) seed->roles[(int)roles[dim]] = spec->sizes[dim];
}

bool opc_seed_sample(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *out) {
  opc_seed_t seed;
  opc_seed_begin(&seed, rng);
  if (opc_sample_init(out, op, NULL) != OPC_OK) return false;
  out->source = OPC_SAMPLE_SEARCHED;
  int present_percent = opc_rng_chance(rng, 60) ? 0 : 50; /* most calls leave defaults unchanged */
  for (size_t i = 0; i < op->argument_count; i++) {
    if (op->arguments[i].has_default &&
        (opc_seed_is_impossible(&op->arguments[i].type, rng->view) || !opc_rng_chance(rng, present_percent)))
      continue;
    if (!opc_seed_value(&seed, &op->arguments[i], &out->arguments[i])) {
      opc_sample_clear(out);
      return false;
    }
    out->absent[i] = false;
  }
  return true;
}

bool opc_seed_again(const opc_operator_t *op, opc_rng_t *rng, opc_sample_t *sample, size_t argument) {
  opc_seed_t seed;
  opc_value_t value;
  opc_slot_t slots[OPC_SLOTS_MAX];
  opc_seed_begin(&seed, rng);
  if (op->arguments[argument].has_default && !sample->absent[argument] && opc_rng_chance(rng, 25)) {
    opc_value_clear(&sample->arguments[argument]);
    sample->absent[argument] = true;
    return true;
  }
  /* Sizes of another tensor of the tuple, so that related arguments may fit. */
  size_t count = opc_slots_of(sample, slots);
  for (size_t i = 0; i < count; i++) {
    if (slots[i].value->kind != OPC_VALUE_TENSOR || slots[i].argument == argument) continue;
    opc_seed_follow(&seed, slots[i].value->tensor);
    break;
  }
  if (!opc_seed_value(&seed, &op->arguments[argument], &value)) return false;
  opc_value_clear(&sample->arguments[argument]);
  sample->arguments[argument] = value;
  sample->absent[argument] = false;
  return true;
}

bool opc_seed_is_impossible(const opc_type_t *type, const opc_search_view_t *view) {
  switch (type->kind) {
    case OPC_TYPE_OTHER:
    case OPC_TYPE_STREAM:
    case OPC_TYPE_STORAGE:
    case OPC_TYPE_DIMNAME:
      return true;
    case OPC_TYPE_OBJECT:
      return !opc_search_constructor(view, type->class_name) && !opc_search_is_returned(view, type->class_name);
    case OPC_TYPE_LIST:
      return opc_seed_is_impossible(type->element, view);
    default:
      return false; /* an optional one can be left out */
  }
}

const opc_argument_t *opc_seed_impossible(const opc_operator_t *op, const opc_search_view_t *view) {
  for (size_t i = 0; i < op->argument_count; i++) {
    if (!op->arguments[i].has_default && opc_seed_is_impossible(&op->arguments[i].type, view)) return &op->arguments[i];
  }
  return NULL;
}

bool opc_seed_is_group(const char *name) { return strcasestr(name, "group"); }
