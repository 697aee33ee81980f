/* Recipes: what is read, the message for each mistake, and that draws respect the recipe. */
#include "plan_fixture.h"
#include "temp_folder.h"

#include "search/draft/search_inside.h"
#include "search/recipe/recipe.h"
#include "search/recipe/recipe_inside.h"

enum { DRAWS = 300 };

static const fixture_argument_t arguments[] = {
    {"x", "Tensor", NULL, false},        {"index", "Tensor", NULL, false},   {"n", "SymInt", NULL, false},
    {"scale", "float", "1.0", true},     {"mode", "str", "\"a\"", true},     {"m", "Tensor?", "None", true},
    {"tensors", "Tensor[]", "[]", true}, {"pair", "int[2]", "[1, 1]", true}, {"sizes", "SymInt[]", "[]", true},
    {"alpha", "Scalar", "1", true},      {"k", "int?", "None", true},        {"flag", "bool", "False", true},
};
enum { X, INDEX, N, SCALE, MODE, M, TENSORS, PAIR, SIZES, ALPHA, K, FLAG };
static const fixture_argument_t returns[] = {{"", "Tensor", NULL, false}};

static opc_operator_t op;

static const opc_operator_t *lookup(const char *name, void *context) {
  (void)context;
  return strcmp(name, op.name) == 0 ? &op : NULL;
}

static int set_up(void **state) {
  op =
      fixture_operator("ns::op", "ns::op(Tensor x, …) -> Tensor", arguments, COUNT(arguments), returns, COUNT(returns));
  return temp_folder_make(state);
}

static int tear_down(void **state) {
  opc_operator_clear(&op);
  return temp_folder_remove(state);
}

static opc_status_t read_text(const char *recipe, opc_recipe_set_t *set, opc_error_t *error) {
  char text[4096];
  snprintf(text, sizeof text, "{\"format\": \"opcheck-c/recipes/1\", \"recipes\": [\n%s]}", recipe);
  temp_write("recipes.json", text, strlen(text));
  return opc_recipe_set_read(set, temp_path("recipes.json"), lookup, NULL, error);
}

/* ---- mistakes ---- */

/* Blocks of two lines in recipe_mistakes.txt: a recipe, and the message. With OPC_BLESS the messages are printed. */
static void test_mistakes(void **state) {
  (void)state;
  char recipe[1024], message[1024];
  int count = 0;
  FILE *stream = fopen(OPC_UNIT_FOLDER "/recipe_mistakes.txt", "r");
  assert_non_null(stream);
  while (fgets(recipe, sizeof recipe, stream)) {
    if (recipe[0] == '#' || recipe[0] == '\n') continue;
    opc_recipe_set_t set = {0};
    opc_error_t error = {0};
    assert_non_null(fgets(message, sizeof message, stream));
    message[strcspn(message, "\n")] = '\0';
    opc_status_t status = read_text(recipe, &set, &error);
    const char *shown = error.message;
    if (strncmp(shown, temp_folder, strlen(temp_folder)) == 0) shown += strlen(temp_folder) + 1;
    if (getenv("OPC_BLESS")) printf("%s%s\n\n", recipe, shown);
    else assert_string_equal(shown, message);
    assert_int_equal(status, OPC_ERR_INPUT);
    assert_int_equal(set.count, 0);
    opc_recipe_set_clear(&set);
    count++;
  }
  fclose(stream);
  assert_true(count > 55);
}

static void test_mistakes_around(void **state) {
  (void)state;
  static const struct {
    const char *recipes, *end;
  } rows[] = {
      {"{\"operator\": \"ns::op\", \"arguments\": {}}, {\"operator\": \"ns::op\", \"arguments\": {}}",
       "another recipe of ns::op ("},
      {"{\"operator\": \"ns::op\", \"arguments\": {\"x\": [1], \"x\": [2]}}", "duplicate object key near '\"x\"'"},
      {"{", "expected near end of file"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_recipe_set_t set = {0};
    opc_error_t error = {0};
    assert_int_equal(read_text(rows[i].recipes, &set, &error), OPC_ERR_INPUT);
    if (i < 2) assert_non_null(strstr(error.message, rows[i].end));
    opc_recipe_set_clear(&set);
  }
  opc_recipe_set_t set = {0};
  opc_error_t error = {0};
  assert_int_equal(opc_recipe_set_read(&set, temp_path("missing.json"), lookup, NULL, &error), OPC_ERR_IO);
  assert_non_null(strstr(error.message, "cannot open the recipe file "));
}

/* ---- draws ---- */

typedef void look_t(const opc_sample_t *sample);

static void draw(const char *recipe, look_t *look) {
  opc_recipe_set_t set = {0};
  opc_error_t error = {0};
  opc_rng_t rng = {.seed = 7}, again = rng;
  assert_ok(read_text(recipe, &set, &error), error);
  for (int i = 0; i < DRAWS; i++) {
    opc_sample_t sample, same;
    char why[256];
    assert_int_equal(opc_sample_init(&sample, &op, NULL), OPC_OK);
    assert_int_equal(opc_sample_init(&same, &op, NULL), OPC_OK);
    if (!opc_recipe_draw(set.recipes[0], &rng, &sample, why, sizeof why)) fail_msg("%s", why);
    look(&sample);
    assert_true(opc_recipe_draw(set.recipes[0], &again, &same, NULL, 0));
    json_t *left = opc_sample_to_json(&sample, &op), *right = opc_sample_to_json(&same, &op);
    assert_true(json_equal(left, right)); /* a function of the seed */
    json_decref(left);
    json_decref(right);
    opc_sample_clear(&sample);
    opc_sample_clear(&same);
  }
  opc_recipe_set_clear(&set);
}

static const opc_tensor_spec_t *tensor(const opc_sample_t *sample, int argument) {
  assert_false(sample->absent[argument]);
  assert_int_equal(sample->arguments[argument].kind, OPC_VALUE_TENSOR);
  return sample->arguments[argument].tensor;
}

static int64_t number(const opc_sample_t *sample, int argument) {
  assert_int_equal(sample->arguments[argument].kind, OPC_VALUE_INT);
  return sample->arguments[argument].integer;
}

/* The integers of a tensor that was filled element by element. */
static int64_t at(const opc_tensor_spec_t *spec, int64_t i) {
  assert_int_equal(spec->fill.kind, OPC_FILL_VALUES);
  assert_true(i < (int64_t)spec->fill.value_count);
  return spec->fill.values[i].i;
}

static void look_shapes(const opc_sample_t *sample) {
  const opc_tensor_spec_t *x = tensor(sample, X), *index = tensor(sample, INDEX);
  assert_int_equal(x->ndim, 3);
  assert_true(x->sizes[0] >= 2 && x->sizes[0] <= 3 && x->sizes[1] >= 1 && x->sizes[1] <= 5);
  assert_int_equal(x->sizes[2], 2 * x->sizes[0] - 1);
  assert_int_equal(index->ndim, 2);
  assert_int_equal(index->sizes[0], x->sizes[1]);
  assert_int_equal(index->sizes[1], 3);
  assert_int_equal(number(sample, N), x->sizes[1] / x->sizes[0] + (x->sizes[1] > 1 ? x->sizes[1] : 1));
  assert_int_equal(x->sizes[1] % x->sizes[0], 0);
}

static void test_shapes(void **state) {
  (void)state;
  draw(
      "{\"operator\": \"ns::op\", \"sizes\": {\"A\": [2, 3], \"L\": \"2*A - 1\"}, \"where\": [\"B % A == 0\"], "
      "\"arguments\": {\"x\": [\"A\", \"B\", \"L\"], "
      "\"index\": [\"B\", 3], \"n\": \"B / A + max(B, 1)\"}}",
      look_shapes);
}

static void look_ranks(const opc_sample_t *sample) {
  const opc_tensor_spec_t *x = tensor(sample, X), *index = tensor(sample, INDEX);
  assert_true(x->ndim >= 2 && x->ndim <= 3);
  assert_int_equal(index->ndim, 0);
  assert_true(x->dtype == OPC_DTYPE_FLOAT64 || x->dtype == OPC_DTYPE_UINT8);
  assert_int_equal(index->dtype, x->dtype);
}

static void test_ranks_and_dtypes(void **state) {
  (void)state;
  draw(
      "{\"operator\": \"ns::op\", \"arguments\": {\"x\": {\"rank\": [2, 3], \"dtype\": [\"float64\", \"uint8\"]}, "
      "\"index\": {\"rank\": 0, \"dtype\": \"x\"}}}",
      look_ranks);
}

static void look_numbers(const opc_sample_t *sample) {
  assert_true(number(sample, N) >= 4 && number(sample, N) <= 6);
  assert_true(sample->arguments[SCALE].floating >= 0.25 && sample->arguments[SCALE].floating <= 0.5);
  assert_true(strcmp(sample->arguments[MODE].string, "bilinear") == 0 ||
              strcmp(sample->arguments[MODE].string, "nearest") == 0);
  assert_true(sample->arguments[ALPHA].kind == OPC_VALUE_FLOAT && sample->arguments[ALPHA].floating >= -1.0 &&
              sample->arguments[ALPHA].floating <= 1.0);
  if (sample->arguments[K].kind == OPC_VALUE_INT) assert_int_equal(number(sample, K), number(sample, N) + 1);
  assert_true(sample->arguments[FLAG].kind == OPC_VALUE_BOOL && sample->arguments[FLAG].boolean);
}

static void test_numbers_and_words(void **state) {
  (void)state;
  draw(
      "{\"operator\": \"ns::op\", \"arguments\": {\"n\": {\"between\": [4, 6]}, \"scale\": {\"between\": [0.25, 0.5]}, "
      "\"mode\": {\"one_of\": [\"bilinear\", "
      "\"nearest\"]}, \"alpha\": {\"between\": [-1, 1]}, \"k\": \"n + 1\", \"flag\": true}}",
      look_numbers);
}

static void look_given(const opc_sample_t *sample) {
  tensor(sample, M);
  assert_true(sample->absent[K]);
}

static void test_given(void **state) {
  (void)state;
  draw(
      "{\"operator\": \"ns::op\", \"arguments\": {\"m\": {\"shape\": [2], \"given\": true}, \"k\": {\"given\": "
      "false}}}",
      look_given);
}

static void look_offsets(const opc_sample_t *sample) {
  const opc_tensor_spec_t *x = tensor(sample, X), *index = tensor(sample, INDEX);
  assert_int_equal(index->dtype, OPC_DTYPE_INT64);
  for (int64_t row = 0; row < 2; row++) {
    int64_t first = row * index->sizes[1], last = first + index->sizes[1] - 1;
    assert_int_equal(at(index, first), 0);
    assert_int_equal(at(index, last), x->sizes[0]);
    for (int64_t i = first; i < last; i++) assert_true(at(index, i) <= at(index, i + 1));
  }
}

static void look_lengths(const opc_sample_t *sample) {
  const opc_tensor_spec_t *x = tensor(sample, X), *index = tensor(sample, INDEX);
  int64_t sum = 0;
  assert_int_equal(index->dtype, OPC_DTYPE_INT32);
  for (int64_t i = 0; i < index->sizes[0]; i++) {
    assert_true(at(index, i) >= 0);
    sum += at(index, i);
  }
  assert_int_equal(sum, x->sizes[0]);
}

static void look_reaching(const opc_sample_t *sample) {
  const opc_tensor_spec_t *x = tensor(sample, X), *index = tensor(sample, INDEX);
  int64_t largest = 0;
  for (int64_t i = 0; i < index->sizes[0]; i++) {
    assert_true(at(index, i) >= 1);
    if (at(index, i) > largest) largest = at(index, i);
  }
  assert_int_equal(largest, x->sizes[0]);
}

static void look_permutation(const opc_sample_t *sample) {
  const opc_tensor_spec_t *index = tensor(sample, INDEX);
  uint64_t seen = 0;
  for (int64_t i = 0; i < index->sizes[0]; i++) seen |= (uint64_t)1 << at(index, i);
  assert_int_equal(seen, ((uint64_t)1 << index->sizes[0]) - 1);
}

static void look_sorted(const opc_sample_t *sample) {
  const opc_tensor_spec_t *index = tensor(sample, INDEX);
  for (int64_t i = 0; i < index->sizes[0]; i++)
    assert_true(at(index, i) >= 2 && at(index, i) < 9 && (i == 0 || at(index, i - 1) <= at(index, i)));
}

static void look_range(const opc_sample_t *sample) {
  const opc_tensor_spec_t *x = tensor(sample, X), *index = tensor(sample, INDEX);
  assert_int_equal(index->fill.kind, OPC_FILL_RANGE);
  assert_int_equal(index->fill.lo, 0);
  assert_int_equal(index->fill.hi, x->sizes[0]);
}

static void look_floats(const opc_sample_t *sample) {
  const opc_tensor_spec_t *x = tensor(sample, X), *index = tensor(sample, INDEX);
  for (size_t i = 0; i < x->fill.value_count; i++)
    assert_true(x->fill.values[i].f >= 0.5 && x->fill.values[i].f <= 0.75);
  assert_int_equal(x->fill.value_count, 6);
  assert_int_equal(index->fill.kind, OPC_FILL_FULL);
}

#define INDEX_FILL(shape, more) \
  "{\"operator\": \"ns::op\", \"arguments\": {\"x\": [\"T\"], \"index\": {\"shape\": " shape ", " more "}}}"

static void test_values(void **state) {
  (void)state;
  draw(INDEX_FILL("[2, \"B + 1\"]", "\"fill\": {\"offsets\": \"T\"}"), look_offsets);
  draw(INDEX_FILL("[\"B\"]", "\"dtype\": \"int32\", \"fill\": {\"lengths\": \"T\"}"), look_lengths);
  draw(INDEX_FILL("[\"B\"]", "\"fill\": {\"reaching\": \"T\"}"), look_reaching);
  draw(INDEX_FILL("[\"B\"]", "\"fill\": \"permutation\""), look_permutation);
  draw(INDEX_FILL("[\"B\"]", "\"fill\": {\"sorted\": [2, 9]}"), look_sorted);
  draw(INDEX_FILL("[\"B\"]", "\"fill\": {\"range\": [0, \"T\"]}"), look_range);
  draw(
      "{\"operator\": \"ns::op\", \"arguments\": {\"x\": {\"shape\": [2, 3], \"fill\": {\"between\": [0.5, 0.75]}}, "
      "\"index\": {\"shape\": [2], \"fill\": {\"full\": 3}}}}",
      look_floats);
}

static void look_lists(const opc_sample_t *sample) {
  const opc_value_t *tensors = &sample->arguments[TENSORS], *sizes = &sample->arguments[SIZES],
                    *pair = &sample->arguments[PAIR];
  int64_t sum = 0;
  assert_int_equal(tensors->list.count, sizes->list.count); /* equal lengths */
  assert_true(tensors->list.count >= 1 && tensors->list.count <= 4);
  for (size_t i = 0; i < tensors->list.count; i++) {
    assert_int_equal(tensors->list.items[i].tensor->ndim, 2);
    assert_int_equal(tensors->list.items[i].tensor->sizes[1], 3);
    sum += sizes->list.items[i].integer;
  }
  assert_int_equal(sum, tensor(sample, X)->sizes[0]);
  assert_int_equal(pair->list.count, 2);
  assert_int_equal(pair->list.items[0].integer, 7);
  assert_int_equal(pair->list.items[1].integer, tensor(sample, X)->sizes[0]);
}

static void test_lists(void **state) {
  (void)state;
  draw(
      "{\"operator\": \"ns::op\", \"sizes\": {\"L\": [1, 4]}, \"arguments\": {\"x\": [\"T\"], \"tensors\": "
      "{\"length\": \"L\", \"each\": [\"A\", 3]}, "
      "\"sizes\": {\"length\": \"L\", \"fill\": {\"lengths\": \"T\"}}, \"pair\": [7, \"T\"]}}",
      look_lists);
}

/* What the recipe does not mention belongs to the caller; what it mentions is reset. */
static void test_restore(void **state) {
  (void)state;
  opc_recipe_set_t set = {0};
  opc_error_t error = {0};
  opc_sample_t from, sample;
  opc_rng_t rng = {.seed = 1};
  assert_ok(
      read_text("{\"operator\": \"ns::op\", \"arguments\": {\"x\": [\"A\"], \"k\": {\"given\": false}}}", &set, &error),
      error);
  assert_int_equal(opc_sample_init(&from, &op, NULL), OPC_OK);
  assert_true(opc_recipe_draw(set.recipes[0], &rng, &from, NULL, 0));
  assert_int_equal(opc_sample_copy(&from, &sample, NULL), OPC_OK);
  sample.arguments[X].tensor->sizes[0] = 99;
  sample.absent[K] = false;
  sample.arguments[N] = (opc_value_t){.kind = OPC_VALUE_INT, .integer = 5};
  assert_true(opc_recipe_restore(set.recipes[0], &from, &sample));
  assert_int_equal(sample.arguments[X].tensor->sizes[0], from.arguments[X].tensor->sizes[0]);
  assert_true(sample.absent[K]);
  assert_int_equal(sample.arguments[N].integer, 5);
  assert_ptr_equal(opc_recipe_find(&set, "ns::op"), set.recipes[0]);
  assert_null(opc_recipe_find(&set, "ns::other"));
  assert_non_null(strstr(opc_recipe_origin(set.recipes[0]), "recipes.json:2"));
  opc_sample_clear(&from);
  opc_sample_clear(&sample);
  opc_recipe_set_clear(&set);
}

/* ---- expressions ---- */

static bool seven(const char *name, int64_t *out, void *context) {
  (void)context;
  *out = 7;
  return strcmp(name, "a") == 0;
}

static void test_expressions(void **state) {
  (void)state;
  static const struct {
    const char *text;
    opc_expression_end_t end;
    int64_t value;
  } rows[] = {
      {"1 + 2 * 3", OPC_EXPRESSION_VALUE, 7},
      {"(1 + 2) * 3", OPC_EXPRESSION_VALUE, 9},
      {"10 - 3 - 2", OPC_EXPRESSION_VALUE, 5},
      {"-a", OPC_EXPRESSION_VALUE, -7},
      {"-7 / 2", OPC_EXPRESSION_VALUE, -4},
      {"-7 % 2", OPC_EXPRESSION_VALUE, 1},
      {"7 % -2", OPC_EXPRESSION_VALUE, -1},
      {"min(a, 3) + max(a, 3)", OPC_EXPRESSION_VALUE, 10},
      {"a == 7", OPC_EXPRESSION_VALUE, 1},
      {"a != 7", OPC_EXPRESSION_VALUE, 0},
      {"a + 1 >= 8", OPC_EXPRESSION_VALUE, 1},
      {"a <= 6", OPC_EXPRESSION_VALUE, 0},
      {"a < 8", OPC_EXPRESSION_VALUE, 1},
      {"a > 7", OPC_EXPRESSION_VALUE, 0},
      {"b", OPC_EXPRESSION_NAME, 0},
      {"1 / (a - 7)", OPC_EXPRESSION_ARITHMETIC, 0},
      {"1 % 0", OPC_EXPRESSION_ARITHMETIC, 0},
      {"9223372036854775807 + 1", OPC_EXPRESSION_ARITHMETIC, 0},
      {"9223372036854775808", OPC_EXPRESSION_SYNTAX, 0},
      {"", OPC_EXPRESSION_SYNTAX, 0},
      {"1 2", OPC_EXPRESSION_SYNTAX, 0},
      {"(1", OPC_EXPRESSION_SYNTAX, 0},
      {"min(1)", OPC_EXPRESSION_SYNTAX, 0},
      {"a ** 2", OPC_EXPRESSION_SYNTAX, 0},
      {"1 < 2 < 3", OPC_EXPRESSION_SYNTAX, 0},
      {"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1", OPC_EXPRESSION_SYNTAX, 0},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    char why[128];
    int64_t value = 0;
    opc_expression_end_t end = opc_expression_value(rows[i].text, seven, NULL, &value, why, sizeof why);
    if (end != rows[i].end || value != rows[i].value)
      fail_msg("%s: %d, %lld", rows[i].text, (int)end, (long long)value);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_mistakes),
      cmocka_unit_test(test_mistakes_around),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_ranks_and_dtypes),
      cmocka_unit_test(test_numbers_and_words),
      cmocka_unit_test(test_given),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_lists),
      cmocka_unit_test(test_restore),
      cmocka_unit_test(test_expressions),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
