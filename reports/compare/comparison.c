#include "reports/compare/comparison.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "model/json/json_write.h"
#include "reports/compare/comparison_again.h"
#include "reports/problems/problem_merge.h"

static const char *const kind_names[OPC_COMPARE_KINDS] = {"new", "worse", "fixed", "changed", "gone"};

const char *opc_compare_kind_name(opc_compare_kind_t kind) { return kind_names[kind]; }

/* ---- libraries ---- */

static const char *library_of(const json_t *operators, const char *name) {
  return opc_record_text(json_object_get(operators, name), "library");
}

/* The same library may be in another folder. */
static const char *failed_now(const opc_comparison_t *comparison, const char *path) {
  const char *other;
  json_t *why;
  json_object_foreach(comparison->now->failed, other, why) {
    if (strcmp(opc_base_name(other), opc_base_name(path)) == 0) return other;
  }
  return NULL;
}

static bool is_library(const char *name) { return opc_string_begins(name, "library::"); }

/* name: an operator's, or "library::libmy_ops.so", "library::2:libmy_ops.so". */
static bool run_has(const opc_compare_run_t *run, const char *name) {
  return json_object_get(is_library(name) ? run->library_names : run->operators,
                         is_library(name) ? strrchr(name, ':') + 1 : name);
}

static bool was_removed(const opc_comparison_t *comparison, const char *name) {
  return run_has(comparison->before, name) && !run_has(comparison->now, name);
}

/* Where one of them has none, the others were removed or added. */
static bool have_something_in_common(const opc_compare_run_t *before, const opc_compare_run_t *now) {
  const char *name;
  json_t *op;
  json_object_foreach(before->operators, name, op) {
    if (json_object_get(now->operators, name)) return true;
  }
  return json_object_size(before->operators) == 0 || json_object_size(now->operators) == 0;
}

static const char *a_library(const opc_compare_run_t *run) {
  const json_t *op = json_object_iter_value(json_object_iter(run->operators));
  const char *path = opc_record_text(op, "library");
  return *path ? opc_base_name(path) : "no library";
}

static opc_status_t check_libraries(opc_comparison_t *comparison, opc_error_t *error) {
  const opc_compare_run_t *before = comparison->before, *now = comparison->now;
  const char *name;
  json_t *op;
  json_object_foreach(before->operators, name, op) {
    if (!comparison->unloaded) comparison->unloaded = failed_now(comparison, opc_record_text(op, "library"));
  }
  for (const opc_compare_run_t *run = before; run; run = run == before ? now : NULL)
    if (!run->complete && json_object_size(run->operators) == 0 && !comparison->unloaded)
      return opc_error_set(error, OPC_ERR_INPUT, "%s has no operators: its run stopped before a library was loaded",
                           run->name);
  if (comparison->unloaded || have_something_in_common(before, now)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_INPUT,
                       "%s is about %s and %s about %s, which have no operator in common: compare runs of one library",
                       before->name, a_library(before), now->name, a_library(now));
}

/* ---- operators ---- */

static opc_status_t comparison_add_operator(opc_comparison_t *comparison, const char *name, bool before, bool now,
                                            json_t *fields, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(comparison->operators, comparison->operator_count)) {
    json_decref(fields);
    return opc_out_of_memory(error);
  }
  comparison->operators[comparison->operator_count++] =
      (opc_compare_operator_t){.name = name, .before = before, .now = now, .fields = fields};
  return OPC_OK;
}

static json_t *changed_fields(const json_t *before, const json_t *now) {
  static const char *const compared[] = {"schema", "tags", "dispatch_keys"};
  json_t *fields = json_object();
  for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
    json_t *own = json_object_get(before, compared[i]), *other = json_object_get(now, compared[i]);
    if (own != other && !json_equal(own, other)) opc_json_put(&fields, compared[i], json_pack("[O?, O?]", own, other));
  }
  return fields;
}

static opc_status_t compare_operators(opc_comparison_t *comparison, opc_error_t *error) {
  const json_t *before = comparison->before->operators, *now = comparison->now->operators;
  const char *name;
  json_t *op;
  json_object_foreach((json_t *)before, name, op) {
    const json_t *other = json_object_get(now, name);
    if (!other && failed_now(comparison, opc_record_text(op, "library"))) continue;
    json_t *fields = other ? changed_fields(op, other) : NULL;
    if (other && !fields) return opc_out_of_memory(error);
    if (!other || json_object_size(fields) > 0)
      OPC_RETURN_IF_ERROR(comparison_add_operator(comparison, name, true, other, fields, error));
    else json_decref(fields);
  }
  json_object_foreach((json_t *)now, name, op) {
    if (!json_object_get(before, name))
      OPC_RETURN_IF_ERROR(comparison_add_operator(comparison, name, false, true, NULL, error));
  }
  return OPC_OK;
}

/* ---- problems ---- */

static bool comparison_is_warning(const json_t *problem) {
  return strcmp(opc_record_text(problem, "severity"), "warning") == 0;
}

static const json_t *with_id(const opc_compare_run_t *run, const char *id) { return json_object_get(run->ids, id); }

static bool has_text(const json_t *list, const char *text) {
  size_t i;
  json_t *item;
  json_array_foreach((json_t *)list, i, item) {
    if (json_is_string(item) && strcmp(json_string_value(item), text) == 0) return true;
  }
  return false;
}

static bool has_text_in_common(const json_t *one, const json_t *other, const char *field) {
  size_t i;
  json_t *item;
  json_array_foreach(json_object_get(one, field), i, item) {
    if (json_is_string(item) && has_text(json_object_get(other, field), json_string_value(item))) return true;
  }
  return false;
}

/* One problem under another id: another symptom names it now, or more operators have it. It shares a case. */
static bool is_same_cause(const json_t *one, const json_t *other) {
  return strcmp(opc_record_text(one, "rule"), opc_record_text(other, "rule")) == 0 ||
         has_text_in_common(one, other, "symptoms");
}

/* without: a run that does not have the id. */
static const json_t *with_cause(const opc_compare_run_t *run, const json_t *problem, const opc_compare_run_t *without) {
  size_t i, k;
  json_t *name, *other;
  json_array_foreach(json_object_get(problem, "cases"), i, name) {
    json_array_foreach(json_object_get(run->by_case, json_is_string(name) ? json_string_value(name) : ""), k, other) {
      if (!with_id(without, opc_record_text(other, "id")) && is_same_cause(problem, other)) return other;
    }
  }
  return NULL;
}

static opc_status_t comparison_add_problem(opc_comparison_t *comparison, opc_compare_kind_t kind, const json_t *before,
                                           const json_t *now, const opc_text_t *why, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(comparison->problems, comparison->problem_count)) return opc_out_of_memory(error);
  opc_compare_problem_t *problem = &comparison->problems[comparison->problem_count++];
  *problem = (opc_compare_problem_t){.kind = kind, .before = before, .now = now};
  comparison->counts[kind]++;
  if (kind <= OPC_COMPARE_WORSE && json_is_object(json_object_get(now, "known"))) comparison->known++;
  return why ? opc_string_copy_to(opc_text_c(why), &problem->why, error) : OPC_OK;
}

static int harm_of(const json_t *problem) {
  const int rank = opc_rule_rank(opc_rule_id(opc_record_text(problem, "rule")));
  return rank < OPC_RANK_HARMFUL ? rank : OPC_RANK_HARMFUL;
}

static void name_operators(const json_t *problem, const json_t *without, const char *words, opc_text_t *out) {
  size_t i;
  json_t *name;
  bool any = false;
  json_array_foreach(json_object_get(problem, "operators"), i, name) {
    if (has_text(json_object_get(without, "operators"), json_string_value(name))) continue;
    if (any) opc_text_add(out, ", ");
    else opc_text_addf(out, "%s%s", out->length ? "; " : "", words);
    opc_text_add(out, json_string_value(name));
    any = true;
  }
}

static opc_status_t compare_same(opc_comparison_t *comparison, const json_t *before, const json_t *now, bool renamed,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  const char *rule = opc_record_text(before, "rule");
  const bool other_rule = strcmp(rule, opc_record_text(now, "rule")) != 0;
  const bool worse =
      comparison_is_warning(before) > comparison_is_warning(now) || (other_rule && harm_of(now) < harm_of(before));
  if (comparison_is_warning(before) != comparison_is_warning(now))
    opc_text_addf(&why, comparison_is_warning(before) ? "it was a warning" : "it was an error, and is a warning");
  if (other_rule) opc_text_addf(&why, "%sits rule was %s", why.length ? "; " : "", rule);
  name_operators(now, before, "now also in ", &why);
  name_operators(before, now, "no longer in ", &why);
  if (renamed)
    opc_text_addf(&why, "%sits argument was called `%s`", why.length ? "; " : "", opc_record_text(before, "argument"));
  if (why.length == 0 && strcmp(opc_record_text(before, "id"), opc_record_text(now, "id")) != 0)
    opc_text_add(&why, "other findings have the same cause now");
  if (why.length == 0) return OPC_OK;
  return comparison_add_problem(comparison, worse ? OPC_COMPARE_WORSE : OPC_COMPARE_CHANGED, before, now, &why, error);
}

/* Why its cases did not run. */
static void say_not_looked(const opc_comparison_t *comparison, const json_t *problem, unsigned again, opc_text_t *out) {
  const char *name = json_string_value(json_array_get(json_object_get(problem, "operators"), 0));
  if (again & OPC_AGAIN_EXCUSED) {
    opc_text_add(out, "a line of --xfail excuses it now");
  } else if (again & OPC_AGAIN_FOUND) {
    opc_text_add(out, "its cases fail by another rule now");
  } else if (again) {
    opc_text_addf(out, "not known: %sits cases were skipped (",
                  again & (OPC_AGAIN_PASSED | OPC_AGAIN_REFUSED) ? "some of " : "");
    for (size_t reason = 0, named = 0; reason < OPC_SKIP_COUNT; reason++)
      if (again & OPC_AGAIN_SKIPPED(reason))
        opc_text_addf(out, "%s%s", named++ ? ", " : "", opc_skip_reason_name((opc_skip_reason_t)reason));
    opc_text_add(out, ")");
  } else if (name && failed_now(comparison, library_of(comparison->before->operators, name))) {
    opc_text_add(out, "not known: the library could not be loaded");
  } else if (name && was_removed(comparison, name)) {
    opc_text_add(out, is_library(name) ? "there is no library of this name any more" : "the operator was removed");
  } else {
    opc_text_add(out,
                 comparison->now->complete ? "not known: none of its cases ran" : "not known: the run stopped early");
  }
}

/* Skips of cases that might have shown the problem. */
static const unsigned not_tried = OPC_AGAIN_SKIPPED(OPC_SKIP_BUDGET) | OPC_AGAIN_SKIPPED(OPC_SKIP_AFTER_CRASH) |
                                  OPC_AGAIN_SKIPPED(OPC_SKIP_NO_DEVICE) | OPC_AGAIN_SKIPPED(OPC_SKIP_NO_SAMPLE) |
                                  OPC_AGAIN_SKIPPED(OPC_SKIP_OFF);

static opc_status_t compare_missing(opc_comparison_t *comparison, const json_t *problem, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  unsigned again = opc_compare_again_find(comparison->now->again, problem);
  /* Of cases that were left out, not all have a result. */
  if (comparison->now->left_out && again && !opc_compare_again_has_all(comparison->now->again, problem))
    again |= OPC_AGAIN_SKIPPED(OPC_SKIP_BUDGET);
  const bool looked =
      !(again & (OPC_AGAIN_FOUND | OPC_AGAIN_EXCUSED | not_tried)) && (again & (OPC_AGAIN_PASSED | OPC_AGAIN_REFUSED));
  if (looked)
    opc_text_add(&why, again & OPC_AGAIN_PASSED ? "passes now" : "its input is refused, and nothing is found");
  else say_not_looked(comparison, problem, again, &why);
  return comparison_add_problem(comparison, looked ? OPC_COMPARE_FIXED : OPC_COMPARE_GONE, problem, NULL, &why, error);
}

static const opc_compare_part_t *part_named(const opc_compare_run_t *run, const char *operator_name, const char *name) {
  OPC_SCOPED(opc_scope_free) char *key = opc_string_format("%s\n%s", operator_name, name);
  const json_t *index = key ? json_object_get(run->part_indexes, key) : NULL;
  return index ? &run->parts[json_integer_value(index)] : NULL;
}

/* A problem may be old, and its check new. */
static opc_status_t compare_new(opc_comparison_t *comparison, const json_t *problem, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  opc_case_id_t id;
  char name[OPC_COMPARE_PART_SIZE];
  if (opc_case_id_parse(json_string_value(json_array_get(json_object_get(problem, "cases"), 0)), &id, NULL) == OPC_OK) {
    opc_compare_part_name(&id, name);
    const opc_compare_part_t *part = part_named(comparison->before, id.operator_name, name);
    if (!run_has(comparison->before, id.operator_name))
      opc_text_add(&why, is_library(id.operator_name) ? "a new library" : "a new operator");
    else if (!part || part->checked == 0) opc_text_addf(&why, "%s was not checked before", name);
  }
  return comparison_add_problem(comparison, OPC_COMPARE_NEW, NULL, problem, why.length ? &why : NULL, error);
}

static opc_status_t compare_problems(opc_comparison_t *comparison, opc_error_t *error) {
  const opc_compare_run_t *before = comparison->before, *now = comparison->now;
  size_t i;
  json_t *problem;
  json_array_foreach(now->problems, i, problem) {
    const json_t *old = with_id(before, opc_record_text(problem, "id"));
    if (!old) old = with_cause(before, problem, now);
    const json_t *renamed = old ? NULL : opc_compare_renamed(now, problem, before);
    if (renamed) old = renamed;
    OPC_RETURN_IF_ERROR(old ? compare_same(comparison, old, problem, renamed, error)
                            : compare_new(comparison, problem, error));
  }
  json_array_foreach(before->problems, i, problem) {
    if (!with_id(now, opc_record_text(problem, "id")) && !with_cause(now, problem, before) &&
        !opc_compare_renamed(before, problem, now))
      OPC_RETURN_IF_ERROR(compare_missing(comparison, problem, error));
  }
  return OPC_OK;
}

/* ---- what is no longer checked ---- */

static opc_status_t add_lost(opc_comparison_t *comparison, const opc_compare_part_t *before,
                             const opc_compare_part_t *now, opc_error_t *error) {
  opc_skip_reason_t reason = OPC_SKIP_NONE;
  for (size_t i = 1; now && i < OPC_SKIP_COUNT; i++)
    if (now->skips[i] > now->skips[reason]) reason = (opc_skip_reason_t)i;
  if (!OPC_ARRAY_GROW(comparison->lost, comparison->lost_count)) return opc_out_of_memory(error);
  comparison->lost[comparison->lost_count++] = (opc_compare_lost_t){
      .operator_name = before->operator_name, .name = before->name, .cases = before->checked, .reason = reason};
  return OPC_OK;
}

static opc_status_t comparison_compare_parts(opc_comparison_t *comparison, opc_error_t *error) {
  const opc_compare_run_t *before = comparison->before, *now = comparison->now;
  for (size_t i = 0; i < before->part_count; i++) {
    const opc_compare_part_t *part = &before->parts[i];
    const opc_compare_part_t *other = part_named(now, part->operator_name, part->name);
    if (part->checked > 0 && !was_removed(comparison, part->operator_name) && (!other || other->checked == 0))
      OPC_RETURN_IF_ERROR(add_lost(comparison, part, other, error));
  }
  return OPC_OK;
}

/* operator -> how many parts of it were checked */
static json_t *checked_parts(const opc_compare_run_t *run) {
  json_t *counts = json_object();
  for (size_t i = 0; i < run->part_count; i++) {
    const char *name = run->parts[i].operator_name;
    const json_int_t known = json_integer_value(json_object_get(counts, name));
    if (run->parts[i].checked > 0) opc_json_put(&counts, name, json_integer(known + 1));
  }
  return counts;
}

/* An operator of which nothing is checked any more is one entry. *out: all of its parts as one. */
static size_t lost_of_operator(const opc_comparison_t *comparison, size_t first, opc_compare_lost_t *out) {
  size_t end = first;
  *out = (opc_compare_lost_t){.operator_name = comparison->lost[first].operator_name,
                              .reason = comparison->lost[first].reason};
  for (; end < comparison->lost_count; end++) {
    const opc_compare_lost_t *one = &comparison->lost[end];
    if (strcmp(one->operator_name, out->operator_name) != 0) break;
    if (!opc_string_begins(one->name, "sample ")) out->cases += one->cases;
    if (one->reason != out->reason) out->reason = OPC_SKIP_NONE;
  }
  return end - first;
}

static opc_status_t join_lost(opc_comparison_t *comparison, opc_error_t *error) {
  json_auto_t *parts = checked_parts(comparison->before);
  size_t kept = 0;
  if (!parts) return opc_out_of_memory(error);
  for (size_t i = 0; i < comparison->lost_count;) {
    opc_compare_lost_t all;
    const size_t count = lost_of_operator(comparison, i, &all);
    const bool whole = (size_t)json_integer_value(json_object_get(parts, all.operator_name)) == count && count > 1;
    if (whole) comparison->lost[kept++] = all;
    for (size_t k = i; !whole && k < i + count; k++) comparison->lost[kept++] = comparison->lost[k];
    i += count;
  }
  comparison->lost_count = kept;
  return OPC_OK;
}

/* ---- all of it ---- */

static int by_kind(const void *left, const void *right) {
  const opc_compare_problem_t *a = left, *b = right;
  const json_t *mine = a->now ? a->now : a->before, *theirs = b->now ? b->now : b->before;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (comparison_is_warning(mine) != comparison_is_warning(theirs)) return comparison_is_warning(mine) ? 1 : -1;
  return strcmp(opc_record_text(mine, "id"), opc_record_text(theirs, "id"));
}

static int by_operator(const void *left, const void *right) {
  const opc_compare_lost_t *a = left, *b = right;
  const int order = strcmp(a->operator_name, b->operator_name);
  return order ? order : strcmp(a->name, b->name);
}

static opc_status_t make_all(opc_comparison_t *comparison, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(check_libraries(comparison, error));
  OPC_RETURN_IF_ERROR(compare_operators(comparison, error));
  OPC_RETURN_IF_ERROR(compare_problems(comparison, error));
  OPC_RETURN_IF_ERROR(comparison_compare_parts(comparison, error));
  if (comparison->problem_count > 0)
    qsort(comparison->problems, comparison->problem_count, sizeof *comparison->problems, by_kind);
  if (comparison->lost_count > 0)
    qsort(comparison->lost, comparison->lost_count, sizeof *comparison->lost, by_operator);
  return join_lost(comparison, error);
}

opc_status_t opc_comparison_make(const opc_compare_run_t *before, const opc_compare_run_t *now, opc_comparison_t *out,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_comparison_clear) opc_comparison_t comparison = {.before = before, .now = now};
  *out = (opc_comparison_t){0};
  OPC_RETURN_IF_ERROR(make_all(&comparison, error));
  OPC_MOVE(out, comparison);
  return OPC_OK;
}

bool opc_comparison_is_worse(const opc_comparison_t *comparison) {
  return comparison->unloaded ||
         comparison->counts[OPC_COMPARE_NEW] + comparison->counts[OPC_COMPARE_WORSE] > comparison->known;
}

size_t opc_comparison_differences(const opc_comparison_t *comparison) {
  return comparison->problem_count + comparison->operator_count + (comparison->unloaded ? 1 : 0);
}

void opc_comparison_clear(opc_comparison_t *comparison) {
  for (size_t i = 0; i < comparison->problem_count; i++) free(comparison->problems[i].why);
  for (size_t i = 0; i < comparison->operator_count; i++) json_decref(comparison->operators[i].fields);
  free(comparison->problems);
  free(comparison->operators);
  free(comparison->lost);
  *comparison = (opc_comparison_t){0};
}
