/* Variants: how each transformation changes a description, when none applies, and that a name alone recreates its
 * variant. */
#include "variant_listing.h"

#define ELEVEN(text) text "," text "," text "," text "," text "," text "," text "," text "," text "," text "," text
#define SEVEN_EIGHT_33 ELEVEN("7,8,7,8,7,8")

static const fixture_argument_t arguments[] = {{"x", "Tensor?", NULL, false},
                                               {"y", "Tensor?", "None", false},
                                               {"tensors", "Tensor[]", "[]", false},
                                               {"n", "int", "1", false}};

static int make_operator(void **state) {
  (void)state;
  op = fixture_operator("ns::op", "ns::op(…)", arguments, COUNT(arguments), returns, COUNT(returns));
  return 0;
}

static void test_every_name_rebuilds_its_variant(void **state) {
  (void)state;
  static const char *const samples[] = {
      "[{'tensor': {'shape': [2, 3, 4, 5]}}]",
      "[{'tensor': {'shape': [2, 1, 4]}}, {'tensor': {'shape': [2, 1, 4]}}, [{'tensor': {'shape': [4], 'dtype': "
      "'int64'}}, "
      "{'tensor': {'shape': [2, 4], 'dtype': 'complex64'}}], 3]",
      "[{'tensor': {'shape': []}}]",
      "[{'tensor': {'shape': [0, 3]}}]",
      "[{'tensor': {'shape': [3, 2], 'fill': {'values': [1, 2, 3, 4, 5, 6]}, 'strides': [1, 3]}}]",
  };
  for (size_t i = 0; i < COUNT(samples); i++) {
    listing_t listing = list_variants(samples[i], OPC_VARIANT_ALL);
    assert_true(listing.count >= 1);
    assert_string_equal(listing.names[0], "plain");
    for (size_t k = 0; k < listing.count; k++) {
      opc_sample_t again;
      opc_error_t error = {0};
      assert_ok(opc_variant_apply(&listing.base, &op, listing.names[k], &again, &error), error);
      char *text = dump(&again);
      assert_string_equal(text, listing.samples[k]);
      for (size_t other = 0; other < k; other++) { /* no two variants are equal */
        if (strcmp(listing.samples[other], text) == 0) fail_msg("%s is %s", listing.names[other], listing.names[k]);
      }
      free(text);
      opc_sample_clear(&again);
      assert_int_not_equal(opc_variant_family(listing.names[k]), 0);
    }
    listing_clear(&listing);
  }
}

static void test_other_contents(void **state) {
  (void)state;
  listing_t listing = list_variants("[{'tensor': {'shape': [2, 3]}}, {'tensor': {'shape': [2], 'dtype': 'int64'}}]",
                                    OPC_VARIANT_CONTENTS);
  /* Random integers may be indices. */
  static const char *const wanted[] = {"x.zeros", "x.zero_row", "x.zero",     "x.ties",    "x.negated",
                                       "x.ones",  "x.eighths",  "x.times_64", "x.over_64", "x.graded"};
  for (size_t i = 0; i < COUNT(wanted); i++) {
    if (!has(&listing, wanted[i])) fail_msg("%s is not there", wanted[i]);
    assert_int_equal(opc_variant_family(wanted[i]), OPC_VARIANT_CONTENTS);
    assert_int_equal(opc_variant_facts(wanted[i]).keeps & OPC_KEEPS_VALUES, 0);
  }
  assert_int_equal(listing.count, COUNT(wanted));
  listing_clear(&listing);
}

static void test_masks(void **state) {
  (void)state;
  listing_t listing = list_variants(
      "[{'tensor': {'shape': [2, 3]}}, {'tensor': {'shape': [2, 3], 'dtype': 'bool', "
      "'fill': 'ones'}}]",
      OPC_VARIANT_CONTENTS);
  static const char *const wanted[] = {"y.some_false", "y.row_false", "y.all_false"};
  for (size_t i = 0; i < COUNT(wanted); i++)
    if (!has(&listing, wanted[i])) fail_msg("%s is not there", wanted[i]);
  assert_false(has(&listing, "y.all_true")); /* it is */
  assert_false(has(&listing, "x.some_false"));
  assert_false(has(&listing, "y.zero"));
  listing_clear(&listing);
}

static void assert_integers(const char *dtype, const char *values, const char *variant, const char *expected) {
  char args[256];
  opc_sample_t changed;
  opc_error_t error = {0};
  snprintf(args, sizeof args, "[{'tensor': {'shape': [4], 'dtype': '%s', 'fill': {'values': [%s]}}}]", dtype, values);
  opc_sample_t sample = sample_of(args);
  opc_status_t status = opc_variant_apply(&sample, &op, variant, &changed, &error);
  if ((status == OPC_OK) != (expected != NULL)) fail_msg("%s of %s %s", variant, dtype, values);
  if (status == OPC_OK) {
    char *text = dump(&changed);
    if (!strstr(text, expected)) fail_msg("%s of %s: no %s in %s", variant, values, expected, text);
    free(text);
    opc_sample_clear(&changed);
  }
  opc_sample_clear(&sample);
}

/* fields: of the sample, its relations too. */
static void assert_related(const char *fields, const char *variant, const char *expected) {
  opc_sample_t changed, sample = fixture_sample(&op, "%s", fields);
  opc_error_t error = {0};
  const opc_status_t status = opc_variant_apply(&sample, &op, variant, &changed, &error);
  if ((status == OPC_OK) != (expected != NULL)) fail_msg("%s of %s", variant, fields);
  if (status == OPC_OK) {
    char *text = dump(&changed);
    if (!strstr(text, expected)) fail_msg("%s of %s: no %s in %s", variant, fields, expected, text);
    free(text);
    opc_sample_clear(&changed);
  }
  opc_sample_clear(&sample);
}

static void test_lengths_and_counts(void **state) {
  (void)state;
#define LENGTHS(values, relation)                                                    \
  "'args': [{'tensor': {'shape': [3], 'dtype': 'int64', 'fill': {'values': [" values \
  "]}}}, {'tensor': {'shape': "                                                      \
  "[6]}}], 'relations': [{'values': 'x', " relation "}]"
#define COUNTED(relation) \
  "'args': [{'tensor': {'shape': [6]}}, null, [], 3], 'relations': [{'values': 'n', " relation "}]"
  assert_related(LENGTHS("2, 1, 3", "'sum': ['y', 0]"), "x.one_none", "[2,0,4]");
  assert_related(LENGTHS("2, 1, 3", "'at_most': [['y', 0]]"), "x.one_none", "[2,0,3]");
  assert_related(LENGTHS("2, 1, 3", "'below': [['y', 0]]"), "x.one_none", NULL); /* an index */
  assert_related(LENGTHS("6, 0, 0", "'sum': ['y', 0]"), "x.one_none", NULL);
  assert_related(LENGTHS("2, 1, 3", "'sum': ['y', 0]}, {'values': 'x', 'least': 1"), "x.one_none", NULL);
  assert_related(COUNTED("'at_most': [['x', 0]]"), "all.wide6", ",258]");
  assert_related(COUNTED("'below': [['x', 0]]"), "all.wide6", ",3]");
}

static void test_other_integers(void **state) {
  (void)state;
  assert_integers("int64", "0, 2, 3, 6", "x.zeros", "[0,0,0,0]");
  assert_integers("int64", "0, 2, 3, 6", "x.highest", "[6,6,6,6]");
  assert_integers("int64", "0, 2, 3, 6", "x.reversed", "[6,3,2,0]");
  assert_integers("int64", "0, 2, 3, 6", "x.all_bits", "[-1,-1,-1,-1]");
  assert_integers("int64", "0, 2, 3, 6", "x.first_empty", "[0,0,3,6]");
  assert_integers("int64", "0, 2, 3, 6", "x.last_empty", "[0,2,6,6]");
  assert_integers("int64", "0, 3, 2, 6", "x.last_empty", NULL); /* no offsets */
  assert_integers("int64", "0, 0, 2, 6", "x.first_empty", NULL);
  assert_integers("int64", "5, 5, 5, 5", "x.highest", NULL);
  assert_integers("int64", "1, 2, 3, 4", "x.largest", NULL); /* only of narrow dtypes */
  assert_integers("int8", "1, 2, 3, 4", "x.largest", "[127,127,127,127]");
  assert_integers("uint8", "1, 2, 3, 4", "x.largest", "[255,255,255,255]");
  assert_integers("uint8", "1, 2, 3, 4", "x.all_bits", NULL);
  assert_integers("float32", "1, 2, 3, 4", "x.reversed", NULL);
}

static void test_one_tensor_has_a_moderate_number(void **state) {
  (void)state;
  listing_t listing = list_variants("[{'tensor': {'shape': [2, 3, 4, 5]}}]", OPC_VARIANT_ALL);
  assert_in_range(listing.count, 25, 40);
  static const char *const wanted[] = {
      "x.empty0",          "x.empty3",     "x.transposed", "x.permuted",  "x.channels_last", "x.sliced",
      "x.offset",          "x.misaligned", "x.expanded0",  "x.expanded3", "x.neg",           "x.nan",
      "x.negative_zero",   "x.infinity",   "x.denormal",   "x.extreme",   "x.scalar",        "all.larger",
      "x.sliced+x.offset", "all.longer5",  "x.padded"};
  for (size_t i = 0; i < COUNT(wanted); i++) {
    if (!has(&listing, wanted[i])) fail_msg("%s is not there", wanted[i]);
  }
  for (size_t i = 0; i < listing.count; i++) {
    const char *name = listing.names[i];
    assert_true(strncmp(name, "all.", 4) != 0 || opc_variant_family(name) == OPC_VARIANT_SIZES ||
                strncmp(name, "all.single", 10) == 0 || strcmp(name, "all.larger") == 0);
  }
  listing_clear(&listing);
}

/* sample, variant, the resulting arguments. Streams are named after the argument, so values stay the same in any
 * layout. */
static void test_what_each_does(void **state) {
  (void)state;
#define X234 "[{'tensor': {'shape': [2, 3, 4]}}]"
#define TWO "[{'tensor': {'shape': [2, 7]}}, {'tensor': {'shape': [7, 3]}}]"
  static const char *const rows[][3] = {
      {X234, "x.transposed", "[{'tensor':{'shape':[2,3,4],'strides':[12,1,3],'stream':'x'}}]"},
      {X234, "x.permuted", "[{'tensor':{'shape':[2,3,4],'strides':[1,8,2],'stream':'x'}}]"},
      {X234, "x.sliced", "[{'tensor':{'shape':[2,3,4],'strides':[24,8,2],'storage_size':48,'stream':'x'}}]"},
      {X234, "x.padded", "[{'tensor':{'shape':[2,3,4],'strides':[21,7,1],'storage_size':42,'stream':'x'}}]"},
      {X234, "x.offset", "[{'tensor':{'shape':[2,3,4],'storage_offset':3,'storage_size':30,'stream':'x'}}]"},
      {X234, "x.misaligned", "[{'tensor':{'shape':[2,3,4],'storage_offset':1,'stream':'x'}}]"},
      {X234, "x.sliced+x.offset",
       "[{'tensor':{'shape':[2,3,4],'strides':[24,8,2],'storage_offset':3,'storage_size':54,'stream':'x'}}]"},
      {X234, "x.expanded1", "[{'tensor':{'shape':[2,3,4],'strides':[4,0,1],'stream':'x'}}]"},
      {X234, "x.empty1", "[{'tensor':{'shape':[2,0,4],'stream':'x'}}]"},
      {X234, "x.scalar", "[{'tensor':{'shape':[],'stream':'x'}}]"},
      {X234, "x.neg", "[{'tensor':{'shape':[2,3,4],'strides':[24,8,2],'storage_size':48,'stream':'x','neg':true}}]"},
      {X234, "x.nan", "[{'tensor':{'shape':[2,3,4],'special':'nan','stream':'x'}}]"},
      {X234, "all.larger", "[{'tensor':{'shape':[6,9,12],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3], 'strides': [1, 2]}}]", "all.larger",
       "[{'tensor':{'shape':[46,69],'strides':[1,46],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3], 'strides': [8, 2]}}]", "all.larger",
       "[{'tensor':{'shape':[46,69],'strides':[138,2],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3], 'strides': [0, 1]}}]", "all.larger",
       "[{'tensor':{'shape':[46,69],'strides':[0,1],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3], 'strides': [1, 1]}}]", "all.larger",
       "[{'tensor':{'shape':[46,69],'strides':[1,1],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3, 4, 5]}}]", "x.channels_last",
       "[{'tensor':{'shape':[2,3,4,5],'strides':[60,1,15,3],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3, 4, 5, 6]}}]", "x.channels_last",
       "[{'tensor':{'shape':[2,3,4,5,6],'strides':[360,1,90,18,3],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 1]}}]", "x.size1_strides",
       "[{'tensor':{'shape':[2,1],'strides':[1,17],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3], 'strides': [1, 2]}}]", "x.contiguous",
       "[{'tensor':{'shape':[2,3],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [2, 3], 'dtype': 'complex64'}}]", "x.conj",
       "[{'tensor':{'shape':[2,3],'dtype':'complex64','stream':'x','conj':true}}]"},
      {"[{'tensor': {'shape': [2], 'fill': {'values': [7, 8]}}}]", "all.larger",
       "[{'tensor':{'shape':[66],'fill':{'values':[" SEVEN_EIGHT_33 "]},'stream':'x'}}]"},
      {"[{'tensor': {'shape': [8, 8]}}]", "all.larger", "[{'tensor':{'shape':[40,40],'stream':'x'}}]"},
      {"[{'tensor': {'shape': [4, 6]}}, {'tensor': {'shape': [1, 6]}}]", "all.larger",
       "[{'tensor':{'shape':[44,66],'stream':'x'}},{'tensor':{'shape':[1,66],'stream':'y'}}]"},
      {TWO, "all.long7", "[{'tensor':{'shape':[2,1029],'stream':'x'}},{'tensor':{'shape':[1029,3],'stream':'y'}}]"},
      {TWO, "all.wide7", "[{'tensor':{'shape':[2,259],'stream':'x'}},{'tensor':{'shape':[259,3],'stream':'y'}}]"},
      {"[{'tensor': {'shape': [7, 7, 7]}}]", "all.wide7", "[{'tensor':{'shape':[21,21,21],'stream':'x'}}]"},
      {X234, "all.odd_strides3", "[{'tensor':{'shape':[2,1,4],'strides':[4,17,1],'stream':'x'}}]"},
      {TWO, "all.empty_size7", "[{'tensor':{'shape':[2,0],'stream':'x'}},{'tensor':{'shape':[0,3],'stream':'y'}}]"},
      {X234, "all.longer3", "[{'tensor':{'shape':[2,4,4],'stream':'x'}}]"},
      {X234, "all.uneven", "[{'tensor':{'shape':[3,3,5],'stream':'x'}}]"},
      {TWO, "all.longer7", "[{'tensor':{'shape':[2,8],'stream':'x'}},{'tensor':{'shape':[8,3],'stream':'y'}}]"},
      {"[{'tensor': {'shape': [2], 'fill': {'values': [7, 8]}}}]", "all.longer2",
       "[{'tensor':{'shape':[3],'fill':{'values':[7,8,7]},'stream':'x'}}]"},
      {TWO, "y.empty1", "[{'tensor':{'shape':[2,7],'stream':'x'}},{'tensor':{'shape':[7,0],'stream':'y'}}]"},
      {TWO, "y.float64",
       "[{'tensor':{'shape':[2,7],'stream':'x'}},{'tensor':{'shape':[7,3],'dtype':'float64','filled_as':'float32','"
       "stream':'y'}}]"},
      {"[{'tensor': {'shape': [2, 7]}}, {'tensor': {'shape': [2]}}]", "all.empty0",
       "[{'tensor':{'shape':[0,7],'stream':'x'}},{'tensor':{'shape':[0],'stream':'y'}}]"},
      {"[{'tensor': {'shape': [2]}}, {'tensor': {'shape': [2]}}]", "y.same_as_x",
       "[{'tensor':{'shape':[2],'identity':'same:x','stream':'x'}},{'tensor':{'shape':[2],'identity':'same:x','stream':"
       "'x'}}]"},
      {"[{'tensor': {'shape': [2]}}, null, [{'tensor': {'shape': [3]}}, {'tensor': {'shape': [3]}}]]",
       "tensors[1].sliced",
       "[{'tensor':{'shape':[2],'stream':'x'}},null,[{'tensor':{'shape':[3],'stream':'tensors[0]'}},"
       "{'tensor':{'shape':[3],'strides':[2],'storage_size':6,'stream':'tensors[1]'}}]]"},
      {"[{'tensor': {'shape': [2]}}, null, [{'tensor': {'shape': [3]}}]]", "tensors.no_items",
       "[{'tensor':{'shape':[2],'stream':'x'}},null,[]]"},
      {"[{'tensor': {'shape': [2]}}, null, [{'tensor': {'shape': [3]}}, {'tensor': {'shape': [4]}}]]",
       "tensors.one_item",
       "[{'tensor':{'shape':[2],'stream':'x'}},null,[{'tensor':{'shape':[3],'stream':'tensors[0]'}}]]"},
      {"[{'tensor': {'shape': [2]}}, null, [{'tensor': {'shape': [3]}}]]", "tensors.more_items",
       "[{'tensor':{'shape':[2],'stream':'x'}},null,[{'tensor':{'shape':[3],'stream':'tensors[0]'}},"
       "{'tensor':{'shape':[3],'stream':'tensors[1]'}},{'tensor':{'shape':[3],'stream':'tensors[2]'}}]]"},
      {"[{'tensor': {'shape': [2, 7]}}, {'tensor': {'shape': [7, 3]}}]", "all.single7",
       "[{'tensor':{'shape':[2,1],'stream':'x'}},{'tensor':{'shape':[1,3],'stream':'y'}}]"},
      /* the same tensor passed twice stays the same */
      {"[{'tensor': {'shape': [4], 'identity': 'a'}}, {'tensor': {'shape': [4], 'identity': 'a'}}]", "x.sliced",
       "[{'tensor':{'shape':[4],'strides':[2],'storage_size':8,'identity':'a','stream':'x'}},"
       "{'tensor':{'shape':[4],'strides':[2],'storage_size':8,'identity':'a','stream':'x'}}]"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_sample_t base = sample_of(rows[i][0]), variant;
    opc_error_t error = {0};
    if (opc_variant_apply(&base, &op, rows[i][1], &variant, &error) != OPC_OK)
      fail_msg("%s: %s", rows[i][1], error.message);
    char expected[1024], *text = dump(&variant);
    snprintf(expected, sizeof expected, "%s", rows[i][2]);
    for (char *c = expected; *c; c++) {
      if (*c == '\'') *c = '"';
    }
    /* The writer chooses the order of an object's members. */
    json_t *wanted = json_loads(expected, 0, NULL), *found = json_loads(text, 0, NULL);
    assert_non_null(wanted);
    if (!json_equal(wanted, found)) fail_msg("%s: %s is not %s", rows[i][1], text, expected);
    json_decref(wanted);
    json_decref(found);
    free(text);
    opc_sample_clear(&variant);
    opc_sample_clear(&base);
  }
}

static void test_what_does_not_apply(void **state) {
  (void)state;
#define SHARED "[{'tensor': {'shape': [2, 3], 'storage': 's'}}, {'tensor': {'shape': [2, 3], 'storage': 's'}}]"
  static const char *const rows[][2] = {
      {"[{'tensor': {'shape': [4]}}]", "x.transposed"},
      {"[{'tensor': {'shape': [4, 1]}}]", "x.transposed"},
      {"[{'tensor': {'shape': [4, 4]}}]", "x.permuted"},
      {"[{'tensor': {'shape': [4, 4]}}]", "x.channels_last"},
      {"[{'tensor': {'shape': [4, 4]}}]", "x.contiguous"},
      {"[{'tensor': {'shape': [4, 1]}}]", "x.expanded1"},
      {"[{'tensor': {'shape': [4, 1]}}]", "x.expanded2"},
      {"[{'tensor': {'shape': [4, 2]}}]", "x.size1_strides"},
      {"[{'tensor': {'shape': [4, 2]}}]", "x.conj"},
      {"[{'tensor': {'shape': [4, 2]}}]", "x.empty2"},
      {"[{'tensor': {'shape': [4, 2]}}]", "all.empty_size4"}, /* no other tensor shares it */
      {"[{'tensor': {'shape': [4, 2]}}]", "x.float64"},       /* the dtype check does that */
      {"[{'tensor': {'shape': [4, 2]}}]", "y.sliced"},
      {"[{'tensor': {'shape': [0, 2]}}]", "x.empty0"},
      {"[{'tensor': {'shape': [0, 2]}}]", "x.nan"},
      {"[{'tensor': {'shape': [], 'dtype': 'int64'}}]", "x.scalar"},
      {"[{'tensor': {'shape': [2], 'dtype': 'int64'}}]", "x.nan"},
      {"[{'tensor': {'shape': [2], 'dtype': 'bool'}}]", "x.extreme"},
      {"[{'tensor': {'shape': [2], 'dtype': 'int64', 'fill': {'range': [0, 2]}}}]", "x.extreme"}, /* a stated domain */
      {"[{'tensor': {'shape': [2], 'dtype': 'int64', 'fill': 'arange'}}]", "x.extreme"},
      {SHARED, "x.sliced"},
      {SHARED, "all.transposed"},
      {SHARED, "y.same_as_x"},
      {SHARED, "all.larger"},
      {SHARED, "all.longer3"},
      {SHARED, "all.uneven"},
      {"[{'tensor': {'shape': [0, 3, 1]}}]", "all.uneven"},
      {"[{'tensor': {'shape': [2, 1]}}]", "all.longer1"},
      {"[{'tensor': {'shape': [2, 1]}}]", "all.longer3"},
      {"[{'tensor': {'shape': [2, 1]}}]", "x.longer2"},
      {"[{'tensor': {'shape': [2]}}, {'tensor': {'shape': [3]}}]", "y.same_as_x"},
      {"[{'tensor': {'shape': [2]}}, {'tensor': {'shape': [2], 'dtype': 'int64'}}]", "y.same_as_x"},
      {"[{'tensor': {'shape': [2]}}, {'tensor': {'shape': [2]}}]", "x.same_as_y"}, /* the later one is the copy */
      {"[{'tensor': {'shape': [2]}}]", "tensors.no_items"},
      {"[{'tensor': {'shape': [2]}}]", "x.no_items"},
      {"[{'tensor': {'shape': [2]}}, null, [{'tensor': {'shape': [3]}}]]", "tensors.one_item"},
      {"[{'tensor': {'shape': [2]}}, null, []]", "tensors.more_items"},
      {"[{'tensor': {'shape': [2, 1]}}]", "all.single1"},
      {"[{'tensor': {'shape': [2, 1]}}]", "all.single3"},
      {"[{'tensor': {'shape': [1000000, 4]}}]", "all.larger"},
      {"[{'tensor': {'shape': [100, 4]}}]", "all.long4"},
      {X234, "all.long7"},
      {"[{'tensor': {'shape': [0, 4611686018427387904]}}]", "all.larger"},
      {"[{'tensor': {'shape': [2]}}]", "x.nonsense"},
      {"[{'tensor': {'shape': [2]}}]", "x"},
      {"[{'tensor': {'shape': [2]}}]", ""},
      {"[{'tensor': {'shape': [2]}}]", "x.empty"},
      {"[{'tensor': {'shape': [2]}}]", "x.sliced+"},
      {"[{'tensor': {'shape': [2]}}]", "x.empty99999999999999999999"},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_sample_t base = sample_of(rows[i][0]), variant;
    opc_error_t error = {0};
    if (opc_variant_apply(&base, &op, rows[i][1], &variant, &error) != OPC_ERR_NOT_FOUND)
      fail_msg("%s applies to %s", rows[i][1], rows[i][0]);
    assert_true(error.message[0] != '\0');
    opc_sample_clear(&base);
  }
}

static void test_a_shared_storage_stays_large_enough(void **state) {
  (void)state;
  opc_sample_t base = sample_of(SHARED), variant;
  opc_error_t error = {0};
  assert_ok(opc_variant_apply(&base, &op, "x.empty0", &variant, &error), error);
  assert_int_equal(variant.arguments[0].tensor->storage_size, 6);
  assert_string_equal(variant.arguments[0].tensor->storage, "s");
  opc_sample_clear(&variant);
  opc_sample_clear(&base);
}

static void test_written_arguments_never_overlap(void **state) {
  (void)state;
  op.arguments[0].alias.is_write = true;
  listing_t listing = list_variants("[{'tensor': {'shape': [2, 3]}}, {'tensor': {'shape': [2, 3]}}]", OPC_VARIANT_ALL);
  op.arguments[0].alias.is_write = false;
  assert_false(has(&listing, "x.expanded0"));
  assert_false(has(&listing, "y.same_as_x"));
  assert_true(has(&listing, "y.expanded0"));
  assert_true(has(&listing, "x.sliced"));
  listing_clear(&listing);
}

static void test_searched_values_get_no_special_ones(void **state) {
  (void)state;
  opc_sample_t base = sample_of("[{'tensor': {'shape': [2], 'fill': {'values': [0, 1]}}}]"), variant;
  assert_int_equal(opc_variant_apply(&base, &op, "x.nan", &variant, NULL),
                   OPC_OK); /* values from a person may be combined with others */
  opc_sample_clear(&variant);
  base.source = OPC_SAMPLE_SEARCHED;
  assert_int_equal(opc_variant_apply(&base, &op, "x.nan", &variant, NULL), OPC_ERR_NOT_FOUND);
  opc_sample_clear(&base);
}

static void test_several_tensors(void **state) {
  (void)state;
  listing_t listing = list_variants("[{'tensor': {'shape': [2, 7]}}, {'tensor': {'shape': [7, 3]}}]", OPC_VARIANT_ALL);
  static const char *const wanted[] = {"x.transposed", "y.sliced",        "all.sliced",    "all.sliced+all.offset",
                                       "x.expanded0",  "all.empty_size7", "x.float64",     "y.misaligned",
                                       "all.nan",      "all.empty0",      "all.transposed"};
  for (size_t i = 0; i < COUNT(wanted); i++) {
    if (strcmp(wanted[i], "all.empty0") == 0)
      continue; /* no other tensor has the first dimension: x.empty0 covers it */
    if (!has(&listing, wanted[i])) fail_msg("%s is not there", wanted[i]);
  }
  assert_false(has(&listing, "all.empty0"));
  assert_false(has(&listing, "x.expanded1"));
  assert_false(has(&listing, "x.sliced+x.offset"));
  listing_clear(&listing);
}

static void test_families_and_stopping(void **state) {
  (void)state;
  listing_t listing = list_variants("[{'tensor': {'shape': [2, 7]}}]", OPC_VARIANT_EMPTY);
  assert_int_equal(listing.count, 2);
  assert_string_equal(listing.names[0], "x.empty0");
  listing_clear(&listing);
  static listing_t two = {.limit = 2};
  two.base = sample_of("[{'tensor': {'shape': [2, 7]}}]");
  assert_int_equal(opc_variants_of(&two.base, &op, OPC_VARIANT_ALL, list_one, &two, NULL), OPC_OK);
  assert_int_equal(two.count, 2);
  listing_clear(&two);
  assert_int_equal(opc_variant_family("plain"), OPC_VARIANT_PLAIN);
  assert_int_equal(opc_variant_family("x.sliced+x.empty0"), OPC_VARIANT_EMPTY);
  assert_int_equal(opc_variant_family("tensors[1].same_as_tensors[0]"), OPC_VARIANT_SAME);
  assert_int_equal(opc_variant_family("obj.init[0].sliced"), OPC_VARIANT_LAYOUT);
  assert_int_equal(opc_variant_family("x.float64"), OPC_VARIANT_CAST);
  assert_int_equal(opc_variant_family("x.no_such"), 0);
  assert_int_equal(opc_variant_family(NULL), 0);
}

static void large_is(const char *args, const char *name, int64_t first, int64_t second) {
  opc_error_t error = {0};
  opc_sample_t base = sample_of(args), variant;
  assert_ok(opc_variant_apply(&base, &op, name, &variant, &error), error);
  assert_int_equal(variant.arguments[0].tensor->sizes[0], first);
  assert_int_equal(variant.arguments[0].tensor->sizes[1], second);
  assert_int_equal(variant.arguments[0].tensor->storage_size, first * second);
  opc_sample_clear(&variant);
  opc_sample_clear(&base);
}

static void test_large_ones_are_asked_for_by_themselves(void **state) {
  (void)state;
  listing_t all = list_variants("[{'tensor': {'shape': [2, 7]}}]", OPC_VARIANT_ALL);
  assert_false(has(&all, "all.rows7") || has(&all, "all.huge7") || has(&all, "all.vast7"));
  listing_clear(&all);
  listing_t listing = list_variants("[{'tensor': {'shape': [1, 7]}}]", OPC_VARIANT_LARGE);
  assert_int_equal(listing.count, 6);
  assert_true(has(&listing, "all.rows1") && has(&listing, "all.rows7") && has(&listing, "all.huge1") &&
              has(&listing, "all.huge7") && has(&listing, "all.vast1") && has(&listing, "all.vast7"));
  listing_clear(&listing);
  large_is("[{'tensor': {'shape': [2, 7]}}]", "all.rows7", 2, 65536);
  large_is("[{'tensor': {'shape': [2, 7]}}]", "all.huge7", 2, 0x81234567 / 2 + 1);
  large_is("[{'tensor': {'shape': [7, 7]}}]", "all.huge7", 46547, 46547); /* 46546 squared is below 0x81234567 */
  large_is("[{'tensor': {'shape': [2, 7]}}]", "all.vast7", 2, 0x112345679 / 2 + 1);
  large_is("[{'tensor': {'shape': [2, 3], 'fill': {'values': [1, 2, 3, 4, 5, 6]}}}]", "all.huge3", 2,
           0x81234567 / 2 + 1);
}

/* Equal sizes stay equal; broadcast ones stay unchanged; nothing becomes too large for every device. */
static void test_large_ones_fit_together(void **state) {
  (void)state;
  listing_t listing =
      list_variants("[{'tensor': {'shape': [1, 7]}}, {'tensor': {'shape': [7, 2]}}]", OPC_VARIANT_LARGE);
  assert_false(has(&listing, "all.rows1"));
  assert_true(has(&listing, "all.rows7"));
  listing_clear(&listing);
  opc_sample_t base = sample_of("[{'tensor': {'shape': [1, 7]}}, {'tensor': {'shape': [7, 2]}}]"), variant;
  assert_int_equal(opc_variant_apply(&base, &op, "all.rows7", &variant, NULL), OPC_OK);
  assert_int_equal(variant.arguments[0].tensor->sizes[1], 65536);
  assert_int_equal(variant.arguments[1].tensor->sizes[0], 65536);
  opc_sample_clear(&variant);
  opc_sample_clear(&base);
  base = sample_of("[{'tensor': {'shape': [3000, 3000, 7]}}]");
  assert_int_equal(opc_variant_apply(&base, &op, "all.rows7", &variant, NULL), OPC_ERR_NOT_FOUND);
  opc_sample_clear(&base);
}

static void test_no_tensors(void **state) {
  (void)state;
  listing_t listing = list_variants("[null]", OPC_VARIANT_ALL);
  assert_int_equal(listing.count, 1);
  listing_clear(&listing);
}

static void test_cast(void **state) {
  (void)state;
  static const struct {
    const char *args;
    opc_dtype_t main, to, x, y;
    bool changed;
  } rows[] = {
      {"[{'tensor': {'shape': [2]}}, {'tensor': {'shape': [2], 'dtype': 'int64'}}]", OPC_DTYPE_FLOAT32,
       OPC_DTYPE_FLOAT64, OPC_DTYPE_FLOAT64, OPC_DTYPE_INT64, true},
      {"[{'tensor': {'shape': [2], 'dtype': 'int64'}}, {'tensor': {'shape': [2]}}]", OPC_DTYPE_FLOAT32, OPC_DTYPE_INT32,
       OPC_DTYPE_INT64, OPC_DTYPE_INT32, true},
      {"[{'tensor': {'shape': [2], 'dtype': 'int64'}}, {'tensor': {'shape': [2], 'dtype': 'bool'}}]", OPC_DTYPE_INT64,
       OPC_DTYPE_FLOAT32, OPC_DTYPE_FLOAT32, OPC_DTYPE_BOOL, true},
      {"[{'tensor': {'shape': [2]}}, {'tensor': {'shape': [2]}}]", OPC_DTYPE_FLOAT32, OPC_DTYPE_FLOAT32,
       OPC_DTYPE_FLOAT32, OPC_DTYPE_FLOAT32, false},
      {"[{'tensor': {'shape': [2], 'dtype': 'float8_e4m3fn'}}, {'tensor': {'shape': [2]}}]", OPC_DTYPE_FLOAT8_E4M3FN,
       OPC_DTYPE_FLOAT16, OPC_DTYPE_FLOAT8_E4M3FN, OPC_DTYPE_FLOAT16, true},
      {"[{'tensor': {'shape': [2], 'dtype': 'float8_e4m3fn'}}, {'tensor': {'shape': [2]}}]", OPC_DTYPE_FLOAT8_E4M3FN,
       OPC_DTYPE_FLOAT8_E5M2, OPC_DTYPE_FLOAT8_E5M2, OPC_DTYPE_FLOAT32, true},
      {"[{'tensor': {'shape': [2], 'dtype': 'float8_e4m3fn'}}, {'tensor': {'shape': [2], 'dtype': 'float8_e5m2'}}]",
       OPC_DTYPE_FLOAT8_E4M3FN, OPC_DTYPE_FLOAT16, OPC_DTYPE_FLOAT16, OPC_DTYPE_FLOAT16, true},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_sample_t sample = sample_of(rows[i].args);
    assert_int_equal(opc_sample_main_dtype(&sample), rows[i].main);
    assert_int_equal(opc_sample_cast(&sample, rows[i].to), rows[i].changed);
    assert_int_equal(sample.arguments[0].tensor->dtype, rows[i].x);
    assert_int_equal(sample.arguments[1].tensor->dtype, rows[i].y);
    opc_sample_clear(&sample);
  }
  opc_sample_t none = sample_of("[null]");
  assert_int_equal(opc_sample_main_dtype(&none), OPC_DTYPE_OTHER);
  assert_false(opc_sample_cast(&none, OPC_DTYPE_FLOAT64));
  opc_sample_clear(&none);
}

static void test_cast_keeps_what_the_dtype_can_hold(void **state) {
  (void)state;
  opc_sample_t base = sample_of("[{'tensor': {'shape': [4], 'requires_grad': true}}]"), special;
  assert_int_equal(opc_variant_apply(&base, &op, "x.nan", &special, NULL), OPC_OK);
  assert_true(opc_sample_cast(&special, OPC_DTYPE_FLOAT16));
  assert_int_equal(special.arguments[0].tensor->fill.special, OPC_SPECIAL_NAN);
  assert_int_equal(special.arguments[0].tensor->fill.filled_as, OPC_DTYPE_FLOAT32);
  assert_true(special.arguments[0].tensor->requires_grad);
  assert_true(opc_sample_cast(&special, OPC_DTYPE_INT32));
  assert_int_equal(special.arguments[0].tensor->fill.special, OPC_SPECIAL_NONE);
  assert_int_equal(special.arguments[0].tensor->fill.filled_as, OPC_DTYPE_FLOAT32);
  assert_false(special.arguments[0].tensor->requires_grad);
  opc_sample_clear(&special);
  opc_sample_clear(&base);
}

/* Not with imaginary parts of 0, with which a conjugate is the number itself. */
static void test_cast_to_complex(void **state) {
  (void)state;
  opc_sample_t sample = sample_of("[{'tensor': {'shape': [3], 'fill': {'values': [1, 2.5, -3]}}}]");
  assert_true(opc_sample_cast(&sample, OPC_DTYPE_COMPLEX64));
  const opc_fill_t *fill = &sample.arguments[0].tensor->fill;
  const double real[] = {1, 2.5, -3}, imaginary[] = {2.5, -3, 1};
  assert_int_equal(fill->value_count, 3);
  assert_int_equal(fill->filled_as, OPC_DTYPE_OTHER);
  for (size_t i = 0; i < fill->value_count; i++) {
    assert_int_equal(fill->values[i].kind, OPC_NUMBER_COMPLEX);
    assert_true(fill->values[i].c.re == real[i] && fill->values[i].c.im == imaginary[i]);
  }
  opc_sample_clear(&sample);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_name_rebuilds_its_variant),
      cmocka_unit_test(test_other_contents),
      cmocka_unit_test(test_masks),
      cmocka_unit_test(test_lengths_and_counts),
      cmocka_unit_test(test_other_integers),
      cmocka_unit_test(test_one_tensor_has_a_moderate_number),
      cmocka_unit_test(test_what_each_does),
      cmocka_unit_test(test_what_does_not_apply),
      cmocka_unit_test(test_a_shared_storage_stays_large_enough),
      cmocka_unit_test(test_written_arguments_never_overlap),
      cmocka_unit_test(test_searched_values_get_no_special_ones),
      cmocka_unit_test(test_several_tensors),
      cmocka_unit_test(test_families_and_stopping),
      cmocka_unit_test(test_large_ones_are_asked_for_by_themselves),
      cmocka_unit_test(test_large_ones_fit_together),
      cmocka_unit_test(test_no_tensors),
      cmocka_unit_test(test_cast),
      cmocka_unit_test(test_cast_keeps_what_the_dtype_can_hold),
      cmocka_unit_test(test_cast_to_complex),
  };
  return cmocka_run_group_tests(tests, make_operator, clear_operator);
}
