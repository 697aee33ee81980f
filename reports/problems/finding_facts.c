#include "reports/problems/finding_facts.h"

#include <stdio.h>
#include <string.h>

#include "catalogue/rules.h"
#include "model/case/case.h"
#include "model/case/verdict.h"
#include "plan/variant/variant.h"
#include "reports/journal/journal_record.h"
#include "reports/problems/code_place.h"

static const char unchecked_rule[] = "memory.unchecked_arguments";

/* ---- rules ---- */

enum { RANK_TABLE = 100 };

int opc_rule_rank(const char *rule) {
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
  for (size_t i = 0; i < sizeof strongest / sizeof strongest[0]; i++) {
    size_t length = strlen(strongest[i]);
    if (strncmp(rule, strongest[i], length) == 0 && (rule[length] == '\0' || rule[length] == '.')) return (int)i;
  }
  const opc_rule_id_t known = opc_rule_id(rule);
  const int place = known == OPC_RULE_NONE ? OPC_RULE_COUNT : (int)known;
  for (size_t i = 0; i < sizeof next / sizeof next[0]; i++)
    if (opc_rule_is_of(rule, next[i])) return RANK_TABLE + (int)i * OPC_RULE_COUNT + place;
  return RANK_TABLE + (int)(sizeof next / sizeof next[0]) * OPC_RULE_COUNT + place;
}

bool opc_rule_is_of(const char *rule, const char *name) {
  size_t length = strlen(name);
  return strncmp(rule, name, length) == 0 && (rule[length] == '\0' || rule[length] == '.');
}

const char *opc_rule_domain(const char *rule) {
  static const char *const whole[] = {"meta", "symbolic", "autograd", "determinism", "leak"};
  static const char *const of_call[] = {"memory",  "initialisation",    "stride",  "empty",
                                        "dtype",   "bitwise",           "signal",  "exit",
                                        "timeout", "foreign_exception", "memcheck"};
  if (strcmp(rule, "autograd.not_registered") == 0) return rule; /* no derivative exists that could be wrong */
  /* A kernel that cannot run without data cannot be functionalised either. */
  if (strcmp(rule, "functionalisation.fails") == 0) return "meta";
  for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
    if (opc_rule_is_of(rule, whole[i])) return whole[i];
  for (size_t i = 0; i < sizeof of_call / sizeof of_call[0]; i++)
    if (opc_rule_is_of(rule, of_call[i])) return "call";
  return rule;
}

const char *opc_rule_kind(const char *rule) { return opc_rule_is_of(rule, "signal") ? "signal" : rule; }

/* ---- a finding ---- */

static opc_change_kind_t change_of(const opc_case_id_t *id, const char *rule, const char *standing) {
  if (opc_rule_is_of(rule, "xfail")) return OPC_CHANGE_NONE; /* it passed: the variant did nothing */
  if (!*id->variant || strcmp(id->variant, "plain") == 0) return *id->dtype ? OPC_CHANGE_DTYPE : OPC_CHANGE_NONE;
  const char *change = strchr(standing, '/');
  /* Check stride compares with a copy of the same values, even if elements are repeated. */
  bool same_values = !change || strcmp(change + 1, "same_values") == 0 || opc_rule_is_of(rule, "stride");
  unsigned families = opc_variant_facts(id->variant).families;
  if (families & (OPC_VARIANT_METHOD | OPC_VARIANT_USED)) return OPC_CHANGE_METHOD;
  if (families & OPC_VARIANT_EMPTY) return OPC_CHANGE_EMPTY;
  if (families & (OPC_VARIANT_SPECIAL | OPC_VARIANT_CONTENTS | OPC_VARIANT_ONE_ZERO)) return OPC_CHANGE_VALUES;
  if (families & OPC_VARIANT_SAME) return OPC_CHANGE_SAME;
  if (families & OPC_VARIANT_CAST) return OPC_CHANGE_DTYPE;
  if (families == OPC_VARIANT_LARGER_LAYOUT && opc_rule_is_of(rule, "stride")) return OPC_CHANGE_LAYOUT;
  if (families != 0 && (families & ~(unsigned)(OPC_VARIANT_LAYOUT | OPC_VARIANT_BITS)) == 0)
    return same_values ? OPC_CHANGE_LAYOUT : OPC_CHANGE_VALUES;
  return OPC_CHANGE_SIZES;
}

/* "tensors" for "tensors[1].sliced+x.offset"; "" for "all.sliced". */
static void add_changed(const char *variant, char *out, size_t size) {
  const size_t length = opc_case_changed_argument(variant);
  if (length > 0) snprintf(out, size, "%.*s", (int)length, variant);
}

static const char *argument_touched(const json_t *evidence) {
  size_t index;
  json_t *access;
  json_array_foreach(json_object_get(evidence, "accesses"), index,
                     access) if (*opc_record_text(access, "argument")) return opc_record_text(access, "argument");
  return "";
}

static opc_seen_t seen_of(const json_t *evidence, const char *rule) {
  static const char *const words[OPC_SEEN_COUNT] = {"write", "read", "crash", "abort", "hang", "memory"};
  const char *seen = opc_record_text(evidence, "seen");
  if (strcmp(opc_record_text(evidence, "seen_rule"), "signal.SIGABRT") == 0) return OPC_SEEN_ABORT;
  size_t index;
  json_t *access;
  for (int i = 0; i < OPC_SEEN_COUNT; i++)
    if (strcmp(words[i], seen) == 0) return (opc_seen_t)i;
  /* For journals that lack this field. */
  json_array_foreach(json_object_get(evidence, "accesses"), index,
                     access) if (strcmp(opc_record_text(access, "access"), "write") == 0) return OPC_SEEN_WRITE;
  if (opc_rule_is_of(rule, "timeout")) return OPC_SEEN_HANG;
  if (opc_rule_is_of(rule, "signal") || opc_rule_is_of(rule, "exit")) return OPC_SEEN_CRASH;
  return OPC_SEEN_READ;
}

void opc_finding_facts_of(const json_t *record, const char *library, opc_finding_facts_t *out) {
  const json_t *evidence = json_object_get(record, "evidence");
  const char *standing = opc_record_text(record, "standing");
  opc_code_place_t place;
  *out = (opc_finding_facts_t){.rule = opc_record_text(record, "rule")};
  if (opc_case_id_parse(opc_record_text(record, "case"), &out->id, NULL) != OPC_OK) out->id = (opc_case_id_t){0};
  out->unchecked = strcmp(out->rule, unchecked_rule) == 0;
  out->warning = strcmp(opc_record_text(record, "severity"), opc_severity_name(OPC_SEVERITY_WARNING)) == 0;
  out->change = change_of(&out->id, out->rule, standing);
  out->one.complexity = opc_case_id_complexity(&out->id);
  out->one.standing = opc_standing_order(standing);
  out->rank = opc_rule_rank(out->rule);
  if (opc_code_place_of(record, library, &place)) out->place = place.key;
  add_changed(out->id.variant, out->argument, sizeof out->argument);
  if (opc_rule_is_of(out->rule, "mutation") || opc_rule_is_of(out->rule, "alias")) {
    const char *own = opc_record_text(evidence, "argument");
    snprintf(out->touched, sizeof out->touched, "%s", *own ? own : argument_touched(evidence));
  }
  if (!out->unchecked) return;
  out->seen = seen_of(evidence, out->rule);
  out->rank = (int)out->seen;
  const char *said = opc_record_text(evidence, "argument"), *before = opc_record_text(evidence, "seen_rule");
  if (!*said && !*out->argument) said = argument_touched(evidence);
  if (*said && strlen(said) < sizeof out->argument)
    snprintf(out->argument, sizeof out->argument, "%.*s", (int)strcspn(said, "["), said);
  if (*before) out->rule = before;
}
