#include "reports/problems/problem_merge.h"

#include <stdlib.h>
#include <string.h>

enum { RANK_ALSO = 100000 /* additional rules of a finding never name a problem */ };

/* The set's own copy of a name; NULL when memory ran out. */
static const char *intern(json_t *names, const char *name) {
  if (!json_object_get(names, name) && json_object_set_new(names, name, json_null()) != 0) return NULL;
  return json_object_iter_key(json_object_iter_at(names, name));
}

static opc_problem_t *problem_of(opc_operator_findings_t *findings, const opc_finding_facts_t *facts) {
  for (size_t i = 0; i < findings->count; i++) {
    opc_problem_t *known = &findings->problems[i];
    const char *argument = known->argument_count ? known->arguments[0] : "";
    if (known->unchecked == facts->unchecked && known->warning == facts->warning && known->change == facts->change &&
        known->symptoms[0].rule == facts->rule && strcmp(argument, facts->argument) == 0)
      return known;
  }
  return NULL;
}

static opc_problem_t *new_problem(opc_operator_findings_t *findings) {
  if (findings->count == findings->capacity) {
    size_t capacity = findings->capacity ? findings->capacity * 2 : 16;
    opc_problem_t *grown = realloc(findings->problems, capacity * sizeof *grown);
    if (!grown) return NULL;
    findings->problems = grown;
    findings->capacity = capacity;
  }
  opc_problem_t *problem = &findings->problems[findings->count++];
  *problem = (opc_problem_t){0};
  return problem;
}

/* An input counts once, no matter how many checks tried it. */
static opc_status_t count_input(opc_operator_findings_t *findings, opc_problem_t *problem,
                                const opc_finding_facts_t *facts, const opc_case_id_t *id, opc_error_t *error) {
  opc_text_t input = {0};
  bool added = true;
  opc_text_addf(&input, "%s\n%d\n%s\n%s\n%s", facts->argument, (int)facts->seen, id->dtype, id->sample, id->variant);
  opc_status_t status = opc_hash_set_add(&findings->inputs, opc_text_c(&input), input.length, &added, error);
  problem->seen[facts->seen] += added;
  opc_text_clear(&input);
  return status;
}

/* Adds the other rules that a finding names. */
static opc_status_t add_also(opc_problem_t *problem, const opc_also_list_t *also, const opc_symptom_t *own,
                             opc_error_t *error) {
  for (size_t i = 0; i < also->count; i++) {
    opc_symptom_t symptom = *own;
    symptom.rule = also->items[i].rule;
    symptom.rank = RANK_ALSO + opc_rule_rank(symptom.rule);
    if (!opc_problem_has_rule(problem, symptom.rule))
      OPC_RETURN_IF_ERROR(opc_problem_add_symptom(problem, &symptom, error));
  }
  return OPC_OK;
}

opc_status_t opc_operator_findings_add(opc_operator_findings_t *findings, const opc_case_result_t *result,
                                       uint64_t offset, opc_error_t *error) {
  opc_finding_facts_t facts;
  opc_finding_facts_of(result, findings->library, &facts);
  facts.one.offset = offset;
  const char *argument = intern(findings->names, facts.argument);
  if (!argument) return opc_out_of_memory(error);
  if (!findings->plain && !(findings->plain = json_object())) return opc_out_of_memory(error);
  const bool itself = facts.change == OPC_CHANGE_NONE || facts.change == OPC_CHANGE_DTYPE;
  if (itself && !facts.unchecked && json_object_set_new(findings->plain, opc_rule_kind(facts.rule), json_null()) != 0)
    return opc_out_of_memory(error);

  opc_problem_t *problem = problem_of(findings, &facts);
  if (!problem && !(problem = new_problem(findings))) return opc_out_of_memory(error);
  bool known = problem->symptom_count > 0,
       stronger = facts.one.provenance && facts.one.provenance < problem->provenance;
  opc_symptom_t symptom = {facts.rule, facts.warning, facts.rank, facts.place, facts.one};
  OPC_RETURN_IF_ERROR(opc_problem_add_symptom(problem, &symptom, error));
  OPC_RETURN_IF_ERROR(add_also(problem, &result->also, &symptom, error));
  if (facts.unchecked) OPC_RETURN_IF_ERROR(count_input(findings, problem, &facts, &result->id, error));
  const uint64_t bit = opc_problem_check_bit(result->id.check);
  if (!known) {
    problem->change = facts.change;
    problem->unchecked = facts.unchecked;
    problem->warning = facts.warning;
    problem->operators = calloc(1, sizeof *problem->operators);
    if (!problem->operators) return opc_out_of_memory(error);
    problem->operators[0].index = findings->operator_index;
    problem->operator_count = 1;
    if (!OPC_ARRAY_GROW(problem->parts, problem->part_count)) return opc_out_of_memory(error);
    problem->parts[problem->part_count++] = (opc_problem_part_t){.operator_index = findings->operator_index,
                                                                 .rule = facts.rule,
                                                                 .change = facts.change,
                                                                 .unchecked = facts.unchecked,
                                                                 .warning = facts.warning,
                                                                 .argument = argument};
  }
  if (!problem->provenance || stronger) problem->provenance = facts.one.provenance;
  problem->off_gpu = problem->off_gpu || strcmp(result->id.device, "cuda") != 0;
  if (facts.warning) problem->operators[0].warning_checks |= bit;
  else problem->operators[0].error_checks |= bit;
  if (*argument) opc_problem_add_argument(problem, argument);
  if (*facts.touched && !problem->touched && !(problem->touched = intern(findings->names, facts.touched)))
    return opc_out_of_memory(error);
  opc_problem_add_case(problem, &facts.one);
  opc_problem_add_place(problem, facts.place);
  problem->count++;
  return OPC_OK;
}

/* ---- merging ---- */

static bool only_layout(const opc_operator_findings_t *findings, opc_rule_id_t rule) {
  for (size_t i = 0; i < findings->count; i++) {
    const opc_problem_t *problem = &findings->problems[i];
    if (!problem->unchecked && problem->change != OPC_CHANGE_LAYOUT && opc_problem_has_rule(problem, rule))
      return false;
  }
  return true;
}

static bool has_meta_shape(const opc_operator_findings_t *findings) {
  for (size_t i = 0; i < findings->count; i++)
    if (opc_problem_has_rule(&findings->problems[i], OPC_RULE_meta_shape)) return true;
  return false;
}

/* Memory that nobody wrote, wherever it shows. */
static bool shows_unwritten(opc_rule_id_t rule) {
  static const opc_rule_id_t rules[] = {OPC_RULE_initialisation_output, OPC_RULE_initialisation_nothing_written,
                                        OPC_RULE_initialisation_depends, OPC_RULE_initialisation_scratch,
                                        OPC_RULE_empty_poison};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i] == rule) return true;
  return false;
}

static bool reads_unwritten_plainly(const opc_operator_findings_t *findings) {
  for (size_t i = 0; i < findings->count; i++) {
    const opc_rule_id_t rule = findings->problems[i].symptoms[0].rule;
    if (shows_unwritten(rule) && json_object_get(findings->plain, opc_rule_name(rule))) return true;
  }
  return false;
}

/* Findings with the same key are one problem. */
static void add_key(const opc_operator_findings_t *findings, const opc_problem_t *problem, opc_text_t *out) {
  const opc_rule_id_t rule = problem->symptoms[0].rule;
  const char *domain = opc_rule_domain(rule);
  if (problem->unchecked) {
    opc_text_addf(out, "unchecked %s", problem->argument_count ? problem->arguments[0] : "");
  } else if (rule == OPC_RULE_empty_shape && has_meta_shape(findings)) {
    opc_text_add(out, "meta"); /* the check relies on the Meta kernel here */
  } else if (strcmp(domain, "call") != 0) {
    opc_text_add(out, strcmp(domain, opc_rule_name(rule)) == 0 && only_layout(findings, rule) ? "layout" : domain);
  } else if (shows_unwritten(rule) && reads_unwritten_plainly(findings)) {
    opc_text_add(out, "unwritten");
  } else if (json_object_get(findings->plain, opc_rule_kind(rule))) {
    opc_text_addf(out, "rule %s", opc_rule_kind(rule));
  } else {
    opc_text_add(out, opc_change_kind_name(problem->change));
  }
}

static opc_change_kind_t simplest_change(const opc_problem_t *one, const opc_problem_t *other) {
  return one->change < other->change ? one->change : other->change;
}

/* The first one stays in front; the kind of change is that of the simplest. */
static opc_status_t problem_merge_join(opc_operator_findings_t *findings, size_t into, size_t from,
                                       opc_error_t *error) {
  opc_problem_t *target = &findings->problems[into];
  opc_change_kind_t change = simplest_change(target, &findings->problems[from]);
  opc_status_t status = opc_problem_absorb(target, &findings->problems[from], error);
  target->change = change;
  findings->count--;
  memmove(findings->problems + from, findings->problems + from + 1,
          (findings->count - from) * sizeof *findings->problems);
  return status;
}

static opc_status_t problem_merge_join_equal(opc_operator_findings_t *findings, opc_text_t *keys, opc_error_t *error) {
  for (size_t i = 0; i < findings->count; i++) {
    for (size_t k = i + 1; k < findings->count;) {
      if (strcmp(opc_text_c(&keys[i]), opc_text_c(&keys[k])) != 0) {
        k++;
        continue;
      }
      const opc_status_t status = problem_merge_join(findings, i, k, error);
      opc_text_clear(&keys[k]);
      memmove(keys + k, keys + k + 1, (findings->count - k) * sizeof *keys);
      keys[findings->count] = (opc_text_t){0};
      OPC_RETURN_IF_ERROR(status);
    }
  }
  return OPC_OK;
}

static opc_status_t join_by_key(opc_operator_findings_t *findings, opc_error_t *error) {
  size_t total = findings->count;
  OPC_SCOPED(opc_scope_free) opc_text_t *keys = calloc(total ? total : 1, sizeof *keys);
  if (!keys) return opc_out_of_memory(error);
  for (size_t i = 0; i < total; i++) add_key(findings, &findings->problems[i], &keys[i]);
  const opc_status_t status = problem_merge_join_equal(findings, keys, error);
  for (size_t i = 0; i < total; i++) opc_text_clear(&keys[i]);
  return status;
}

/* One line of code is one cause, no matter which rules it breaks. */
static opc_status_t join_by_place(opc_operator_findings_t *findings, opc_error_t *error) {
  for (size_t i = 0; i < findings->count; i++) {
    for (size_t k = i + 1; k < findings->count;) {
      const opc_problem_t *one = &findings->problems[i], *other = &findings->problems[k];
      if (one->unchecked || other->unchecked || !opc_problem_shares_place(one, other)) {
        k++;
        continue;
      }
      OPC_RETURN_IF_ERROR(problem_merge_join(findings, i, k, error));
      k = i + 1; /* it has more places now */
    }
  }
  return OPC_OK;
}

/* What a defect leads to on a GPU, where kernels really run: work that nobody waits for gives other values each time,
 * an element that no kernel writes holds what was there before, whatever is kept on the device has a record in host
 * memory, and compute-sanitizer ends a kernel whose access it reports. */
static const struct {
  const char *cause, *effect;
} leads_to[] = {{"stream", "initialisation"},
                {"stream", "determinism"},
                {"stream", "stride"},
                {"stream", "dtype"},
                {"stream", "device"},
                {"stream", "bitwise"},
                {"stream", "capture"},
                {"stream", "autograd"},
                {"initialisation.output", "determinism"},
                {"initialisation.output", "stride"},
                {"initialisation.output", "dtype"},
                {"initialisation.output", "device"},
                {"initialisation.output", "bitwise"},
                {"initialisation.output", "capture.replay_differs"},
                {"device_memory", "leak"},
                {"sanitize", "launch.asynchronous_error"}};

/* What an operator does wrong, and what follows from it on any device. */
static const struct {
  const char *cause, *effect;
} shows_as[] = {{"mutation.undeclared", "functionalisation.fails"},
                {"mutation.undeclared", "functionalisation.hidden_mutation"},
                {"mutation.undeclared", "functionalisation.wrong_result"},
                {"symbolic.backward", "fake.backward"},
                {"autograd.backward_on_meta", "fake.backward"},
                {"registration.python_signature", "meta.rejects"},
                {"registration.python_signature", "fake.rejects"},
                {"registration.python_signature", "autograd.backward_fails"},
                {"meta.shape", "symbolic.hard_coded"},
                {"meta.shape", "fake.result"}};

/* A kernel that faults on the sample itself also faults on other input, and no argument is to blame for that. */
static bool problem_merge_is_fault(const opc_problem_t *problem) {
  const opc_rule_id_t rule = opc_problem_rule(problem);
  return problem->change == OPC_CHANGE_NONE && !problem->warning &&
         (opc_rule_is_of(rule, "sanitize") || opc_rule_is_of(rule, "launch.asynchronous_error"));
}

/* A warning does not name what is an error. */
static bool may_name(const opc_problem_t *cause, const opc_problem_t *effect) {
  return !cause->warning || effect->warning;
}

/* An argument that is written and then returned, as an `out` of which the schema does not know; or written also by
 * calls that throw. */
static bool is_written_and_returned(const opc_problem_t *written, const opc_problem_t *returned) {
  const opc_rule_id_t rule = opc_problem_rule(returned);
  const bool follows = written->warning == returned->warning && opc_rule_is_of(rule, "alias");
  return (follows || (rule == OPC_RULE_mutation_half_done && may_name(written, returned))) && written->touched &&
         returned->touched && opc_problem_rule(written) == OPC_RULE_mutation_undeclared &&
         strcmp(written->touched, returned->touched) == 0;
}

/* An argument that is returned, or a view of it, where the Meta kernel makes a tensor of its own as the schema says.
 * Its layout is the argument's then, and not that of the Meta kernel's tensor. */
static bool is_returned_and_new_on_meta(const opc_problem_t *returned, const opc_problem_t *meta) {
  static const opc_rule_id_t rules[] = {OPC_RULE_meta_alias, OPC_RULE_meta_stride, OPC_RULE_meta_storage_offset};
  if (returned->warning != meta->warning || (opc_problem_rule(returned) != OPC_RULE_alias_input_returned &&
                                             opc_problem_rule(returned) != OPC_RULE_alias_undeclared_input &&
                                             opc_problem_rule(returned) != OPC_RULE_alias_outputs_share))
    return false;
  size_t known = 0, aliases = 0;
  for (size_t i = 0; i < meta->symptom_count; i++) {
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) known += meta->symptoms[i].rule == rules[k];
    aliases += meta->symptoms[i].rule == OPC_RULE_meta_alias;
  }
  return aliases > 0 && known == meta->symptom_count;
}

/* Any of them: one line of code may have several, and the first names the problem. */
static bool has_rule_of(const opc_problem_t *problem, const char *part) {
  for (size_t i = 0; i < problem->symptom_count; i++)
    if (opc_rule_is_of(problem->symptoms[i].rule, part)) return true;
  return false;
}

static bool shows_as_effect(const opc_problem_t *cause, const opc_problem_t *effect) {
  if (cause->unchecked || effect->unchecked || !may_name(cause, effect)) return false;
  for (size_t i = 0; i < sizeof shows_as / sizeof *shows_as; i++)
    if (has_rule_of(cause, shows_as[i].cause) && opc_rule_is_of(opc_problem_rule(effect), shows_as[i].effect))
      return true;
  return false;
}

static bool is_effect(const opc_problem_t *cause, const opc_problem_t *effect) {
  if (is_written_and_returned(cause, effect) || is_returned_and_new_on_meta(cause, effect) ||
      shows_as_effect(cause, effect))
    return true;
  if (cause->unchecked || effect->off_gpu) return false;
  if (effect->unchecked) return problem_merge_is_fault(cause);
  for (size_t i = 0; i < sizeof leads_to / sizeof *leads_to; i++)
    if (has_rule_of(cause, leads_to[i].cause) && opc_rule_is_of(opc_problem_rule(effect), leads_to[i].effect))
      return true;
  return false;
}

/* The cause names the problem, although its effects may rank higher. */
static opc_status_t join_effects(opc_operator_findings_t *findings, opc_error_t *error) {
  for (size_t i = 0; i < findings->count; i++) {
    for (size_t k = 0; k < findings->count;) {
      opc_problem_t *effect = &findings->problems[k];
      if (k == i || !is_effect(&findings->problems[i], effect)) {
        k++;
        continue;
      }
      for (size_t s = 0; s < effect->symptom_count; s++) effect->symptoms[s].rank += RANK_ALSO;
      OPC_RETURN_IF_ERROR(problem_merge_join(findings, i, k, error));
      if (k < i) i--;
    }
  }
  return OPC_OK;
}

opc_status_t opc_operator_findings_merge(opc_operator_findings_t *findings, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(join_by_key(findings, error));
  OPC_RETURN_IF_ERROR(join_by_place(findings, error));
  OPC_RETURN_IF_ERROR(join_effects(findings, error));
  for (size_t i = 0; i < findings->count; i++) {
    opc_problem_t *problem = &findings->problems[i];
    if (problem->change == OPC_CHANGE_NONE && !problem->unchecked)
      problem->argument_count = 0; /* it shows without a changed argument */
  }
  return OPC_OK;
}

void opc_operator_findings_clear(opc_operator_findings_t *findings) {
  for (size_t i = 0; i < findings->count; i++) opc_problem_clear(&findings->problems[i]);
  free(findings->problems);
  opc_hash_set_clear(&findings->inputs);
  json_decref(findings->plain);
  *findings = (opc_operator_findings_t){0};
}
