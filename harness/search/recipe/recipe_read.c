/* A recipe's JSON, checked against the operator's schema. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "model/value/value_read.h"
#include "search/recipe/recipe_inside.h"

/* ---- names and expressions ---- */

const opc_recipe_size_t *opc_recipe_size_find(const opc_recipe_t *recipe, const char *name) {
  for (size_t i = 0; i < recipe->size_count; i++)
    if (strcmp(recipe->sizes[i].name, name) == 0) return &recipe->sizes[i];
  return NULL;
}

static opc_status_t add_size(opc_json_reader_t *reader, opc_recipe_t *recipe, const char *name, int argument,
                             opc_recipe_size_t **out) {
  if (recipe->size_count == OPC_RECIPE_SIZES_MAX)
    return opc_json_fail(reader, "more than %d sizes in one recipe", OPC_RECIPE_SIZES_MAX);
  char *copy = opc_string_copy(name);
  if (!copy) return opc_out_of_memory(reader->error);
  *out = &recipe->sizes[recipe->size_count++];
  **out = (opc_recipe_size_t){.name = copy, .argument = argument, .want = {.dtype_of = -1}};
  return OPC_OK;
}

static bool set_bounds(opc_bounds_t *bounds, const char *low, const char *high) {
  bounds->low = opc_string_copy(low);
  bounds->high = opc_string_copy(high);
  return bounds->low && bounds->high;
}

typedef struct naming {
  opc_json_reader_t *reader;
  opc_recipe_t *recipe;
  opc_status_t status;
} naming_t;

/* An undeclared name: an int argument that the recipe leaves open otherwise, or a size. */
static bool name_known(const char *name, int64_t *out, void *context) {
  naming_t *naming = context;
  opc_recipe_size_t *size;
  *out = 1;
  if (naming->status != OPC_OK || opc_recipe_size_find(naming->recipe, name)) return true;
  const int argument = opc_operator_argument(naming->recipe->op, name);
  if (argument >= 0 && !opc_type_is_integer(naming->recipe->wants[argument].type)) {
    naming->status =
        opc_json_fail(naming->reader, "\"%s\" is of type %s: an expression may name sizes and int arguments", name,
                      naming->recipe->op->arguments[argument].type_text);
    return true;
  }
  naming->status = add_size(naming->reader, naming->recipe, name, argument, &size);
  if (naming->status != OPC_OK) return true;
  opc_want_t *want = argument >= 0 ? &naming->recipe->wants[argument] : &size->want;
  if (argument >= 0) naming->recipe->wanted[argument] = true;
  if (!set_bounds(&want->between, "1", argument >= 0 ? "3" : "5"))
    naming->status = opc_out_of_memory(naming->reader->error);
  return true;
}

/* Reads an integer or an expression into *out, which the caller frees. */
static opc_status_t read_expression(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json, char **out) {
  char there[64], why[128];
  int64_t value;
  naming_t naming = {reader, recipe, OPC_OK};
  if (!json_is_integer(json) && !json_is_string(json))
    return opc_json_fail(reader, "expected an integer or an expression like \"K + 1\", not %s",
                         opc_json_what(json, there, sizeof there));
  *out = json_is_string(json) ? opc_string_copy(json_string_value(json))
                              : opc_string_format("%" JSON_INTEGER_FORMAT, json_integer_value(json));
  if (!*out) return opc_out_of_memory(reader->error);
  if (opc_expression_value(*out, name_known, &naming, &value, why, sizeof why) == OPC_EXPRESSION_SYNTAX)
    return opc_json_fail(reader, "\"%.60s\" is not an expression: %s", *out, why);
  return naming.status;
}

/* [low, high]; with `alone` a single one is both. */
static opc_status_t read_bounds(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json, bool alone,
                                opc_bounds_t *out) {
  char **const ends[] = {&out->low, &out->high};
  const bool pair = json_is_array(json);
  if (pair ? json_array_size(json) != 2 : !alone) return opc_json_fail(reader, "expected [low, high]");
  for (size_t i = 0; i < 2; i++) {
    size_t before = pair ? opc_json_enter_index(reader, i) : strlen(reader->path);
    OPC_RETURN_IF_ERROR(read_expression(reader, recipe, pair ? json_array_get(json, i) : json, ends[i]));
    opc_json_leave(reader, before);
  }
  char *low_rest, *high_rest; /* plain numbers are compared here, so the error names the right position */
  long long low = strtoll(out->low, &low_rest, 10), high = strtoll(out->high, &high_rest, 10);
  if (*low_rest == '\0' && *high_rest == '\0' && low > high)
    return opc_json_fail(reader, "nothing is at least %lld and at most %lld", low, high);
  return OPC_OK;
}

static opc_status_t read_real_bounds(opc_json_reader_t *reader, const json_t *json, opc_bounds_t *out) {
  double *const ends[] = {&out->real_low, &out->real_high};
  if (json_array_size(json) != 2) return opc_json_fail(reader, "expected [low, high]");
  for (size_t i = 0; i < 2; i++) {
    size_t before = opc_json_enter_index(reader, i);
    if (!json_is_number(json_array_get(json, i))) return opc_json_fail(reader, "expected a number");
    *ends[i] = json_number_value(json_array_get(json, i));
    opc_json_leave(reader, before);
  }
  if (out->real_low > out->real_high)
    return opc_json_fail(reader, "nothing is at least %g and at most %g", out->real_low, out->real_high);
  out->low = opc_string_copy(""); /* means that they are given */
  return out->low ? OPC_OK : opc_out_of_memory(reader->error);
}

/* ---- fills ---- */

static const struct {
  const char *name;
  opc_want_fill_kind_t kind;
} fills[] = {{"range", OPC_WANT_FILL_RANGE},       {"sorted", OPC_WANT_FILL_SORTED},
             {"offsets", OPC_WANT_FILL_OFFSETS},   {"lengths", OPC_WANT_FILL_LENGTHS},
             {"reaching", OPC_WANT_FILL_REACHING}, {"permutation", OPC_WANT_FILL_PERMUTATION},
             {"between", OPC_WANT_FILL_BETWEEN},   {"boxes", OPC_WANT_FILL_BOXES}};
enum { FILL_COUNT = sizeof fills / sizeof fills[0] };

/* Fills of the sample format are read once the shape is known. */
static opc_status_t read_fill(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json,
                              opc_want_fill_t *out) {
  static const char *const known[] = {"range",   "sorted", "offsets", "lengths", "reaching",
                                      "between", "full",   "values",  "file",    NULL};
  const char *word = json_string_value(json);
  if (json_is_object(json)) {
    OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, known));
    if (json_object_size(json) != 1) return opc_json_fail(reader, "expected one kind of fill");
    word = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)json));
  }
  for (size_t i = 0; word && i < FILL_COUNT; i++)
    if (strcmp(word, fills[i].name) == 0) out->kind = fills[i].kind;
  const json_t *inner = json_is_object(json) ? json_object_get(json, word) : NULL;
  const bool bare = out->kind == OPC_WANT_FILL_PERMUTATION || out->kind == OPC_WANT_FILL_BOXES;
  static const char *const plain[] = {"normal", "uniform", "arange", "zeros", "ones", "permutation", "boxes", NULL};
  bool word_known = json_is_object(json);
  for (size_t i = 0; word && plain[i]; i++) word_known |= strcmp(word, plain[i]) == 0;
  if (out->kind == OPC_WANT_FILL_ANY && !word_known)
    return opc_json_fail(reader,
                         "expected normal, uniform, arange, zeros, ones, permutation, boxes, or an object such as "
                         "{\"range\": [0, \"N\"]}");
  if (out->kind == OPC_WANT_FILL_ANY) {
    out->kind = OPC_WANT_FILL_PLAIN;
    out->plain = json_incref((json_t *)(uintptr_t)json);
    return OPC_OK;
  }
  if (bare != !inner) return opc_json_fail(reader, bare ? "\"%s\" stands alone" : "expected {\"%s\": …}", word);
  if (bare) return OPC_OK;
  size_t before = opc_json_enter(reader, word);
  if (out->kind == OPC_WANT_FILL_BETWEEN) OPC_RETURN_IF_ERROR(read_real_bounds(reader, inner, &out->bounds));
  else if (out->kind == OPC_WANT_FILL_RANGE || out->kind == OPC_WANT_FILL_SORTED)
    OPC_RETURN_IF_ERROR(read_bounds(reader, recipe, inner, false, &out->bounds));
  else OPC_RETURN_IF_ERROR(read_expression(reader, recipe, inner, &out->bounds.high));
  opc_json_leave(reader, before);
  return OPC_OK;
}

/* ---- wants ---- */

static opc_status_t add_choice(opc_json_reader_t *reader, const json_t *json, opc_want_t *want) {
  static const opc_type_t integer = {.kind = OPC_TYPE_INT};
  if (!OPC_ARRAY_GROW(want->choices, want->choice_count)) return opc_out_of_memory(reader->error);
  OPC_RETURN_IF_ERROR(opc_value_read(reader, json, want->type ? want->type : &integer,
                                     want->type ? want->type_text : "size", &want->choices[want->choice_count]));
  want->choice_count++;
  return OPC_OK;
}

/* The value itself: an expression for an integer, otherwise as in a sample. */
static opc_status_t read_is(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json, opc_want_t *want) {
  if (!want->type || opc_type_is_integer(want->type)) return read_expression(reader, recipe, json, &want->is);
  return add_choice(reader, json, want);
}

static opc_status_t read_choices(opc_json_reader_t *reader, const json_t *json, opc_want_t *want) {
  if (json_array_size(json) == 0) return opc_json_fail(reader, "expected the list of what it may be");
  for (size_t i = 0; i < json_array_size(json); i++)
    OPC_JSON_ITEM(reader, i, add_choice(reader, json_array_get(json, i), want));
  return OPC_OK;
}

static opc_status_t read_shape(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json, opc_want_t *want) {
  if (!json_is_array(json))
    return opc_json_fail(reader, "expected the list of the dimensions, such as [\"N\", \"C\", 3]");
  if (json_array_size(json) > OPC_MAX_DIMS) return opc_json_fail(reader, "more than %d dimensions", OPC_MAX_DIMS);
  want->shape = calloc(json_array_size(json) + 1, sizeof *want->shape);
  if (!want->shape) return opc_out_of_memory(reader->error);
  want->has_shape = true;
  for (size_t i = 0; i < json_array_size(json); i++)
    OPC_JSON_ITEM(reader, i, read_expression(reader, recipe, json_array_get(json, i), &want->shape[want->rank++]));
  return OPC_OK;
}

static opc_status_t read_dtypes(opc_json_reader_t *reader, const opc_recipe_t *recipe, const json_t *json,
                                opc_want_t *want) {
  const size_t count = json_is_array(json) ? json_array_size(json) : 1;
  const char *name = json_string_value(json);
  const int other = name ? opc_operator_argument(recipe->op, name) : -1;
  if (other >= 0) {
    if (other >= opc_operator_argument(recipe->op, want->name) || recipe->wants[other].type->kind != OPC_TYPE_TENSOR)
      return opc_json_fail(reader, "\"%s\" is not a tensor argument before this one", name);
    want->dtype_of = other;
    return OPC_OK;
  }
  if (count == 0) return opc_json_fail(reader, "expected a dtype, or a list of them");
  want->dtypes = calloc(count, sizeof *want->dtypes);
  if (!want->dtypes) return opc_out_of_memory(reader->error);
  for (; want->dtype_count < count; want->dtype_count++) {
    size_t before = json_is_array(json) ? opc_json_enter_index(reader, want->dtype_count) : strlen(reader->path);
    OPC_RETURN_IF_ERROR(opc_dtype_read(reader, json_is_array(json) ? json_array_get(json, want->dtype_count) : json,
                                       &want->dtypes[want->dtype_count]));
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t read_want(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json, opc_want_t *want);

static opc_status_t read_items(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json, bool each,
                               opc_want_t *want) {
  const size_t count = each ? 1 : json_array_size(json);
  if (!each && !json_is_array(json)) return opc_json_fail(reader, "expected the list of what each item is");
  if (!each && want->type->fixed_length > 0 && (int64_t)count != want->type->fixed_length)
    return opc_json_fail(reader, "%zu items where the schema says %s", count, want->type_text);
  want->items = calloc(count + 1, sizeof *want->items);
  if (!want->items) return opc_out_of_memory(reader->error);
  want->each = each;
  opc_type_t *element =
      want->type->element->kind == OPC_TYPE_OPTIONAL ? want->type->element->element : want->type->element;
  for (size_t i = 0; i < count; i++) {
    opc_want_t *item = &want->items[want->item_count++];
    *item = (opc_want_t){
        .type = element, .type_text = want->type_text, .name = want->name, .given = OPC_GIVEN_ALWAYS, .dtype_of = -1};
    size_t before = each ? strlen(reader->path) : opc_json_enter_index(reader, i);
    OPC_RETURN_IF_ERROR(read_want(reader, recipe, each ? json : json_array_get(json, i), item));
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t recipe_read_field(opc_json_reader_t *reader, opc_recipe_t *recipe, const char *key,
                                      const json_t *json, opc_want_t *want) {
  bool given = false;
  if (strcmp(key, "is") == 0) return read_is(reader, recipe, json, want);
  if (strcmp(key, "one_of") == 0) return read_choices(reader, json, want);
  if (strcmp(key, "shape") == 0) return read_shape(reader, recipe, json, want);
  if (strcmp(key, "rank") == 0) return read_bounds(reader, recipe, json, true, &want->ranks);
  if (strcmp(key, "dtype") == 0) return read_dtypes(reader, recipe, json, want);
  if (strcmp(key, "fill") == 0) return read_fill(reader, recipe, json, &want->fill);
  if (strcmp(key, "length") == 0) return read_bounds(reader, recipe, json, true, &want->lengths);
  if (strcmp(key, "each") == 0) return read_items(reader, recipe, json, true, want);
  if (strcmp(key, "items") == 0) return read_items(reader, recipe, json, false, want);
  if (strcmp(key, "between") == 0)
    return want->type && opc_type_is_real(want->type) ? read_real_bounds(reader, json, &want->between)
                                                      : read_bounds(reader, recipe, json, false, &want->between);
  opc_status_t status = opc_json_read_boolean(reader, json, &given); /* only "given" is left */
  want->given = given ? OPC_GIVEN_ALWAYS : OPC_GIVEN_NEVER;
  return status;
}

/* The fields of a type. */
static const char *const *fields_of(const opc_type_t *type) {
  static const char *const tensor[] = {"shape", "rank", "dtype", "fill", "given", NULL},
                           *const number[] = {"between", "one_of", "is", "given", NULL},
                           *const integers[] = {"length", "each", "items", "fill", "one_of", "is", "given", NULL},
                           *const list[] = {"length", "each", "items", "one_of", "is", "given", NULL},
                           *const other[] = {"one_of", "is", "given", NULL}, *const size[] = {"one_of", NULL};
  if (!type) return size;
  if (type->kind == OPC_TYPE_TENSOR) return tensor;
  if (opc_type_is_integer(type) || opc_type_is_real(type)) return number;
  if (type->kind == OPC_TYPE_LIST) return opc_type_is_integer(type->element) ? integers : list;
  return other;
}

/* An object may have at most one field of each pair: both say the same. */
static opc_status_t check_pairs(opc_json_reader_t *reader, const json_t *json) {
  static const char *const exclusive[][2] = {
      {"shape", "rank"}, {"items", "each"}, {"items", "length"}, {"items", "fill"}, {"each", "fill"}};
  static const char *const whole[] = {"is", "one_of", "between", "items", "length", NULL};
  for (size_t i = 0; i < sizeof exclusive / sizeof exclusive[0]; i++)
    if (json_object_get(json, exclusive[i][0]) && json_object_get(json, exclusive[i][1]))
      return opc_json_fail(reader, "\"%s\" and \"%s\" exclude each other", exclusive[i][0], exclusive[i][1]);
  const char *said = NULL;
  for (size_t i = 0; whole[i]; i++) {
    if (!json_object_get(json, whole[i])) continue;
    if (said && strcmp(said, "items") != 0)
      return opc_json_fail(reader, "\"%s\" and \"%s\" exclude each other", said, whole[i]);
    said = whole[i];
  }
  return OPC_OK;
}

static opc_status_t read_want(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json, opc_want_t *want) {
  const opc_type_t *type = want->type;
  if (!json_is_object(json)) {
    if (type && json_is_array(json) && type->kind == OPC_TYPE_TENSOR) return read_shape(reader, recipe, json, want);
    if (type && json_is_array(json) && type->kind == OPC_TYPE_LIST)
      return read_items(reader, recipe, json, false, want);
    if (!type && json_is_array(json)) return read_bounds(reader, recipe, json, false, &want->between);
    if (type && (type->kind == OPC_TYPE_TENSOR || type->kind == OPC_TYPE_LIST))
      return opc_json_fail(reader, type->kind == OPC_TYPE_TENSOR ? "expected a shape such as [\"N\", 3], or an object"
                                                                 : "expected the list of its items, or an object");
    return read_is(reader, recipe, json, want);
  }
  const char *const *known = fields_of(type);
  for (void *at = json_object_iter((json_t *)(uintptr_t)json); at;
       at = json_object_iter_next((json_t *)(uintptr_t)json, at)) {
    const char *key = json_object_iter_key(at);
    bool fits = false;
    for (size_t i = 0; known[i]; i++) fits |= strcmp(known[i], key) == 0;
    static const char *const all[] = {"shape",  "rank", "dtype",  "fill", "given", "between",
                                      "one_of", "is",   "length", "each", "items"};
    for (size_t i = 0; type && !fits && i < sizeof all / sizeof all[0]; i++) {
      if (strcmp(all[i], key) != 0) continue;
      opc_json_enter(reader, key);
      return opc_json_fail(reader, "the argument is of type %s, which has no %s", want->type_text, key);
    }
  }
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, known));
  OPC_RETURN_IF_ERROR(check_pairs(reader, json));
  for (size_t i = 0; known[i]; i++) { /* in this order: draws must not depend on how the recipe was written */
    const json_t *field = json_object_get(json, known[i]);
    if (!field) continue;
    OPC_JSON_MEMBER(reader, known[i], recipe_read_field(reader, recipe, known[i], field, want));
  }
  return OPC_OK;
}

/* ---- a recipe ---- */

static bool is_name(const char *text) {
  bool good = isalpha((unsigned char)text[0]) || text[0] == '_';
  for (const char *at = text; *at; at++) good &= isalnum((unsigned char)*at) || *at == '_';
  return good && strcmp(text, "min") != 0 && strcmp(text, "max") != 0 && strlen(text) < 64;
}

/* Reads the names first, so that each may be used before its place in the file. */
static opc_status_t read_names(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *sizes,
                               const json_t *arguments) {
  opc_recipe_size_t *size;
  const opc_operator_t *op = recipe->op;
  size_t before = opc_json_enter(reader, "sizes");
  for (void *at = json_object_iter((json_t *)(uintptr_t)sizes); at;
       at = json_object_iter_next((json_t *)(uintptr_t)sizes, at)) {
    const char *name = json_object_iter_key(at);
    size_t inner = opc_json_enter(reader, name);
    if (!is_name(name)) return opc_json_fail(reader, "no name for a size: letters, digits and _ make one");
    if (opc_operator_argument(op, name) >= 0)
      return opc_json_fail(reader, "\"%s\" is an argument: an int argument's name is a size by itself", name);
    OPC_RETURN_IF_ERROR(add_size(reader, recipe, name, -1, &size));
    opc_json_leave(reader, inner);
  }
  opc_json_leave(reader, before);
  for (size_t i = 0; i < op->argument_count; i++) {
    if (!json_object_get(arguments, op->arguments[i].name) || !opc_type_is_integer(recipe->wants[i].type) ||
        !is_name(op->arguments[i].name))
      continue;
    OPC_RETURN_IF_ERROR(add_size(reader, recipe, op->arguments[i].name, (int)i, &size));
  }
  return OPC_OK;
}

static opc_status_t read_sizes(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *sizes) {
  for (size_t i = 0; i < recipe->size_count; i++) {
    opc_recipe_size_t *size = &recipe->sizes[i];
    const json_t *json = json_object_get(sizes, size->name);
    if (!json) continue;
    OPC_JSON_MEMBER(reader, size->name, read_want(reader, recipe, json, &size->want));
  }
  return OPC_OK;
}

static opc_status_t unknown_argument(opc_json_reader_t *reader, const opc_operator_t *op, const char *name) {
  OPC_SCOPED(opc_scope_free) const char **known = calloc(op->argument_count + 1, sizeof *known);
  if (!known) return opc_out_of_memory(reader->error);
  for (size_t i = 0; i < op->argument_count; i++) known[i] = op->arguments[i].name;
  const char *nearest = opc_json_nearest(name, known), *schema = op->schema ? op->schema : op->name;
  return nearest ? opc_json_fail(reader, "no such argument, did you mean \"%s\"? %s", nearest, schema)
                 : opc_json_fail(reader, "no such argument: %s", schema);
}

static opc_status_t read_arguments(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *arguments) {
  const opc_operator_t *op = recipe->op;
  if (!json_is_object(arguments))
    return opc_json_fail(reader, "expected an object: what is wanted of each argument, by its name");
  for (void *at = json_object_iter((json_t *)(uintptr_t)arguments); at;
       at = json_object_iter_next((json_t *)(uintptr_t)arguments, at)) {
    const char *name = json_object_iter_key(at);
    const int index = opc_operator_argument(op, name);
    size_t before = opc_json_enter(reader, name);
    if (index < 0) return unknown_argument(reader, op, name);
    opc_want_t *want = &recipe->wants[index];
    recipe->wanted[index] = true;
    OPC_RETURN_IF_ERROR(read_want(reader, recipe, json_object_iter_value(at), want));
    const opc_argument_t *argument = &op->arguments[index];
    if (want->given == OPC_GIVEN_NEVER && !argument->has_default && argument->type.kind != OPC_TYPE_OPTIONAL)
      return opc_json_fail(reader, "the argument has no default and cannot be left out");
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

static opc_status_t read_conditions(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json) {
  if (!json_is_array(json)) return opc_json_fail(reader, "expected a list of conditions such as \"C %% G == 0\"");
  recipe->conditions = calloc(json_array_size(json) + 1, sizeof *recipe->conditions);
  if (!recipe->conditions) return opc_out_of_memory(reader->error);
  for (size_t i = 0; i < json_array_size(json); i++)
    OPC_JSON_ITEM(
        reader, i,
        read_expression(reader, recipe, json_array_get(json, i), &recipe->conditions[recipe->condition_count++]));
  return OPC_OK;
}

static opc_status_t read_parts(opc_json_reader_t *reader, opc_recipe_t *recipe, const json_t *json) {
  static const char *const fields[] = {"operator", "sizes", "where", "arguments", NULL};
  const json_t *sizes = json_object_get(json, "sizes"), *arguments = json_object_get(json, "arguments"),
               *where = json_object_get(json, "where");
  OPC_RETURN_IF_ERROR(opc_json_check_fields(reader, json, fields));
  if (!arguments) return opc_json_fail(reader, "the field \"arguments\" is missing");
  size_t before = opc_json_enter(reader, "sizes");
  if (sizes && !json_is_object(sizes))
    return opc_json_fail(reader, "expected an object: sizes by name, such as {\"N\": [1, 3]}");
  opc_json_leave(reader, before);
  OPC_RETURN_IF_ERROR(read_names(reader, recipe, sizes, arguments));
  OPC_JSON_MEMBER(reader, "sizes", read_sizes(reader, recipe, sizes));
  OPC_JSON_MEMBER(reader, "arguments", read_arguments(reader, recipe, arguments));
  if (where) OPC_JSON_MEMBER(reader, "where", read_conditions(reader, recipe, where));
  return OPC_OK;
}

opc_status_t opc_recipe_read(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                             opc_recipe_t **out) {
  opc_recipe_t *recipe = calloc(1, sizeof *recipe);
  *out = recipe;
  if (!recipe) return opc_out_of_memory(reader->error);
  recipe->op = op;
  recipe->wants = calloc(op->argument_count + 1, sizeof *recipe->wants);
  recipe->wanted = calloc(op->argument_count + 1, sizeof *recipe->wanted);
  if (!recipe->wants || !recipe->wanted) return opc_out_of_memory(reader->error);
  for (size_t i = 0; i < op->argument_count; i++) {
    opc_argument_t *argument = &op->arguments[i];
    opc_type_t *type = argument->type.kind == OPC_TYPE_OPTIONAL ? argument->type.element : &argument->type;
    recipe->wants[i] =
        (opc_want_t){.type = type, .type_text = argument->type_text, .name = argument->name, .dtype_of = -1};
  }
  return read_parts(reader, recipe, json);
}
