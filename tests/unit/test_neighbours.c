/* Neighbours of a sample: which calls differ in one thing, and in which order they come. */
#include "variant_listing.h"

static const fixture_argument_t call_arguments[] = {{"x", "Tensor", NULL, false},
                                                    {"weight", "Tensor?", "None", false},
                                                    {"flag", "bool", "False", false},
                                                    {"slope", "float", "0.5", false},
                                                    {"stride", "int[2]", NULL, false},
                                                    {"dim", "int?", "None", false},
                                                    {"reduction", "str", "\"mean\"", false},
                                                    {"sizes", "int[]", "[]", false}};

static int make_call_operator(void **state) {
  (void)state;
  op = fixture_operator("ns::call", "ns::call(…)", call_arguments, COUNT(call_arguments), returns, COUNT(returns));
  return 0;
}

#define X46 "{\"tensor\":{\"shape\":[4,6],\"stream\":\"x\"}}"

static void test_neighbours_of_a_call(void **state) {
  (void)state;
  listing_t listing = list_variants("[{'tensor': {'shape': [4, 6]}}, null, true, 0.5, [2, 2], 1, 'mean', [4, 6]]",
                                    OPC_VARIANT_NEIGHBOUR | OPC_VARIANT_OTHER_SHAPE);
  static const struct {
    const char *name, *arguments;
  } wanted[] = {
      {"flag.flipped", "[" X46 ",null,false,0.5,[2,2],1,\"mean\",[4,6]]"},
      {"dim.left_out", "[" X46 ",null,true,0.5,[2,2],null,\"mean\",[4,6]]"},
      {"all.fewer6", "[{\"tensor\":{\"shape\":[4,3],\"stream\":\"x\"}},null,true,0.5,[2,2],1,\"mean\",[4,6]]"},
      {"all.unsqueezed", "[{\"tensor\":{\"shape\":[1,4,6],\"stream\":\"x\"}},null,true,0.5,[2,2],1,\"mean\",[4,6]]"},
      {"slope.set-0.5", "[" X46 ",null,true,-0.5,[2,2],1,\"mean\",[4,6]]"},
      {"stride.set1", "[" X46 ",null,true,0.5,[1,1],1,\"mean\",[4,6]]"},
      {"dim.set-1", "[" X46 ",null,true,0.5,[2,2],-1,\"mean\",[4,6]]"},
      {"dim.set-2", "[" X46 ",null,true,0.5,[2,2],-2,\"mean\",[4,6]]"},
      {"dim.set2", "[" X46 ",null,true,0.5,[2,2],2,\"mean\",[4,6]]"},
      {"reduction.word_sum", "[" X46 ",null,true,0.5,[2,2],1,\"sum\",[4,6]]"},
      {"weight.like_x", "[" X46 ",{\"tensor\":{\"shape\":[4,6]}},true,0.5,[2,2],1,\"mean\",[4,6]]"},
  };
  for (size_t i = 0; i < COUNT(wanted); i++) {
    size_t at = 0;
    while (at < listing.count && strcmp(listing.names[at], wanted[i].name) != 0) at++;
    if (at == listing.count) fail_msg("%s is not there", wanted[i].name);
    assert_string_equal(listing.samples[at], wanted[i].arguments);
  }
  assert_true(has(&listing, "weight.row6"));
  for (size_t i = 0; i < listing.count; i++) {
    const char *name = listing.names[i];
    assert_int_equal(opc_variant_family(name),
                     strncmp(name, "all.", 4) == 0 ? OPC_VARIANT_OTHER_SHAPE : OPC_VARIANT_NEIGHBOUR);
    /* A list of any length may be sizes or an order, and a word that the sample has already is no other call. */
    if (strncmp(name, "sizes.", 6) == 0 || strcmp(name, "reduction.word_mean") == 0) fail_msg("%s", name);
  }
  listing_clear(&listing);
}

static void test_five_dimensions(void **state) {
  (void)state;
  listing_t listing = list_variants("[{'tensor': {'shape': [4, 6]}}, {'tensor': {'shape': [6]}}, true, 0.5, [2, 2], 1]",
                                    OPC_VARIANT_DEEP);
  assert_int_equal(listing.count, 2);
  assert_string_equal(listing.names[0], "all.deep");
  assert_string_equal(listing.samples[0],
                      "[{\"tensor\":{\"shape\":[2,2,2,4,6],\"stream\":\"x\"}},"
                      "{\"tensor\":{\"shape\":[6],\"stream\":\"weight\"}},true,0.5,[2,2],1]");
  assert_string_equal(listing.names[1], "all.deep_permuted");
  listing_clear(&listing);
  listing = list_variants("[{'tensor': {'shape': [2, 2, 2, 4, 6]}}, null, true, 0.5, [2, 2], 1]", OPC_VARIANT_DEEP);
  assert_int_equal(listing.count, 0);
  listing_clear(&listing);
}

/* The words that the sample states come first, and none comes twice. */
static void test_stated_words(void **state) {
  (void)state;
  opc_error_t error = {0};
  listing_t listing = {0};
  listing.base = sample_of("[{'tensor': {'shape': [4, 6]}}, null, true, 0.5, [2, 2], 1, 'mean', [4, 6]]");
  const size_t reduction = (size_t)opc_operator_argument(&op, "reduction");
  static const char *const words[] = {"nearest", "sum", "nearest"};
  for (size_t i = 0; i < COUNT(words); i++)
    assert_ok(opc_sample_add_word(&listing.base, reduction, words[i], strlen(words[i]), &error), error);
  assert_string_equal(listing.base.words[reduction], "nearest|sum");
  assert_ok(opc_variants_of(&listing.base, &op, OPC_VARIANT_NEIGHBOUR, list_one, &listing, &error), error);
  size_t nearest = listing.count, sum = listing.count, sums = 0;
  for (size_t i = 0; i < listing.count; i++) {
    if (strcmp(listing.names[i], "reduction.word_nearest") == 0) nearest = i;
    if (strcmp(listing.names[i], "reduction.word_sum") == 0) sum = i, sums++;
  }
  assert_int_equal(sums, 1);
  assert_true(nearest < sum && has(&listing, "reduction.word_none"));
  listing_clear(&listing);
}

/* The second batch differs from the first one, and a row stays as it is. */
static void test_second_batch(void **state) {
  (void)state;
  listing_t listing = list_variants(
      "[{'tensor': {'shape': [1, 2, 3], 'fill': {'values': [1, 2, 3, 4, 5, 6]}}}, {'tensor': {'shape': [2, 3]}}, true, "
      "0.5, [2, 2], 1, 'mean', [4, 6]]",
      OPC_VARIANT_OTHER_SHAPE);
  size_t second = 0;
  while (second < listing.count && strcmp(listing.names[second], "all.second") != 0) second++;
  assert_true(second < listing.count);
  assert_non_null(strstr(listing.samples[second], "\"shape\":[2,2,3]"));
  assert_non_null(strstr(listing.samples[second], "\"shape\":[2,3]"));
  assert_non_null(strstr(listing.samples[second], "[1,2,3,4,5,6,4,5,6,1,2,3]"));
  assert_true(has(&listing, "all.unsqueezed"));
  assert_false(has(&listing, "all.squeezed")); /* one of the tensors has no first dimension of 1 */
  listing_clear(&listing);
  listing = list_variants("[{'tensor': {'shape': [1, 2, 3]}}, null, true, 0.5, [2, 2], 1, 'mean', [4, 6]]",
                          OPC_VARIANT_OTHER_SHAPE);
  assert_true(has(&listing, "all.squeezed"));
  listing_clear(&listing);
}

/* The same call, written differently; a dimension that counts from the end already is left as it is. */
static void test_equivalent_calls(void **state) {
  (void)state;
  listing_t listing = list_variants(
      "[{'tensor': {'shape': [4, 6]}}, {'tensor': {'shape': [4], 'dtype': 'int64', 'fill': 'arange'}}, true, 0.5, [2, "
      "2], 1, "
      "'mean', [4, 6]]",
      OPC_VARIANT_EQUIVALENT);
  assert_int_equal(listing.count, 2);
  assert_string_equal(listing.names[0], "dim.from_end");
  assert_non_null(strstr(listing.samples[0], ",-1,\"mean\""));
  assert_string_equal(listing.names[1], "weight.other_width");
  assert_non_null(strstr(listing.samples[1], "int32"));
  assert_int_equal(opc_variant_facts("dim.from_end").keeps, OPC_KEEPS_ALL);
  listing_clear(&listing);
  /* Beside another floating tensor only: alone, it is a sample of the other dtype. */
  listing = list_variants(
      "[{'tensor': {'shape': [4, 6]}}, {'tensor': {'shape': [4]}}, true, 0.5, [2, 2], -1, 'mean', "
      "[4, 6]]",
      OPC_VARIANT_EQUIVALENT);
  assert_int_equal(listing.count, 2);
  assert_string_equal(listing.names[0], "x.other_float");
  assert_string_equal(listing.names[1], "weight.other_float");
  assert_non_null(strstr(listing.samples[1], "float64"));
  listing_clear(&listing);
  listing = list_variants("[{'tensor': {'shape': [4, 6]}}, null, true, 0.5, [2, 2], -1, 'mean', [4, 6]]",
                          OPC_VARIANT_EQUIVALENT);
  assert_int_equal(listing.count, 0);
  listing_clear(&listing);
}

static void test_names_of_arguments(void **state) {
  (void)state;
  assert_true(opc_argument_is_named("pooled_height", "width height"));
  assert_true(opc_argument_is_named("Height", "height"));
  assert_true(opc_argument_is_named("_height_", "height"));
  assert_false(opc_argument_is_named("heights", "height"));
  assert_false(opc_argument_is_named("", "height"));
  assert_string_equal(opc_argument_words("side"), "left|right");
  assert_null(opc_argument_words("sides"));
}

/* A limited number of neighbours reaches all numbers and words: no argument gets its second before each has its first.
 */
static void test_values_come_in_turn(void **state) {
  (void)state;
  listing_t listing = list_variants("[{'tensor': {'shape': [4, 6]}}, null, true, 0.5, [2, 2], 1, 'mean', [4, 6]]",
                                    OPC_VARIANT_NEIGHBOUR);
  static const char *const in_turn[] = {"slope.set-0.5", "stride.set0", "dim.set0", /* "mean" is the sample's own */
                                        "slope.set0",    "stride.set1", "dim.set-1", "reduction.word_sum"};
  size_t at = 0;
  for (size_t i = 0; i < listing.count && at < COUNT(in_turn); i++)
    if (strstr(listing.names[i], ".set") || strstr(listing.names[i], ".word_"))
      assert_string_equal(listing.names[i], in_turn[at++]);
  assert_int_equal(at, COUNT(in_turn));
  listing_clear(&listing);
}

/* What the sample does not give has the schema's default. */
static void test_neighbours_of_defaults(void **state) {
  (void)state;
  listing_t listing = list_variants(
      "[{'tensor': {'shape': [4]}}, {'tensor': {'shape': [4]}}], 'kwargs': {'stride': [1, "
      "1], 'reduction': 'sum', 'flag': true}",
      OPC_VARIANT_NEIGHBOUR);
  static const char *const wanted[] = {"weight.left_out", "flag.flipped", "slope.set-0.5",
                                       "dim.set0",        "stride.set2",  "reduction.left_out"};
  for (size_t i = 0; i < COUNT(wanted); i++)
    if (!has(&listing, wanted[i])) fail_msg("%s is not there", wanted[i]);
  static const char *const unwanted[] = {"weight.like_x", "weight.row4",   "slope.set0.5",   "dim.left_out",
                                         "stride.set1",   "flag.left_out", "slope.left_out", "stride.left_out"};
  for (size_t i = 0; i < COUNT(unwanted); i++)
    if (has(&listing, unwanted[i])) fail_msg("%s is there", unwanted[i]);
  listing_clear(&listing);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_neighbours_of_a_call), cmocka_unit_test(test_five_dimensions),
      cmocka_unit_test(test_stated_words),         cmocka_unit_test(test_second_batch),
      cmocka_unit_test(test_values_come_in_turn),  cmocka_unit_test(test_neighbours_of_defaults),
      cmocka_unit_test(test_equivalent_calls),     cmocka_unit_test(test_names_of_arguments),
  };
  return cmocka_run_group_tests(tests, make_call_operator, clear_operator);
}
