#include "result/judge.h"

#include <string.h>

#include "base/text.h"
#include "catalogue/severity.h"

/* Only "cuda" is a real GPU, where kernels can read out of bounds unseen. */
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
static void note_unchecked(opc_case_result_t *result, const char *rule, opc_effect_t effect) {
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

void opc_case_result_judge(opc_case_result_t *result, bool untrusted_input) {
  opc_judgement_asked_t asked = {.operator_name = result->id.operator_name,
                                 .standing = result->standing,
                                 .control_held = result->control_held,
                                 .every_input = result->every_input,
                                 .other_rank = has_other_rank(result->id.variant),
                                 .after_other = result->depends_on != NULL,
                                 .uneven_lists = result->uneven_lists,
                                 .lone_tensor = result->lone_tensor,
                                 .unasked_dtype = result->unasked_dtype,
                                 .index_beyond = result->index_beyond,
                                 .clean_reference = result->clean_reference,
                                 .on_gpu = is_on_gpu(&result->id),
                                 .untrusted_input = untrusted_input};
  if (!opc_case_result_is_finding(result) || asked.standing.voucher == OPC_VOUCHER_NONE) return;
  /* What a variant of a broken sample shows is judged as on the sample itself. This does not apply to a sample that a
   * search found: nobody vouches for it. */
  if (asked.standing.voucher != OPC_VOUCHER_SEARCHED && result->broken_base)
    asked.standing.change = OPC_INPUT_SAME_VALUES;
  for (size_t i = 0; i < result->also.count; i++) {
    opc_also_t *also = &result->also.items[i];
    asked.rule = also->rule;
    asked.severity = also->severity;
    const opc_judgement_t judged = opc_rule_judge(&asked);
    also->severity = judged.severity;
    also->severity_stated = true;
    also->rule = opc_rule_interned(judged.rule);
  }
  asked.rule = result->rule;
  asked.severity = result->severity;
  const opc_judgement_t judged = opc_rule_judge(&asked);
  result->severity = judged.severity;
  result->rule = opc_rule_interned(judged.rule);
  if (judged.seen) note_unchecked(result, asked.rule, opc_effect_find(judged.seen));
  put_errors_first(result);
}
