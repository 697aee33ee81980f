/* What is learned about simulated operators, which check their arguments or do not. */
#include "plan_fixture.h"

#include <string.h>

#include "model/sample/relations.h"
#include "plan/variant/variant.h"
#include "search/relations/relation_learner.h"

/* ---- an operator's view of its arguments ---- */

typedef struct view {
  const opc_sample_t *sample;
  const opc_operator_t *op;
  bool checks; /* refuses out-of-bounds reads */
  opc_learn_outcome_t outcome;
} view_t;

static const opc_tensor_spec_t *tensor(view_t *v, const char *name) {
  return opc_sample_value(v->sample, v->op, name)->tensor;
}
static int64_t size(view_t *v, const char *name, int dim) { return tensor(v, name)->sizes[dim]; }
static int64_t number(view_t *v, const char *name) { return opc_sample_value(v->sample, v->op, name)->integer; }

static void worse(view_t *v, opc_learn_outcome_t outcome) {
  if (v->outcome == OPC_LEARN_CLEAN) v->outcome = v->checks ? OPC_LEARN_REFUSED : outcome;
}

/* Element i of a tensor's storage. */
static int64_t at(view_t *v, const char *name, int64_t i) {
  opc_integers_t integers;
  int64_t value = 0;
  if (i < 0 || i >= opc_tensor_spec_numel(tensor(v, name))) {
    worse(v, OPC_LEARN_READ);
    return 0;
  }
  if (opc_integers_of(tensor(v, name), &integers) && integers.values) value = integers.values[i];
  free(integers.values);
  return value;
}

typedef void simulated_t(view_t *v);

static void pair_sum(view_t *v) { /* out[i] = x[i] + y[i], and a third argument */
  for (int64_t i = 0; i < size(v, "x", 0); i++) at(v, "y", i), at(v, "z", i);
}

static void matrix_product(view_t *v) { /* [n, k] x [k, m] */
  const int64_t n = size(v, "x", 0), k = size(v, "x", 1), m = size(v, "y", 1);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      for (int64_t l = 0; l < k; l++) at(v, "x", i * k + l), at(v, "y", l * m + j);
}

static void packed(view_t *v) { /* n numbers, four in each element */
  for (int64_t i = 0; i < number(v, "n"); i++) at(v, "x", i / 4);
}

static void csr(view_t *v) { /* rows, columns, values, x: a sparse matrix times a vector */
  for (int64_t row = 0; row + 1 < size(v, "rows", 0); row++)
    for (int64_t i = at(v, "rows", row); i < at(v, "rows", row + 1) && v->outcome == OPC_LEARN_CLEAN; i++)
      at(v, "values", i), at(v, "x", at(v, "columns", i));
}

static void segment_sum(view_t *v) { /* x, offsets of B + 1, weights of B */
  const int64_t batch = size(v, "offsets", 0) - 1;
  if (batch < 0) worse(v, OPC_LEARN_THREW);
  for (int64_t b = 0; b < batch; b++) {
    const int64_t begin = at(v, "offsets", b), end = at(v, "offsets", b + 1);
    at(v, "weights", b);
    if (end < begin) v->outcome = v->checks ? OPC_LEARN_REFUSED : OPC_LEARN_HUNG; /* while (begin != end) */
    for (int64_t i = begin; i < end && v->outcome == OPC_LEARN_CLEAN; i++) at(v, "x", i);
  }
}

static void buckets(view_t *v) { /* a counting sort: starts say how often each key is there */
  int64_t seen[8] = {0};
  for (int64_t i = 0; i < size(v, "keys", 0); i++) {
    const int64_t key = at(v, "keys", i);
    if (key < 0 || key > 7) worse(v, OPC_LEARN_READ);
    else if (at(v, "starts", key) + seen[key]++ >= at(v, "starts", key + 1)) worse(v, OPC_LEARN_WROTE);
  }
  for (int64_t key = 0; key + 1 < size(v, "starts", 0) && key < 8; key++)
    if (seen[key] < at(v, "starts", key + 1) - at(v, "starts", key)) worse(v, OPC_LEARN_POISON);
}

static void embedding(view_t *v) { /* table[index] */
  const int64_t width = size(v, "table", 1);
  for (int64_t i = 0; i < opc_tensor_spec_numel(tensor(v, "index")); i++)
    for (int64_t k = 0; k < width; k++) at(v, "table", at(v, "index", i) * width + k);
}

static void lengths_split(view_t *v) { /* x is cut into pieces of these lengths; the whole result must be written */
  int64_t sum = 0;
  for (int64_t i = 0; i < size(v, "lengths", 0); i++) {
    const int64_t length = at(v, "lengths", i);
    for (int64_t k = 0; k < length; k++) at(v, "x", sum + k);
    sum += length;
  }
  if (sum < size(v, "x", 0)) worse(v, OPC_LEARN_POISON);
}

static void scatter(view_t *v) { /* out = zeros(n); out[index[i]] += x[i]: n is the number of elements */
  for (int64_t i = 0; i < size(v, "x", 0); i++) {
    const int64_t to = at(v, "index", i);
    if (to < 0 || to >= number(v, "n")) worse(v, OPC_LEARN_WROTE);
  }
}

static void counted(view_t *v) { /* n is x's size: empty(n) is written by x's size */
  if (size(v, "x", 0) > number(v, "n")) worse(v, OPC_LEARN_WROTE);
  if (size(v, "x", 0) < number(v, "n")) worse(v, OPC_LEARN_POISON);
}

static void points(view_t *v) { /* [n, 3] */
  if (size(v, "x", 1) != 3) worse(v, OPC_LEARN_READ);
}

static void even(view_t *v) {
  if (size(v, "x", 1) % 2 != 0) worse(v, OPC_LEARN_READ);
}

static void squares(view_t *v) { /* refuses a matrix that is not square */
  if (size(v, "x", 0) != size(v, "x", 1)) v->outcome = OPC_LEARN_REFUSED;
}

static void batches(view_t *v) { /* refuses another batch of y than of x, and reads a row of both for each */
  if (size(v, "x", 0) != size(v, "y", 0)) v->outcome = OPC_LEARN_REFUSED;
}

static void top(view_t *v) { /* the n largest of x: n is at most its size */
  for (int64_t i = 0; i < number(v, "n"); i++) at(v, "x", i);
}

static void independent(view_t *v) { (void)v; }
static void broken(view_t *v) { worse(v, OPC_LEARN_READ); }
static void loops(view_t *v) { /* ends when an element of the last index is found */
  bool found = false;
  for (int64_t i = 0; i < size(v, "index", 0); i++) found |= at(v, "index", i) == 2;
  if (!found) v->outcome = OPC_LEARN_HUNG;
}

#define F(n) "{'tensor': {'shape': [" n "]}}"
#define I(n, values) "{'tensor': {'shape': [" n "], 'dtype': 'int64', 'fill': {'values': [" values "]}}}"
#define TENSOR(name) \
  { name, "Tensor", NULL, false }
#define INTEGER(name) \
  { name, "int", NULL, false }

static const struct learned {
  const char *name;
  simulated_t *run;
  fixture_argument_t arguments[5];
  const char *args, *relations; /* as JSON without `checked` */
} rows[] = {
    {
        "pair_sum",
        pair_sum,
        {TENSOR("x"), TENSOR("y"), TENSOR("z")},
        F("5") ", " F("5") ", " F("5"),
        "[{'equal':[['x',0],['y',0],['z',0]]}]",
    },
    {
        "matrix_product",
        matrix_product,
        {TENSOR("x"), TENSOR("y")},
        F("4, 4") ", " F("4, 4"),
        "[{'equal':[['x',1],['y',0]]}]",
    },
    {
        "csr",
        csr,
        {TENSOR("rows"), TENSOR("columns"), TENSOR("values"), TENSOR("x")},
        I("4", "0,2,3,5") ", " I("5", "0,3,1,2,0") ", " F("5") ", " F("4"),
        "[{'values':'rows','at_most':[['columns',0],['values',0]]},{'values':'columns','below':[['x',0]]}]",
    },
    {"segment_sum",
     segment_sum,
     {TENSOR("x"), TENSOR("offsets"), TENSOR("weights")},
     F("6") ", " I("4", "0,1,4,6") ", " F("3"),
     "[{'values':'offsets','at_most':[['x',0]]},{'values':'offsets','ascend':true,'movable':true},"
     "{'equal':[['offsets',0,1],['weights',0]]}]"},
    {"buckets",
     buckets,
     {TENSOR("keys"), TENSOR("starts")},
     I("6", "0,0,1,1,2,2") ", " I("4", "0,2,4,6"),
     "[{'values':'keys','below':3},{'values':'starts','below':7},{'values':'starts','ascend':true},"
     "{'fixed':['keys',0],'size':6},{'fixed':['starts',0],'size':4}]"},
    {
        "embedding",
        embedding,
        {TENSOR("table"), TENSOR("index")},
        F("7, 3") ", " I("2, 2", "0,6,2,3"),
        "[{'values':'index','below':[['table',0]]}]",
    },
    {
        "random_index",
        embedding,
        {TENSOR("table"), TENSOR("index")},
        F("7, 3") ", {'tensor': {'shape': [4], 'dtype': 'int64', 'fill': {'range': [0, 7]}}}",
        "[{'values':'index','below':[['table',0]]}]",
    },
    {
        "lengths_split",
        lengths_split,
        {TENSOR("x"), TENSOR("lengths")},
        F("6") ", " I("3", "1,3,2"),
        "[{'values':'lengths','sum':['x',0]}]",
    },
    {
        "scatter",
        scatter,
        {TENSOR("x"), TENSOR("index"), INTEGER("n")},
        F("5") ", " I("5", "0,2,1,1,0") ", 3",
        "[{'values':'index','below':[['n']]},{'equal':[['x',0],['index',0]]}]",
    },
    {"counted", counted, {TENSOR("x"), INTEGER("n")}, F("4") ", 4", "[{'equal':[['x',0],['n']]}]"},
    {"packed",
     packed,
     {TENSOR("x"), INTEGER("n")},
     I("3", "1,2,3") ", 12",
     "[{'values':'n','below':13},{'least':['x',0],'size':3}]"},
    {"points", points, {TENSOR("x")}, F("4, 3"), "[{'fixed':['x',1],'size':3}]"},
    {"even", even, {TENSOR("x")}, F("3, 4"), "[{'multiple':['x',1],'of':2}]"},
    {"squares", squares, {TENSOR("x")}, F("3, 3"), "[{'equal':[['x',0],['x',1]]}]"},
    {"batch_of_one", batches, {TENSOR("x"), TENSOR("y")}, F("1, 2") ", " F("1, 3"), "[{'equal':[['x',0],['y',0]]}]"},
    {"top", top, {TENSOR("x"), INTEGER("n")}, F("6") ", 2", "[{'values':'n','at_most':[['x',0]]}]"},
    {"independent", independent, {TENSOR("x"), TENSOR("y")}, F("4, 3") ", " F("4"), "[]"},
    {"weak",
     pair_sum,
     {TENSOR("x"), TENSOR("y"), TENSOR("z")},
     F("1") ", " F("1") ", " F("2"),
     "[{'least':['z',0],'size':1},{'unknown':['x',0]},{'unknown':['y',0]}]"},
    {"broken", broken, {TENSOR("x"), TENSOR("y")}, F("4") ", " F("4"), "null"},
};

static opc_operator_t op;

static size_t argument_count(const struct learned *row) {
  size_t count = 0;
  while (count < COUNT(row->arguments) && row->arguments[count].name) count++;
  return count;
}

static opc_sample_t sample_of(const char *args) { return fixture_sample(&op, "'args': [%s]", args); }

static opc_learn_outcome_t call(simulated_t *run, bool checks, const opc_sample_t *sample) {
  view_t view = {.sample = sample, .op = &op, .checks = checks, .outcome = OPC_LEARN_CLEAN};
  run(&view);
  return view.outcome;
}

/* The relations as JSON, with ' instead of ", without `checked`; whether any is checked. */
static char *learn(simulated_t *run, bool checks, opc_sample_t *sample, bool *out_checked, size_t *out_tries) {
  opc_learner_t *learner;
  opc_error_t error = {0};
  assert_ok(opc_learner_new(&op, sample, 0, NULL, &learner, &error), error);
  for (opc_sample_t changed; opc_learner_next(learner, &changed); opc_sample_clear(&changed))
    opc_learner_tell(learner, call(run, checks, &changed));
  assert_ok(opc_learner_take(learner, &sample->relations, &error), error);
  *out_tries = opc_learner_tries(learner);
  opc_learner_free(learner);
  json_t *json = sample->relations ? opc_relations_to_json(sample->relations) : json_null(), *item;
  size_t i;
  *out_checked = false;
  json_array_foreach(json, i, item) {
    *out_checked |= json_is_true(json_object_get(item, "checked"));
    json_object_del(item, "checked");
  }
  char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
  json_decref(json);
  for (char *c = text; *c; c++)
    if (*c == '"') *c = '\'';
  return text;
}

/* The learned relations pass through the sample's text, and hold for the sample. */
static void assert_travels(const opc_sample_t *sample) {
  opc_sample_t again;
  opc_error_t error = {0};
  json_t *json = opc_sample_to_json(sample, &op);
  assert_ok(opc_sample_from_json(json, &op, NULL, &again, NULL, 0, &error), error);
  json_t *text = opc_sample_to_json(&again, &op);
  assert_true(json_equal(json_object_get(json, "relations"), json_object_get(text, "relations")));
  assert_true(opc_relations_hold(sample->relations, sample, &op, NULL, NULL, NULL, 0));
  json_decref(text);
  json_decref(json);
  opc_sample_clear(&again);
}

/* Related arguments run cleanly; so do the variants that respect the relations. */
typedef struct variants {
  const struct learned *row;
  const opc_sample_t *base;
  size_t related;
} variants_t;

static bool try_variant(const char *name, const opc_sample_t *varied, void *context) {
  variants_t *variants = context;
  opc_input_change_t change = opc_variant_change(variants->base, &op, varied, name);
  opc_learn_outcome_t outcome = call(variants->row->run, false, varied);
  const bool sizes = (opc_variant_family(name) & (OPC_VARIANT_EMPTY | OPC_VARIANT_SHAPE | OPC_VARIANT_SIZES)) != 0;
  if (strstr(name, "related_empty") && change != OPC_INPUT_RELATED) fail_msg("%s is not related", name);
  if (change == OPC_INPUT_ALONE) return true;
  variants->related += sizes;
  if (outcome != OPC_LEARN_CLEAN && outcome != OPC_LEARN_REFUSED)
    fail_msg("%s of %s: change %d, and the outcome is %d", name, variants->row->name, change, outcome);
  return true;
}

static size_t assert_related_is_clean(const struct learned *row, const opc_sample_t *sample) {
  variants_t variants = {.row = row, .base = sample};
  opc_error_t error = {0};
  assert_ok(opc_variants_of(sample, &op, OPC_VARIANT_ALL | OPC_VARIANT_CONTENTS, try_variant, &variants, &error),
            error);
  return variants.related;
}

static void make(const struct learned *row) {
  op = fixture_operator("ns::op", "ns::op(…)", row->arguments, argument_count(row), NULL, 0);
}

static void test_what_is_learned(void **state) {
  (void)state;
  int wrong = 0;
  for (size_t i = 0; i < COUNT(rows); i++) {
    for (int checks = 0; checks < 2; checks++) {
      bool checked;
      size_t tries;
      make(&rows[i]);
      opc_sample_t sample = sample_of(rows[i].args);
      char *text = learn(rows[i].run, checks, &sample, &checked, &tries);
      const char *wanted = rows[i].relations;
      print_message("%s%s: %zu tries: %s\n", rows[i].name, checks ? " (checks)" : "", tries, text);
      if (strcmp(text, wanted) != 0) {
        print_message("  wanted: %s\n", wanted);
        wrong++;
      }
      const bool some = strcmp(wanted, "[]") != 0 && strstr(wanted, "unknown") == NULL && strcmp(wanted, "null") != 0;
      if (rows[i].run != squares && rows[i].run != batches) assert_int_equal(checked, checks && some);
      assert_true(tries <= OPC_LEARNER_TRIES_MAX);
      if (sample.relations) assert_travels(&sample);
      const bool weak = strcmp(rows[i].name, "weak") == 0; /* relations that are not learned are not kept */
      if (sample.relations && !weak)
        print_message("  %zu related variants\n", assert_related_is_clean(&rows[i], &sample));
      free(text);
      opc_sample_clear(&sample);
      opc_operator_clear(&op);
    }
  }
  assert_int_equal(wrong, 0);
}

static void along_either_way(view_t *v) {
  const int64_t dim = number(v, "dim"), ndim = tensor(v, "x")->ndim;
  if (dim < -ndim || dim >= ndim) worse(v, OPC_LEARN_READ);
}

static void along_from_the_front(view_t *v) {
  if (number(v, "dim") < 0 || number(v, "dim") >= tensor(v, "x")->ndim) worse(v, OPC_LEARN_READ);
}

static void any_number(view_t *v) { (void)v; }

/* Only an operator that refuses what lies before the first dimension says that it counts from the end. */
static void test_dimensions_from_the_end(void **state) {
  (void)state;
  static const struct {
    simulated_t *run;
    bool checks;
    opc_input_change_t change; /* of dim.set-2 */
  } rows_of_dim[] = {{along_either_way, true, OPC_INPUT_RELATED},
                     {along_either_way, false, OPC_INPUT_ALONE},
                     {along_from_the_front, true, OPC_INPUT_ALONE},
                     {any_number, true, OPC_INPUT_ALONE}};
  static const struct learned row = {.arguments = {TENSOR("x"), INTEGER("dim")}};
  for (size_t i = 0; i < COUNT(rows_of_dim); i++) {
    bool checked;
    size_t tries;
    opc_error_t error = {0};
    opc_sample_t varied;
    make(&row);
    opc_sample_t sample = sample_of(F("3, 4") ", 1");
    free(learn(rows_of_dim[i].run, rows_of_dim[i].checks, &sample, &checked, &tries));
    assert_ok(opc_variant_apply(&sample, &op, "dim.set-2", &varied, &error), error);
    assert_int_equal(opc_variant_change(&sample, &op, &varied, "dim.set-2"), rows_of_dim[i].change);
    assert_travels(&sample);
    opc_sample_clear(&varied);
    opc_sample_clear(&sample);
    opc_operator_clear(&op);
  }
}

/* A hang costs a second: the argument is not tried again, and nothing is learned about it. */
static void test_hangs_are_few(void **state) {
  (void)state;
  static const struct learned row = {.arguments = {TENSOR("index"), TENSOR("other")}};
  int hangs = 0;
  opc_error_t error = {0};
  opc_learner_t *learner;
  bool hung[2] = {false};
  make(&row);
  opc_sample_t sample = sample_of(I("4", "0,1,1,2") ", " I("3", "0,2,1"));
  assert_ok(opc_learner_new(&op, &sample, 0, NULL, &learner, &error), error);
  for (opc_sample_t changed; opc_learner_next(learner, &changed); opc_sample_clear(&changed)) {
    opc_learn_outcome_t outcome = call(loops, false, &changed);
    hangs += outcome == OPC_LEARN_HUNG;
    opc_learner_tell(learner, outcome);
  }
  assert_in_range(hangs, 1, OPC_LEARNER_HANGS_MAX);
  opc_learner_hung(learner, hung);
  assert_true(hung[0]);
  assert_false(hung[1]);
  assert_ok(opc_learner_take(learner, &sample.relations, &error), error);
  bool said = false;
  for (size_t i = 0; i < sample.relations->count; i++) {
    const opc_relation_t *relation = &sample.relations->items[i];
    if (relation->kind == OPC_RELATION_UNKNOWN) said |= strcmp(relation->values, "index") == 0;
  }
  assert_true(said);
  opc_learner_free(learner);
  opc_sample_clear(&sample);
  opc_operator_clear(&op);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hangs_are_few),
      cmocka_unit_test(test_what_is_learned),
      cmocka_unit_test(test_dimensions_from_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
