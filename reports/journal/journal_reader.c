#include "reports/journal/journal_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reports/journal/journal_index.h"

opc_status_t opc_journal_reader_open(const char *path, opc_journal_reader_t **out, opc_error_t *error) {
  return opc_journal_reader_open_known(path, NULL, out, error);
}

opc_status_t opc_journal_reader_open_known(const char *path, const opc_kept_records_t *known,
                                           opc_journal_reader_t **out, opc_error_t *error) {
  *out = NULL;
  OPC_SCOPED(opc_scope_journal_reader) opc_journal_reader_t *reader = calloc(1, sizeof *reader);
  if (!reader) return opc_out_of_memory(error);
  reader->known = known;
  reader->summary.exit_code = -1;
  reader->lines.path = opc_string_copy(path);
  reader->operator_indexes = json_object();
  reader->sample_sources = json_object();
  reader->coverages = json_object();
  reader->finished = json_object();
  reader->libraries = json_object();
  reader->suspects = json_object();
  reader->classes = json_object();
  if (!reader->lines.path || !reader->operator_indexes || !reader->sample_sources || !reader->coverages ||
      !reader->finished || !reader->libraries || !reader->suspects || !reader->classes)
    return opc_out_of_memory(error);
  reader->lines.file = fopen(path, "re");
  if (!reader->lines.file) return opc_error_set(error, OPC_ERR_IO, "cannot open journal %s: %s", path, strerror(errno));
  OPC_RETURN_IF_ERROR(opc_journal_index(reader, error));
  reader->known = NULL;
  OPC_MOVE(out, reader);
  return OPC_OK;
}

void opc_scope_journal_reader(opc_journal_reader_t **reader) { opc_journal_reader_close(*reader); }

void opc_journal_reader_close(opc_journal_reader_t *reader) {
  if (!reader) return;
  if (reader->lines.file) fclose(reader->lines.file);
  for (size_t i = 0; i < reader->operator_count; i++) free((char *)reader->operators[i].op.name);
  free(reader->operators);
  opc_kept_clear(&reader->kept);
  free(reader->records);
  free(reader->result_offsets);
  free(reader->result_operators);
  free(reader->first_result);
  free(reader->lines.text);
  free(reader->lines.path);
  json_decref(reader->operator_indexes);
  json_decref(reader->sample_sources);
  json_decref(reader->coverages);
  json_decref(reader->finished);
  json_decref(reader->libraries);
  json_decref(reader->suspects);
  json_decref(reader->classes);
  free(reader);
}

/* ---- reading ---- */

/* *keep_going becomes false if visit asked to stop. */
static opc_status_t visit_at(opc_journal_reader_t *reader, uint64_t offset, opc_record_visit_t *visit, void *context,
                             bool *keep_going, opc_error_t *error) {
  ssize_t length;
  offset &= OPC_OFFSET_PLACE;
  const opc_kept_record_t *kept = opc_kept_find(&reader->kept, offset);
  reader->current = offset;
  if (kept) {
    *keep_going = visit(kept->record, context);
    return OPC_OK;
  }
  OPC_RETURN_IF_ERROR(opc_journal_line(&reader->lines, offset, &length, error));
  json_t *record = length < 0 ? NULL : opc_journal_parse(reader->lines.text, (size_t)length);
  if (!record) return opc_error_set(error, OPC_ERR_IO, "journal %s changed while it was read", reader->lines.path);
  *keep_going = visit(record, context);
  json_decref(record);
  return OPC_OK;
}

typedef struct decoding {
  opc_result_visit_t *visit;
  void *context;
  opc_status_t status;
  opc_error_t *error;
} decoding_t;

static bool decode_and_visit(const json_t *record, void *context) {
  decoding_t *decoding = context;
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  decoding->status = opc_case_result_decode(record, &result, decoding->error);
  return !decoding->status && decoding->visit(result, decoding->context);
}

/* The results of operators `first` to `end` - 1 whose offset has all bits of `mask`. */
static opc_status_t visit_results(opc_journal_reader_t *reader, size_t first, size_t end, uint64_t mask,
                                  opc_result_visit_t *visit, void *context, opc_error_t *error) {
  decoding_t decoding = {.visit = visit, .context = context, .error = error};
  bool keep_going = true;
  for (size_t i = reader->first_result[first]; keep_going && i < reader->first_result[end]; i++) {
    if ((reader->result_offsets[i] & mask) != mask) continue;
    OPC_RETURN_IF_ERROR(visit_at(reader, reader->result_offsets[i], decode_and_visit, &decoding, &keep_going, error));
  }
  return decoding.status;
}

opc_status_t opc_journal_reader_results(opc_journal_reader_t *reader, size_t operator_index, opc_result_visit_t *visit,
                                        void *context, opc_error_t *error) {
  return visit_results(reader, operator_index, operator_index + 1, 0, visit, context, error);
}

opc_status_t opc_journal_reader_all_results(opc_journal_reader_t *reader, opc_result_visit_t *visit, void *context,
                                            opc_error_t *error) {
  return visit_results(reader, 0, reader->operator_count, 0, visit, context, error);
}

opc_status_t opc_journal_reader_result_lines(opc_journal_reader_t *reader, opc_line_visit_t *visit, void *context,
                                             opc_error_t *error) {
  for (size_t i = 0; i < reader->first_result[reader->operator_count]; i++) {
    ssize_t length;
    OPC_RETURN_IF_ERROR(opc_journal_line(&reader->lines, reader->result_offsets[i] & OPC_OFFSET_PLACE, &length, error));
    if (length < 0) return opc_error_set(error, OPC_ERR_IO, "journal %s changed while it was read", reader->lines.path);
    OPC_RETURN_IF_ERROR(visit(reader->lines.text, (size_t)length, context, error));
  }
  return OPC_OK;
}

opc_status_t opc_journal_reader_findings(opc_journal_reader_t *reader, size_t operator_index, opc_result_visit_t *visit,
                                         void *context, opc_error_t *error) {
  return visit_results(reader, operator_index, operator_index + 1, OPC_OFFSET_FINDING, visit, context, error);
}

opc_status_t opc_journal_reader_outlines(const opc_journal_reader_t *reader, size_t operator_index,
                                         opc_outline_visit_t *visit, void *context, opc_error_t *error) {
  for (size_t i = reader->first_result[operator_index]; i < reader->first_result[operator_index + 1]; i++) {
    const uint64_t bits = reader->result_offsets[i];
    const opc_result_outline_t outline = {
        .offset = bits & OPC_OFFSET_PLACE,
        .check = (int)((bits >> OPC_OFFSET_CHECK_AT) & OPC_OFFSET_CHECK_MAX) - 1,
        .reason = (opc_skip_reason_t)((bits >> OPC_OFFSET_REASON_AT) & OPC_OFFSET_REASON_MAX),
        .finding = bits & OPC_OFFSET_FINDING};
    OPC_RETURN_IF_ERROR(visit(&outline, context, error));
  }
  return OPC_OK;
}

uint64_t opc_journal_reader_offset(const opc_journal_reader_t *reader) { return reader->current; }

opc_status_t opc_journal_reader_each(opc_journal_reader_t *reader, const char *t, opc_record_visit_t *visit,
                                     void *context, opc_error_t *error) {
  bool keep_going = true;
  opc_record_kind_t kind = opc_record_kind_find(t);
  for (size_t i = 0; keep_going && i < reader->record_count; i++)
    if (reader->records[i].kind == kind)
      OPC_RETURN_IF_ERROR(visit_at(reader, reader->records[i].offset, visit, context, &keep_going, error));
  return OPC_OK;
}

static bool keep_first(const json_t *record, void *context) {
  *(json_t **)context = json_incref((json_t *)record);
  return false;
}

opc_status_t opc_journal_reader_result(opc_journal_reader_t *reader, uint64_t offset, opc_case_result_t **out,
                                       opc_error_t *error) {
  json_auto_t *record = NULL;
  bool keep_going;
  *out = NULL;
  OPC_RETURN_IF_ERROR(visit_at(reader, offset, keep_first, &record, &keep_going, error));
  return opc_case_result_decode(record, out, error);
}

opc_status_t opc_journal_reader_first(opc_journal_reader_t *reader, const char *t, json_t **out, opc_error_t *error) {
  *out = NULL;
  return opc_journal_reader_each(reader, t, keep_first, out, error);
}

opc_status_t opc_journal_reader_operator_record(opc_journal_reader_t *reader, size_t index, json_t **out,
                                                opc_error_t *error) {
  *out = NULL;
  bool keep_going;
  const opc_operator_entry_t *entry = &reader->operators[index];
  return entry->op.library ? visit_at(reader, entry->offset, keep_first, out, &keep_going, error) : OPC_OK;
}

void opc_journal_reader_summary(const opc_journal_reader_t *reader, opc_journal_summary_t *out) {
  *out = reader->summary;
}

size_t opc_journal_reader_operator_count(const opc_journal_reader_t *reader) { return reader->operator_count; }

const opc_journal_operator_t *opc_journal_reader_operator(const opc_journal_reader_t *reader, size_t index) {
  return &reader->operators[index].op;
}

static opc_status_t record_at(opc_journal_reader_t *reader, const json_t *offset, json_t **out, opc_error_t *error) {
  bool keep_going;
  *out = NULL;
  return offset ? visit_at(reader, (uint64_t)json_integer_value(offset), keep_first, out, &keep_going, error) : OPC_OK;
}

opc_status_t opc_journal_reader_sample_source(opc_journal_reader_t *reader, const char *operator_name, json_t **out,
                                              opc_error_t *error) {
  return record_at(reader, json_object_get(reader->sample_sources, operator_name), out, error);
}

opc_status_t opc_journal_reader_coverage(opc_journal_reader_t *reader, const char *operator_name, json_t **out,
                                         opc_error_t *error) {
  return record_at(reader, json_object_get(reader->coverages, operator_name), out, error);
}

opc_status_t opc_journal_reader_finished(opc_journal_reader_t *reader, const char *operator_name, json_t **out,
                                         opc_error_t *error) {
  return record_at(reader, json_object_get(reader->finished, operator_name), out, error);
}
