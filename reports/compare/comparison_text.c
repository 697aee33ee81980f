#include <inttypes.h>
#include <string.h>

#include "reports/compare/comparison.h"

enum { WORST_SHOWN = 30, OTHERS_SHOWN = 12 };

static const char *compare_plural(size_t count) { return count == 1 ? "" : "s"; }

static void comparison_show_text(const opc_screen_t *screen, opc_tone_t tone, const char *text, const char *after) {
  opc_screen_text(screen, tone, text);
  fputs(after, screen->stream);
}

static void show_left(const opc_screen_t *screen, size_t left) {
  if (left) fprintf(screen->stream, "and %zu more: --verbose shows them, --json FILE keeps them\n", left);
}

/* ---- which runs ---- */

static void show_run(const opc_screen_t *screen, const char *label, const opc_compare_run_t *run) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_text_addf(&line, "%s: ", run->name);
  if (run->torch) opc_text_addf(&line, "libtorch %s, ", run->torch);
  opc_text_addf(&line, "%" PRIu64 " of %" PRIu64 " checked", run->coverage.checked, run->coverage.total);
  if (!run->complete) opc_text_add(&line, "; the run stopped early");
  opc_screen_field(screen, label, opc_text_c(&line));
}

/* ---- problems ---- */

static const opc_tone_t tones[OPC_COMPARE_KINDS] = {[OPC_COMPARE_NEW] = OPC_TONE_RED,
                                                    [OPC_COMPARE_WORSE] = OPC_TONE_RED,
                                                    [OPC_COMPARE_FIXED] = OPC_TONE_GREEN,
                                                    [OPC_COMPARE_CHANGED] = OPC_TONE_YELLOW,
                                                    [OPC_COMPARE_GONE] = OPC_TONE_YELLOW};
static const char *const words[OPC_COMPARE_KINDS] = {"NEW    ", "WORSE  ", "FIXED  ", "CHANGED", "GONE   "};

static void show_problem(const opc_screen_t *screen, const opc_compare_problem_t *one) {
  const json_t *problem = one->now ? one->now : one->before, *operators = json_object_get(problem, "operators");
  const char *name = json_string_value(json_array_get(operators, 0));
  OPC_SCOPED(opc_text_clear) opc_text_t id = {0};
  comparison_show_text(screen, tones[one->kind], words[one->kind], " ");
  comparison_show_text(screen, OPC_TONE_BOLD, name ? name : "?", "");
  if (json_array_size(operators) > 1) fprintf(screen->stream, " and %zu more", json_array_size(operators) - 1);
  fputs("  ", screen->stream);
  comparison_show_text(screen, OPC_TONE_BOLD, opc_record_text(problem, "rule"), "\n");
  opc_screen_brief(screen, "why", one->why, 2);
  opc_text_addf(&id, "%s, %s%s", opc_record_text(problem, "id"), opc_record_text(problem, "severity"),
                json_is_object(json_object_get(problem, "known")) ? ", known" : "");
  if (one->kind <= OPC_COMPARE_WORSE) {
    opc_screen_brief(screen, "what", opc_record_text(problem, "message"), 3);
    opc_screen_brief(screen, "where", opc_record_text(problem, "location"), 1);
    opc_screen_line(screen, "problem", opc_text_c(&id));
    opc_screen_line(screen, "repro", opc_record_text(problem, "repro"));
    fputc('\n', screen->stream);
  } else {
    opc_screen_line(screen, "problem", opc_text_c(&id));
  }
}

static void show_problems(const opc_comparison_t *comparison, const opc_screen_t *screen, bool verbose) {
  size_t shown[OPC_COMPARE_KINDS] = {0};
  for (size_t i = 0; i < comparison->problem_count; i++) {
    const opc_compare_problem_t *one = &comparison->problems[i];
    const size_t limit = verbose ? SIZE_MAX : one->kind <= OPC_COMPARE_WORSE ? WORST_SHOWN : OTHERS_SHOWN;
    if (shown[one->kind]++ < limit) show_problem(screen, one);
    if (i + 1 < comparison->problem_count && comparison->problems[i + 1].kind == one->kind) continue;
    show_left(screen, shown[one->kind] > limit ? shown[one->kind] - limit : 0);
    if (one->kind > OPC_COMPARE_WORSE) fputc('\n', screen->stream);
  }
}

/* ---- operators ---- */

static void add_missing(opc_text_t *out, const json_t *list, const json_t *other, char sign) {
  size_t i, k;
  json_t *name, *same;
  json_array_foreach((json_t *)list, i, name) {
    bool found = false;
    json_array_foreach((json_t *)other, k, same) found = found || json_equal(name, same);
    if (!found) opc_text_addf(out, "%s%c%s", out->length ? " " : "", sign, json_string_value(name));
  }
}

void opc_compare_say_lists(const json_t *pair, opc_text_t *out) {
  const json_t *before = json_array_get(pair, 0), *now = json_array_get(pair, 1);
  add_missing(out, before, now, '-');
  add_missing(out, now, before, '+');
}

const char *opc_compare_field_label(const char *field) { return strcmp(field, "dispatch_keys") == 0 ? "keys" : field; }

static void show_fields(const opc_screen_t *screen, const json_t *fields) {
  const char *name;
  json_t *pair;
  json_object_foreach((json_t *)fields, name, pair) {
    const json_t *before = json_array_get(pair, 0), *now = json_array_get(pair, 1);
    if (strcmp(name, "schema") == 0) {
      opc_screen_field(screen, "schema", json_is_string(before) ? json_string_value(before) : "none");
      opc_screen_field(screen, "is now", json_is_string(now) ? json_string_value(now) : "none");
      continue;
    }
    OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
    opc_compare_say_lists(pair, &line);
    opc_screen_field(screen, opc_compare_field_label(name), opc_text_c(&line));
  }
}

static void comparison_show_operators(const opc_comparison_t *comparison, const opc_screen_t *screen, bool verbose) {
  const size_t limit = verbose ? SIZE_MAX : WORST_SHOWN, count = comparison->operator_count;
  for (size_t i = 0; i < count && i < limit; i++) {
    const opc_compare_operator_t *op = &comparison->operators[i];
    fprintf(screen->stream, "operator %s: ", op->fields ? "changed" : op->now ? "added" : "removed");
    comparison_show_text(screen, OPC_TONE_BOLD, op->name, "\n");
    show_fields(screen, op->fields);
  }
  show_left(screen, count > limit ? count - limit : 0);
  if (count) fputc('\n', screen->stream);
}

/* ---- what is no longer checked ---- */

static bool is_lost_like(const opc_compare_lost_t *one, const opc_compare_lost_t *other) {
  if (one->reason != other->reason || !one->name != !other->name) return false;
  return !one->name || strcmp(one->name, other->name) == 0;
}

/* "stride (cpu), 2 operators, budget: my_ops::add, my_ops::scale" */
static void show_lost_like(const opc_comparison_t *comparison, size_t first, const opc_screen_t *screen, bool verbose) {
  const opc_compare_lost_t *lost = &comparison->lost[first];
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0}, names = {0};
  size_t operators = 0;
  for (size_t i = first; i < comparison->lost_count; i++)
    if (is_lost_like(&comparison->lost[i], lost))
      opc_text_addf(&names, "%s%s", operators++ ? ", " : "", comparison->lost[i].operator_name);
  opc_text_addf(&line, "%s, %zu operator%s, %s: %s", lost->name ? lost->name : "all checks", operators,
                compare_plural(operators),
                lost->reason == OPC_SKIP_NONE ? "no case ran" : opc_skip_reason_name(lost->reason), opc_text_c(&names));
  if (verbose) opc_screen_field(screen, "", opc_text_c(&line));
  else opc_screen_brief(screen, "", opc_text_c(&line), 2);
}

static void show_lost(const opc_comparison_t *comparison, const opc_screen_t *screen, bool verbose) {
  size_t shown = 0, left = 0;
  if (comparison->lost_count) fputs("No longer checked\n", screen->stream);
  for (size_t i = 0; i < comparison->lost_count; i++) {
    size_t same = 0;
    while (!is_lost_like(&comparison->lost[same], &comparison->lost[i])) same++;
    if (same < i) continue;
    if (verbose || shown < WORST_SHOWN) show_lost_like(comparison, i, screen, verbose);
    else left++;
    shown++;
  }
  show_left(screen, left);
  if (comparison->lost_count) fputc('\n', screen->stream);
}

/* ---- the last line ---- */

static void comparison_add_count(opc_text_t *out, size_t count, const char *what) {
  if (count) opc_text_addf(out, "%s%zu %s", out->length ? ", " : "", count, what);
}

const char *opc_comparison_word(const opc_comparison_t *comparison) {
  return opc_comparison_is_worse(comparison) ? "WORSE" : "NOT WORSE";
}

void opc_comparison_say(const opc_comparison_t *comparison, opc_text_t *out) {
  for (size_t kind = 0; kind < OPC_COMPARE_KINDS; kind++)
    comparison_add_count(out, comparison->counts[kind], opc_compare_kind_name((opc_compare_kind_t)kind));
  if (out->length == 0) opc_text_add(out, "the same problems");
  if (comparison->known) opc_text_addf(out, " (%zu of them known)", comparison->known);
  if (comparison->operator_count)
    opc_text_addf(out, "; %zu operator%s differ%s", comparison->operator_count,
                  compare_plural(comparison->operator_count), comparison->operator_count == 1 ? "s" : "");
  if (comparison->lost_count) opc_text_addf(out, "; %zu no longer checked", comparison->lost_count);
  if (comparison->unloaded) opc_text_add(out, "; a library can no longer be loaded");
}

static void show_end(const opc_comparison_t *comparison, const opc_screen_t *screen) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  const bool worse = opc_comparison_is_worse(comparison);
  opc_comparison_say(comparison, &line);
  opc_screen_text(screen, worse ? OPC_TONE_RED : OPC_TONE_GREEN, opc_comparison_word(comparison));
  fputs(": ", screen->stream);
  comparison_show_text(screen, OPC_TONE_PLAIN, opc_text_c(&line), "\n");
}

void opc_compare_show(const opc_comparison_t *comparison, const opc_screen_t *screen, bool verbose) {
  fputs("Compared\n", screen->stream);
  show_run(screen, "old", comparison->before);
  show_run(screen, "new", comparison->now);
  fputc('\n', screen->stream);
  if (comparison->unloaded) {
    const char *why = json_string_value(json_object_get(comparison->now->failed, comparison->unloaded));
    comparison_show_text(screen, OPC_TONE_RED, "LOAD    ", "");
    comparison_show_text(screen, OPC_TONE_BOLD, comparison->unloaded, " can no longer be loaded\n");
    opc_screen_brief(screen, "what", why, 3);
    fputc('\n', screen->stream);
  }
  show_problems(comparison, screen, verbose);
  comparison_show_operators(comparison, screen, verbose);
  show_lost(comparison, screen, verbose);
  show_end(comparison, screen);
}
