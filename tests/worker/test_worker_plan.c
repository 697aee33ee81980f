/* The plan of cases: stable, cut as requested, and with the right text if nothing can run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "worker_client.h"

static client_t worker;
static client_child_t child;

static int start(void **state) {
  static const char *const arguments[] = {HOSTILE_OPS, NULL};
  (void)state;
  client_start(&worker, arguments);
  json_t *ready = client_until(&worker, "ready");
  if (!ready) return -1;
  json_decref(ready);
  child_fork(&worker, &child, 1, 1024);
  return 0;
}

/* As in the supervisor for a single case: without threads started by earlier cases. */
static void take_fresh_child(void) {
  assert_int_equal(child_finish(&worker, &child), 0);
  child_fork(&worker, &child, child.id + 1, 1024);
}

static int stop(void **state) {
  (void)state;
  assert_int_equal(child_finish(&worker, &child), 0);
  assert_int_equal(client_finish(&worker), 0);
  return 0;
}

/* All results of a command (new reference); their number must be the one in "done". */
static json_t *results_of(json_t *command) {
  json_t *results = json_array();
  child_send(&child, command);
  for (;;) {
    json_t *message = child_next(&child);
    assert_non_null(message);
    const char *kind = json_string_value(json_object_get(message, "t"));
    if (strcmp(kind, "result") == 0) {
      json_array_append_new(results, message);
      continue;
    }
    assert_string_equal(kind, "done");
    assert_int_equal(json_integer_value(json_object_get(message, "planned")), json_array_size(results));
    json_decref(message);
    return results;
  }
}

static char *refusal_of(json_t *command) {
  child_send(&child, command);
  json_t *message = child_next(&child);
  assert_non_null(message);
  assert_string_equal(json_string_value(json_object_get(message, "t")), "refused");
  char *text = strdup(json_string_value(json_object_get(message, "message")));
  json_decref(message);
  return text;
}

static const char *field(const json_t *results, size_t index, const char *key) {
  const char *text = json_string_value(json_object_get(json_array_get(results, index), key));
  return text ? text : "";
}

static size_t count(const json_t *results, const char *key, const char *value) {
  size_t found = 0;
  for (size_t i = 0; i < json_array_size(results); i++) found += strcmp(field(results, i, key), value) == 0;
  return found;
}

static void the_plan_is_stable_and_can_be_cut(void **state) {
  (void)state;
  json_t *all = results_of(command_cases("hostile::good", "file", NULL));
  size_t planned = json_array_size(all);
  assert_true(planned > 10);
  for (size_t i = 0; i < planned; i++)
    for (size_t j = 0; j < i; j++) assert_string_not_equal(field(all, i, "case"), field(all, j, "case"));

  for (size_t i = 0; i < planned; i += 5) {
    take_fresh_child();
    json_t *one = results_of(command_cases("hostile::good", "file", json_pack("{s:s}", "only", field(all, i, "case"))));
    assert_int_equal(json_array_size(one), 1);
    assert_string_equal(field(one, 0, "case"), field(all, i, "case"));
    if (strcmp(field(one, 0, "verdict"), field(all, i, "verdict")) != 0)
      fail_msg("%s: %s among all, alone %s: %s", field(all, i, "case"), field(all, i, "verdict"),
               field(one, 0, "verdict"), field(one, 0, "message"));
    json_decref(one);
  }
  size_t middle = planned / 2;
  json_t *rest =
      results_of(command_cases("hostile::good", "file", json_pack("{s:s}", "after", field(all, middle, "case"))));
  assert_int_equal(json_array_size(rest), planned - middle - 1);
  for (size_t i = 0; i < json_array_size(rest); i++)
    assert_string_equal(field(rest, i, "case"), field(all, middle + 1 + i, "case"));
  json_decref(rest);
  json_t *none =
      results_of(command_cases("hostile::good", "file", json_pack("{s:s}", "after", field(all, planned - 1, "case"))));
  assert_int_equal(json_array_size(none), 0);
  json_decref(none);
  json_t *stretch = results_of(
      command_cases("hostile::good", "file",
                    json_pack("{s:s, s:s}", "from", field(all, 3, "case"), "to", field(all, middle, "case"))));
  assert_int_equal(json_array_size(stretch), middle - 2);
  assert_string_equal(field(stretch, 0, "case"), field(all, 3, "case"));
  json_decref(stretch);
  json_decref(all);
}

static void skipped_checks_are_told(void **state) {
  (void)state;
  json_t *results = results_of(command_cases(
      "hostile::good", "file", json_pack("{s:[s, s], s:[s]}", "checks", "stride", "alias", "skip", "stride 0")));
  size_t strides = 0;
  for (size_t i = 0; i < json_array_size(results); i++) {
    bool stride = strstr(field(results, i, "case"), "/stride/") != NULL;
    assert_int_equal(stride, strcmp(field(results, i, "reason"), "after_crash") == 0);
    strides += stride;
  }
  assert_true(strides > 0 && strides < json_array_size(results));
  json_decref(results);
}

/* Crashes on input of a rank skip this rank and worse ones: the sample itself and what keeps its values still run. */
static void better_input_is_not_skipped(void **state) {
  (void)state;
  json_t *results = results_of(
      command_cases("hostile::good", "file", json_pack("{s:[s], s:[s]}", "checks", "memory", "skip", "memory 6")));
  size_t alone = 0, others = 0;
  for (size_t i = 0; i < json_array_size(results); i++) {
    const char *provenance = json_string_value(json_object_get(json_array_get(results, i), "standing"));
    const char *reason = json_string_value(json_object_get(json_array_get(results, i), "reason"));
    bool is_alone = provenance && strstr(provenance, "/alone") != NULL;
    assert_int_equal(is_alone, reason && strcmp(reason, "after_crash") == 0);
    alone += is_alone;
    others += !is_alone;
  }
  assert_true(alone > 0 && others > 0);
  json_decref(results);
}

/* A variant that hung on one sample, and a used-up time budget. */
static void what_took_too_long_is_not_tried_again(void **state) {
  (void)state;
  json_t *all =
      results_of(command_cases("hostile::good", "file", json_pack("{s:[s, s]}", "checks", "stride", "alias")));
  const char *last = strrchr(field(all, 1, "case"), '/'), *after = field(all, 0, "case");
  char hung[256];
  snprintf(hung, sizeof hung, "hostile::good/stride/cpu/-/-%s", last);
  json_t *results = results_of(command_cases(
      "hostile::good", "file", json_pack("{s:[s, s], s:[s]}", "checks", "stride", "alias", "crashed", hung)));
  int skipped = 0;
  assert_int_equal(json_array_size(results), json_array_size(all));
  for (size_t i = 0; i < json_array_size(results); i++) {
    bool same = strcmp(strrchr(field(results, i, "case"), '/'), last) == 0;
    assert_string_equal(field(results, i, "verdict"), same ? "skip" : field(all, i, "verdict"));
    if (same)
      assert_string_equal(field(results, i, "message"),
                          "not run: with this variant of a sample the operator hung in check stride");
    skipped += same;
  }
  assert_int_equal(skipped, 2); /* one in each check */
  json_decref(results);
  results = results_of(command_cases(
      "hostile::good", "file",
      json_pack("{s:[s, s], s:s, s:s}", "checks", "stride", "alias", "after", after, "out_of_time", "it is late")));
  assert_int_equal(json_array_size(results), json_array_size(all) - 1);
  for (size_t i = 0; i < json_array_size(results); i++) {
    assert_string_equal(field(results, i, "reason"), "budget");
    assert_string_equal(field(results, i, "message"), "not run: it is late");
  }
  json_decref(results);
  json_decref(all);
}

static void what_other_children_found_counts(void **state) {
  (void)state;
  json_t *all =
      results_of(command_cases("hostile::good", "file", json_pack("{s:[s, s]}", "checks", "alias", "mutation")));
  size_t index = json_array_size(all) - 1;
  while (index > 0 && strcmp(field(all, index, "verdict"), "pass") != 0) index--;
  const char *first = field(all, 0, "case"), *from = field(all, index, "case");
  assert_non_null(strstr(first, "/alias/"));
  assert_non_null(strstr(from, "/mutation/"));
  json_t *results =
      results_of(command_cases("hostile::good", "file",
                               json_pack("{s:[s, s], s:s, s:s, s:{s:s}}", "checks", "alias", "mutation", "from", from,
                                         "since", first, "found", first, "memory.use_after_free")));
  assert_string_equal(field(results, 0, "case"), from);
  assert_string_equal(field(results, 0, "message"),
                      "not run: any finding here would be a consequence of memory.use_after_free, found on this sample "
                      "before");
  json_decref(results);
  json_decref(all);
}

/* The part of an id that names the arguments of the call. */
static const char *arguments_of(const char *case_id) { return strchr(strchr(case_id, '/') + 1, '/'); }

static void crashed_arguments_are_not_tried_in_other_checks(void **state) {
  (void)state;
  json_t *all =
      results_of(command_cases("hostile::good", "file", json_pack("{s:[s, s]}", "checks", "stride", "alias")));
  const char *crashed = field(all, 1, "case");
  assert_non_null(strstr(crashed, "/stride/"));
  json_t *results = results_of(command_cases(
      "hostile::good", "file", json_pack("{s:[s, s], s:[s]}", "checks", "stride", "alias", "crashed", crashed)));
  size_t skipped = 0;
  assert_int_equal(json_array_size(results), json_array_size(all));
  for (size_t i = 0; i < json_array_size(results); i++) {
    const char *id = field(results, i, "case");
    bool other = strcmp(id, crashed) != 0 && strcmp(arguments_of(id), arguments_of(crashed)) == 0;
    assert_string_equal(field(results, i, "verdict"), other ? "skip" : field(all, i, "verdict"));
    assert_string_equal(field(results, i, "reason"), other ? "after_crash" : field(all, i, "reason"));
    if (other)
      assert_string_equal(field(results, i, "message"),
                          "not run: these arguments crashed the operator in check stride");
    skipped += other;
  }
  assert_int_equal(skipped, 1);
  json_decref(results);
  json_decref(all);
  free(refusal_of(command_cases("hostile::good", "file", json_pack("{s:[s]}", "crashed", "no id"))));
}

/* A case that is run alone is run however long it takes, unless the command asks for what is quick. */
static void a_slow_input_is_left_out_where_that_is_asked_for(void **state) {
  static const char *const larger = "hostile::slow_if_large/%s/cpu/-/s/all.larger";
  char first[256], second[256];
  (void)state;
  snprintf(first, sizeof first, larger, "alias");
  snprintf(second, sizeof second, larger, "mutation");
  json_t *slow = results_of(command_cases("hostile::slow_if_large", "searched", json_pack("{s:s}", "only", first))),
         *left_out = results_of(command_cases("hostile::slow_if_large", "searched",
                                              json_pack("{s:s, s:b}", "only", second, "only_if_quick", true))),
         *all = results_of(command_cases("hostile::slow_if_large", "searched", json_pack("{s:s}", "only", second)));
  assert_string_equal(field(slow, 0, "verdict"), "pass");
  assert_string_equal(field(left_out, 0, "reason"), "budget");
  assert_non_null(strstr(field(left_out, 0, "message"), "it would take too long"));
  assert_string_equal(field(all, 0, "verdict"), "pass");
  json_decref(slow);
  json_decref(left_out);
  json_decref(all);
}

static void what_is_not_there_is_named(void **state) {
  static const struct {
    const char *id, *words;
  } cases[] = {{"hostile::good/alias/cpu/-/other/plain", "no sample other"},
               {"hostile::good/nonsense/cpu/-/s/plain", "no check nonsense"},
               {"hostile::good/alias/cuda/-/s/plain", "device cuda"},
               {"hostile::good/alias/cpu/float31/s/plain", "dtype float31"},
               {"hostile::good/alias/cpu/-/s/x.sideways", "x.sideways"},
               {"hostile::constant/alias/cpu/-/s/plain", "not of operator"}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text = refusal_of(command_cases("hostile::good", "file", json_pack("{s:s}", "only", cases[i].id)));
    if (!strstr(text, cases[i].words)) fail_msg("%s: %s", cases[i].id, text);
    free(text);
  }
  free(refusal_of(
      command_cases("hostile::good", "file", json_pack("{s:s}", "after", "hostile::good/alias/cpu/-/s/x.sideways"))));
  free(refusal_of(command_cases("hostile::good", "file", json_pack("{s:[s]}", "checks", "nonsense"))));
  free(refusal_of(command_cases("nowhere::to_be_found", "file", NULL)));
  free(refusal_of(json_pack("{s:s}", "t", "nonsense")));
}

static void a_refused_sample_is_one_failure(void **state) {
  (void)state;
  json_t *results = results_of(command_cases("hostile::rejects", "file", NULL));
  assert_int_equal(count(results, "rule", "sample.rejected"), 1);
  assert_int_equal(count(results, "verdict", "error"), 0);
  assert_true(count(results, "reason", "rejected") > 5);
  for (size_t i = 0; i < json_array_size(results); i++) {
    if (strcmp(field(results, i, "rule"), "sample.rejected") != 0) continue;
    assert_non_null(strstr(field(results, i, "message"), "expected 7 dimensions, \\xFF\\xFE got"));
    /* A single case reports it again: a finding must be reproducible. */
    json_t *again =
        results_of(command_cases("hostile::rejects", "file", json_pack("{s:s}", "only", field(results, i, "case"))));
    assert_string_equal(field(again, 0, "rule"), "sample.rejected");
    json_decref(again);
    /* And later cases do not repeat it. */
    json_t *rest =
        results_of(command_cases("hostile::rejects", "file", json_pack("{s:s}", "after", field(results, i, "case"))));
    assert_int_equal(count(rest, "rule", "sample.rejected"), 0);
    json_decref(rest);
  }
  json_decref(results);
  /* A check that uses the sample only in its dtype sweep reports it too. */
  results = results_of(command_cases("hostile::rejects", "file", json_pack("{s:[s]}", "checks", "dtype")));
  assert_int_equal(count(results, "rule", "sample.rejected"), 1);
  json_decref(results);
  results = results_of(command_cases("hostile::rejects", "searched", NULL));
  assert_int_equal(count(results, "rule", "sample.rejected"), 0);
  json_decref(results);
}

static void an_internal_assert_is_a_warning(void **state) {
  (void)state;
  json_t *results = results_of(command_cases("hostile::asserts", "searched", NULL));
  assert_true(count(results, "rule", "sample.internal_assert") > 0);
  for (size_t i = 0; i < json_array_size(results); i++)
    if (strcmp(field(results, i, "rule"), "sample.internal_assert") == 0)
      assert_string_equal(field(results, i, "severity"), "warning");
  json_decref(results);
}

static json_t *expecting_refusal(const char *operator_name) {
  json_t *command = command_cases(operator_name, "file", NULL);
  json_t *sample = json_array_get(json_object_get(command, "samples"), 0);
  json_object_set_new(sample, "expect", json_pack("{s:b}", "rejects", 1));
  return command;
}

static void a_sample_may_expect_to_be_refused(void **state) {
  (void)state;
  json_t *results = results_of(expecting_refusal("hostile::rejects"));
  /* The first calling check makes the call; leak and state check what a refusal leaves behind; the others have nothing
   * to do. */
  size_t calling = json_array_size(results) - 1; /* registration does not call */
  assert_int_equal(count(results, "verdict", "pass"), 3 + (strcmp(field(results, 0, "verdict"), "pass") == 0));
  assert_int_equal(count(results, "reason", "not_applicable"), calling - 3);
  json_decref(results);
  results = results_of(expecting_refusal("hostile::good"));
  assert_int_equal(count(results, "rule", "sample.accepted"), 1);
  json_decref(results);
}

static void where_nothing_can_be_called_each_check_says_why(void **state) {
  (void)state;
  json_t *results = results_of(command_cases("hostile::good", "file", json_pack("{s:[]}", "samples")));
  assert_int_equal(count(results, "reason", "no_sample"), json_array_size(results) - 1);
  json_decref(results);
  results = results_of(command_cases("hostile::no_kernel", "file", json_pack("{s:[s]}", "checks", "alias")));
  assert_int_equal(json_array_size(results), 1);
  assert_string_equal(field(results, 0, "reason"), "no_kernel");
  assert_string_equal(field(results, 0, "case"), "hostile::no_kernel/alias/cpu/-/-/-");
  json_decref(results);
  results = results_of(
      command_cases("hostile::good", "file", json_pack("{s:[s], s:[s]}", "checks", "alias", "devices", "cuda:63")));
  assert_int_equal(json_array_size(results), 1);
  assert_string_equal(field(results, 0, "reason"), "no_device");
  json_decref(results);
}

static void tries_tell_what_a_call_did(void **state) {
  static const struct {
    const char *operator_name, *outcome;
    bool effect, depends;
    size_t mutated;
    const char *returns;
  } tries[] = {{"hostile::good", "returned", true, true, 0, "[{\"shape\":[2,3],\"dtype\":\"float32\"}]"},
               {"hostile::constant", "returned", true, false, 0, "[{\"shape\":[2,3],\"dtype\":\"float32\"}]"},
               {"hostile::counts_calls", "returned", true, true, 0, "[{\"shape\":[2,3],\"dtype\":\"float32\"}]"},
               {"hostile::writes_behind", "unclean", true, false, 0, "[{\"shape\":[2,3],\"dtype\":\"float32\"}]"},
               {"hostile::reads_malloc", "uninitialised", true, false, 0, "[{\"shape\":[2,3],\"dtype\":\"float32\"}]"},
               {"hostile::uninitialised", "uninitialised", true, false, 0, "[{\"shape\":[2,3],\"dtype\":\"float32\"}]"},
               {"hostile::mutates", "returned", true, true, 1, "[]"},
               {"hostile::counts", "returned", true, false, 0, "[null]"},
               {"hostile::nothing", "returned", true, false, 0, "[]"},
               {"hostile::rejects", "rejected", false, false, 0, "[]"},
               {"hostile::asserts", "internal_assert", false, false, 0, "[]"},
               {"hostile::throws_int", "foreign_exception", false, false, 0, "[]"},
               {"hostile::no_kernel", "no_kernel", false, false, 0, "[]"}};
  (void)state;
  for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
    child_send(&child, command_try(tries[i].operator_name));
    json_t *tried = child_next(&child);
    assert_non_null(tried);
    assert_string_equal(json_string_value(json_object_get(tried, "t")), "tried");
    assert_string_equal(json_string_value(json_object_get(tried, "outcome")), tries[i].outcome);
    assert_int_equal(json_is_true(json_object_get(tried, "effect")), tries[i].effect);
    assert_int_equal(json_is_true(json_object_get(tried, "depends_on_values")), tries[i].depends);
    assert_int_equal(json_array_size(json_object_get(tried, "mutated")), tries[i].mutated);
    char *returns = json_dumps(json_object_get(tried, "returns"), JSON_COMPACT);
    assert_string_equal(returns, tries[i].returns);
    free(returns);
    json_decref(tried);
  }
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_plan_is_stable_and_can_be_cut),
      cmocka_unit_test(skipped_checks_are_told),
      cmocka_unit_test(better_input_is_not_skipped),
      cmocka_unit_test(crashed_arguments_are_not_tried_in_other_checks),
      cmocka_unit_test(what_other_children_found_counts),
      cmocka_unit_test(what_took_too_long_is_not_tried_again),
      cmocka_unit_test(a_slow_input_is_left_out_where_that_is_asked_for),
      cmocka_unit_test(what_is_not_there_is_named),
      cmocka_unit_test(a_refused_sample_is_one_failure),
      cmocka_unit_test(an_internal_assert_is_a_warning),
      cmocka_unit_test(a_sample_may_expect_to_be_refused),
      cmocka_unit_test(where_nothing_can_be_called_each_check_says_why),
      cmocka_unit_test(tries_tell_what_a_call_did),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
