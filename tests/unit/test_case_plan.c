/* The planner of cases and the conditions of its rules: which cases a table gives for a sample, in which order, and
 * which it does not give. */
#include "plan_fixture.h"

#include <string.h>

#include "catalogue/rules.h"
#include "plan/cases/planner.h"

static const fixture_argument_t arguments[] = {
    {"x", "Tensor", NULL, false}, {"y", "Tensor?", "None", false}, {"n", "int", "1", false}};
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

/* text: a sample object, with ' instead of ". */
static opc_sample_t sample_of(const char *fields) {
  opc_sample_t sample = fixture_sample(&op, "%s", fields);
  sample.source = OPC_SAMPLE_FILE;
  return sample;
}

#define TENSOR(shape, dtype) "{'tensor': {'shape': " shape ", 'dtype': '" dtype "'}}"

/* ---- the plan as text ---- */

typedef struct listing {
  const opc_plan_request_t *request;
  opc_text_t text; /* one "dtype/sample/variant:row action" per case, separated by spaces */
  size_t stop_after;
  bool checks; /* "check:dtype/sample/variant" instead */
} listing_t;

static bool list_case(const opc_planned_case_t *planned, void *context) {
  static const char *const actions[] = {"", "!skip", "!must_reject"};
  listing_t *listing = context;
  const opc_case_table_t *table = &listing->request->tables[planned->table];
  opc_case_id_t id;
  opc_planned_case_id(listing->request, planned, &id);
  if (listing->checks) {
    opc_text_addf(&listing->text, "%s%s:%s/%s/%s", listing->text.length ? " " : "", id.check,
                  id.dtype[0] ? id.dtype : "-", id.sample[0] ? id.sample : "-", id.variant[0] ? id.variant : "-");
    return true;
  }
  opc_text_addf(&listing->text, "%s%s/%s/%s", listing->text.length ? " " : "", id.dtype[0] ? id.dtype : "-",
                id.sample[0] ? id.sample : "-", id.variant[0] ? id.variant : "-");
  assert_non_null(planned->rule);
  assert_non_null(planned->rule->why);
  if (planned->rule >= table->rules && planned->rule < table->rules + table->rule_count)
    opc_text_addf(&listing->text, ":%d", (int)(planned->rule - table->rules));
  opc_text_add(&listing->text, actions[planned->action]);
  assert_true(planned->action != OPC_PLAN_SKIP || planned->detail);
  assert_int_equal(planned->source, planned->base ? planned->base->source : OPC_SAMPLE_NONE);
  return !listing->stop_after || --listing->stop_after > 0;
}

static const opc_plan_device_t cpu = {"cpu", OPC_ON_CPU, true, true};

static void assert_plan(const opc_plan_request_t *request, const char *expected) {
  listing_t listing = {.request = request};
  opc_error_t error = {0};
  assert_ok(opc_plan_all(request, list_case, &listing, &error), error);
  assert_string_equal(opc_text_c(&listing.text), expected);
  opc_text_clear(&listing.text);
}

/* One table and one sample or more, on the CPU. */
static opc_plan_request_t request_of(const opc_case_table_t *table, const opc_sample_t *samples, size_t count) {
  return (opc_plan_request_t){.op = &op,
                              .tables = table,
                              .table_count = 1,
                              .devices = &cpu,
                              .device_count = 1,
                              .samples = samples,
                              .sample_count = count};
}

static void assert_rules(const opc_case_rule_t *rules, size_t rule_count, const opc_sample_t *samples,
                         size_t sample_count, const char *expected) {
  opc_case_table_t table = {"check", true, false, rules, rule_count};
  opc_plan_request_t request = request_of(&table, samples, sample_count);
  assert_plan(&request, expected);
}

/* ---- tests ---- */

static void every_check_has_a_table_with_reasons(void **state) {
  (void)state;
  for (size_t i = 0; i < opc_check_info_count; i++) {
    const opc_case_table_t *table = &opc_case_tables[i];
    assert_string_equal(table->check, opc_check_infos[i].name);
    assert_int_equal(table->calls, opc_check_infos[i].calls);
    assert_true(table->rule_count > 0 && table->rule_count <= 64);
    for (size_t k = 0; k < table->rule_count; k++) {
      const opc_case_rule_t *rule = &table->rules[k];
      bool of_sample = rule->scope < OPC_SCOPE_ALL_SAMPLES;
      if (!rule->why || !rule->why[0] || strchr(rule->why, '\n') || strlen(rule->why) > 110)
        fail_msg("row %zu of %s: its reason is not one line", k, table->check);
      if (of_sample != (rule->families != 0)) fail_msg("row %zu of %s: families", k, table->check);
      if (of_sample && strcmp(rule->why, "") == 0) fail_msg("row %zu of %s", k, table->check);
    }
  }
}

static void variants_are_in_the_order_of_their_table_whatever_the_rows(void **state) {
  (void)state;
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[2, 3]", "float32") "]");
  static const opc_case_rule_t rules[] = {
      {.families = OPC_VARIANT_SPECIAL, .names = "*.nan", .why = "w"},
      {.families = OPC_VARIANT_PLAIN, .why = "w"},
      {.families = OPC_VARIANT_EMPTY | OPC_VARIANT_PLAIN, .why = "w"},
  };
  assert_rules(rules, COUNT(rules), &sample, 1, "-/s/plain:1 -/s/x.empty0:2 -/s/x.empty1:2 -/s/x.nan:0");
  opc_sample_clear(&sample);
}

/* Shared by the rows, and no more than a row's own number; searched samples have none. */
static void neighbours_are_limited(void **state) {
  (void)state;
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[8, 12]", "float32") "]");
  static const opc_case_rule_t rules[] = {
      {.families = OPC_VARIANT_PLAIN, .why = "w"},
      {.families = OPC_VARIANT_OTHER_SHAPE | OPC_VARIANT_NEIGHBOUR, .names = "*.[!l]*", .neighbours = 3, .why = "w"},
      {.families = OPC_VARIANT_SIZES, .neighbours = 1, .why = "w"},
  };
  static const opc_case_table_t table = {"check", true, false, rules, COUNT(rules)};
  opc_plan_request_t request = request_of(&table, &sample, 1);
  assert_plan(&request, "-/s/plain:0");
  request.neighbours = 1;
  assert_plan(&request, "-/s/plain:0 -/s/all.fewer8:1");
  request.neighbours = OPC_NEIGHBOURS_AS_OWN; /* it has one case of its own */
  assert_plan(&request, "-/s/plain:0 -/s/all.fewer8:1");
  request.neighbours = 3;
  assert_plan(&request, "-/s/plain:0 -/s/all.fewer8:1 -/s/all.fewer12:1 -/s/all.uneven:2");
  request.neighbours = 100;
  assert_plan(&request, "-/s/plain:0 -/s/all.fewer8:1 -/s/all.fewer12:1 -/s/n.set0:1 -/s/all.uneven:2");
  /* The first one that was searched has fewer, and a further one none. */
  opc_sample_t samples[] = {sample, sample_of("'name': 't', 'args': [" TENSOR("[8, 12]", "float32") "]")};
  request.samples = samples;
  request.sample_count = COUNT(samples);
  request.neighbours = 1;
  samples[0].source = samples[1].source = OPC_SAMPLE_SEARCHED;
  assert_plan(&request, "-/s/plain:0 -/t/plain:0 -/s/all.fewer8:1");
  request.neighbours = OPC_NEIGHBOURS_AS_OWN;
  assert_plan(&request, "-/s/plain:0 -/t/plain:0");
  samples[0].by_recipe = true;
  assert_plan(&request, "-/s/plain:0 -/t/plain:0 -/s/all.fewer8:1");
  opc_sample_clear(&samples[0]);
  opc_sample_clear(&samples[1]);
}

/* Such a row takes nothing from the share of the others, and has its own only where there are many. */
static void neighbours_beside_the_shared_ones(void **state) {
  (void)state;
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[8, 12]", "float32") "]");
  static const opc_case_rule_t rules[] = {
      {.families = OPC_VARIANT_PLAIN, .why = "w"},
      {.families = OPC_VARIANT_OTHER_SHAPE, .names = "all.fewer*", .neighbours = 3, .why = "w"},
      {.families = OPC_VARIANT_SIZES, .neighbours = 1, .beside = true, .why = "w"},
  };
  static const opc_case_table_t table = {"check", true, false, rules, COUNT(rules)};
  opc_plan_request_t request = request_of(&table, &sample, 1);
  request.neighbours = 2;
  assert_plan(&request, "-/s/plain:0 -/s/all.fewer8:1 -/s/all.fewer12:1");
  request.neighbours = 16;
  assert_plan(&request, "-/s/plain:0 -/s/all.fewer8:1 -/s/all.fewer12:1 -/s/all.uneven:2");
  opc_sample_clear(&sample);
}

/* A check that compares with a reference may have them all the same. */
static void neighbours_stay_in_the_range_of_the_sample(void **state) {
  (void)state;
  opc_sample_t sample = sample_of("'name': 's', 'args': [{'tensor': {'shape': [2, 3], 'fill': 'uniform'}}]");
  static const opc_case_rule_t rules[] = {{.families = OPC_VARIANT_CONTENTS, .neighbours = 9, .why = "w"}},
                               own[] = {{.families = OPC_VARIANT_CONTENTS, .why = "w"}};
  static const opc_case_table_t table = {"check", true, false, rules, COUNT(rules)};
  opc_plan_request_t request = request_of(&table, &sample, 1);
  request.neighbours = 9;
  assert_plan(&request,
              "-/s/x.zeros:0 -/s/x.zero_row:0 -/s/x.zero:0 -/s/x.ties:0 -/s/x.ones:0 -/s/x.eighths:0 -/s/x.over_64:0 "
              "-/s/x.graded:0");
  assert_rules(own, COUNT(own), &sample, 1,
               "-/s/x.zeros:0 -/s/x.zero_row:0 -/s/x.zero:0 -/s/x.ties:0 -/s/x.negated:0 -/s/x.ones:0 -/s/x.eighths:0 "
               "-/s/x.times_64:0 -/s/x.over_64:0 -/s/x.graded:0");
  opc_sample_clear(&sample);
}

static void a_dtype_row_gives_nothing_that_an_earlier_row_gave(void **state) {
  (void)state;
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[2]", "int64") "]");
  static const opc_case_rule_t own[] = {
      {.families = OPC_VARIANT_PLAIN, .why = "w"},
      {.families = OPC_VARIANT_PLAIN, .dtypes = OPC_REPRESENTATIVE_DTYPES, .why = "w"},
      {.families = OPC_VARIANT_PLAIN, .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_BOOL), .why = "w"},
  };
  assert_rules(own, COUNT(own), &sample, 1,
               "-/s/plain:0 float64/s/plain:1 float32/s/plain:1 float16/s/plain:1 bool/s/plain:1 complex64/s/plain:1");
  assert_rules(
      own + 1, COUNT(own) - 1, &sample, 1,
      "float64/s/plain:0 float32/s/plain:0 float16/s/plain:0 int64/s/plain:0 bool/s/plain:0 complex64/s/plain:0");
  opc_sample_clear(&sample);
}

static void float8_is_swept_as_far_as_the_sample_has_it(void **state) {
  (void)state;
  static const opc_case_rule_t all[] = {{.families = OPC_VARIANT_PLAIN, .dtypes = OPC_ALL_DTYPES, .why = "w"}};
  static const struct {
    const char *sample;
    bool has; /* cases of float8_e5m2fnuz */
  } rows[] = {{"'name': 's', 'args': [" TENSOR("[2]", "float32") "]", false},
              {"'name': 's', 'args': [" TENSOR("[2]", "float8_e4m3fn") "]", true}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_sample_t sample = sample_of(rows[i].sample);
    opc_case_table_t table = {"check", true, false, all, COUNT(all)};
    opc_plan_request_t request = {.op = &op,
                                  .tables = &table,
                                  .table_count = 1,
                                  .devices = &cpu,
                                  .device_count = 1,
                                  .samples = &sample,
                                  .sample_count = 1};
    listing_t listing = {.request = &request};
    opc_error_t error = {0};
    assert_ok(opc_plan_all(&request, list_case, &listing, &error), error);
    assert_int_equal(strstr(opc_text_c(&listing.text), "float8_e5m2fnuz/") != NULL, rows[i].has);
    assert_non_null(strstr(opc_text_c(&listing.text), "float8_e5m2/"));
    opc_text_clear(&listing.text);
    opc_sample_clear(&sample);
  }
}

static void the_first_sample_that_fits_has_the_case(void **state) {
  (void)state;
  static const opc_case_rule_t rules[] = {{.scope = OPC_SCOPE_FIRST_FIT,
                                           .families = OPC_VARIANT_LONG,
                                           .size = OPC_LAST_OF_FIRST_TENSOR,
                                           .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_BFLOAT16),
                                           .when = OPC_WHEN_ALL_FLOATING | OPC_WHEN_SIZE_ONCE | OPC_WHEN_DTYPE_CHANGES,
                                           .why = "w"}};
  opc_sample_t samples[] = {
      sample_of("'name': 'a', 'args': [" TENSOR("[3]", "int64") "]"),
      sample_of("'name': 'b', 'args': [" TENSOR("[3, 3]", "float32") "]"),
      sample_of("'name': 'c', 'args': [" TENSOR("[3]", "float32") "]"),
      sample_of("'name': 'd', 'args': [" TENSOR("[5]", "float32") "]"),
  };
  assert_rules(rules, 1, samples, COUNT(samples), "bfloat16/c/all.long3:0");
  assert_rules(rules, 1, samples, 2, "");
  assert_rules(rules, 1, samples + 3, 1, "bfloat16/d/all.long5:0");
  for (size_t i = 0; i < COUNT(samples); i++) opc_sample_clear(&samples[i]);
  /* A suitable sample may have the dtype already: then no sample has the case. */
  opc_sample_t narrow[] = {sample_of("'name': 'a', 'args': [" TENSOR("[3]", "bfloat16") "]"),
                           sample_of("'name': 'b', 'args': [" TENSOR("[3]", "float32") "]")};
  assert_rules(rules, 1, narrow, COUNT(narrow), "");
  for (size_t i = 0; i < COUNT(narrow); i++) opc_sample_clear(&narrow[i]);
}

static void the_first_sample_alone_and_no_large_one(void **state) {
  (void)state;
  static const opc_case_rule_t rules[] = {{.scope = OPC_SCOPE_FIRST_SAMPLE,
                                           .families = OPC_VARIANT_SHAPE,
                                           .names = "all.larger",
                                           .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT32),
                                           .numel_max = 4096,
                                           .why = "w"}};
  opc_sample_t samples[] = {sample_of("'name': 'a', 'args': [" TENSOR("[3]", "float32") "]"),
                            sample_of("'name': 'b', 'args': [" TENSOR("[3]", "float64") "]"),
                            sample_of("'name': 'c', 'args': [" TENSOR("[99, 99]", "float64") "]")};
  assert_rules(rules, 1, samples, 2, "float32/a/all.larger:0");
  assert_rules(rules, 1, samples + 1, 2, "float32/b/all.larger:0");
  assert_rules(rules, 1, samples + 2, 1, "");
  for (size_t i = 0; i < COUNT(samples); i++) opc_sample_clear(&samples[i]);
}

static void refused_and_unchecked_samples_have_the_plain_case(void **state) {
  (void)state;
  static const opc_case_rule_t usual[] = {{.families = OPC_VARIANT_ALL, .why = "w"},
                                          {.scope = OPC_SCOPE_ALL_SAMPLES, .why = "w"}};
  static const opc_case_rule_t refusing[] = {
      {.samples = OPC_ACCEPTED | OPC_REFUSED, .families = OPC_VARIANT_PLAIN, .why = "w"}};
  static const opc_case_rule_t judging[] = {
      {.samples = OPC_ACCEPTED | OPC_REFUSED, .families = OPC_VARIANT_PLAIN, .judge = OPC_JUDGE_REFUSAL, .why = "w"}};
  static const opc_case_rule_t unchecked[] = {
      {.samples = OPC_ACCEPTED | OPC_UNCHECKED, .families = OPC_VARIANT_PLAIN | OPC_VARIANT_EMPTY, .why = "w"}};
  const opc_case_table_t tables[] = {{"a", true, false, usual, COUNT(usual)},
                                     {"b", true, false, usual, COUNT(usual)},
                                     {"c", true, false, refusing, 1},
                                     {"d", true, false, judging, 1},
                                     {"e", true, false, unchecked, 1}};
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[2]", "float32") "], 'expect': {'rejects': true}");
  opc_plan_request_t request = {.op = &op,
                                .tables = tables,
                                .table_count = COUNT(tables),
                                .devices = &cpu,
                                .device_count = 1,
                                .samples = &sample,
                                .sample_count = 1};
  assert_plan(&request, "-/s/plain!must_reject -/s/plain!skip -/s/plain:0 -/s/plain:0 -/s/plain!skip");
  bool wanted[COUNT(tables)] = {false, false, true, true, false};
  request.wanted = wanted;
  assert_plan(&request, "-/s/plain:0!must_reject -/s/plain:0");
  wanted[2] = false;
  assert_plan(&request, "-/s/plain:0");

  sample.expect.rejects = false;
  sample.unchecked = true;
  request.wanted = NULL;
  assert_plan(&request, "-/-/-!skip -/-/-!skip -/-/-!skip -/-/-!skip -/s/plain:0");
  sample.uninitialised = true; /* another row handles it */
  assert_plan(&request, "-/-/-!skip -/-/-!skip -/-/-!skip -/-/-!skip -/-/-!skip");
  opc_sample_clear(&sample);
}

static void devices_decide_what_there_is(void **state) {
  (void)state;
  static const opc_case_rule_t rules[] = {
      {.families = OPC_VARIANT_PLAIN, .why = "w"},
      {.devices = OPC_ON_CUDA, .families = OPC_VARIANT_EMPTY, .why = "w"},
      {.devices = OPC_ON_SIMULATED | OPC_ON_CUDA, .families = OPC_VARIANT_LARGE, .why = "w"},
      {.scope = OPC_SCOPE_ALL_SAMPLES, .why = "w"},
  };
  static const opc_case_rule_t alone[] = {{.scope = OPC_SCOPE_OPERATOR, .why = "w"}};
  static const opc_case_rule_t unserved[] = {{.families = OPC_VARIANT_PLAIN, .needs = OPC_NEEDS_NO_KERNEL, .why = "w"}};
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[2]", "float32") "]");
  opc_case_table_t table = {"check", true, false, rules, COUNT(rules)};
  opc_plan_device_t device = cpu;
  opc_plan_request_t request = {.op = &op,
                                .tables = &table,
                                .table_count = 1,
                                .devices = &device,
                                .device_count = 1,
                                .samples = &sample,
                                .sample_count = 1};
  assert_plan(&request, "-/s/plain:0 -/-/-:3");
  device.bit = OPC_ON_CUDA;
  assert_plan(&request, "-/s/plain:0 -/s/x.empty0:1 -/-/-:3");
  device.bit = OPC_ON_SIMULATED;
  assert_plan(&request, "-/s/all.rows2:2 -/s/all.huge2:2 -/s/all.vast2:2 -/-/-:3");
  table.rule_count = 1;
  assert_plan(&request, "-/-/-!skip");
  device.bit = OPC_ON_CPU;
  device.served = false;
  assert_plan(&request, "-/-/-!skip");
  table.rules = unserved;
  assert_plan(&request, "-/s/plain:0");
  device.usable = false;
  assert_plan(&request, "-/-/-!skip");
  table.rules = alone;
  assert_plan(&request, "-/-/-:0");
  opc_sample_clear(&sample);
}

/* Every check runs every unmodified sample before any variant, except checks that leave graphs behind. */
static void samples_themselves_come_before_variants(void **state) {
  (void)state;
  static const opc_case_rule_t rules[] = {{.families = OPC_VARIANT_PLAIN | OPC_VARIANT_EMPTY, .why = "w"},
                                          {.scope = OPC_SCOPE_ALL_SAMPLES, .why = "w"}};
  const opc_case_table_t tables[] = {{"leaves", true, true, rules, COUNT(rules)},
                                     {"first", true, false, rules, COUNT(rules)},
                                     {"second", true, false, rules, 1}};
  opc_sample_t samples[] = {sample_of("'name': 'a', 'args': [" TENSOR("[2]", "float32") "]"),
                            sample_of("'name': 'b', 'args': [" TENSOR("[2]", "float32") "]")};
  opc_plan_request_t request = {.op = &op,
                                .tables = tables,
                                .table_count = COUNT(tables),
                                .devices = &cpu,
                                .device_count = 1,
                                .samples = samples,
                                .sample_count = 2};
  listing_t listing = {.request = &request, .checks = true};
  opc_error_t error = {0};
  assert_ok(opc_plan_all(&request, list_case, &listing, &error), error);
  assert_string_equal(opc_text_c(&listing.text),
                      "first:-/a/plain first:-/b/plain second:-/a/plain second:-/b/plain "
                      "first:-/a/x.empty0 first:-/b/x.empty0 first:-/-/- second:-/a/x.empty0 second:-/b/x.empty0 "
                      "leaves:-/a/plain leaves:-/b/plain leaves:-/a/x.empty0 leaves:-/b/x.empty0 leaves:-/-/-");
  opc_text_clear(&listing.text);
  for (size_t i = 0; i < COUNT(samples); i++) opc_sample_clear(&samples[i]);
}

typedef struct wanted_case {
  const char *variant;
  opc_provenance_t provenance;
  bool found;
} wanted_case_t;

static bool take_provenance(const opc_planned_case_t *planned, void *context) {
  wanted_case_t *wanted = context;
  if (planned->variant && strcmp(planned->variant, wanted->variant) == 0) {
    wanted->found = true;
    wanted->provenance = planned->provenance;
  }
  return true;
}

static const char *provenance_by(const opc_case_rule_t *rule, const opc_sample_t *sample, const char *variant,
                                 char out[OPC_PROVENANCE_SIZE]) {
  const opc_case_table_t table = {"check", true, false, rule, 1};
  opc_plan_request_t request = {.op = &op,
                                .tables = &table,
                                .table_count = 1,
                                .devices = &cpu,
                                .device_count = 1,
                                .samples = sample,
                                .sample_count = 1};
  wanted_case_t wanted = {.variant = variant};
  opc_error_t error = {0};
  assert_ok(opc_plan_all(&request, take_provenance, &wanted, &error), error);
  assert_true(wanted.found);
  opc_provenance_format(&wanted.provenance, out);
  return out;
}

static const char *provenance_in_plan(const opc_sample_t *sample, const char *variant, char out[OPC_PROVENANCE_SIZE]) {
  static const opc_case_rule_t rule = {.families = OPC_VARIANT_ALL | OPC_VARIANT_CONTENTS | OPC_VARIANT_EQUIVALENT,
                                       .why = "w"};
  return provenance_by(&rule, sample, variant, out);
}

static void every_case_has_a_provenance(void **state) {
  (void)state;
  char text[OPC_PROVENANCE_SIZE];
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[2, 3]", "float32") "]");
  assert_string_equal(provenance_in_plan(&sample, "plain", text), "declared/same_values");
  assert_string_equal(provenance_in_plan(&sample, "x.transposed", text), "declared/same_values");
  assert_string_equal(provenance_in_plan(&sample, "x.empty0", text), "declared/related");
  assert_string_equal(provenance_in_plan(&sample, "x.nan", text), "declared/alone");
  assert_string_equal(provenance_in_plan(&sample, "x.zeros", text), "declared/related");
  /* float16 has neither the squares of large numbers nor a small constant that is added to zero. */
  static const opc_case_rule_t narrow = {
      .families = OPC_VARIANT_CONTENTS, .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_FLOAT16), .why = "w"};
  assert_string_equal(provenance_by(&narrow, &sample, "x.zeros", text), "declared/alone");
  opc_sample_t two = sample_of("'name': 's', 'args': [" TENSOR("[2]", "float32") ", " TENSOR("[2]", "float32") "]");
  assert_string_equal(provenance_in_plan(&two, "y.other_float", text), "declared/alone");
  opc_sample_clear(&two);
  sample.source = OPC_SAMPLE_SEARCHED;
  assert_string_equal(provenance_in_plan(&sample, "plain", text), "searched/same_values");
  sample.by_recipe = true;
  assert_string_equal(provenance_in_plan(&sample, "plain", text), "recipe/same_values");
  opc_sample_clear(&sample);
}

static void a_known_case_is_planned_alone(void **state) {
  (void)state;
  static const opc_case_rule_t rules[] = {
      {.families = OPC_VARIANT_PLAIN | OPC_VARIANT_EMPTY, .why = "w"},
      {.families = OPC_VARIANT_PLAIN, .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_BOOL), .why = "w"}};
  opc_case_table_t table = {"check", true, false, rules, COUNT(rules)};
  opc_sample_t samples[] = {sample_of("'name': 'a', 'args': [" TENSOR("[2]", "float32") "]"),
                            sample_of("'name': 'b', 'args': [" TENSOR("[2]", "float32") "]")};
  opc_plan_request_t request = {.op = &op,
                                .tables = &table,
                                .table_count = 1,
                                .devices = &cpu,
                                .device_count = 1,
                                .samples = samples,
                                .sample_count = 2};
  listing_t listing = {.request = &request};
  opc_error_t error = {0};
  listing.stop_after = 1;
  assert_ok(opc_plan_all(&request, list_case, &listing, &error), error);
  assert_string_equal(opc_text_c(&listing.text), "-/a/plain:0");

  /* A case with a known id is found without planning the others. */
  opc_case_id_t only = {.check = "check", .device = "cpu", .sample = "b", .variant = "x.empty0"};
  request.only = &only;
  request.only_exists = true;
  assert_plan(&request, "-/b/x.empty0:0");
  request.only_exists = false;
  assert_plan(&request, "-/b/plain:0 -/b/x.empty0:0 bool/b/plain:1");
  strcpy(only.check, "other");
  assert_plan(&request, "");
  opc_text_clear(&listing.text);
  for (size_t i = 0; i < COUNT(samples); i++) opc_sample_clear(&samples[i]);
}

typedef struct turns {
  listing_t listing;
  int turn;
  size_t count;
} turns_t;

static bool take_turn(const opc_planned_case_t *planned, void *context) {
  turns_t *turns = context;
  assert_true(planned->turn >= turns->turn && planned->turn <= 2 * OPC_YIELD_TURNS);
  assert_true((planned->turn == 0) == (opc_planned_is_unmodified(planned) && !planned->base->brief));
  turns->turn = planned->turn;
  turns->count++;
  return list_case(planned, &turns->listing);
}

/* All cases of the plan in another order: those of samples themselves first, but for brief ones. */
static void a_plan_by_yield_has_the_same_cases_in_turns(void **state) {
  (void)state;
  static const opc_case_rule_t rules[] = {
      {.families = OPC_VARIANT_PLAIN | OPC_VARIANT_LAYOUT, .why = "w"},
      {.families = OPC_VARIANT_PLAIN, .dtypes = OPC_ONE_DTYPE(OPC_DTYPE_BOOL), .why = "w"}};
  const opc_case_table_t tables[] = {{"stride", true, false, rules, COUNT(rules)},
                                     {"autograd", true, true, rules, COUNT(rules)}};
  opc_sample_t samples[] = {sample_of("'name': 'a', 'args': [" TENSOR("[2, 3]", "float32") "]"),
                            sample_of("'name': 'b', 'args': [" TENSOR("[2]", "float32") "]")};
  samples[1].brief = true;
  samples[1].source = OPC_SAMPLE_SEARCHED;
  opc_plan_request_t request = request_of(tables, samples, COUNT(samples));
  request.table_count = COUNT(tables);
  turns_t plain = {.listing = {.request = &request, .checks = true}}, turns = plain;
  opc_error_t error = {0};
  assert_ok(opc_plan_all(&request, list_case, &plain.listing, &error), error);
  request.by_yield = true;
  assert_ok(opc_plan_all(&request, take_turn, &turns, &error), error);
  assert_int_equal(turns.listing.text.length, plain.listing.text.length);
  assert_non_null(strstr(opc_text_c(&turns.listing.text), "autograd:-/a/plain stride:-/a/")); /* the next turn */
  request.themselves_only = true;
  assert_plan(&request, "-/a/plain:0 -/a/plain:0");
  opc_text_clear(&plain.listing.text);
  opc_text_clear(&turns.listing.text);
  for (size_t i = 0; i < COUNT(samples); i++) opc_sample_clear(&samples[i]);
}

static void the_table_of_yields_knows_its_words(void **state) {
  (void)state;
  const opc_sample_t sample = {0};
  const struct {
    const char *check, *variant;
    int turn;
  } rows[] = {
#define OPC_YIELD(check, what, turn) {#check, what, turn},
#include "plan/cases/yield.def"
#undef OPC_YIELD
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_planned_case_t planned = {.base = &sample, .variant = rows[i].variant};
    if (strcmp(rows[i].variant, "all samples") == 0) planned.base = NULL;
    if (strcmp(rows[i].variant, "dtype") == 0) planned.dtype = OPC_DTYPE_BOOL, planned.variant = "plain";
    assert_true(opc_check_info_find(rows[i].check) >= 0);
    assert_in_range(rows[i].turn, 1, OPC_YIELD_TURNS - 1);
    assert_int_equal(opc_yield_turn(rows[i].check, &planned), rows[i].turn);
  }
  assert_int_equal(opc_yield_turn("nothing", &(opc_planned_case_t){.base = &sample, .variant = "x.set1"}),
                   OPC_YIELD_TURNS);
}

static void conditions_hold_of_operators_and_samples(void **state) {
  (void)state;
  opc_kernel_t meta = {.key = "Meta"}, autograd = {.key = "AutogradCPU"}, passed = {.key = "Meta", .fallthrough = true};
  opc_kernel_t composite = {.key = "CompositeImplicitAutograd"};
  char tag_text[] = "pointwise";
  char *tags[] = {tag_text};
  static const char *const asked[] = {"reduction", "pointwise", NULL};
  opc_operator_t bare = {.name = op.name};
  opc_operator_t with_meta = {.kernels = &meta, .kernel_count = 1, .tags = tags, .tag_count = 1};
  opc_operator_t with_passed = {.kernels = &passed, .kernel_count = 1};
  opc_operator_t with_autograd = {.kernels = &autograd, .kernel_count = 1};
  opc_operator_t with_composite = {.kernels = &composite, .kernel_count = 1};
  opc_sample_t one = sample_of("'name': 's', 'args': [" TENSOR("[2, 3]", "float32") "]");
  opc_sample_t two = sample_of("'name': 's', 'args': [" TENSOR("[3, 3]", "float32") ", " TENSOR("[3]", "int64") "]");
  opc_sample_t integers = sample_of("'name': 's', 'args': [" TENSOR("[2]", "int64") "]");
  opc_sample_t bits =
      sample_of("'name': 's', 'args': [" TENSOR("[2]", "int64") "], 'expect': {'same_bits': [[0, 'x']]}");
  const struct {
    unsigned when;
    const opc_operator_t *op;
    const opc_sample_t *sample;
    bool holds;
  } rows[] = {
      {0, &bare, &one, true},
      {OPC_WHEN_TAKES_TENSOR, &op, &one, true},
      {OPC_WHEN_TAKES_TENSOR, &bare, &one, false},
      {OPC_WHEN_RETURNS_TENSOR, &op, &one, true},
      {OPC_WHEN_RETURNS_TENSOR, &bare, &one, false},
      {OPC_WHEN_RETURNS_OR_WRITES, &op, &one, true},
      {OPC_WHEN_RETURNS_OR_WRITES, &bare, &one, false},
      {OPC_WHEN_NOT_BUILT_IN, &bare, &one, false}, /* no library registered it */
      {OPC_WHEN_NO_ALIAS | OPC_WHEN_UNWRAPPED, &op, &one, true},
      {OPC_WHEN_META_KERNEL, &with_meta, &one, true},
      {OPC_WHEN_META_KERNEL, &with_passed, &one, false},
      {OPC_WHEN_FORMULA, &with_autograd, &one, true},
      {OPC_WHEN_FORMULA, &with_composite, &one, false},
      {OPC_WHEN_AUTOGRAD, &with_autograd, &one, true},
      {OPC_WHEN_AUTOGRAD, &with_composite, &one, true},
      {OPC_WHEN_AUTOGRAD, &with_meta, &one, false},
      {OPC_WHEN_AUTOGRAD | OPC_WHEN_ONE_TENSOR, &with_meta, &one, false},
      {OPC_WHEN_ONE_TENSOR, &op, &one, true},
      {OPC_WHEN_ONE_TENSOR, &op, &two, false},
      {OPC_WHEN_SEVERAL_TENSORS, &op, &one, false},
      {OPC_WHEN_SEVERAL_TENSORS, &op, &two, true},
      {OPC_WHEN_MAIN_FLOATING, &op, &two, true},
      {OPC_WHEN_MAIN_FLOATING, &op, &integers, false},
      {OPC_WHEN_ALL_FLOATING, &op, &one, true},
      {OPC_WHEN_ALL_FLOATING, &op, &two, false},
      {OPC_WHEN_SIZE_ONCE, &op, &one, true},
      {OPC_WHEN_SIZE_ONCE, &op, &two, false},
      {OPC_WHEN_SAME_BITS, &op, &bits, true},
      {OPC_WHEN_SAME_BITS, &op, &one, false},
      {OPC_WHEN_OUTPUTS, &op, &bits, false},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_case_rule_t rule = {.when = rows[i].when, .size = OPC_LAST_OF_FIRST_TENSOR};
    if (opc_case_conditions_hold(&rule, rows[i].op, rows[i].sample) != rows[i].holds) fail_msg("row %zu", i);
  }
  opc_case_rule_t tagged = {.tags = asked};
  assert_true(opc_case_conditions_hold(&tagged, &with_meta, &one));
  assert_false(opc_case_conditions_hold(&tagged, &with_passed, &one));
  opc_case_rule_t keyed = {.key = "Meta"};
  assert_true(opc_case_conditions_hold(&keyed, &with_meta, &one));
  assert_false(opc_case_conditions_hold(&keyed, &with_passed, &one)); /* a fallthrough is no kernel */
  assert_false(opc_case_conditions_hold(&keyed, &with_autograd, &one));
  opc_sample_clear(&one);
  opc_sample_clear(&two);
  opc_sample_clear(&integers);
  opc_sample_clear(&bits);
}

static void methods_of_a_class_have_cases_of_their_own(void **state) {
  (void)state;
  opc_method_t methods[] = {{(char *)"__init__", (char *)"__init__(__torch__.torch.classes.ns.C self) -> NoneType"},
                            {(char *)"get", (char *)"get(__torch__.torch.classes.ns.C self) -> int"}};
  opc_operator_t class_ = {.kind = OPC_OPERATOR_CLASS,
                           .name = (char *)"ns::C",
                           .methods = methods,
                           .method_count = COUNT(methods),
                           .arguments = op.arguments,
                           .argument_count = op.argument_count};
  opc_sample_t sample = sample_of("'name': 's', 'args': [" TENSOR("[2]", "float32") "]");
  int table = opc_check_info_find("class");
  opc_plan_request_t request = {.op = &class_,
                                .tables = &opc_case_tables[table],
                                .table_count = 1,
                                .devices = &cpu,
                                .device_count = 1,
                                .samples = &sample,
                                .sample_count = 1};
  assert_plan(&request, "-/s/plain:0 -/s/get.called:1");
  sample.expect.rejects = true;
  assert_plan(&request, "-/s/plain:0");
  sample.expect.rejects = false;
  class_.kind = OPC_OPERATOR_PACKAGE; /* a package gets no variants */
  request.tables = &opc_case_tables[opc_check_info_find("memory")];
  assert_plan(&request, "-/s/plain:0");
  opc_sample_clear(&sample);
}

static void a_variant_says_what_it_keeps(void **state) {
  (void)state;
  static const struct {
    const char *name;
    unsigned families, keeps;
    opc_variant_changed_t changed;
  } rows[] = {
      {"plain", OPC_VARIANT_PLAIN, OPC_KEEPS_ALL, OPC_CHANGED_NOTHING},
      {"x.sliced", OPC_VARIANT_LAYOUT, OPC_KEEPS_ALL, OPC_CHANGED_ONE},
      {"all.sliced+all.offset", OPC_VARIANT_LAYOUT, OPC_KEEPS_ALL, OPC_CHANGED_ALL},
      {"x.sliced+x.empty0", OPC_VARIANT_LAYOUT | OPC_VARIANT_EMPTY, OPC_KEEPS_DTYPES, OPC_CHANGED_ONE},
      {"x.expanded0", OPC_VARIANT_LAYOUT, OPC_KEEPS_ALL & ~OPC_KEEPS_VALUES, OPC_CHANGED_ONE},
      {"all.nan", OPC_VARIANT_SPECIAL, OPC_KEEPS_ALL & ~OPC_KEEPS_VALUES, OPC_CHANGED_ALL},
      {"all.longer7", OPC_VARIANT_SIZES, OPC_KEEPS_EQUAL_SIZES | OPC_KEEPS_DTYPES, OPC_CHANGED_ALL},
      {"y.float64", OPC_VARIANT_CAST, OPC_KEEPS_ALL & ~OPC_KEEPS_DTYPES, OPC_CHANGED_ONE},
      {"x.no_such", 0, 0, OPC_CHANGED_NOTHING},
      {NULL, 0, 0, OPC_CHANGED_NOTHING},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    opc_variant_facts_t facts = opc_variant_facts(rows[i].name);
    if (facts.families != rows[i].families || facts.keeps != rows[i].keeps || facts.changed != rows[i].changed)
      fail_msg("%s: families %x, keeps %x, changed %d", rows[i].name, facts.families, facts.keeps, facts.changed);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_check_has_a_table_with_reasons),
      cmocka_unit_test(variants_are_in_the_order_of_their_table_whatever_the_rows),
      cmocka_unit_test(neighbours_are_limited),
      cmocka_unit_test(neighbours_beside_the_shared_ones),
      cmocka_unit_test(neighbours_stay_in_the_range_of_the_sample),
      cmocka_unit_test(a_dtype_row_gives_nothing_that_an_earlier_row_gave),
      cmocka_unit_test(float8_is_swept_as_far_as_the_sample_has_it),
      cmocka_unit_test(the_first_sample_that_fits_has_the_case),
      cmocka_unit_test(the_first_sample_alone_and_no_large_one),
      cmocka_unit_test(refused_and_unchecked_samples_have_the_plain_case),
      cmocka_unit_test(devices_decide_what_there_is),
      cmocka_unit_test(samples_themselves_come_before_variants),
      cmocka_unit_test(every_case_has_a_provenance),
      cmocka_unit_test(a_known_case_is_planned_alone),
      cmocka_unit_test(a_plan_by_yield_has_the_same_cases_in_turns),
      cmocka_unit_test(the_table_of_yields_knows_its_words),
      cmocka_unit_test(conditions_hold_of_operators_and_samples),
      cmocka_unit_test(methods_of_a_class_have_cases_of_their_own),
      cmocka_unit_test(a_variant_says_what_it_keeps),
  };
  return cmocka_run_group_tests(tests, make_operator, clear_operator);
}
