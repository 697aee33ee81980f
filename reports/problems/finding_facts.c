#include "reports/problems/problem_merge.h"

#include <signal.h>
#include <string.h>

/* ---- rules ---- */

enum { RANK_TABLE = 100 };

int opc_rule_rank(opc_rule_id_t rule) {
  static const char *const strongest[] = {"memory.out_of_bounds_write",
                                          "memory.use_after_free",
                                          "memory.dangling_output",
                                          "memory.out_of_bounds_read",
                                          "memory.output_outside",
                                          "memcheck",
                                          "sanitize",
                                          "signal",
                                          "foreign_exception",
                                          "exit",
                                          "timeout",
                                          "memory.system_call",
                                          "memory",
                                          [OPC_RANK_HARMFUL] = "sample",
                                          "meta"};
  /* Of the others, these come first, in this order; then the order of the tables counts. */
  static const char *const next[] = {
      "registration",      "device",     "dtype",       "empty",    "stride",   "alias",     "mutation",    "autograd",
      "initialisation",    "leak",       "determinism", "state",    "bitwise",  "reference", "defaults",    "tags",
      "functionalisation", "equivalent", "vmap",        "autocast", "symbolic", "fake",      "architecture"};
  for (size_t i = 0; i < sizeof strongest / sizeof strongest[0]; i++)
    if (opc_rule_is_of(rule, strongest[i])) return (int)i;
  for (size_t i = 0; i < sizeof next / sizeof next[0]; i++)
    if (opc_rule_is_of(rule, next[i])) return RANK_TABLE + (int)i * OPC_RULE_COUNT + (int)rule;
  return RANK_TABLE + (int)(sizeof next / sizeof next[0]) * OPC_RULE_COUNT + (int)rule;
}

const char *opc_rule_domain(opc_rule_id_t rule) {
  static const char *const whole[] = {"meta", "symbolic", "autograd", "autocast", "vmap", "determinism", "leak"};
  static const char *const of_call[] = {"memory",  "initialisation",    "stride",  "empty",
                                        "dtype",   "bitwise",           "signal",  "exit",
                                        "timeout", "foreign_exception", "memcheck"};
  if (rule == OPC_RULE_autograd_not_registered)
    return opc_rule_name(rule); /* no derivative exists that could be wrong */
  /* A kernel that cannot run without data cannot be functionalised either. */
  if (rule == OPC_RULE_functionalisation_fails) return "meta";
  for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
    if (opc_rule_is_of(rule, whole[i])) return whole[i];
  for (size_t i = 0; i < sizeof of_call / sizeof of_call[0]; i++)
    if (opc_rule_is_of(rule, of_call[i])) return "call";
  return opc_rule_name(rule);
}

const char *opc_rule_kind(opc_rule_id_t rule) {
  return opc_rule_is_of(rule, "signal") ? "signal" : opc_rule_name(rule);
}

/* ---- a finding ---- */

static opc_change_kind_t finding_change_of(const opc_case_result_t *result) {
  const opc_case_id_t *id = &result->id;
  if (opc_rule_is_of(result->rule, "xfail")) return OPC_CHANGE_NONE; /* it passed: the variant did nothing */
  if (!*id->variant || strcmp(id->variant, "plain") == 0) return *id->dtype ? OPC_CHANGE_DTYPE : OPC_CHANGE_NONE;
  /* Check stride compares with a copy of the same values, even if elements are repeated. */
  const bool stride = opc_rule_is_of(result->rule, "stride");
  unsigned families = opc_variant_facts(id->variant).families;
  if (families & (OPC_VARIANT_METHOD | OPC_VARIANT_USED)) return OPC_CHANGE_METHOD;
  if (families & OPC_VARIANT_EMPTY) return OPC_CHANGE_EMPTY;
  if (families & (OPC_VARIANT_SPECIAL | OPC_VARIANT_CONTENTS | OPC_VARIANT_ONE_ZERO)) return OPC_CHANGE_VALUES;
  if (families & OPC_VARIANT_SAME) return OPC_CHANGE_SAME;
  if (families & OPC_VARIANT_CAST) return OPC_CHANGE_DTYPE;
  if ((families == OPC_VARIANT_LARGER_LAYOUT || families == OPC_VARIANT_DEEP) && stride) return OPC_CHANGE_LAYOUT;
  if (families != 0 && (families & ~(unsigned)(OPC_VARIANT_LAYOUT | OPC_VARIANT_BITS)) == 0)
    return stride || result->provenance.change == OPC_INPUT_SAME_VALUES ? OPC_CHANGE_LAYOUT : OPC_CHANGE_VALUES;
  return OPC_CHANGE_SIZES;
}

static const char *argument_touched(const opc_case_result_t *result) {
  for (size_t i = 0; i < result->access_count; i++)
    if (*result->accesses[i].argument) return result->accesses[i].argument;
  return "";
}

static opc_seen_t seen_of(const opc_case_result_t *result) {
  static const opc_seen_t of_effect[OPC_EFFECT_COUNT] = {
      [OPC_EFFECT_WRITE] = OPC_SEEN_WRITE,   [OPC_EFFECT_CRASH] = OPC_SEEN_CRASH,
      [OPC_EFFECT_READ] = OPC_SEEN_READ,     [OPC_EFFECT_HANG] = OPC_SEEN_HANG,
      [OPC_EFFECT_MEMORY] = OPC_SEEN_MEMORY, [OPC_EFFECT_CONVERSION] = OPC_SEEN_CONVERSION,
  };
  if (result->effect_rule == opc_rule_of_signal(SIGABRT)) return OPC_SEEN_ABORT;
  if (result->effect != OPC_EFFECT_NONE) return of_effect[result->effect];
  for (size_t i = 0; i < result->access_count; i++) /* old journals have no effect */
    if (result->accesses[i].write) return OPC_SEEN_WRITE;
  return OPC_SEEN_READ;
}

void opc_finding_facts_of(const opc_case_result_t *result, const char *library, opc_finding_facts_t *out) {
  const char *own = result->argument ? result->argument : "";
  opc_code_place_t place;
  *out = (opc_finding_facts_t){.rule = result->rule,
                               .unchecked = result->rule == OPC_RULE_memory_unchecked_arguments,
                               .warning = result->severity == OPC_SEVERITY_WARNING,
                               .change = finding_change_of(result),
                               .touched = "",
                               .one = {.complexity = opc_case_id_complexity(&result->id),
                                       .provenance = opc_provenance_order(&result->provenance)},
                               .rank = opc_rule_rank(result->rule)};
  if (opc_code_place_of(result, library, &place)) out->place = place.key;
  /* "tensors" for "tensors[1].sliced+x.offset"; "" for "all.sliced" */
  snprintf(out->argument, sizeof out->argument, "%.*s", (int)opc_case_changed_argument(result->id.variant),
           result->id.variant);
  if (opc_rule_is_of(out->rule, "mutation") || opc_rule_is_of(out->rule, "alias"))
    out->touched = *own ? own : argument_touched(result);
  if (!out->unchecked) return;
  out->seen = seen_of(result);
  out->rank = (int)out->seen;
  if (!*own && !*out->argument) own = argument_touched(result);
  if (*own && strlen(own) < sizeof out->argument)
    snprintf(out->argument, sizeof out->argument, "%.*s", (int)strcspn(own, "["), own);
  if (result->effect_rule) out->rule = result->effect_rule;
}
