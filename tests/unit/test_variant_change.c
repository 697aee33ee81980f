/* How far variants differ from their sample. */
#include "plan_fixture.h"

#include <string.h>

#include "model/sample/sample.h"
#include "plan/variant/variant.h"

static const fixture_argument_t arguments[] = {{"x", "Tensor?", NULL, false},
                                               {"y", "Tensor?", "None", false},
                                               {"tensors", "Tensor[]", "[]", false},
                                               {"n", "int", "1", false}};
static const fixture_argument_t returns[] = {{"", "Tensor", NULL, false}};
static opc_operator_t op;

static int make_operator(void **state) {
  (void)state;
  op = fixture_operator("ns::op", "ns::op(…)", arguments, COUNT(arguments), returns, COUNT(returns));
  return 0;
}

static int clear_operator(void **state) {
  (void)state;
  opc_operator_clear(&op);
  return 0;
}

/* fields: the JSON of the sample after its operator, with ' instead of ". */
static opc_sample_t sample_of(const char *fields) { return fixture_sample(&op, "%s", fields); }

static void assert_change(const char *fields, const char *variant, opc_dtype_t dtype, const char *expected) {
  opc_error_t error = {0};
  opc_sample_t base = sample_of(fields), varied = {0};
  opc_status_t status = opc_variant_apply(&base, &op, variant, &varied, &error);
  if (status != OPC_OK) fail_msg("%s of %s: %s", variant, fields, error.message);
  if (dtype != OPC_DTYPE_OTHER) assert_true(opc_sample_cast(&varied, dtype));
  char change[OPC_PROVENANCE_SIZE];
  opc_provenance_format(
      &(opc_provenance_t){OPC_SOURCE_DECLARED, opc_variant_change(&base, &op, &varied, variant), false}, change);
  if (strcmp(strchr(change, '/') + 1, expected) != 0)
    fail_msg("%s of %s: %s, not %s", variant, fields, change, expected);
  opc_sample_clear(&varied);
  opc_sample_clear(&base);
}

#define F23 "{'tensor': {'shape': [2, 3]}}"
#define F3 "{'tensor': {'shape': [3]}}"
#define ONE "'args': [" F23 "]"
#define TWO "'args': [" F23 ", " F23 "]"
#define INDEX "'args': [" F23 ", {'tensor': {'shape': [3], 'dtype': 'int64', 'fill': {'values': [0, 1, 1]}}}]"

static void test_what_keeps_the_values(void **state) {
  (void)state;
  static const char *const kept[] = {"plain",    "x.transposed", "x.sliced",          "x.offset",       "x.misaligned",
                                     "x.padded", "x.neg",        "x.sliced+x.offset", "x.size1_strides"};
  for (size_t i = 0; i < COUNT(kept); i++)
    assert_change("'args': [{'tensor': {'shape': [1, 2, 3]}}]", kept[i], OPC_DTYPE_OTHER, "same_values");
  assert_change(INDEX, "y.sliced", OPC_DTYPE_OTHER, "same_values");
  assert_change(INDEX, "all.offset", OPC_DTYPE_OTHER, "same_values");
  /* One element represents all: these are other data, unless they are equal. */
  assert_change("'args': [{'tensor': {'shape': [4], 'fill': 'ones'}}]", "x.expanded0", OPC_DTYPE_OTHER, "same_values");
  assert_change("'args': [{'tensor': {'shape': [3], 'dtype': 'int32', 'fill': {'values': [7, 7, 7]}}}]", "x.expanded0",
                OPC_DTYPE_OTHER, "same_values");
  assert_change("'args': [{'tensor': {'shape': [3], 'dtype': 'int32', 'fill': {'values': [0, 1, 3]}}}]", "x.expanded0",
                OPC_DTYPE_OTHER, "alone");
  assert_change(INDEX, "y.expanded0", OPC_DTYPE_OTHER, "alone");
  assert_change(ONE, "x.expanded0", OPC_DTYPE_OTHER, "related");
}

static void test_sizes_without_relations(void **state) {
  (void)state;
  static const char *const of_one[] = {"x.empty0", "x.empty1", "x.scalar", "all.larger", "all.uneven", "all.longer3"};
  for (size_t i = 0; i < COUNT(of_one); i++) assert_change(ONE, of_one[i], OPC_DTYPE_OTHER, "related");
  static const char *const together[] = {"all.larger", "all.empty_size3", "all.longer2", "all.uneven"};
  for (size_t i = 0; i < COUNT(together); i++) assert_change(TWO, together[i], OPC_DTYPE_OTHER, "related");
  assert_change(TWO, "x.empty0", OPC_DTYPE_OTHER, "alone");
  assert_change(TWO, "y.scalar", OPC_DTYPE_OTHER, "alone");
  /* all.empty0 empties only the first dimension, and another one has the same size. */
  assert_change("'args': [{'tensor': {'shape': [2, 2]}}, " F23 "]", "all.empty0", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [{'tensor': {'shape': [7, 3]}}]", "all.single7", OPC_DTYPE_OTHER, "related");
  assert_change("'args': [{'tensor': {'shape': [7], 'dtype': 'int64'}}]", "all.single7", OPC_DTYPE_OTHER, "alone");
  /* The operator may take four numbers of a quaternion for granted. */
  assert_change("'args': [{'tensor': {'shape': [7, 4]}}]", "all.single4", OPC_DTYPE_OTHER, "alone");
#define F72 "{'tensor': {'shape': [7, 2]}}"
#define F92 "{'tensor': {'shape': [9, 2]}}"
  /* Two coordinates, of any number of points; or two that are equal by chance. */
  assert_change("'args': [" F72 ", " F92 "]", "all.fewer2", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [" F72 ", " F92 "]", "all.empty1", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [" F72 "]", "all.fewer2", OPC_DTYPE_OTHER, "related");
  assert_change("'args': [" F72 ", " F72 "]", "all.fewer7", OPC_DTYPE_OTHER, "related");
  /* Integers may depend on sizes. */
  assert_change("'args': [" F23 ", null, [], 3]", "x.empty0", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [" F23 ", " F23 ", [], 3]", "all.larger", OPC_DTYPE_OTHER, "alone");
  assert_change(INDEX, "all.larger", OPC_DTYPE_OTHER, "alone");
  assert_change(INDEX, "y.empty0", OPC_DTYPE_OTHER, "alone");
}

static void test_values_and_dtypes(void **state) {
  (void)state;
  assert_change(ONE, "x.nan", OPC_DTYPE_OTHER, "related");
  assert_change(TWO, "all.infinity", OPC_DTYPE_OTHER, "related");
  assert_change("'args': [{'tensor': {'shape': [3], 'dtype': 'int64'}}]", "x.extreme", OPC_DTYPE_OTHER, "alone");
  assert_change(ONE, "plain", OPC_DTYPE_FLOAT64, "related");
  assert_change(ONE, "plain", OPC_DTYPE_INT64, "related");
  assert_change(TWO, "y.float64", OPC_DTYPE_OTHER, "related");
  assert_change(INDEX, "y.int32", OPC_DTYPE_OTHER, "alone");
  assert_change(INDEX, "plain", OPC_DTYPE_FLOAT16, "related"); /* the index keeps its dtype */
  /* Which width it takes is for the operator to say, also where no relation is known of the numbers. */
  assert_change(INDEX, "y.other_width", OPC_DTYPE_OTHER, "alone");
  assert_change(INDEX ", 'relations': [{'fixed': ['x', 0], 'size': 2}]", "y.other_width", OPC_DTYPE_OTHER, "alone");
  assert_change(ONE, "x.transposed", OPC_DTYPE_FLOAT64, "related");
}

static void test_other_numbers(void **state) {
  (void)state;
#define NUMBERS(values) "'args': [{'tensor': {'shape': [4], 'fill': {'values': [" values "]}}}]"
  static const char *const smaller[] = {"x.zeros", "x.zero", "x.one_zero", "x.eighths", "x.over_64", "x.graded"};
  for (size_t i = 0; i < COUNT(smaller); i++) {
    assert_change(ONE, smaller[i], OPC_DTYPE_OTHER, "related");
    assert_change(NUMBERS("1.3, -2, 0.5, 3"), smaller[i], OPC_DTYPE_OTHER, "related");
    assert_change(NUMBERS("0.3, 1.3, 2.3, 3.3"), smaller[i], OPC_DTYPE_OTHER, "alone"); /* they may be edges */
  }
  assert_change(ONE, "x.negated", OPC_DTYPE_OTHER, "related");
  assert_change(NUMBERS("1.3, 2, 0.5, 3"), "x.negated", OPC_DTYPE_OTHER, "alone"); /* all are positive */
  assert_change(ONE, "x.times_64", OPC_DTYPE_OTHER, "alone");
  assert_change(ONE, "x.ones", OPC_DTYPE_OTHER, "alone");
}

static void test_integers_that_move(void **state) {
  (void)state;
#define OFFSETS(relation)                                                                                       \
  "'args': [{'tensor': {'shape': [6]}}, {'tensor': {'shape': [4], 'dtype': 'int64', 'fill': {'values': [0, 2, " \
  "3, 6]}}}], 'relations': [{'values': 'y', 'at_most': [['x', 0]]}, {'values': 'y', 'ascend': true" relation "}]"
  static const char *const moved[] = {"y.first_empty", "y.last_empty"};
  for (size_t i = 0; i < COUNT(moved); i++) {
    assert_change(OFFSETS(", 'movable': true"), moved[i], OPC_DTYPE_OTHER, "related");
    assert_change(OFFSETS(""), moved[i], OPC_DTYPE_OTHER, "alone"); /* they may follow from something else */
  }
  static const char *const others[] = {"y.reversed", "y.zeros", "y.highest", "y.all_bits", "y.empty0"};
  for (size_t i = 0; i < COUNT(others); i++)
    assert_change(OFFSETS(", 'movable': true"), others[i], OPC_DTYPE_OTHER, "alone");
}

static void test_lengths_that_add_up(void **state) {
  (void)state;
#define LENGTHS(relations)                                                                                      \
  "'args': [{'tensor': {'shape': [6]}}, {'tensor': {'shape': [3], 'dtype': 'int64', 'fill': {'values': [2, 1, " \
  "3]}}}], 'relations': [" relations "]"
  assert_change(LENGTHS("{'values': 'y', 'sum': ['x', 0]}"), "y.one_none", OPC_DTYPE_OTHER, "related");
  assert_change(LENGTHS("{'values': 'y', 'sum': ['x', 0]}"), "y.zeros", OPC_DTYPE_OTHER, "alone");
  assert_change(LENGTHS("{'values': 'y', 'at_most': [['x', 0]]}"), "y.one_none", OPC_DTYPE_OTHER, "alone");
}

static void test_the_same_tensor_and_lists(void **state) {
  (void)state;
  assert_change(TWO, "y.same_as_x", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [{'tensor': {'shape': [2], 'fill': 'zeros'}}, {'tensor': {'shape': [2], 'fill': 'zeros'}}]",
                "y.same_as_x", OPC_DTYPE_OTHER, "same_values");
  assert_change("'args': [null, null, [" F3 ", " F3 "]]", "tensors.no_items", OPC_DTYPE_OTHER, "related");
  assert_change("'args': [" F3 ", null, [" F3 ", " F3 "]]", "tensors.one_item", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [null, null, [" F3 "]]", "tensors.more_items", OPC_DTYPE_OTHER, "related");
}

/* The first number is learned, the second one is left at its default. */
static const fixture_argument_t call_arguments[] = {
    {"x", "Tensor", NULL, false},      {"bias", "Tensor?", "None", false}, {"flag", "bool", "False", false},
    {"places", "int", "0", false},     {"groups", "int", "1", false},      {"slope", "float", "0.5", false},
    {"most", "float?", "None", false}, {"width", "float", "1.0", false}};

static void test_neighbours(void **state) {
  (void)state;
  opc_operator_t before = op;
  op = fixture_operator("ns::call", "ns::call(…)", call_arguments, COUNT(call_arguments), returns, COUNT(returns));
#define LEARNED                                                                                   \
  "'args': [" F23 ", " F3                                                                         \
  ", false, 2], 'relations': [{'equal': [['x', 1], ['bias', 0]]}, {'values': 'places', 'below': " \
  "[['x', 1]]}]"
  static const char *const related[] = {"flag.flipped", "bias.left_out", "places.set1", "places.set0", "slope.set-0.5"};
  for (size_t i = 0; i < COUNT(related); i++) assert_change(LEARNED, related[i], OPC_DTYPE_OTHER, "related");
  static const char *const alone[] = {"width.set-1",  /* nothing has a negative one */
                                      "places.set3",  /* not below the size */
                                      "places.set-1", /* nobody has tried a negative one */
                                      "groups.set2"}; /* nor another one than the default */
  for (size_t i = 0; i < COUNT(alone); i++) assert_change(LEARNED, alone[i], OPC_DTYPE_OTHER, "alone");
#define TWELVE(more) "'args': [" F23 ", " F3 ", false, 12], 'relations': [{'equal': [['x', 1], ['bias', 0]]}" more "]"
#define BELOW_13 ", {'values': 'places', 'below': 13}"
  assert_change(TWELVE(""), "places.set13", OPC_DTYPE_OTHER, "related");
  assert_change(TWELVE(BELOW_13), "places.set1", OPC_DTYPE_OTHER, "related");
  assert_change(TWELVE(BELOW_13), "places.set13", OPC_DTYPE_OTHER, "alone");
  /* The limit may come from a size that nobody knows: this one, say. */
  assert_change(TWELVE(""), "all.fewer2", OPC_DTYPE_OTHER, "related");
  assert_change(TWELVE(BELOW_13), "all.fewer2", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [" F3 "]", "flag.flipped", OPC_DTYPE_OTHER, "related"); /* nothing to agree with */
  assert_change("'args': [" F3 ", " F3 "]", "flag.flipped", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [" F3 ", " F3 "]", "bias.left_out", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [" F3 "], 'kwargs': {'most': 0.5}", "most.left_out", OPC_DTYPE_OTHER, "related");
  assert_change("'args': [" F3 ", " F3 "], 'kwargs': {'most': 0.5}", "most.left_out", OPC_DTYPE_OTHER, "alone");
  assert_change("'args': [" F3 "]", "groups.set2", OPC_DTYPE_OTHER, "alone");
  opc_operator_clear(&op);
  op = before;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_keeps_the_values),     cmocka_unit_test(test_sizes_without_relations),
      cmocka_unit_test(test_values_and_dtypes),         cmocka_unit_test(test_other_numbers),
      cmocka_unit_test(test_integers_that_move),        cmocka_unit_test(test_lengths_that_add_up),
      cmocka_unit_test(test_the_same_tensor_and_lists), cmocka_unit_test(test_neighbours),
  };
  return cmocka_run_group_tests(tests, make_operator, clear_operator);
}
