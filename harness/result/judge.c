#include "result/case_result.h"

#include <string.h>

/* A real one, where kernels can read out of bounds unseen. */
static bool is_on_gpu(const opc_case_id_t *id) { return strcmp(id->device, "cuda") == 0; }

/* "x.scalar": another number of dimensions for x alone. */
static bool has_other_rank(const char *variant) {
  const char *transformation = strrchr(variant, '.');
  return transformation && strcmp(transformation, ".scalar") == 0 && strncmp(variant, "all.", 4) != 0;
}

/* The rule and its text change places with the entry of `also`. */
static void promote(opc_case_result_t *result, opc_also_t *also) {
  const opc_also_t before = {
      .rule = result->rule, .message = result->message, .severity = result->severity, .severity_stated = true};
  result->rule = also->rule;
  result->message = also->message;
  result->severity = also->severity;
  result->verdict = OPC_VERDICT_FAIL;
  json_decref(also->rest);
  *also = before;
}

/* A side warning does not hide an error. */
static void put_errors_first(opc_case_result_t *result) {
  for (size_t i = 0; i < result->also.count && result->severity != OPC_SEVERITY_ERROR; i++)
    if (result->also.items[i].severity == OPC_SEVERITY_ERROR) promote(result, &result->also.items[i]);
}

/* The only argument that the variant changed: "x" for "x.sliced", "tensors" for "tensors[1].empty0". If the sample
 * itself shows the same, that argument is not to blame. */
static void note_unchecked(opc_case_result_t *result, opc_rule_id_t rule, opc_effect_t effect) {
  const char *variant = result->id.variant;
  const size_t length = opc_case_changed_argument(variant);
  result->effect = effect;
  result->effect_rule = rule;
  result->verdict = OPC_VERDICT_FAIL;
  if (result->broken_base || length == 0) return;
  char argument[sizeof result->id.variant];
  opc_string_put(argument, sizeof argument, variant);
  argument[length] = '\0';
  opc_case_result_put(&result->argument, argument);
}

static opc_effect_t unchecked_effect(unsigned claims) {
  if (claims & OPC_CLAIM_UNCHECKED_WRITE) return OPC_EFFECT_WRITE;
  if (claims & OPC_CLAIM_UNCHECKED_CRASH) return OPC_EFFECT_CRASH;
  if (claims & OPC_CLAIM_UNCHECKED_READ) return OPC_EFFECT_READ;
  if (claims & OPC_CLAIM_UNCHECKED_HANG) return OPC_EFFECT_HANG;
  return claims & OPC_CLAIM_UNCHECKED_MEMORY ? OPC_EFFECT_MEMORY : OPC_EFFECT_CONVERSION;
}

/* The operator's name has one of these words: "quant::weight_prepack", not "quant::unpack" or "quant::packed_linear".
 */
static bool says_that_it_packs(const char *operator_name) {
  static const char *const words[] = {"pack", "prepack", "repack"};
  const char *at = strstr(operator_name, "::");
  while (at && *at != '\0') {
    at += strspn(at, "_:.");
    const size_t length = strcspn(at, "_:.");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      if (strlen(words[i]) == length && strncmp(at, words[i], length) == 0) return true;
    at += length;
  }
  return false;
}

/* False: what the rule claims of its input does not make the finding a warning. */
static bool is_weakened(const opc_case_result_t *result, const opc_provenance_t *provenance, unsigned claims) {
  const bool alone = provenance->change == OPC_INPUT_ALONE || has_other_rank(result->id.variant);
  const bool other_values = provenance->change != OPC_INPUT_SAME_VALUES;
  const bool not_the_layout = other_values || provenance->plain || !result->control_held || result->depends_on;
  if (claims & OPC_CLAIM_ALONE) return alone;
  if (claims & OPC_CLAIM_UNVOUCHED) return alone && !result->clean_reference;
  if (claims & OPC_CLAIM_CHANGED) return other_values;
  const bool fits = result->lone_tensor || (provenance->plain && result->fits && !result->uneven_lists);
  if (claims & OPC_CLAIM_SEVERAL) return !fits && not_the_layout;
  /* On a GPU the plain layout may have left its tensors too, where nothing sees it. */
  if (claims & OPC_CLAIMS_UNCHECKED) return is_on_gpu(&result->id) || not_the_layout;
  return (claims & OPC_CLAIM_UNSURE) && not_the_layout;
}

/* The result may be what lies outside of the tensors: nothing sees a read there. */
static bool may_read_outside(const opc_case_result_t *result) {
  return is_on_gpu(&result->id) || result->uneven_lists || result->index_beyond;
}

/* Judges a rule with its severity, which both may change. The effect if the rule becomes that of unchecked arguments.
 */
static opc_effect_t judge(const opc_case_result_t *result, const opc_provenance_t *provenance, bool untrusted_input,
                          opc_rule_id_t *rule, opc_severity_t *severity) {
  const unsigned claims = opc_rule_claims(*rule);
  if (result->unasked_dtype && (claims & OPC_CLAIM_ASKED_DTYPE)) *severity = OPC_SEVERITY_WARNING;
  if (opc_provenance_is_valid(provenance)) return OPC_EFFECT_NONE;
  if ((may_read_outside(result) && (claims & OPC_CLAIM_IN_BOUNDS)) ||
      (result->depends_on && (claims & OPC_CLAIM_ONE_CALL)) ||
      (says_that_it_packs(result->id.operator_name) && (claims & OPC_CLAIM_BY_POSITION)))
    *severity = OPC_SEVERITY_WARNING;
  if (result->every_input || !is_weakened(result, provenance, claims)) return OPC_EFFECT_NONE;
  *severity = OPC_SEVERITY_WARNING;
  if (!(claims & OPC_CLAIMS_UNCHECKED)) return OPC_EFFECT_NONE;
  if (untrusted_input && result->confirmed != OPC_CONFIRMED_NO) *severity = OPC_SEVERITY_ERROR;
  *rule = OPC_RULE_memory_unchecked_arguments;
  return unchecked_effect(claims);
}

void opc_case_result_judge(opc_case_result_t *result, bool untrusted_input) {
  opc_provenance_t provenance = result->provenance;
  if (!opc_case_result_is_finding(result) || provenance.source == OPC_SOURCE_NONE) return;
  /* What a variant of a broken sample shows is judged as on the sample itself. This does not apply to a sample that a
   * search found: nobody vouches for it. */
  if (provenance.source != OPC_SOURCE_SEARCHED && result->broken_base) provenance.change = OPC_INPUT_SAME_VALUES;
  for (size_t i = 0; i < result->also.count; i++) {
    opc_also_t *also = &result->also.items[i];
    (void)judge(result, &provenance, untrusted_input, &also->rule, &also->severity);
    also->severity_stated = true;
  }
  const opc_rule_id_t rule = result->rule;
  const opc_effect_t effect = judge(result, &provenance, untrusted_input, &result->rule, &result->severity);
  if (effect != OPC_EFFECT_NONE) note_unchecked(result, rule, effect);
  put_errors_first(result);
}

/* ---- choices ---- */

static void note_choice(opc_case_result_t *result, opc_rule_id_t rule, const char *what) {
  OPC_SCOPED(opc_scope_free) char *text = opc_string_format("%s: %s", opc_rule_name(rule), what);
  if (text) json_object_set_new(result->evidence, "chosen", json_string(text));
}

static void raise_severity(opc_case_result_t *result, opc_rule_id_t rule, opc_severity_t *severity,
                           const opc_rule_choice_t *choices) {
  if (choices[rule] != OPC_CHOICE_ERROR || *severity != OPC_SEVERITY_WARNING) return;
  if (opc_rule_of(rule)->severity != OPC_SEVERITY_WARNING) return;
  *severity = OPC_SEVERITY_ERROR;
  note_choice(result, rule, "an error");
}

static void lower_severity(opc_case_result_t *result, opc_rule_id_t rule, opc_severity_t *severity,
                           const opc_rule_choice_t *choices) {
  if (choices[rule] != OPC_CHOICE_WARNING || *severity == OPC_SEVERITY_WARNING) return;
  *severity = OPC_SEVERITY_WARNING;
  note_choice(result, rule, "a warning");
}

static void drop_also(opc_also_list_t *also, size_t index) {
  opc_also_clear(&also->items[index]);
  for (also->count--; index < also->count; index++) also->items[index] = also->items[index + 1];
}

/* Another finding of the case takes the place of one that is off; without another, the case is a skip. */
static void turn_off(opc_case_result_t *result, const opc_rule_choice_t *choices) {
  const opc_rule_id_t rule = result->rule;
  for (size_t i = result->also.count; i-- > 0;)
    if (choices[result->also.items[i].rule] == OPC_CHOICE_OFF) drop_also(&result->also, i);
  if (choices[rule] != OPC_CHOICE_OFF) return;
  note_choice(result, rule, "off");
  if (result->also.count > 0) {
    promote(result, &result->also.items[0]);
    drop_also(&result->also, 0);
    return;
  }
  OPC_SCOPED(opc_scope_free)
  char *message = opc_string_format("%s is off; without that: %s", opc_rule_name(rule), result->message);
  opc_case_result_say(result, message);
  result->verdict = OPC_VERDICT_SKIP;
  result->reason = OPC_SKIP_OFF;
  result->rule = OPC_RULE_NONE;
  result->severity = OPC_SEVERITY_ERROR;
}

void opc_case_result_judge_chosen(opc_case_result_t *result, bool untrusted_input, const opc_rule_choice_t *choices) {
  if (choices && opc_case_result_is_finding(result)) {
    raise_severity(result, result->rule, &result->severity, choices);
    for (size_t i = 0; i < result->also.count; i++)
      raise_severity(result, result->also.items[i].rule, &result->also.items[i].severity, choices);
  }
  opc_case_result_judge(result, untrusted_input);
  if (!choices || !opc_case_result_is_finding(result)) return;
  lower_severity(result, result->rule, &result->severity, choices);
  for (size_t i = 0; i < result->also.count; i++)
    lower_severity(result, result->also.items[i].rule, &result->also.items[i].severity, choices);
  turn_off(result, choices);
  if (opc_case_result_is_finding(result)) put_errors_first(result);
}
