#include <string.h>

#include "reports/problems/problem_merge.h"
#include "reports/text/finding_text.h"

enum { FRAMES_SHOWN = 4, ACCESSES_SHOWN = 4, ITEMS_SHOWN = 12 };

static void add_separated(opc_text_t *out, const char *text) {
  opc_text_addf(out, "%s%s", out->length ? ", " : "", text);
}

/* "x = float32[5, 3] offset 1, y = 2" */
void opc_input_text(const json_t *input, opc_text_t *out) {
  const char *name;
  json_t *value;
  if (json_is_string(input)) opc_text_add(out, json_string_value(input));
  json_object_foreach((json_t *)(uintptr_t)input, name, value) opc_text_addf(
      out, "%s%s = %s", out->length ? ", " : "", name, json_is_string(value) ? json_string_value(value) : "?");
}

static void evidence_add_words(const json_t *words, opc_text_t *out) {
  size_t i;
  json_t *word;
  if (json_is_string(words)) opc_text_add(out, json_string_value(words));
  json_array_foreach(words, i, word) {
    if (i == ITEMS_SHOWN) break;
    add_separated(out, json_string_value(word) ? json_string_value(word) : "?");
  }
}

/* "reads (memory.cpp:33) < reads_past_end (memory.cpp:37)"; what called the operator's library is not shown. */
static void add_frames(const json_t *frames, opc_text_t *out) {
  size_t i;
  json_t *frame;
  json_array_foreach(frames, i, frame) {
    const char *symbol = opc_record_text(frame, "symbol"), *file = opc_record_text(frame, "file"),
               *module = opc_base_name(opc_record_text(frame, "module"));
    if (i == FRAMES_SHOWN || (i > 0 && strncmp(module, "libtorch", 8) == 0)) break;
    opc_text_addf(out, "%s%.160s", i ? " < " : "", *symbol ? symbol : module);
    if (*file)
      opc_text_addf(out, " (%s:%" JSON_INTEGER_FORMAT ")", opc_base_name(file),
                    json_integer_value(json_object_get(frame, "line")));
    else if (!*symbol) opc_text_addf(out, "+%s", opc_record_text(frame, "offset"));
  }
}

/* "cvttss2si converts 1e10 to int32 (3 times)" */
static void add_conversion(const json_t *conversion, opc_text_t *out) {
  opc_text_addf(out, "%s converts %s to %s (%" JSON_INTEGER_FORMAT " times)",
                opc_record_text(conversion, "instruction"), opc_record_text(conversion, "number"),
                opc_record_text(conversion, "type"), json_integer_value(json_object_get(conversion, "times")));
}

/* "reads at byte 64 of x, whose storage has 64 bytes: reads (memory.cpp:33)" */
static void add_accesses(const json_t *accesses, opc_text_t *out) {
  size_t i;
  json_t *access;
  json_array_foreach(accesses, i, access) {
    const char *argument = opc_record_text(access, "argument");
    const json_t *frames = json_object_get(access, "frames");
    OPC_SCOPED(opc_text_clear) opc_text_t stack = {0};
    if (i == ACCESSES_SHOWN) break;
    opc_text_add(out, i ? "; " : "");
    if (*opc_record_text(access, "instruction")) add_conversion(access, out);
    else
      opc_text_addf(out, "%ss at byte %" JSON_INTEGER_FORMAT " of %s, which has %" JSON_INTEGER_FORMAT " bytes",
                    opc_record_text(access, "access"), json_integer_value(json_object_get(access, "offset")),
                    *argument ? argument : "a block", json_integer_value(json_object_get(access, "bytes")));
    add_frames(frames, &stack);
    if (stack.length) opc_text_addf(out, ": %s", opc_text_c(&stack));
  }
}

static void evidence_add_also(const json_t *also, opc_text_t *out) {
  size_t i;
  json_t *finding;
  json_array_foreach(also, i, finding) {
    if (i == ITEMS_SHOWN) break;
    opc_text_addf(out, "%s%s (%s)", i ? "; " : "", opc_record_text(finding, "message"),
                  opc_record_text(finding, "rule"));
  }
}

static void add_readings(const json_t *readings, opc_text_t *out) {
  size_t i;
  json_t *reading;
  json_array_foreach(readings, i, reading) {
    if (i == ITEMS_SHOWN) break;
    opc_text_addf(out, "%s%" JSON_INTEGER_FORMAT " after %" JSON_INTEGER_FORMAT " calls", i ? ", " : "",
                  json_integer_value(json_object_get(reading, "held")),
                  json_integer_value(json_object_get(reading, "calls")));
  }
}

void opc_evidence_text(const json_t *evidence, opc_text_t *out) {
  static const struct {
    const char *key, *label;
    void (*add)(const json_t *value, opc_text_t *out);
  } shown[] = {
      {"why", "tried because", evidence_add_words}, /* "why" alone means the rule's reason */
      {"input", "input", opc_input_text},
      {"accesses", "accesses", add_accesses},
      {"frames", "stack", add_frames},
      {"also", "also", evidence_add_also},
      {"tolerance", "tolerance", evidence_add_words},
      {"variants", "also with", evidence_add_words},
      {"readings", "held", add_readings},
      {"depends_on", "only after", evidence_add_words},
  };
  for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
    OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
    shown[i].add(json_object_get(evidence, shown[i].key), &text);
    if (text.length) opc_text_addf(out, "%s: %s\n", shown[i].label, opc_text_c(&text));
  }
}

/* ---- why it was tried ---- */

static const char *const sources[] = {[OPC_SOURCE_DECLARED] = "a declared sample",
                                      [OPC_SOURCE_RECORDED] = "a recorded call",
                                      [OPC_SOURCE_RECIPE] = "an input made by a recipe",
                                      [OPC_SOURCE_SEARCHED] = "an input that opcheck-c found"};
static const char *const changes[] = {
    [OPC_INPUT_SAME_VALUES] = "", [OPC_INPUT_RELATED] = ", changed as its arguments belong together"};

static const char *change_text(opc_input_change_t change, const opc_case_id_t *id) {
  const char *suffix = strrchr(id->variant, '.');
  if (change != OPC_INPUT_ALONE) return changes[change];
  if (strstr(id->variant, ".related_")) return ", changed with all that belongs to the argument";
  if (suffix && strcmp(suffix, ".called") == 0) return ", and simple arguments for the method";
  if (*id->dtype)
    return strcmp(id->variant, "plain") == 0 ? ", in another dtype" : ", with other values and another dtype";
  return opc_case_changed_argument(id->variant) > 0 ? ", changed in one argument alone"
                                                    : ", with values that nobody vouches for";
}

void opc_finding_tried(const opc_case_result_t *result, opc_text_t *out) {
  const char *why = opc_record_text(result->evidence, "why");
  const opc_provenance_t *provenance = &result->provenance;
  const bool plain = strcmp(result->id.variant, "plain") == 0 && !*result->id.dtype;
  if (provenance->source != OPC_SOURCE_NONE)
    opc_text_addf(out, "%s%s%s", sources[provenance->source], change_text(provenance->change, &result->id),
                  plain ? ", as it is" : "");
  if (*why && !plain) opc_text_addf(out, "%sbecause %s", out->length ? ", " : "", why);
}
