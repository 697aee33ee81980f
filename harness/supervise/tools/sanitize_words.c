#include "supervise/tools/sanitize.h"

#include <string.h>

#include "model/json/json_write.h"

const char *const opc_sanitize_tools[] = {"memcheck", "racecheck", "initcheck", "synccheck", NULL};

/* ---- the rule ---- */

static bool says(const opc_sanitize_record_t *record, const char *word) { return strcasestr(record->text, word); }

static opc_rule_id_t memcheck_rule(const opc_sanitize_record_t *record) {
  if (says(record, "leak")) return OPC_RULE_sanitize_suspicious;
  if (says(record, "misaligned")) return OPC_RULE_sanitize_misaligned;
  if (says(record, " write") || says(record, " atomic")) return OPC_RULE_sanitize_invalid_write;
  if (says(record, " read") || says(record, "memory access error")) return OPC_RULE_sanitize_invalid_read;
  return OPC_RULE_sanitize_suspicious;
}

opc_rule_id_t opc_sanitize_rule(const char *tool, const opc_sanitize_record_t *record) {
  /* A failed call of the runtime: other checks report operators that ignore it. */
  if (strcasecmp(record->kind, "Api") == 0) return OPC_RULE_sanitize_suspicious;
  if (strcmp(tool, "memcheck") == 0) return memcheck_rule(record);
  if (strcmp(tool, "racecheck") == 0 &&
      (says(record, "race") || says(record, "hazard") || strcasecmp(record->kind, "Analysis") == 0))
    return OPC_RULE_sanitize_race;
  if (strcmp(tool, "initcheck") == 0 && says(record, "uninitialized")) return OPC_RULE_sanitize_uninitialised_read;
  if (strcmp(tool, "synccheck") == 0) return OPC_RULE_sanitize_synchronisation;
  return OPC_RULE_sanitize_suspicious;
}

static opc_severity_t sanitize_words_severity_of(const char *tool, const opc_sanitize_record_t *record) {
  const bool mild = strcasecmp(record->level, "Warning") == 0 || strcasecmp(record->level, "Info") == 0;
  return mild ? OPC_SEVERITY_WARNING : opc_rule_of(opc_sanitize_rule(tool, record))->severity;
}

/* ---- words ---- */

static void say_frame(opc_text_t *out, const opc_sanitize_frame_t *frame) {
  const char *file = opc_base_name(frame->file);
  opc_text_add_utf8(out, frame->function, strcspn(frame->function, "("));
  if (frame->file[0] == '\0') return;
  opc_text_add(out, " (");
  opc_text_add_utf8(out, file, strlen(file));
  if (frame->line > 0) opc_text_addf(out, ":%d", frame->line);
  opc_text_add(out, ")");
}

/* "Invalid __global__ write of size 4 bytes in copy_kernel (copy.cu:12), by thread (3,0,0) of block (1,0,0)" */
static void say(const opc_sanitize_record_t *record, opc_text_t *out) {
  opc_text_add_utf8(out, record->text, strlen(record->text));
  if (record->text[0] == '\0') opc_text_addf(out, "a record without text");
  if (record->where.function[0] != '\0') {
    opc_text_add(out, " in ");
    say_frame(out, &record->where);
  }
  for (size_t i = 0; i < record->place_count; i++) {
    opc_text_add(out, i == 0 ? ": " : " and ");
    opc_text_add_utf8(out, record->places[i].direction, strlen(record->places[i].direction));
    opc_text_add(out, " in ");
    say_frame(out, &record->places[i].where);
  }
  if (record->has_thread)
    opc_text_addf(out, ", by thread (%d,%d,%d) of block (%d,%d,%d)", record->thread[0], record->thread[1],
                  record->thread[2], record->block[0], record->block[1], record->block[2]);
}

static json_t *stack_json(const opc_sanitize_stack_t *stack) {
  json_t *frames = json_array();
  for (size_t i = 0; i < stack->count; i++) {
    const opc_sanitize_frame_t *frame = &stack->frames[i];
    json_t *object = json_object();
    if (frame->module[0] != '\0') json_object_set_new(object, "module", opc_json_string(frame->module));
    if (frame->function[0] != '\0') json_object_set_new(object, "symbol", opc_json_string(frame->function));
    if (frame->file[0] != '\0') json_object_set_new(object, "file", opc_json_string(frame->file));
    if (frame->line > 0) json_object_set_new(object, "line", json_integer(frame->line));
    json_array_append_new(frames, object);
  }
  return frames;
}

/* Counts the records of the first one's rule, and their instructions. */
static void count(const char *tool, const opc_sanitize_records_t *records, size_t first, size_t *out_records,
                  size_t *out_places) {
  const opc_rule_id_t rule = opc_sanitize_rule(tool, &records->items[first]);
  *out_records = *out_places = 0;
  for (size_t i = first; i < records->count; i++) {
    const opc_sanitize_record_t *record = &records->items[i];
    if (opc_sanitize_rule(tool, record) != rule) continue;
    (*out_records)++;
    bool seen = false;
    for (size_t k = first; k < i && !seen; k++) {
      const opc_sanitize_frame_t *other = &records->items[k].where;
      seen = strcmp(other->function, record->where.function) == 0 && strcmp(other->file, record->where.file) == 0 &&
             other->line == record->where.line && opc_sanitize_rule(tool, &records->items[k]) == rule;
    }
    *out_places += !seen;
  }
}

static opc_also_t sanitize_words_describe(const char *tool, const opc_sanitize_records_t *records, size_t index) {
  const opc_sanitize_record_t *record = &records->items[index];
  size_t times, places;
  opc_text_t message = {0};
  count(tool, records, index, &times, &places);
  say(record, &message);
  if (times > 1) opc_text_addf(&message, "; %zu such records", times);
  if (places > 1) opc_text_addf(&message, " at %zu places", places);
  json_t *rest = json_pack("{s:o, s:{s:s, s:o, s:o, s:I, s:I}}", "frames", stack_json(&record->host), "sanitizer",
                           "tool", tool, "kind", opc_json_string(record->kind), "text", opc_json_string(record->text),
                           "records", (json_int_t)times, "places", (json_int_t)places);
  if (record->device.count > 0) json_object_set_new(rest, "device_frames", stack_json(&record->device));
  return (opc_also_t){.rule = opc_sanitize_rule(tool, record),
                      .message = opc_text_take(&message),
                      .severity = sanitize_words_severity_of(tool, record),
                      .severity_stated = true,
                      .rest = rest};
}

opc_status_t opc_sanitize_findings(const char *tool, const opc_sanitize_records_t *records, opc_also_list_t *out,
                                   opc_error_t *error) {
  bool told[OPC_RULE_COUNT] = {false};
  for (int severity = OPC_SEVERITY_ERROR; severity <= OPC_SEVERITY_WARNING; severity++) {
    for (size_t i = 0; i < records->count; i++) {
      const opc_rule_id_t rule = opc_sanitize_rule(tool, &records->items[i]);
      if ((int)sanitize_words_severity_of(tool, &records->items[i]) != severity || told[rule]) continue;
      told[rule] = true;
      OPC_RETURN_IF_ERROR(opc_also_add(out, sanitize_words_describe(tool, records, i), error));
    }
  }
  return OPC_OK;
}
