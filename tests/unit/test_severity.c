/* Provenance, and the findings that it allows to be errors. */
#include "catalogue/rules.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "model/case/case.h"
#include "result/case_result.h"
#include "unit.h"

static opc_provenance_t provenance_of(const char *text) {
  opc_provenance_t provenance;
  assert_true(opc_provenance_parse(text, &provenance));
  return provenance;
}

static void texts_and_provenances_are_the_same_both_ways(void **state) {
  (void)state;
  static const char *const texts[] = {"declared/same_values", "recorded/related", "recipe/alone",
                                      "searched/same_values"};
  char text[OPC_PROVENANCE_SIZE];
  opc_provenance_t provenance;
  for (size_t i = 0; i < COUNT(texts); i++) {
    provenance = provenance_of(texts[i]);
    opc_provenance_format(&provenance, text);
    assert_string_equal(text, texts[i]);
  }
  static const char *const wrong[] = {"", "declared", "declared/", "/alone", "declared/other", "none/alone"};
  for (size_t i = 0; i < COUNT(wrong); i++) assert_false(opc_provenance_parse(wrong[i], &provenance));
  assert_false(opc_provenance_parse(NULL, &provenance));
  assert_int_equal(provenance.source, OPC_SOURCE_NONE);
  opc_provenance_format(&provenance, text);
  assert_string_equal(text, "");
}

static void what_nobody_vouches_for_has_a_worse_rank(void **state) {
  (void)state;
  static const char *const best_first[] = {"declared/same_values", "declared/related", "searched/same_values",
                                           "searched/related", "declared/alone"};
  int before = -1;
  for (size_t i = 0; i < COUNT(best_first); i++) {
    opc_provenance_t provenance = provenance_of(best_first[i]);
    int rank = opc_provenance_rank(&provenance);
    assert_true(rank > before && rank < OPC_PROVENANCE_RANKS);
    provenance.plain = true;
    assert_true(opc_provenance_rank(&provenance) <= rank);
    before = rank;
  }
  const opc_provenance_t none = {0}, alone = provenance_of("searched/alone"),
                         declared_alone = provenance_of("declared/alone");
  assert_int_equal(opc_provenance_rank(&none), 0);
  assert_int_equal(opc_provenance_rank(&alone), opc_provenance_rank(&declared_alone));
}

static void a_rule_claims_one_thing_of_its_input(void **state) {
  (void)state;
  size_t of_input = 0, added = 0;
  for (size_t i = 1; i < opc_rule_count; i++) {
    const unsigned claim = opc_rules[i].claims & OPC_CLAIMS_OF_INPUT;
    if (claim & (claim - 1)) fail_msg("%s claims two things of its input", opc_rules[i].name);
    of_input += claim != 0;
    added += (opc_rules[i].claims & ~(unsigned)OPC_CLAIMS_OF_INPUT) != 0;
  }
  assert_true(of_input > 10);
  assert_true(added > 15);
}

typedef struct row {
  const char *rule, *provenance;
  bool plain, control_held, every_input, other_rank, after_other, uneven_lists, index_beyond, lone_tensor, fits, on_gpu,
      untrusted, clean_reference, unasked_dtype, unconfirmed;
  const char *operator_name;
  const char *as;
  opc_severity_t severity;
  const char *seen;
} row_t;

/* A finding with the severity of an error. provenance NULL: its case has no input. */
static opc_case_result_t *finding_make(const char *rule, const char *provenance, bool plain) {
  opc_error_t error;
  opc_case_result_t *finding = NULL;
  assert_ok(
      opc_case_result_new("ns::op/stride/cpu/-/s/-", OPC_VERDICT_FAIL, opc_rule_id(rule), "", NULL, &finding, &error),
      error);
  finding->severity = OPC_SEVERITY_ERROR;
  if (provenance) finding->provenance = provenance_of(provenance);
  finding->provenance.plain = plain;
  return finding;
}

static void provenance_decides_what_a_finding_is(void **state) {
  (void)state;
#define ERROR OPC_SEVERITY_ERROR
#define WARNING OPC_SEVERITY_WARNING
#define UNCHECKED "memory.unchecked_arguments"
  static const row_t rows[] = {
      /* Findings on a declared valid sample are never weakened, nor findings on variants that keep its values or its
       * relations. */
      {"signal.SIGSEGV", "declared/same_values", .plain = true, .as = "signal.SIGSEGV", .severity = ERROR},
      {"memory.out_of_bounds_write", "recorded/related", .as = "memory.out_of_bounds_write", .severity = ERROR},
      {"timeout", "recipe/same_values", .plain = true, .as = "timeout", .severity = ERROR},
      {"dtype.wrong_result", "declared/related", .as = "dtype.wrong_result", .severity = ERROR},
      /* One argument changed alone, or an input that nobody declared valid: the argument is not checked. */
      {"signal.SIGSEGV", "declared/alone", .as = UNCHECKED, .severity = WARNING, .seen = "crash"},
      {"memory.out_of_bounds_read", "searched/same_values", .plain = true, .as = UNCHECKED, .severity = WARNING,
       .seen = "read"},
      {"memory.out_of_bounds_write", "searched/alone", .as = UNCHECKED, .severity = WARNING, .seen = "write"},
      {"timeout", "searched/related", .as = UNCHECKED, .severity = WARNING, .seen = "hang"},
      {"timeout", "searched/related", .untrusted = true, .as = UNCHECKED, .severity = ERROR, .seen = "hang"},
      {"timeout", "searched/related", .untrusted = true, .unconfirmed = true, .as = UNCHECKED, .severity = WARNING,
       .seen = "hang"},
      {"signal.SIGSEGV", "declared/same_values", .plain = true, .untrusted = true, .as = "signal.SIGSEGV",
       .severity = ERROR},
      /* The same values in a plain layout are clean: the layout is the cause. */
      {"memory.out_of_bounds_read", "searched/same_values", .control_held = true, .as = "memory.out_of_bounds_read",
       .severity = ERROR},
      {"signal.SIGBUS", "searched/same_values", .as = UNCHECKED, .severity = WARNING, .seen = "crash"},
      {"signal.SIGBUS", "searched/related", .control_held = true, .as = UNCHECKED, .severity = WARNING,
       .seen = "crash"},
      /* Every accepted input shows it: no argument is the cause. */
      {"memory.out_of_bounds_read", "searched/same_values", .plain = true, .every_input = true,
       .as = "memory.out_of_bounds_read", .severity = ERROR},
      /* Contradictions that hold on every accepted input. */
      {"meta.shape", "searched/alone", .as = "meta.shape", .severity = WARNING},
      {"meta.shape", "searched/same_values", .plain = true, .as = "meta.shape", .severity = WARNING},
      {"meta.shape", "searched/same_values", .control_held = true, .as = "meta.shape", .severity = ERROR},
      {"meta.shape", "declared/related", .as = "meta.shape", .severity = ERROR},
      {"meta.shape", "searched/related", .lone_tensor = true, .as = "meta.shape", .severity = ERROR},
      /* The check tried what may not fit together. */
      {"meta.shape", "searched/same_values", .plain = true, .fits = true, .as = "meta.shape", .severity = ERROR},
      {"fake.result", "searched/same_values", .plain = true, .fits = true, .as = "fake.result", .severity = ERROR},
      {"meta.dtype", "searched/same_values", .plain = true, .fits = true, .unasked_dtype = true, .as = "meta.dtype",
       .severity = WARNING},
      {"meta.shape", "searched/same_values", .plain = true, .fits = true, .uneven_lists = true, .as = "meta.shape",
       .severity = WARNING},
      {"meta.shape", "searched/related", .fits = true, .as = "meta.shape", .severity = WARNING},
      {"meta.rejects", "searched/same_values", .plain = true, .fits = true, .as = "meta.rejects", .severity = WARNING},
      {"meta.rejects", "searched/same_values", .plain = true, .as = "meta.rejects", .severity = WARNING},
      {"meta.rejects", "searched/alone", .every_input = true, .as = "meta.rejects", .severity = ERROR},
      {"class.pickle_refused", "searched/same_values", .plain = true, .as = "class.pickle_refused",
       .severity = WARNING},
      {"class.pickle_refused", "searched/same_values", .plain = true, .every_input = true, .as = "class.pickle_refused",
       .severity = ERROR},
      {"class.pickle_refused", "declared/same_values", .plain = true, .as = "class.pickle_refused", .severity = ERROR},
      {"meta.stride", "searched/same_values", .plain = true, .as = "meta.stride", .severity = ERROR},
      {"mutation.undeclared", "searched/same_values", .plain = true, .as = "mutation.undeclared", .severity = ERROR},
      {"stride.wrong_result", "searched/same_values", .as = "stride.wrong_result", .severity = ERROR},
      {"initialisation.output", "searched/same_values", .plain = true, .as = "initialisation.output",
       .severity = ERROR},
      {"initialisation.output", "declared/alone", .as = "initialisation.output", .severity = WARNING},
      {"dtype.wrong_result", "searched/related", .as = "dtype.wrong_result", .severity = WARNING},
      {"initialisation.output", "searched/related", .as = "initialisation.output", .severity = ERROR},
      {"initialisation.output", "searched/related", .other_rank = true, .as = "initialisation.output",
       .severity = WARNING},
      {"initialisation.output", "declared/related", .other_rank = true, .as = "initialisation.output",
       .severity = ERROR},
      {"dtype.narrow_computation", "searched/related", .as = "dtype.narrow_computation", .severity = WARNING},
      {"dtype.narrow_computation", "declared/related", .as = "dtype.narrow_computation", .severity = ERROR},
      /* Sizes or values that the variant made may be what disturbs a library below. */
      {"state.process", "searched/same_values", .plain = true, .as = "state.process", .severity = ERROR},
      {"state.process", "searched/related", .as = "state.process", .severity = WARNING},
      {"state.process", "declared/related", .as = "state.process", .severity = ERROR},
      /* What shows only after another case is no result of this call, nor its layout's. */
      {"stride.wrong_result", "searched/same_values", .after_other = true, .as = "stride.wrong_result",
       .severity = WARNING},
      {"stride.wrong_result", "declared/same_values", .after_other = true, .as = "stride.wrong_result",
       .severity = ERROR},
      {"memory.out_of_bounds_read", "searched/same_values", .control_held = true, .after_other = true, .as = UNCHECKED,
       .severity = WARNING, .seen = "read"},
      {"determinism.order", "searched/same_values", .after_other = true, .as = "determinism.order", .severity = ERROR},
      /* A dtype that no sample has, and that the operator may not be meant for. */
      {"meta.dtype", "declared/related", .unasked_dtype = true, .as = "meta.dtype", .severity = WARNING},
      {"meta.dtype", "declared/related", .as = "meta.dtype", .severity = ERROR},
      {"meta.dtype", "searched/related", .unasked_dtype = true, .lone_tensor = true, .as = "meta.dtype",
       .severity = WARNING},
      {"dtype.narrow_computation", "declared/related", .unasked_dtype = true, .as = "dtype.narrow_computation",
       .severity = WARNING},
      {"dtype.narrow_computation", "declared/same_values", .plain = true, .as = "dtype.narrow_computation",
       .severity = ERROR},
      {"meta.shape", "declared/related", .unasked_dtype = true, .as = "meta.shape", .severity = ERROR},
      /* The bytes of what was packed mean nothing by position. */
      {"stride.wrong_result", "searched/same_values", .operator_name = "ns::weight_prepack.out",
       .as = "stride.wrong_result", .severity = WARNING},
      {"stride.wrong_result", "searched/same_values", .operator_name = "pack::unpack_packed_weight",
       .as = "stride.wrong_result", .severity = ERROR},
      {"stride.wrong_result", "declared/same_values", .operator_name = "ns::pack", .as = "stride.wrong_result",
       .severity = ERROR},
      {"mutation.undeclared", "searched/same_values", .operator_name = "ns::pack", .as = "mutation.undeclared",
       .severity = ERROR},
      /* Nothing sees a read behind a list. */
      {"determinism.address", "searched/same_values", .plain = true, .uneven_lists = true, .as = "determinism.address",
       .severity = WARNING},
      {"determinism.address", "searched/same_values", .plain = true, .as = "determinism.address", .severity = ERROR},
      {"determinism.address", "declared/same_values", .plain = true, .uneven_lists = true, .as = "determinism.address",
       .severity = ERROR},
      {"meta.stride", "searched/same_values", .plain = true, .uneven_lists = true, .as = "meta.stride",
       .severity = ERROR},
      {"stride.wrong_result", "searched/same_values", .index_beyond = true, .as = "stride.wrong_result",
       .severity = WARNING},
      {"stride.wrong_result", "declared/same_values", .index_beyond = true, .as = "stride.wrong_result",
       .severity = ERROR},
      /* Arguments with which the reference stays in bounds and gives the same result again are valid for it. */
      {"reference.other_values", "declared/alone", .as = "reference.other_values", .severity = WARNING},
      {"reference.other_values", "declared/alone", .clean_reference = true, .as = "reference.other_values",
       .severity = ERROR},
      {"reference.other_values", "searched/related", .as = "reference.other_values", .severity = ERROR},
      /* On a GPU nothing sees an access out of bounds, which gives wrong values too. */
      {"launch.asynchronous_error", "searched/same_values", .plain = true, .on_gpu = true, .as = UNCHECKED,
       .severity = WARNING, .seen = "crash"},
      {"device.other_values", "searched/same_values", .plain = true, .on_gpu = true, .as = "device.other_values",
       .severity = WARNING},
      {"stride.wrong_result", "searched/same_values", .control_held = true, .on_gpu = true, .as = "stride.wrong_result",
       .severity = WARNING},
      {"device.other_values", "searched/same_values", .plain = true, .as = "device.other_values", .severity = WARNING},
      {"device.other_values", "searched/related", .as = "device.other_values", .severity = WARNING},
      {"device.other_values", "searched/same_values", .control_held = true, .as = "device.other_values",
       .severity = ERROR},
      {"device.other_values", "declared/same_values", .plain = true, .as = "device.other_values", .severity = ERROR},
      {"device.other_values", "recorded/related", .as = "device.other_values", .severity = ERROR},
      {"device.other_values", "recipe/same_values", .plain = true, .as = "device.other_values", .severity = ERROR},
      {"device.other_values", "declared/alone", .as = "device.other_values", .severity = WARNING},
      {"device.other_values", "declared/related", .on_gpu = true, .as = "device.other_values", .severity = ERROR},
      {"launch.asynchronous_error", "searched/same_values", .control_held = true, .on_gpu = true, .as = UNCHECKED,
       .severity = WARNING, .seen = "crash"},
      {"launch.asynchronous_error", "declared/same_values", .control_held = true, .on_gpu = true,
       .as = "launch.asynchronous_error", .severity = ERROR},
      {"stream.legacy", "searched/same_values", .plain = true, .on_gpu = true, .as = "stream.legacy",
       .severity = ERROR},
  };
  for (size_t i = 0; i < COUNT(rows); i++) {
    const row_t *row = &rows[i];
    opc_case_result_t *judged = finding_make(row->rule, row->provenance, row->plain);
    if (row->operator_name)
      opc_string_put(judged->id.operator_name, sizeof judged->id.operator_name, row->operator_name);
    if (row->other_rank) opc_string_put(judged->id.variant, sizeof judged->id.variant, "x.scalar");
    if (row->on_gpu) opc_string_put(judged->id.device, sizeof judged->id.device, "cuda");
    if (row->after_other) opc_case_result_put(&judged->depends_on, "another case");
    judged->control_held = row->control_held;
    judged->every_input = row->every_input;
    judged->uneven_lists = row->uneven_lists;
    judged->index_beyond = row->index_beyond;
    judged->lone_tensor = row->lone_tensor;
    judged->fits = row->fits;
    judged->clean_reference = row->clean_reference;
    judged->unasked_dtype = row->unasked_dtype;
    if (row->unconfirmed) judged->confirmed = OPC_CONFIRMED_NO;
    opc_case_result_judge(judged, row->untrusted);
    if (judged->rule != opc_rule_id(row->as) || judged->severity != row->severity)
      fail_msg("%s on %s: %s, %s", row->rule, row->provenance, opc_rule_name(judged->rule),
               opc_severity_name(judged->severity));
    assert_int_equal(judged->effect, opc_effect_find(row->seen));
    opc_case_result_free(judged);
  }
}

/* The input of a finding, and what each claim makes of it there: an error, a warning, or unchecked arguments. */
static const struct {
  const char *provenance;
  bool plain, control_held;
  char always, unchecked, unsure, several, alone, unvouched, changed;
} inputs[] = {{"declared/same_values", true, false, 'e', 'e', 'e', 'e', 'e', 'e', 'e'},
              {"recorded/related", false, false, 'e', 'e', 'e', 'e', 'e', 'e', 'e'},
              {"recipe/alone", false, false, 'e', 'u', 'w', 'w', 'w', 'w', 'w'},
              {"searched/same_values", true, false, 'e', 'u', 'w', 'w', 'e', 'e', 'e'},
              {"searched/same_values", false, false, 'e', 'u', 'w', 'w', 'e', 'e', 'e'},
              {"searched/same_values", false, true, 'e', 'e', 'e', 'e', 'e', 'e', 'e'},
              {"searched/related", false, true, 'e', 'u', 'w', 'w', 'e', 'e', 'w'},
              {"searched/alone", false, false, 'e', 'u', 'w', 'w', 'w', 'w', 'w'}};

static char expected_of(size_t input, unsigned claims) {
  if (claims & OPC_CLAIMS_UNCHECKED) return inputs[input].unchecked;
  if (claims & OPC_CLAIM_UNSURE) return inputs[input].unsure;
  if (claims & OPC_CLAIM_SEVERAL) return inputs[input].several;
  if (claims & OPC_CLAIM_ALONE) return inputs[input].alone;
  if (claims & OPC_CLAIM_UNVOUCHED) return inputs[input].unvouched;
  return claims & OPC_CLAIM_CHANGED ? inputs[input].changed : inputs[input].always;
}

static char judged_as(opc_case_result_t *finding) {
  opc_case_result_judge(finding, false);
  const char as = finding->effect != OPC_EFFECT_NONE ? 'u' : finding->severity == OPC_SEVERITY_WARNING ? 'w' : 'e';
  opc_case_result_free(finding);
  return as;
}

static void every_rule_is_judged_by_its_claims(void **state) {
  (void)state;
  for (size_t i = 1; i < opc_rule_count; i++) {
    const char *rule = strcmp(opc_rules[i].name, "signal") == 0 ? "signal.SIGSEGV" : opc_rules[i].name;
    for (size_t k = 0; k < COUNT(inputs); k++) {
      opc_case_result_t *finding = finding_make(rule, inputs[k].provenance, inputs[k].plain);
      finding->control_held = inputs[k].control_held;
      const char as = judged_as(finding), expected = expected_of(k, opc_rules[i].claims);
      if (as != expected) fail_msg("%s on %s: %c, not %c", rule, inputs[k].provenance, as, expected);
    }
  }
}

/* Each claim that a rule may have in addition, on input where nothing else makes it a warning. */
static void every_added_claim_makes_a_warning(void **state) {
  (void)state;
  for (size_t i = 1; i < opc_rule_count; i++) {
    static const unsigned added[] = {OPC_CLAIM_IN_BOUNDS, OPC_CLAIM_ONE_CALL, OPC_CLAIM_BY_POSITION,
                                     OPC_CLAIM_ASKED_DTYPE};
    for (size_t k = 0; k < COUNT(added); k++) {
      if (!(opc_rules[i].claims & added[k])) continue;
      opc_case_result_t *finding = finding_make(opc_rules[i].name, "searched/same_values", false);
      finding->control_held = true;
      finding->index_beyond = added[k] == OPC_CLAIM_IN_BOUNDS;
      finding->unasked_dtype = added[k] == OPC_CLAIM_ASKED_DTYPE;
      if (added[k] == OPC_CLAIM_ONE_CALL) opc_case_result_put(&finding->depends_on, "another case");
      if (added[k] == OPC_CLAIM_BY_POSITION) snprintf(finding->id.operator_name, 9, "ns::pack");
      if (judged_as(finding) != 'w') fail_msg("%s with claim %u is no warning", opc_rules[i].name, added[k]);
    }
  }
}

/* A finding of a case without input, and one that could not be confirmed. */
static void other_findings_stay_as_they_are(void **state) {
  (void)state;
  opc_case_result_t *finding = finding_make("signal.SIGSEGV", NULL, false);
  assert_int_equal(judged_as(finding), 'e');
  finding = finding_make("meta.shape", "declared/same_values", false);
  finding->severity = OPC_SEVERITY_WARNING;
  assert_int_equal(judged_as(finding), 'w');
}

static void rules_that_need_valid_input(void **state) {
  (void)state;
  assert_true(opc_rule_needs_valid_input(opc_rule_of_signal(SIGFPE)));
  assert_true(opc_rule_needs_valid_input(OPC_RULE_memory_out_of_bounds_read));
  assert_true(opc_rule_needs_valid_input(OPC_RULE_timeout));
  assert_false(opc_rule_needs_valid_input(OPC_RULE_dtype_wrong_result));
  assert_false(opc_rule_needs_valid_input(OPC_RULE_meta_shape));
  assert_false(opc_rule_needs_valid_input(OPC_RULE_NONE));
  assert_true(opc_rule_warns_on_searched(OPC_RULE_dtype_wrong_result));
  assert_false(opc_rule_warns_on_searched(OPC_RULE_memory_out_of_bounds_read));
  assert_false(opc_rule_warns_on_searched(OPC_RULE_NONE));
}

static opc_case_result_t *result_of(opc_rule_id_t rule, const char *case_id, opc_severity_t severity) {
  opc_case_result_t *result = NULL;
  assert_int_equal(opc_case_result_new(case_id, OPC_VERDICT_FAIL, rule, "wrong", NULL, &result, NULL), OPC_OK);
  result->severity = severity;
  return result;
}

static void a_choice_changes_what_the_table_says(void **state) {
  (void)state;
  const char *id = "n::a/sync/cpu/-/s/plain";
  opc_rule_choice_t choices[OPC_RULE_END] = {[OPC_RULE_meta_shape] = OPC_CHOICE_OFF,
                                             [OPC_RULE_meta_stride] = OPC_CHOICE_WARNING,
                                             [OPC_RULE_registration_no_meta_kernel] = OPC_CHOICE_ERROR};
  opc_case_result_t *off = result_of(OPC_RULE_meta_shape, id, OPC_SEVERITY_ERROR);
  opc_case_result_judge_chosen(off, false, choices);
  assert_int_equal(off->verdict, OPC_VERDICT_SKIP);
  assert_int_equal(off->reason, OPC_SKIP_OFF);
  assert_non_null(json_object_get(off->evidence, "chosen"));
  opc_case_result_t *lower = result_of(OPC_RULE_meta_stride, id, OPC_SEVERITY_ERROR);
  opc_case_result_judge_chosen(lower, false, choices);
  assert_int_equal(lower->severity, OPC_SEVERITY_WARNING);
  opc_case_result_t *raised = result_of(OPC_RULE_registration_no_meta_kernel, id, OPC_SEVERITY_WARNING);
  opc_case_result_judge_chosen(raised, false, choices);
  assert_int_equal(raised->severity, OPC_SEVERITY_ERROR);
  assert_int_equal(raised->rule, OPC_RULE_registration_no_meta_kernel);
  opc_case_result_free(off);
  opc_case_result_free(lower);
  opc_case_result_free(raised);
}

/* An error by its table that is a warning in this case is one because of the input, or because the check is not sure.
 */
static void a_choice_makes_no_error_of_what_nobody_vouches_for(void **state) {
  (void)state;
  opc_rule_choice_t choices[OPC_RULE_END] = {
      [OPC_RULE_memory_out_of_bounds_read] = OPC_CHOICE_ERROR, [OPC_RULE_meta_shape] = OPC_CHOICE_ERROR};
  opc_case_result_t *read =
      result_of(OPC_RULE_memory_out_of_bounds_read, "n::a/memory/cpu/-/s/x.empty0", OPC_SEVERITY_ERROR);
  read->provenance = provenance_of("searched/alone");
  opc_case_result_judge_chosen(read, false, choices);
  assert_int_equal(read->rule, OPC_RULE_memory_unchecked_arguments);
  assert_int_equal(read->severity, OPC_SEVERITY_WARNING);
  opc_case_result_t *unsure = result_of(OPC_RULE_meta_shape, "n::a/meta/cpu/-/s/plain", OPC_SEVERITY_WARNING);
  opc_case_result_judge_chosen(unsure, false, choices);
  assert_int_equal(unsure->severity, OPC_SEVERITY_WARNING);
  opc_case_result_free(read);
  opc_case_result_free(unsure);
}

static void another_finding_of_the_case_takes_the_place_of_one_that_is_off(void **state) {
  (void)state;
  opc_rule_choice_t choices[OPC_RULE_END] = {[OPC_RULE_meta_shape] = OPC_CHOICE_OFF};
  opc_case_result_t *result = result_of(OPC_RULE_meta_shape, "n::a/meta/cpu/-/s/plain", OPC_SEVERITY_ERROR);
  const opc_rule_id_t rules[] = {OPC_RULE_meta_shape, OPC_RULE_meta_stride};
  for (size_t i = 0; i < COUNT(rules); i++)
    assert_int_equal(opc_also_add(&result->also,
                                  (opc_also_t){.rule = rules[i],
                                               .message = opc_string_copy("too"),
                                               .severity = OPC_SEVERITY_ERROR,
                                               .severity_stated = true},
                                  NULL),
                     OPC_OK);
  opc_case_result_judge_chosen(result, false, choices);
  assert_int_equal(result->rule, OPC_RULE_meta_stride);
  assert_int_equal(result->verdict, OPC_VERDICT_FAIL);
  assert_int_equal(result->also.count, 0);
  opc_case_result_free(result);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_choice_changes_what_the_table_says),
      cmocka_unit_test(a_choice_makes_no_error_of_what_nobody_vouches_for),
      cmocka_unit_test(another_finding_of_the_case_takes_the_place_of_one_that_is_off),
      cmocka_unit_test(texts_and_provenances_are_the_same_both_ways),
      cmocka_unit_test(what_nobody_vouches_for_has_a_worse_rank),
      cmocka_unit_test(a_rule_claims_one_thing_of_its_input),
      cmocka_unit_test(provenance_decides_what_a_finding_is),
      cmocka_unit_test(every_rule_is_judged_by_its_claims),
      cmocka_unit_test(every_added_claim_makes_a_warning),
      cmocka_unit_test(other_findings_stay_as_they_are),
      cmocka_unit_test(rules_that_need_valid_input),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
