/* What the search offers once an operator has accepted something: options, sizes of outputs, lists, integers that are
 * indices, patterns or data. */
#include "fake_operator.h"

#include <string.h>

#include "base/owned.h"
#include "model/sample/relations.h"

/* ---- options ---- */

/* A row with as many elements as x has rows, if it is given; three modes. */
static void run_options(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0);
  bool given = !sample->absent[2] && sample->arguments[2].kind == OPC_VALUE_TENSOR;
  const char *mode = sample->absent[3] ? "sum" : sample->arguments[3].string;
  int64_t groups = sample->absent[4] ? 1 : sample->arguments[4].integer;
  if (x->ndim != 2) REJECT("x must be 2-D");
  if (given && (tensor(sample, 2)->ndim != 1 || tensor(sample, 2)->sizes[0] != x->sizes[0]))
    REJECT("bias must have an element a row");
  if (strcmp(mode, "sum") != 0 && strcmp(mode, "widest") != 0 && strcmp(mode, "median") != 0)
    REJECT("mode must be 'sum', 'widest' or 'median'");
  if (groups != 1 && groups != 2) REJECT("groups must be 1 or 2");
  returned(tried, opc_tensor_spec_numel(x));
  uint64_t causal = !sample->absent[1] && sample->arguments[1].boolean;
  tried->digest = 1 + causal + 2 * (uint64_t)given + 4 * (uint64_t)mode[0] + 1024 * (uint64_t)groups;
}

static void test_options(void **state) {
  (void)state;
  static const fake_t fake = {"ns::options",
                              {{"x", "Tensor", NULL, false},
                               {"causal", "bool", "False", true},
                               {"bias", "Tensor?", "None", true},
                               {"mode", "str", "\"sum\"", true},
                               {"groups", "int", "1", true}},
                              run_options,
                              OPC_SEARCH_RICH};
  opc_operator_t op = fake_operator(&fake);
  for (uint64_t seed = 0; seed < 5; seed++) {
    opc_sample_set_t set = {0};
    uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
    opc_error_t error = {0};
    int tries, varied = 0;
    bool flags[2] = {false}, biases[2] = {false}, median = false, widest = false, groups[3] = {false};
    opc_search_t *search = fake_search(&fake, &op, seed, &tries, NULL);
    assert_ok(opc_search_samples(search, &set, digests, &error), error);
    for (size_t i = 0; i < set.count; i++) {
      const opc_sample_t *sample = &set.samples[i];
      char message[256] = "";
      opc_tried_t tried = {0};
      run_options(sample, &tried, message);
      assert_int_equal(tried.outcome, OPC_TRY_RETURNED);
      assert_int_equal(tried.digest, digests[i]);
      assert_true(sample->varied || varied == 0); /* those come last */
      varied += sample->varied;
      flags[!sample->absent[1] && sample->arguments[1].boolean] = true;
      biases[!sample->absent[2] && sample->arguments[2].kind == OPC_VALUE_TENSOR] = true;
      groups[sample->absent[4] ? 1 : sample->arguments[4].integer] = true;
      widest |= !sample->absent[3] && strcmp(sample->arguments[3].string, "widest") == 0;
      median |= !sample->absent[3] && strcmp(sample->arguments[3].string, "median") == 0;
    }
    assert_in_range(varied, 1, 3);
    assert_true(flags[0] && flags[1] && biases[0] && biases[1] && groups[1] && groups[2] && widest && median);
    opc_sample_set_clear(&set);
    opc_search_free(search);
  }
  opc_operator_clear(&op);
}

/* Resizes out to one number per row, as libtorch's operators do. */
static void run_out(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0);
  if (x->ndim != 2) REJECT("x must be 2-D");
  returned(tried, x->sizes[0]);
}

static void test_out_of_its_own_size(void **state) {
  (void)state;
  static const fake_t fake = {
      "ns::out", {{"x", "Tensor", NULL, false}, {"out", "Tensor", NULL, true}}, run_out, OPC_SEARCH_RICH};
  opc_operator_t op = fake_operator(&fake);
  op.arguments[1].alias.is_write = true;
  for (uint64_t seed = 0; seed < 5; seed++) {
    opc_sample_set_t set = {0};
    opc_error_t error = {0};
    uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
    int tries, fitting = 0;
    opc_search_t *search = fake_search(&fake, &op, seed, &tries, NULL);
    assert_ok(opc_search_samples(search, &set, digests, &error), error);
    for (size_t i = 0; i < set.count; i++) {
      const opc_tensor_spec_t *x = tensor(&set.samples[i], 0), *out = tensor(&set.samples[i], 1);
      fitting += out->ndim == 1 && out->sizes[0] == x->sizes[0];
    }
    assert_true(fitting > 0);
    opc_sample_set_clear(&set);
    opc_search_free(search);
  }
  opc_operator_clear(&op);
}

/* Tensors as large as those of the other list, or nulls. */
static void run_buffers(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_value_t *params = &sample->arguments[0], *buffers = &sample->arguments[1];
  if (params->list.count != buffers->list.count) REJECT("buffers must have length %zu", params->list.count);
  for (size_t i = 0; i < params->list.count; i++) {
    const opc_value_t *param = &params->list.items[i], *buffer = &buffers->list.items[i];
    if (buffer->kind == OPC_VALUE_NONE) continue;
    const opc_tensor_spec_t *left = param->tensor, *right = buffer->tensor;
    if (left->ndim != right->ndim || memcmp(left->sizes, right->sizes, (size_t)left->ndim * sizeof left->sizes[0]) != 0)
      REJECT("shapes differ");
    if (left->dtype != right->dtype) REJECT("dtypes differ");
  }
  returned(tried, opc_tensor_spec_numel(params->list.items[0].tensor));
  for (size_t i = 0; i < buffers->list.count; i++)
    tried->digest = 2 * tried->digest + (buffers->list.items[i].kind == OPC_VALUE_TENSOR);
}

/* Indices of the first dimensions. */
static void run_indices(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0);
  const opc_value_t *indices = &sample->arguments[1];
  if ((size_t)x->ndim < indices->list.count) REJECT("too many indices for tensor of dimension %d", x->ndim);
  for (size_t i = 0; i < indices->list.count; i++) {
    const opc_value_t *index = &indices->list.items[i];
    if (index->kind == OPC_VALUE_NONE) continue;
    if (index->tensor->dtype != OPC_DTYPE_INT64) REJECT("tensors used as indices must be long tensors");
    if (index->tensor->fill.kind == OPC_FILL_VALUES && opc_tensor_spec_numel(index->tensor) > x->sizes[i])
      REJECT("index out of range");
  }
  returned(tried, opc_tensor_spec_numel(x));
  for (size_t i = 0; i < indices->list.count; i++)
    tried->digest = 2 * tried->digest + (indices->list.items[i].kind == OPC_VALUE_TENSOR);
}

/* The found samples contain lists of tensors only, and lists that also have a null. */
static void check_lists(const fake_t *fake) {
  opc_operator_t op = fake_operator(fake);
  for (uint64_t seed = 0; seed < 5; seed++) {
    opc_sample_set_t set = {0};
    opc_error_t error = {0};
    uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
    int tries, full = 0, mixed = 0;
    opc_search_t *search = fake_search(fake, &op, seed, &tries, NULL);
    assert_ok(opc_search_samples(search, &set, digests, &error), error);
    for (size_t i = 0; i < set.count; i++) {
      const opc_value_t *list = &set.samples[i].arguments[1];
      size_t tensors = 0;
      for (size_t k = 0; k < list->list.count; k++) tensors += list->list.items[k].kind == OPC_VALUE_TENSOR;
      full += tensors > 0 && tensors == list->list.count;
      mixed += tensors < list->list.count;
    }
    assert_true(full > 0);
    assert_true(mixed > 0);
    opc_sample_set_clear(&set);
    opc_search_free(search);
  }
  opc_operator_clear(&op);
}

static void test_lists_of_optional_tensors(void **state) {
  (void)state;
  static const fake_t buffers = {"ns::steps",
                                 {{"params", "Tensor[]", NULL, false}, {"buffers", "Tensor?[]", NULL, false}},
                                 run_buffers,
                                 OPC_SEARCH_RICH};
  static const fake_t indices = {
      "ns::index", {{"x", "Tensor", NULL, false}, {"indices", "Tensor?[]", NULL, false}}, run_indices, OPC_SEARCH_RICH};
  check_lists(&buffers);
  check_lists(&indices);
}

static void run_crashes_on_switch(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  bool fast = !sample->absent[1] && sample->arguments[1].boolean;
  if (!fast) returned(tried, opc_tensor_spec_numel(tensor(sample, 0)));
  else *tried = (opc_tried_t){.outcome = OPC_TRY_CRASHED};
  snprintf(message, 256, "%s", fast ? "segmentation fault" : "");
}

/* The arguments were accepted without it: that they do not fit together is no excuse. */
static void test_a_switch_that_crashes(void **state) {
  (void)state;
  static const fake_t fake = {"ns::switches",
                              {{"x", "Tensor", NULL, false}, {"fast", "bool", "False", true}},
                              run_crashes_on_switch,
                              OPC_SEARCH_RICH};
  opc_operator_t op = fake_operator(&fake);
  opc_sample_set_t set = {0};
  opc_error_t error = {0};
  int tries;
  opc_search_t *search = fake_search(&fake, &op, 0, &tries, NULL);
  assert_ok(opc_search_unchecked(search, &set, &error), error);
  assert_int_equal(set.count, 1);
  assert_true(set.samples[0].unchecked && set.samples[0].arguments[1].boolean);
  opc_sample_set_clear(&set);
  opc_search_free(search);
  opc_operator_clear(&op);
}

/* Any codes, and columns, of which there are two; neither is checked. */
static void run_recode(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *codes = tensor(sample, 0), *column = tensor(sample, 1);
  const int64_t highest = column->fill.kind == OPC_FILL_RANGE ? column->fill.hi - 1 : 0;
  if (codes->dtype != OPC_DTYPE_INT64 || codes->ndim != 1) REJECT("codes must be a 1-D int64 tensor");
  if (column->dtype != OPC_DTYPE_INT64) REJECT("column must be int64");
  returned(tried, opc_tensor_spec_numel(codes));
  tried->digest = 1 + (uint64_t)codes->fill.hi;
  if (highest < 0 || highest > 1)
    *tried = (opc_tried_t){.outcome = OPC_TRY_UNCLEAN, .effect = true, .output_numel = 1, .access.argument = "column"};
}

static void run_recode_counts(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_fill_t *fill = &tensor(sample, 0)->fill;
  run_recode(sample, tried, message);
  if (tried->outcome == OPC_TRY_RETURNED && fill->kind == OPC_FILL_RANGE && fill->lo < 0)
    REJECT("a count is not negative");
}

/* Data get values other than zeros and ones, indices do not; trying them is not the operator's fault. */
static void check_codes(const fake_t *fake, bool negative) {
  opc_operator_t op = fake_operator(fake);
  for (uint64_t seed = 0; seed < 5; seed++) {
    opc_sample_set_t set = {0}, unchecked = {0};
    opc_error_t error = {0};
    uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
    int tries, other = 0;
    opc_search_t *search = fake_search(fake, &op, seed, &tries, NULL);
    assert_ok(opc_search_samples(search, &set, digests, &error), error);
    for (size_t i = 0; i < set.count; i++) {
      const opc_fill_t *codes = &tensor(&set.samples[i], 0)->fill, *column = &tensor(&set.samples[i], 1)->fill;
      if (column->kind == OPC_FILL_RANGE) assert_true(column->lo == 0 && column->hi == 2);
      if (codes->hi == 2) continue;
      assert_true(set.samples[i].varied);
      assert_int_equal(codes->hi, 101);
      assert_int_equal(codes->lo, negative ? -100 : 0);
      other++;
    }
    assert_int_equal(other, 1);
    assert_ok(opc_search_unchecked(search, &unchecked, &error), error);
    assert_int_equal(unchecked.count, 0);
    opc_sample_set_clear(&unchecked);
    opc_sample_set_clear(&set);
    opc_search_free(search);
  }
  opc_operator_clear(&op);
}

static void test_integers_that_are_data(void **state) {
  (void)state;
  static const fake_t any = {
      "ns::recode", {{"codes", "Tensor", NULL, false}, {"column", "Tensor", NULL, false}}, run_recode, OPC_SEARCH_RICH};
  static const fake_t counts = {"ns::recode_counts",
                                {{"codes", "Tensor", NULL, false}, {"column", "Tensor", NULL, false}},
                                run_recode_counts,
                                OPC_SEARCH_RICH};
  check_codes(&any, true);
  check_codes(&counts, false);
}

/* The values from a pattern; NULL: it has none. */
static const opc_number_t *values_of(const opc_sample_t *sample, size_t index) {
  const opc_fill_t *fill = &tensor(sample, index)->fill;
  return fill->kind == OPC_FILL_VALUES ? fill->values : NULL;
}

static bool are_vectors(const opc_sample_t *sample) {
  const opc_tensor_spec_t *index = tensor(sample, 1);
  return tensor(sample, 0)->ndim == 1 && tensor(sample, 0)->dtype == OPC_DTYPE_FLOAT32 && index->ndim == 1 &&
         index->sizes[0] > 1 && index->dtype == OPC_DTYPE_INT64;
}

/* Its result depends on uninitialised memory if two neighbours are equal, and differs if they are consecutive. */
static void run_segments(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  if (!are_vectors(sample)) REJECT("both must be vectors, of float32 and of int64");
  const opc_number_t *values = values_of(sample, 1);
  returned(tried, tensor(sample, 1)->sizes[0]);
  tried->digest = values ? 2 : 1;
  if (values && values[0].i == values[1].i) tried->outcome = OPC_TRY_UNINITIALISED;
}

/* Makes a hang independent of the search's draws: only -1 ends. */
static void run_linked_list(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_fill_t *next = &tensor(sample, 1)->fill;
  if (!are_vectors(sample)) REJECT("both must be vectors, of float32 and of int64");
  if (next->kind == OPC_FILL_FULL && next->value.i == -1) returned(tried, 4);
  else tried->outcome = OPC_TRY_TIMEOUT;
}

static const fixture_argument_t vectors[8] = {{"x", "Tensor", NULL, false}, {"index", "Tensor", NULL, false}};

static void test_patterns_of_integers(void **state) {
  (void)state;
  fake_t fake = {.name = "ns::segments", .run = run_segments, .wanted = OPC_SEARCH_RICH};
  memcpy(fake.arguments, vectors, sizeof vectors);
  opc_operator_t op = fake_operator(&fake);
  opc_sample_set_t set = {0}, unchecked = {0};
  opc_error_t error = {0};
  uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
  int tries;
  size_t patterns = 0;
  opc_search_t *search = fake_search(&fake, &op, 0, &tries, NULL);
  assert_ok(opc_search_samples(search, &set, digests, &error), error);
  for (size_t i = 0; i < set.count; i++) {
    const opc_number_t *values = values_of(&set.samples[i], 1);
    if (!values) continue;
    patterns++;
    assert_true(set.samples[i].varied);
    assert_int_equal(values[0].i, 0);
    assert_int_equal(values[1].i, 1);
  }
  assert_int_equal(patterns, 1);
  assert_ok(opc_search_unchecked(search, &unchecked, &error), error);
  assert_int_equal(unchecked.count, 1);
  assert_true(unchecked.samples[0].unchecked && unchecked.samples[0].uninitialised);
  assert_non_null(values_of(&unchecked.samples[0], 1));
  assert_true(values_of(&unchecked.samples[0], 1)[0].i == values_of(&unchecked.samples[0], 1)[1].i);
  opc_sample_set_clear(&unchecked);
  opc_sample_set_clear(&set);
  opc_search_free(search);
  opc_operator_clear(&op);
}

static void test_a_hang_is_followed_by_what_ends(void **state) {
  (void)state;
  fake_t fake = {.name = "ns::list", .run = run_linked_list, .wanted = OPC_SEARCH_RICH};
  memcpy(fake.arguments, vectors, sizeof vectors);
  opc_operator_t op = fake_operator(&fake);
  for (uint64_t seed = 0; seed < 5; seed++) {
    int tries;
    opc_search_t *search = fake_search(&fake, &op, seed, &tries, NULL);
    assert_true(opc_search_is_clean(search));
    opc_search_free(search);
  }
  opc_operator_clear(&op);
}

/* ---- beside samples ---- */

/* Takes any number of dimensions, and a bias as long as the last one. */
static void run_rows(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0);
  const bool given = !sample->absent[1] && sample->arguments[1].kind == OPC_VALUE_TENSOR;
  if (x->ndim < 1) REJECT("x must have dimensions");
  if (x->dtype != OPC_DTYPE_FLOAT32 && x->dtype != OPC_DTYPE_FLOAT16) REJECT("x must be float32 or float16");
  if (given && (tensor(sample, 1)->ndim != 1 || tensor(sample, 1)->sizes[0] != x->sizes[x->ndim - 1]))
    REJECT("bias must have an element a column");
  returned(tried, opc_tensor_spec_numel(x));
  tried->digest = 1 + (uint64_t)given + 2 * (uint64_t)x->ndim + 16 * (uint64_t)x->dtype;
}

/* Takes the first two of any number of dimensions for all of them, and checks nothing. */
static void run_first_two(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0);
  if (x->dtype != OPC_DTYPE_FLOAT32) REJECT("x must be float32");
  returned(tried, x->ndim > 1 ? 6 : 1);
}

/* x is 2 by 3 in the sample that exists, with the values given (NULL: of the usual fill), and the second argument is
 * left out. */
static void search_beside_values(const fake_t *fake, const opc_relations_t *relations, bool kinds_only,
                                 const int64_t *values, opc_sample_set_t *out) {
  const int64_t sizes[] = {2, 3};
  uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
  opc_operator_t op = fake_operator(fake);
  opc_error_t error = {0};
  opc_sample_set_t known = {0};
  opc_sample_t sample, trying;
  opc_search_t *search;
  assert_ok(opc_sample_init(&sample, &op, &error), error);
  sample.arguments[0] =
      (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 2, sizes)};
  if (values) {
    opc_fill_t *fill = &sample.arguments[0].tensor->fill;
    *fill = (opc_fill_t){.kind = OPC_FILL_VALUES, .values = calloc(6, sizeof *fill->values), .value_count = 6};
    assert_non_null(fill->values);
    for (size_t i = 0; i < 6; i++) fill->values[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = values[i]};
  }
  sample.source = OPC_SAMPLE_FILE;
  assert_ok(opc_relations_copy(relations, &sample.relations, &error), error);
  assert_ok(opc_sample_set_add(&known, &sample, &error), error);
  const opc_search_options_t options = {.round = 1, .known = &known, .kinds_only = kinds_only};
  assert_ok(opc_search_new(&op, &options, &search, &error), error);
  while (opc_search_next(search, &trying)) {
    char message[256] = "";
    opc_tried_t tried = {0};
    fake->run(&trying, &tried, message);
    tried.message = tried.outcome == OPC_TRY_RETURNED ? NULL : message;
    opc_search_report(search, &tried);
    opc_sample_clear(&trying);
  }
  assert_ok(opc_search_samples(search, out, digests, &error), error);
  for (size_t i = 0; i < out->count; i++) assert_true(out->samples[i].brief);
  opc_search_free(search);
  opc_sample_set_clear(&known);
  opc_operator_clear(&op);
}

static void search_beside(const fake_t *fake, const opc_relations_t *relations, bool kinds_only,
                          opc_sample_set_t *out) {
  search_beside_values(fake, relations, kinds_only, NULL, out);
}

static const fake_t rows = {
    "ns::rows", {{"x", "Tensor", NULL, false}, {"bias", "Tensor?", "None", false}}, run_rows, OPC_SEARCH_RICH};

static void test_kinds_that_a_sample_lacks(void **state) {
  (void)state;
  for (int kinds_only = 0; kinds_only < 2; kinds_only++) {
    OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t found = {0};
    bool dimensions[OPC_MAX_DIMS + 1] = {false}, narrow = false, biased = false;
    search_beside(&rows, NULL, kinds_only == 1, &found);
    for (size_t i = 0; i < found.count; i++) {
      const opc_sample_t *sample = &found.samples[i];
      const bool given = !sample->absent[1] && sample->arguments[1].kind == OPC_VALUE_TENSOR;
      assert_true(tensor(sample, 0)->ndim != 2 || tensor(sample, 0)->dtype != OPC_DTYPE_FLOAT32 || given);
      dimensions[tensor(sample, 0)->ndim] = true;
      narrow |= tensor(sample, 0)->dtype == OPC_DTYPE_FLOAT16;
      biased |= given;
    }
    assert_true(dimensions[1] && dimensions[3] && dimensions[4] && dimensions[5]);
    assert_int_equal(narrow, kinds_only == 0);
    assert_int_equal(biased, kinds_only == 0);
  }
}

/* Among equal values, an operator that sorts has no gradient: those that a larger tensor repeats differ a little, also
 * zeros and values that a file writes without a point. */
static void test_repeated_values_differ(void **state) {
  (void)state;
  const int64_t values[] = {0, 1, 2, 3, 4, 5};
  OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t found = {0};
  bool larger = false;
  search_beside_values(&rows, NULL, true, values, &found);
  for (size_t i = 0; i < found.count; i++) {
    const opc_fill_t *fill = &tensor(&found.samples[i], 0)->fill;
    assert_int_equal(fill->kind, OPC_FILL_VALUES);
    if (fill->value_count != 12) continue;
    larger = true;
    for (size_t k = 0; k < 6; k++) {
      assert_int_equal(fill->values[k + 6].kind, OPC_NUMBER_FLOAT);
      assert_true(fill->values[k + 6].f != (double)values[k]);
    }
  }
  assert_true(larger);
}

/* Values of float32 that float16 cannot hold are not cast to it. */
static void test_values_that_another_dtype_cannot_hold(void **state) {
  (void)state;
  const int64_t values[] = {0, 1000000, 2, 3, 4, 5};
  OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t found = {0};
  search_beside_values(&rows, NULL, false, values, &found);
  assert_true(found.count > 0);
  for (size_t i = 0; i < found.count; i++) assert_int_not_equal(tensor(&found.samples[i], 0)->dtype, OPC_DTYPE_FLOAT16);
}

/* The dimension that was added has no effect on the result. */
static void test_dimensions_that_nothing_reads(void **state) {
  (void)state;
  static const fake_t fake = {
      "ns::two", {{"x", "Tensor", NULL, false}, {"y", "Tensor?", "None", false}}, run_first_two, OPC_SEARCH_RICH};
  OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t found = {0};
  search_beside(&fake, NULL, true, &found);
  for (size_t i = 0; i < found.count; i++) assert_int_equal(tensor(&found.samples[i], 0)->ndim, 1);
}

/* A size that nothing checks, and that another number of dimensions would move. */
static void test_relations_that_nothing_checks(void **state) {
  (void)state;
  opc_size_place_t place = {.path = "x", .dim = 1};
  opc_relation_t relation = {.kind = OPC_RELATION_FIXED, .places = &place, .place_count = 1, .number = 3};
  const opc_relations_t relations = {.items = &relation, .count = 1};
  for (int checked = 0; checked < 2; checked++) {
    OPC_SCOPED(opc_sample_set_clear) opc_sample_set_t found = {0};
    relation.checked = checked == 1;
    search_beside(&rows, &relations, true, &found);
    assert_int_equal(found.count > 0, checked == 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_options),
      cmocka_unit_test(test_out_of_its_own_size),
      cmocka_unit_test(test_lists_of_optional_tensors),
      cmocka_unit_test(test_a_switch_that_crashes),
      cmocka_unit_test(test_integers_that_are_data),
      cmocka_unit_test(test_patterns_of_integers),
      cmocka_unit_test(test_a_hang_is_followed_by_what_ends),
      cmocka_unit_test(test_kinds_that_a_sample_lacks),
      cmocka_unit_test(test_repeated_values_differ),
      cmocka_unit_test(test_values_that_another_dtype_cannot_hold),
      cmocka_unit_test(test_dimensions_that_nothing_reads),
      cmocka_unit_test(test_relations_that_nothing_checks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
