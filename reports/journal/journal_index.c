#include "reports/journal/journal_index.h"

#include <stdlib.h>
#include <string.h>

#include "model/schema/schema.h"

enum { NO_OPERATOR = UINT32_MAX };

/* Makes room for one more element: returns the same or a grown array, or NULL if out of memory (the old one stays
 * valid). */
static void *grow_array(void *data, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) return data;
  size_t more = *capacity ? *capacity * 2 : 64;
  void *grown = realloc(data, more * size);
  if (grown) *capacity = more;
  return grown;
}

static opc_status_t operator_index(opc_journal_reader_t *reader, const char *name, uint32_t *out, opc_error_t *error) {
  json_t *known = json_object_get(reader->operator_indexes, name);
  if (known) {
    *out = (uint32_t)json_integer_value(known);
    return OPC_OK;
  }
  void *grown =
      grow_array(reader->operators, reader->operator_count, &reader->operator_capacity, sizeof *reader->operators);
  if (!grown) return opc_out_of_memory(error);
  reader->operators = grown;
  char *copy = opc_string_copy(name);
  if (!copy ||
      json_object_set_new(reader->operator_indexes, name, json_integer((json_int_t)reader->operator_count)) != 0) {
    free(copy);
    return opc_out_of_memory(error);
  }
  *out = (uint32_t)reader->operator_count;
  reader->operators[reader->operator_count++] = (opc_operator_entry_t){.op.name = copy};
  return OPC_OK;
}

static opc_status_t index_operator(opc_journal_reader_t *reader, uint64_t offset, const json_t *record,
                                   opc_error_t *error) {
  uint32_t index;
  OPC_RETURN_IF_ERROR(operator_index(reader, opc_record_text(record, "name"), &index, error));
  opc_operator_entry_t *entry = &reader->operators[index];
  const char *library = opc_record_text(record, "library");
  if (entry->op.library && !json_is_true(json_object_get(record, "defined_here"))) return OPC_OK;
  if (!json_object_get(reader->libraries, library) && json_object_set_new(reader->libraries, library, json_null()) != 0)
    return opc_out_of_memory(error);
  entry->offset = offset;
  entry->op.library = json_object_iter_key(json_object_iter_at(reader->libraries, library));
  return OPC_OK;
}

static opc_status_t index_class(opc_journal_reader_t *reader, uint64_t offset, const json_t *record,
                                opc_error_t *error) {
  char *name = opc_class_operator_name(opc_record_text(record, "name"));
  bool kept = name && json_object_set_new(
                          reader->classes, name,
                          json_pack("[s, I, b]", opc_record_text(record, "library"), (json_int_t)offset, 0)) == 0;
  free(name);
  return kept ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t index_library(opc_journal_reader_t *reader, uint64_t offset, const json_t *record,
                                  opc_error_t *error) {
  const char *name = opc_record_text(record, "checked_as");
  if (*name && json_object_set_new(reader->classes, name,
                                   json_pack("[s, I, b]", opc_record_text(record, "path"), (json_int_t)offset, 1)) != 0)
    return opc_out_of_memory(error);
  return OPC_OK;
}

/* Results of a class or of a library's file have no operator record; they belong to the library. */
static opc_status_t place_classes(opc_journal_reader_t *reader, opc_error_t *error) {
  for (size_t i = 0; i < reader->operator_count; i++) {
    opc_journal_operator_t *op = &reader->operators[i].op;
    const json_t *known = op->library ? NULL : json_object_get(reader->classes, op->name);
    const char *library = json_string_value(json_array_get(known, 0));
    if (!library) continue;
    reader->operators[i].offset = (uint64_t)json_integer_value(json_array_get(known, 1));
    op->is_file = json_is_true(json_array_get(known, 2));
    if (!json_object_get(reader->libraries, library) &&
        json_object_set_new(reader->libraries, library, json_null()) != 0)
      return opc_out_of_memory(error);
    op->library = json_object_iter_key(json_object_iter_at(reader->libraries, library));
  }
  return OPC_OK;
}

static void count_result(opc_journal_counts_t *counts, opc_verdict_kind_t verdict, bool warning) {
  uint64_t *const of_verdict[OPC_VERDICT_COUNT] = {[OPC_VERDICT_PASS] = &counts->pass,
                                                   [OPC_VERDICT_FAIL] = &counts->fail,
                                                   [OPC_VERDICT_SKIP] = &counts->skip,
                                                   [OPC_VERDICT_ERROR] = &counts->error};
  ++*(warning ? &counts->warnings : of_verdict[verdict]);
}

static bool is_warning(const opc_case_result_t *result) {
  return opc_case_result_is_finding(result) && result->severity == OPC_SEVERITY_WARNING;
}

/* Notes what a result says about whether the operator was checked at all. */
static void note_result(opc_journal_operator_t *op, const opc_case_result_t *result) {
  const int check = opc_check_info_find(result->id.check);
  const bool skip = result->verdict == OPC_VERDICT_SKIP;
  const bool called = opc_case_result_is_verdict(result) || result->reason == OPC_SKIP_XFAIL;
  if (check < 0 || opc_check_infos[check].calls) {
    op->asked = true;
    op->called |= called;
  }
  const uint64_t bit = check < 0 ? 0 : UINT64_C(1) << (check < 63 ? check : 63);
  op->asked_checks |= bit;
  if (called) op->checks |= bit;
  if (!skip && called) op->proved_checks |= bit;
  op->has_verdict |= called || result->reason == OPC_SKIP_FAKE_IN_PYTHON; /* its C++ part was checked */
  if (skip) op->skips[result->reason]++;
}

static uint64_t outline_bits(const opc_case_result_t *result) {
  const int check = opc_check_info_find(result->id.check);
  uint64_t bits = opc_case_result_is_finding(result) ? OPC_OFFSET_FINDING : 0;
  if (check >= 0 && check < OPC_OFFSET_CHECK_MAX) bits |= (uint64_t)(check + 1) << OPC_OFFSET_CHECK_AT;
  if (result->verdict == OPC_VERDICT_SKIP) bits |= (uint64_t)result->reason << OPC_OFFSET_REASON_AT;
  return bits;
}

/* What a result says of kernels on the simulated device. */
static void count_kernels(opc_journal_summary_t *summary, const opc_case_result_t *result) {
  const json_t *kernels = json_object_get(result->evidence, "kernels");
  if (!kernels) return;
  const uint64_t recorded = (uint64_t)json_integer_value(json_object_get(kernels, "recorded"));
  summary->kernels_exact += (uint64_t)json_integer_value(json_object_get(kernels, "exact"));
  summary->kernels_bounded += (uint64_t)json_integer_value(json_object_get(kernels, "bounded"));
  summary->kernels_replaced += (uint64_t)json_integer_value(json_object_get(kernels, "replaced"));
  summary->kernels_recorded += recorded;
  summary->kernels_sampled += (uint64_t)json_integer_value(json_object_get(kernels, "sampled"));
  if (recorded == 0 && json_object_get(result->evidence, "compared")) summary->cases_computed++;
}

static opc_status_t index_result(opc_journal_reader_t *reader, uint64_t offset, const json_t *record,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_scope_case_result) opc_case_result_t *result = NULL;
  opc_error_t reason;
  const opc_status_t decoded = opc_case_result_decode(record, &result, &reason);
  if (decoded == OPC_ERR_INPUT) {
    reader->summary.damaged++;
    return OPC_OK;
  }
  uint32_t index;
  OPC_RETURN_IF_ERROR(decoded);
  OPC_RETURN_IF_ERROR(operator_index(reader, result->id.operator_name, &index, error));
  const json_t *earlier = json_object_get(reader->suspects, result->case_id);
  if (earlier) reader->result_operators[json_integer_value(json_array_get(earlier, 0))] = NO_OPERATOR;

  size_t capacity = reader->result_capacity; /* both arrays have the same capacity */
  void *offsets = grow_array(reader->result_offsets, reader->result_count, &capacity, sizeof *reader->result_offsets);
  if (offsets) reader->result_offsets = offsets;
  void *operators = grow_array(reader->result_operators, reader->result_count, &reader->result_capacity,
                               sizeof *reader->result_operators);
  if (operators) reader->result_operators = operators;
  if (!offsets || !operators) return opc_out_of_memory(error);
  reader->result_offsets[reader->result_count] = offset | outline_bits(result);
  reader->result_operators[reader->result_count] = index;
  opc_journal_operator_t *op = &reader->operators[index].op;
  note_result(op, result);
  if (result->suspect) {
    json_t *pending =
        json_pack("[I, i, b]", (json_int_t)reader->result_count, (int)result->verdict, is_warning(result));
    if (!pending || json_object_set_new(reader->suspects, result->case_id, pending) != 0)
      return opc_out_of_memory(error);
  } else {
    if (earlier) json_object_del(reader->suspects, result->case_id);
    count_result(&op->counts, result->verdict, is_warning(result));
    count_kernels(&reader->summary, result);
    op->seconds += result->seconds;
  }
  reader->result_count++;
  return OPC_OK;
}

static void note_budget(opc_journal_summary_t *summary, const json_t *budget) {
  const json_t *left_out = json_object_get(budget, "left_out");
  summary->budget = json_number_value(json_object_get(budget, "seconds"));
  summary->left_out_cases = (uint64_t)json_integer_value(json_object_get(left_out, "cases"));
  summary->left_out_operators = (uint64_t)json_integer_value(json_object_get(left_out, "operators"));
}

static opc_status_t index_by_operator(json_t *offsets, uint64_t offset, const json_t *record, opc_error_t *error) {
  const char *name = opc_record_text(record, "operator");
  return json_object_set_new(offsets, name, json_integer((json_int_t)offset)) == 0 ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t index_record(opc_journal_reader_t *reader, uint64_t offset, const json_t *record,
                                 opc_error_t *error) {
  opc_journal_summary_t *summary = &reader->summary;
  opc_record_kind_t kind = opc_record_kind_find(opc_record_text(record, "t"));
  if (kind == OPC_RECORD_UNKNOWN) return OPC_OK;
  if (kind == OPC_RECORD_RESULT || kind == OPC_RECORD_SUSPECT) return index_result(reader, offset, record, error);

  void *grown = grow_array(reader->records, reader->record_count, &reader->record_capacity, sizeof *reader->records);
  if (!grown) return opc_out_of_memory(error);
  reader->records = grown;
  reader->records[reader->record_count++] = (opc_record_t){offset, kind};
  switch (kind) {
    case OPC_RECORD_RUN:
      reader->has_run = true;
      break;
    case OPC_RECORD_LIBRARY:
      summary->libraries++;
      if (strcmp(opc_record_text(record, "status"), "failed") == 0) summary->libraries_failed++;
      return index_library(reader, offset, record, error);
    case OPC_RECORD_OPERATOR:
      return index_operator(reader, offset, record, error);
    case OPC_RECORD_CLASS:
      summary->classes++;
      return index_class(reader, offset, record, error);
    case OPC_RECORD_SAMPLE_SOURCE:
      return index_by_operator(reader->sample_sources, offset, record, error);
    case OPC_RECORD_COVERAGE:
      return index_by_operator(reader->coverages, offset, record, error);
    case OPC_RECORD_FINISHED:
      return index_by_operator(reader->finished, offset, record, error);
    case OPC_RECORD_SINCE:
      summary->taken_over = (uint64_t)json_integer_value(json_object_get(record, "taken_over"));
      break;
    case OPC_RECORD_END:
      note_budget(summary, json_object_get(record, "budget"));
      summary->complete = json_is_true(json_object_get(record, "complete"));
      summary->seconds = json_number_value(json_object_get(record, "seconds"));
      summary->stale_lines = (uint64_t)json_integer_value(json_object_get(record, "stale_lines"));
      if (summary->complete) summary->exit_code = (int)json_integer_value(json_object_get(record, "exit_code"));
      break;
    default:
      break;
  }
  return OPC_OK;
}

/* Reads the record at an offset, a new reference; NULL if the line is not a record. *out_length: -1 at the end. */
static opc_status_t index_read_record(opc_journal_reader_t *reader, uint64_t offset, json_t **out, ssize_t *out_length,
                                      opc_error_t *error) {
  const opc_kept_record_t *known = reader->known ? opc_kept_find(reader->known, offset) : NULL;
  *out = NULL;
  if (known) {
    *out = json_incref(known->record);
    *out_length = (ssize_t)known->length;
    return OPC_OK;
  }
  OPC_RETURN_IF_ERROR(opc_journal_line(&reader->lines, offset, out_length, error));
  if (*out_length > 0) *out = opc_journal_parse(reader->lines.text, (size_t)*out_length);
  return OPC_OK;
}

static opc_status_t index_file(opc_journal_reader_t *reader, opc_error_t *error) {
  uint64_t offset = 0;
  for (;;) {
    ssize_t length;
    json_auto_t *record = NULL;
    OPC_RETURN_IF_ERROR(index_read_record(reader, offset, &record, &length, error));
    if (length < 0) return OPC_OK;
    if (length > 0) {
      reader->has_lines = true;
      if (record) {
        OPC_RETURN_IF_ERROR(index_record(reader, offset, record, error));
        opc_kept_add(&reader->kept, offset, (size_t)length, record);
      } else {
        reader->summary.damaged++;
      }
    }
    offset += (uint64_t)length + 1;
  }
}

static int by_offset(const void *left, const void *right) {
  uint64_t l = *(const uint64_t *)left & OPC_OFFSET_PLACE, r = *(const uint64_t *)right & OPC_OFFSET_PLACE;
  return (l > r) - (l < r);
}

/* Suspects that have a result go after all operators. */
static size_t group_of(const opc_journal_reader_t *reader, size_t result) {
  uint32_t operator_index = reader->result_operators[result];
  return operator_index == NO_OPERATOR ? reader->operator_count : operator_index;
}

static void swap_results(opc_journal_reader_t *reader, size_t left, size_t right) {
  uint64_t offset = reader->result_offsets[left];
  uint32_t operator_index = reader->result_operators[left];
  reader->result_offsets[left] = reader->result_offsets[right];
  reader->result_operators[left] = reader->result_operators[right];
  reader->result_offsets[right] = offset;
  reader->result_operators[right] = operator_index;
}

/* Sorts the results by operator, and keeps the journal's order within one. In place: all of ATen gives a million and a
 * half results. */
static opc_status_t group_results(opc_journal_reader_t *reader, opc_error_t *error) {
  const size_t groups = reader->operator_count + 1;
  size_t *first = calloc(groups + 1, sizeof *first), *next = calloc(groups, sizeof *next);
  if (!first || !next) {
    free(first);
    free(next);
    return opc_out_of_memory(error);
  }
  for (size_t i = 0; i < reader->result_count; i++) first[group_of(reader, i) + 1]++;
  for (size_t i = 0; i < groups; i++) first[i + 1] += first[i];
  memcpy(next, first, groups * sizeof *next);
  for (size_t group = 0; group < groups; group++) {
    while (next[group] < first[group + 1]) {
      size_t own = group_of(reader, next[group]);
      if (own == group) next[group]++;
      else swap_results(reader, next[group], next[own]++);
    }
  }
  for (size_t i = 0; i + 1 < groups && reader->result_count; i++)
    qsort(reader->result_offsets + first[i], first[i + 1] - first[i], sizeof *reader->result_offsets, by_offset);
  free(next);
  free(reader->result_operators);
  reader->result_operators = NULL;
  reader->first_result = first;
  return OPC_OK;
}

static void summarise(opc_journal_reader_t *reader) {
  opc_journal_summary_t *summary = &reader->summary;
  const char *case_id;
  json_t *suspect;
  json_object_foreach(reader->suspects, case_id, suspect) {
    size_t result = (size_t)json_integer_value(json_array_get(suspect, 0));
    count_result(&reader->operators[reader->result_operators[result]].op.counts,
                 (opc_verdict_kind_t)json_integer_value(json_array_get(suspect, 1)),
                 json_is_true(json_array_get(suspect, 2)));
  }
  for (size_t i = 0; i < reader->operator_count; i++) {
    const opc_journal_operator_t *op = &reader->operators[i].op;
    if (op->library) summary->operators++;
    summary->pass += op->counts.pass;
    summary->fail += op->counts.fail;
    summary->skip += op->counts.skip;
    summary->error += op->counts.error;
    summary->warnings += op->counts.warnings;
  }
  if (summary->damaged) summary->complete = false;
  if (!summary->complete) summary->exit_code = -1;
}

opc_status_t opc_journal_index(opc_journal_reader_t *reader, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(index_file(reader, error));
  if (reader->has_lines && !reader->has_run)
    return opc_error_set(error, OPC_ERR_INPUT, "%s is not a journal of opcheck-c: it has no \"run\" record",
                         reader->lines.path);
  summarise(reader);
  OPC_RETURN_IF_ERROR(place_classes(reader, error));
  return group_results(reader, error);
}
