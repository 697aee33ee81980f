/* The search, tested with operators that are C functions: they reject with the texts of real ones, crash, or return. */
#include "fake_operator.h"

#include <stdio.h>
#include <string.h>

#include "search/draft/search_inside.h"

static void run_identity(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)message;
  returned(tried, opc_tensor_spec_numel(tensor(sample, 0)));
}

/* The names do not help: only the texts do. */
static void run_boxes(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0), *y = tensor(sample, 1);
  if (x->ndim != 4)
    REJECT("Expected input_c.ndimension() == 4 to be true, but got false.  (Could this error message be improved?)");
  if (y->ndim != 2 || y->sizes[1] != 5) REJECT("Tensor rois should have shape as Tensor[K, 5]");
  if (integer(sample, 2) < 1) REJECT("pooled size must be positive, got %d", (int)integer(sample, 2));
  if (x->dtype != y->dtype)
    REJECT("Expected tensor for argument #1 'input' to have the same type as tensor for argument #2 'rois'");
  returned(tried, y->sizes[0] * x->sizes[1] * integer(sample, 2));
}

static void run_typed(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0), *y = tensor(sample, 1);
  if (x->ndim != 3)
    REJECT("/builds/lib/kernel.cpp:1234: expected a 3D tensor, but found %d-dimensional tensor instead", x->ndim);
  if (x->dtype != OPC_DTYPE_FLOAT64)
    REJECT("expected scalar type Double but found %s", x->dtype == OPC_DTYPE_FLOAT32 ? "Float" : "Long");
  if (y->dtype != OPC_DTYPE_INT32) REJECT("_1 must be an int32 tensor");
  if (y->ndim != 1) REJECT("TensorAccessor expected 1 dims but tensor has %d", y->ndim);
  if (y->sizes[0] != x->sizes[0] + 1)
    REJECT("_1.size(0) is not valid: got: %d expected: %d", (int)y->sizes[0], (int)x->sizes[0] + 1);
  returned(tried, opc_tensor_spec_numel(x));
}

/* The same for an operator that aborts instead of throwing: with its reason printed, and without. */
static void run_aborts(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  run_typed(sample, tried, message);
  if (tried->outcome != OPC_TRY_REJECTED) return;
  tried->outcome = OPC_TRY_CRASHED;
  tried->said = message;
}

static void run_aborts_silently(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  run_aborts(sample, tried, message);
  tried->said = NULL;
  message[0] = '\0';
}

static void run_linear(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *x = tensor(sample, 0), *y = tensor(sample, 1);
  if (x->ndim != 2 || y->ndim != 2) REJECT("both arguments must be 2D, got %dD and %dD", x->ndim, y->ndim);
  if (x->sizes[1] != y->sizes[0])
    REJECT("mat1 and mat2 shapes cannot be multiplied (%dx%d and %dx%d)", (int)x->sizes[0], (int)x->sizes[1],
           (int)y->sizes[0], (int)y->sizes[1]);
  returned(tried, x->sizes[0] * y->sizes[1]);
}

static void run_mode(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const char *mode = sample->arguments[1].string;
  if (strcmp(mode, "zigzag") != 0) REJECT("mode '%s' is unknown: it must be one of 'zigzag'", mode);
  returned(tried, opc_tensor_spec_numel(tensor(sample, 0)));
}

static void run_list(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  size_t length = sample->arguments[1].list.count;
  if (length != 6) REJECT("padding size is expected to be 6, but got: %zu", length);
  returned(tried, opc_tensor_spec_numel(tensor(sample, 0)));
}

/* An out-of-range index crashes it; so does a size of 0. */
static void run_crashes_on_index(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_tensor_spec_t *index = tensor(sample, 1);
  (void)message;
  if (integer(sample, 2) == 0 || index->fill.kind != OPC_FILL_ZEROS || index->dtype != OPC_DTYPE_INT64)
    tried->outcome = OPC_TRY_CRASHED;
  else returned(tried, opc_tensor_spec_numel(tensor(sample, 0)));
}

static void run_always_crashes(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample, (void)message;
  tried->outcome = OPC_TRY_CRASHED;
}

static void run_never_ends(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample, (void)message;
  tried->outcome = OPC_TRY_TIMEOUT;
}

static void run_needs_cuda(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample;
  REJECT("Found no NVIDIA driver on your system.");
}

static void run_no_kernel(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample, (void)message;
  tried->outcome = OPC_TRY_NO_KERNEL;
}

static void run_unprovided(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  if (sample->arguments[0].tensor->ndim != 4) REJECT("x has another rank");
  tried->outcome = OPC_TRY_NO_KERNEL;
  strcpy(message, "this operator called doIt of libhere.so.12; a stub library replaces that library");
}

static void run_refuses_all(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample;
  REJECT("this operator was removed in version 0.3");
}

static void run_without_effect(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample, (void)message;
  *tried = (opc_tried_t){.outcome = OPC_TRY_RETURNED};
}

static void run_number(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample, (void)message;
  *tried = (opc_tried_t){.outcome = OPC_TRY_RETURNED, .effect = true};
}

/* All of its results depend on memory that it never wrote. */
static void run_forgets(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  snprintf(message, 256, "with these arguments its result depends on memory that nothing initialised");
  *tried = (opc_tried_t){
      .outcome = OPC_TRY_UNINITIALISED, .effect = true, .output_numel = opc_tensor_spec_numel(tensor(sample, 0))};
}

/* Only if it accepts a shape that it does not handle. */
static void run_leaves(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  snprintf(message, 256, "with these arguments it reads outside its tensors' memory");
  *tried = (opc_tried_t){.outcome = OPC_TRY_UNCLEAN,
                         .effect = true,
                         .output_numel = opc_tensor_spec_numel(tensor(sample, 0)),
                         .access.argument = "x"};
}
/* Depends on something else each time: another size, another place. */
static void run_leaves_anywhere(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  static char place[32];
  run_leaves(sample, tried, message);
  snprintf(place, sizeof place, "%lld", (long long)opc_tensor_spec_numel(tensor(sample, 1)));
  tried->access.place = place;
}
static void run_forgets_vectors(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  if (tensor(sample, 0)->ndim < 2) run_forgets(sample, tried, message);
  else run_identity(sample, tried, message);
}

/* Each row is an operator, and the result of its search. */
static const fake_t fakes[] = {
    {"ns::identity", {{"x", "Tensor", NULL, false}}, run_identity, OPC_SEARCH_RICH},
    {"ns::boxes",
     {{"_0", "Tensor", NULL, false}, {"_1", "Tensor", NULL, false}, {"_2", "int", NULL, false}},
     run_boxes,
     OPC_SEARCH_RICH},
    {"ns::typed", {{"_0", "Tensor", NULL, false}, {"_1", "Tensor", NULL, false}}, run_typed, OPC_SEARCH_RICH},
    {"ns::aborts", {{"_0", "Tensor", NULL, false}, {"_1", "Tensor", NULL, false}}, run_aborts, OPC_SEARCH_RICH},
    {"ns::aborts_silently",
     {{"_0", "Tensor", NULL, false}, {"_1", "Tensor", NULL, false}},
     run_aborts_silently,
     OPC_SEARCH_CRASHES},
    {"ns::linear", {{"a", "Tensor", NULL, false}, {"b", "Tensor", NULL, false}}, run_linear, OPC_SEARCH_RICH},
    {"ns::mode", {{"x", "Tensor", NULL, false}, {"mode", "str", NULL, false}}, run_mode, OPC_SEARCH_RICH},
    {"ns::list", {{"x", "Tensor", NULL, false}, {"padding", "int[]", NULL, false}}, run_list, OPC_SEARCH_RICH},
    {"ns::index",
     {{"x", "Tensor", NULL, false}, {"index", "Tensor", NULL, false}, {"n", "int", NULL, false}},
     run_crashes_on_index,
     OPC_SEARCH_RICH},
    {"ns::crashes", {{"x", "Tensor", NULL, false}}, run_always_crashes, OPC_SEARCH_CRASHES},
    {"ns::hangs", {{"x", "Tensor", NULL, false}}, run_never_ends, OPC_SEARCH_CRASHES},
    {"ns::cuda", {{"x", "Tensor", NULL, false}}, run_needs_cuda, OPC_SEARCH_IMPOSSIBLE},
    {"ns::no_kernel", {{"x", "Tensor", NULL, false}}, run_no_kernel, OPC_SEARCH_IMPOSSIBLE},
    {"ns::unprovided", {{"x", "Tensor", NULL, false}}, run_unprovided, OPC_SEARCH_NOT_FOUND},
    {"ns::removed", {{"x", "Tensor", NULL, false}}, run_refuses_all, OPC_SEARCH_NOT_FOUND},
    {"ns::idle", {{"x", "Tensor", NULL, false}}, run_without_effect, OPC_SEARCH_TRIVIAL},
    {"ns::forgets", {{"x", "Tensor", NULL, false}}, run_forgets, OPC_SEARCH_FOUND},
    {"ns::forgets_vectors", {{"x", "Tensor", NULL, false}}, run_forgets_vectors, OPC_SEARCH_RICH},
    {"ns::leaves", {{"x", "Tensor", NULL, false}}, run_leaves, OPC_SEARCH_FOUND},
    {"ns::leaves_two", {{"x", "Tensor", NULL, false}, {"y", "Tensor", NULL, false}}, run_leaves, OPC_SEARCH_FOUND},
    {"ns::leaves_anywhere",
     {{"x", "Tensor", NULL, false}, {"y", "Tensor", NULL, false}},
     run_leaves_anywhere,
     OPC_SEARCH_NOT_FOUND},
    {"ns::version", {{NULL, NULL, NULL, false}}, run_number, OPC_SEARCH_RICH},
    {"ns::object", {{"x", "__torch__.torch.classes.ns.Name", NULL, false}}, run_number, OPC_SEARCH_IMPOSSIBLE},
    {"ns::optional_object",
     {{"x", "Tensor", NULL, false}, {"y", "__torch__.torch.classes.ns.Name?", NULL, false}},
     run_identity,
     OPC_SEARCH_RICH},
    {"ns::name", {{"x", "Tensor", NULL, false}, {"d", "Dimname", NULL, false}}, run_identity, OPC_SEARCH_IMPOSSIBLE},
};

static void test_states(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT(fakes); i++) {
    opc_operator_t op = fake_operator(&fakes[i]);
    for (uint64_t seed = 0; seed < 5; seed++) {
      int tries;
      opc_search_t *search = fake_search(&fakes[i], &op, seed, &tries, NULL);
      opc_search_state_t found = opc_search_state(search);
      if (found != fakes[i].wanted) {
        fail_msg("%s, seed %d: %s instead of %s: %s", fakes[i].name, (int)seed, opc_search_state_name(found),
                 opc_search_state_name(fakes[i].wanted), opc_search_detail(search));
      }
      assert_true(opc_search_detail(search)[0] != '\0');
      assert_true(tries <= BUDGET);
      opc_search_free(search);
    }
    opc_operator_clear(&op);
  }
}

static void test_samples_are_named_and_of_different_shapes(void **state) {
  (void)state;
  opc_operator_t op = fake_operator(&fakes[1]);
  opc_sample_set_t set = {0};
  uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
  opc_error_t error = {0};
  int tries;
  opc_search_t *search = fake_search(&fakes[1], &op, 7, &tries, NULL);
  assert_ok(opc_search_samples(search, &set, digests, &error), error);
  assert_in_range(set.count, 2, 3);
  for (size_t i = 0; i < set.count; i++) {
    char message[256] = "";
    opc_tried_t tried = {0};
    assert_true(strncmp(set.samples[i].name, "s-", 2) == 0);
    assert_int_equal(set.samples[i].source, OPC_SAMPLE_SEARCHED);
    fakes[1].run(&set.samples[i], &tried, message);
    assert_int_equal(tried.outcome, OPC_TRY_RETURNED);
    assert_true(tried.output_numel >= 2);
  }
  assert_string_not_equal(set.samples[0].name, set.samples[1].name);
  opc_sample_set_clear(&set);
  opc_search_free(search);
  opc_operator_clear(&op);
}

static void test_the_same_seed_gives_the_same_tries(void **state) {
  (void)state;
  opc_text_t first = {0}, second = {0}, other = {0};
  opc_operator_t op = fake_operator(&fakes[2]);
  int tries;
  opc_search_free(fake_search(&fakes[2], &op, 3, &tries, &first));
  opc_search_free(fake_search(&fakes[2], &op, 3, &tries, &second));
  opc_search_free(fake_search(&fakes[2], &op, 4, &tries, &other));
  assert_string_equal(opc_text_c(&first), opc_text_c(&second));
  assert_string_not_equal(opc_text_c(&first), opc_text_c(&other));
  opc_text_clear(&first);
  opc_text_clear(&second);
  opc_text_clear(&other);
  opc_operator_clear(&op);
}

static void test_hangs_end_a_search_early(void **state) {
  (void)state;
  const fake_t *fake = NULL;
  for (size_t i = 0; i < COUNT(fakes); i++) {
    if (strcmp(fakes[i].name, "ns::hangs") == 0) fake = &fakes[i];
  }
  opc_operator_t op = fake_operator(fake);
  int tries;
  opc_search_free(fake_search(fake, &op, 0, &tries, NULL));
  assert_true(tries < 40); /* each costs seconds */
  opc_operator_clear(&op);
}

static const fake_t *fake_of(const char *name) {
  for (size_t i = 0; i < COUNT(fakes); i++)
    if (strcmp(fakes[i].name, name) == 0) return &fakes[i];
  fail_msg("no operator %s", name);
  return NULL;
}

/* If all accepted arguments depend on uninitialised memory, or go out of bounds of their only tensor, the search gives
 * one sample of them. Clean ones are preferred to it. */
static void test_suspects(void **state) {
  (void)state;
  static const struct {
    const char *name;
    size_t least, most;
    int kind;
  } rows[] = {{"ns::forgets", 1, 1, OPC_TRY_UNINITIALISED},
              {"ns::leaves", 1, 1, OPC_TRY_UNCLEAN},
              {"ns::leaves_two", 1, 1, OPC_TRY_UNCLEAN},
              {"ns::leaves_anywhere", 0, 0, OPC_TRY_UNCLEAN},
              {"ns::forgets_vectors", 2, 3, OPC_TRY_RETURNED}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    const fake_t *fake = fake_of(rows[i].name);
    opc_operator_t op = fake_operator(fake);
    opc_sample_set_t set = {0};
    uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
    opc_error_t error = {0};
    int tries;
    opc_search_t *search = fake_search(fake, &op, 0, &tries, NULL);
    assert_ok(opc_search_samples(search, &set, digests, &error), error);
    assert_in_range(set.count, rows[i].least, rows[i].most);
    for (size_t k = 0; k < set.count; k++) {
      char message[256] = "";
      opc_tried_t tried = {0};
      fake->run(&set.samples[k], &tried, message);
      assert_int_equal(tried.outcome, rows[i].kind);
      assert_true(tried.output_numel >= 2);
    }
    /* If no sample shows a bug, one more sample shows that the operator does not check its arguments. */
    size_t before = set.count;
    assert_ok(opc_search_unchecked(search, &set, &error), error);
    assert_int_equal(set.count - before, strcmp(rows[i].name, "ns::leaves_anywhere") == 0);
    if (set.count > before) assert_true(set.samples[before].unchecked);
    opc_sample_set_clear(&set);
    opc_search_free(search);
    opc_operator_clear(&op);
  }
}

static void test_details(void **state) {
  (void)state;
  static const struct {
    const char *name, *part;
  } rows[] = {
      {"ns::removed", "removed in version 0.3"},
      {"ns::object", "argument 'x'"},
      {"ns::unprovided", "when its arguments were accepted, it called doIt of libhere.so.12"},
      {"ns::identity", "found after 1 try"},
      {"ns::no_kernel", "it has no kernel for the CPU"},
      {"ns::forgets", "found after 1 try; its result depends on uninitialised memory"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const fake_t *fake = fake_of(rows[i].name);
    opc_operator_t op = fake_operator(fake);
    int tries;
    opc_search_t *search = fake_search(fake, &op, 0, &tries, NULL);
    if (!strstr(opc_search_detail(search), rows[i].part)) fail_msg("%s: %s", fake->name, opc_search_detail(search));
    opc_search_free(search);
    opc_operator_clear(&op);
  }
  opc_search_free(NULL);
}

/* Each crash and each hang counts once in the text, whatever it costs. If only crashes occurred, the simplest arguments
 * become the sample. */
static void test_counts_of_crashes(void **state) {
  (void)state;
  const char *const names[] = {"ns::hangs", "ns::crashes"};
  for (size_t i = 0; i < COUNT(names); i++) {
    char wanted[96];
    const fake_t *fake = fake_of(names[i]);
    opc_operator_t op = fake_operator(fake);
    opc_sample_set_t set = {0};
    uint64_t digests[OPC_SEARCH_SAMPLES_MAX];
    int tries;
    opc_search_t *search = fake_search(fake, &op, 0, &tries, NULL);
    if (i == 0) snprintf(wanted, sizeof wanted, "not found in %d tries, %d of them hung", tries, tries);
    else snprintf(wanted, sizeof wanted, "every one of %d tries crashed", tries);
    assert_ptr_equal(strstr(opc_search_detail(search), wanted), opc_search_detail(search));
    assert_int_equal(opc_search_samples(search, &set, digests, NULL), OPC_OK);
    assert_int_equal(set.count, i);
    opc_sample_set_clear(&set);
    opc_search_free(search);
    opc_operator_clear(&op);
  }
}

/* ---- what operators find for each other ---- */

static opc_value_t numbered_tensor(int64_t first) {
  const int64_t size = 3;
  opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_UINT8, 1, &size);
  spec->fill.kind = OPC_FILL_VALUES;
  spec->fill.value_count = 3;
  spec->fill.values = calloc(3, sizeof *spec->fill.values);
  for (int i = 0; i < 3; i++) spec->fill.values[i] = (opc_number_t){.kind = OPC_NUMBER_INT, .i = first + i};
  return (opc_value_t){.kind = OPC_VALUE_TENSOR, .tensor = spec};
}

/* Accepts only what the other operator returned. */
static void run_decode(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_fill_t *fill = &tensor(sample, 0)->fill;
  if (fill->kind != OPC_FILL_VALUES || fill->value_count != 3 || fill->values[0].i != 77) REJECT("not a packed tensor");
  returned(tried, 3);
}
/* Accepts only the number that the other operator accepted. */
static void run_same_number(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  if (sample->absent[1] || integer(sample, 1) != 1234) REJECT("no");
  returned(tried, opc_tensor_spec_numel(tensor(sample, 0)));
}
static void run_object(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  const opc_value_t *object = &sample->arguments[0];
  if (object->kind != OPC_VALUE_OBJECT || object->object.init_count != 1 ||
      object->object.init[0].kind != OPC_VALUE_INT)
    REJECT("no object");
  returned(tried, 4);
}

static void test_library(void **state) {
  (void)state;
  static const fake_t pack = {
      "ns::pack_bits", {{"x", "Tensor", NULL, false}, {"code", "int", NULL, false}}, run_identity, OPC_SEARCH_RICH};
  static const struct {
    fake_t fake;
    int round;
    opc_search_state_t wanted;
  } rows[] = {
      {{"ns::unpack_bits", {{"data", "Tensor", NULL, false}}, run_decode, 0},
       1,
       OPC_SEARCH_NOT_FOUND}, /* the current round is not visible */
      {{"ns::unpack_bits", {{"data", "Tensor", NULL, false}}, run_decode, 0}, 2, OPC_SEARCH_FOUND},
      {{"ns::scale", {{"x", "Tensor", NULL, false}, {"code", "int", NULL, false}}, run_same_number, 0},
       1,
       OPC_SEARCH_NOT_FOUND},
      {{"ns::scale", {{"x", "Tensor", NULL, false}, {"code", "int", NULL, false}}, run_same_number, 0},
       2,
       OPC_SEARCH_RICH},
      {{"ns::apply", {{"object", "__torch__.torch.classes.ns.Name", NULL, false}}, run_object, 0}, 1, OPC_SEARCH_RICH},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_operator_t operators[2] = {fake_operator(&pack), fake_operator(&rows[i].fake)};
    struct opc_method method = {(char *)"__init__",
                                (char *)"__init__(__torch__.torch.classes.ns.Name self, int size) -> NoneType"};
    opc_class_t class_ = {.name = (char *)"ns.Name", .methods = &method, .method_count = 1};
    opc_search_library_t *library;
    opc_search_t *search;
    opc_sample_t sample, accepted;
    opc_error_t error = {0};
    opc_value_t *outputs = calloc(1, sizeof *outputs);
    outputs[0] = numbered_tensor(77);
    assert_ok(
        opc_search_library_new(
            &(opc_search_loaded_t){.operators = operators, .operator_count = 2, .classes = &class_, .class_count = 1},
            &library, &error),
        error);
    assert_ok(opc_sample_init(&accepted, &operators[0], &error), error);
    accepted.arguments[0] = numbered_tensor(1);
    accepted.arguments[1] = (opc_value_t){.kind = OPC_VALUE_INT, .integer = 1234};
    accepted.absent[0] = accepted.absent[1] = false;
    assert_ok(opc_search_library_add(library, &operators[0], 1, &accepted, outputs, 1, &error), error);
    opc_search_options_t options = {.budget = BUDGET, .library = library, .round = rows[i].round};
    assert_ok(opc_search_new(&operators[1], &options, &search, &error), error);
    while (opc_search_next(search, &sample)) {
      char message[256] = "";
      opc_tried_t tried = {0};
      rows[i].fake.run(&sample, &tried, message);
      tried.message = message;
      opc_search_report(search, &tried);
      opc_sample_clear(&sample);
    }
    if (opc_search_state(search) != rows[i].wanted)
      fail_msg("row %zu: %s: %s", i, opc_search_state_name(opc_search_state(search)), opc_search_detail(search));
    opc_search_free(search);
    opc_sample_clear(&accepted);
    opc_search_library_free(library);
    for (int k = 0; k < 2; k++) opc_operator_clear(&operators[k]);
  }
  opc_search_library_free(NULL);
}

/* ---- no progress ---- */

static int asked; /* calls of run_never and run_always_new */

static void run_never(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample;
  asked++;
  REJECT("this is not implemented");
}

/* A word for each call: every try ends at a new place. */
static void run_always_new(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  (void)sample;
  char word[] = "not of kind aaa";
  for (int i = 0, rest = asked++; i < 3; i++, rest /= 26) word[12 + i] = (char)('a' + rest % 26);
  REJECT(word);
}

static int tries_of(const fake_t *fake, int round, int budget) {
  opc_operator_t op = fake_operator(fake);
  opc_search_t *search;
  opc_sample_t sample;
  opc_error_t error = {0};
  const opc_search_options_t options = {.budget = budget, .round = round};
  asked = 0;
  assert_ok(opc_search_new(&op, &options, &search, &error), error);
  while (opc_search_next(search, &sample)) {
    char message[256] = "";
    opc_tried_t tried = {0};
    fake->run(&sample, &tried, message);
    tried.message = message;
    opc_search_report(search, &tried);
    opc_sample_clear(&sample);
  }
  opc_search_free(search);
  opc_operator_clear(&op);
  return asked;
}

/* A later round ends early where all refusals are known; the first one, and one that gets further, do not. */
static void test_no_progress(void **state) {
  (void)state;
  static const fake_t never = {
      "ns::never", {{"x", "Tensor", NULL, false}, {"count", "int", NULL, false}}, run_never, OPC_SEARCH_NOT_FOUND};
  static const fake_t ever_new = {
      "ns::ever_new", {{"x", "Tensor", NULL, false}, {"count", "int", NULL, false}}, run_always_new, 0};
  assert_int_equal(tries_of(&never, 1, 300), 300);
  assert_true(tries_of(&never, 2, 1500) < 600);
  assert_int_equal(tries_of(&ever_new, 2, 700), 700);
}

/* The throw site distinguishes equal texts: getting to another site is progress. */
static void run_equal_words(const opc_sample_t *sample, opc_tried_t *tried, char *message) {
  static const char *const names[] = {"1a", "2b"};
  for (size_t i = 0; i < 2; i++) {
    if (tensor(sample, i)->ndim == 3) continue;
    tried->site = names[i];
    REJECT("wrong rank");
  }
  returned(tried, 4);
}

static void test_families_by_name(void **state) {
  (void)state;
  opc_error_t error = {0};
  uint64_t families = 1;
  assert_int_equal(opc_search_families_of(NULL, &families, &error), OPC_OK);
  assert_int_equal(families, 0);
  assert_int_equal(opc_search_families_of("redraw,seed", &families, &error), OPC_OK);
  assert_int_equal(families, UINT64_C(1) << OPC_FAMILY_REDRAW | UINT64_C(1) << OPC_FAMILY_SEED);
  /* The beginning of a name is no name. */
  assert_int_equal(opc_search_families_of("seed,librar", &families, &error), OPC_ERR_USAGE);
  assert_non_null(strstr(error.message, "no family of tries \"librar\"; it has seed, mutation,"));
}

static void test_equal_words_at_two_places(void **state) {
  (void)state;
  static const fake_t fake = {
      "ns::ranks", {{"_0", "Tensor", NULL, false}, {"_1", "Tensor", NULL, false}}, run_equal_words, OPC_SEARCH_RICH};
  opc_operator_t op = fake_operator(&fake);
  int tries;
  opc_search_t *search = fake_search(&fake, &op, 0, &tries, NULL);
  assert_int_equal(opc_search_state(search), OPC_SEARCH_RICH);
  json_t *record = opc_search_to_json(search);
  assert_int_equal(json_integer_value(json_object_get(record, "tries")), tries);
  assert_string_equal(json_string_value(json_object_get(record, "state")), "rich");
  assert_true(json_integer_value(json_object_get(record, "places")) >= 2);
  assert_true(json_is_array(json_object_get(json_object_get(record, "families"), "seed")));
  json_decref(record);
  opc_search_free(search);
  opc_operator_clear(&op);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_states),
      cmocka_unit_test(test_samples_are_named_and_of_different_shapes),
      cmocka_unit_test(test_the_same_seed_gives_the_same_tries),
      cmocka_unit_test(test_hangs_end_a_search_early),
      cmocka_unit_test(test_suspects),
      cmocka_unit_test(test_details),
      cmocka_unit_test(test_counts_of_crashes),
      cmocka_unit_test(test_library),
      cmocka_unit_test(test_no_progress),
      cmocka_unit_test(test_families_by_name),
      cmocka_unit_test(test_equal_words_at_two_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
