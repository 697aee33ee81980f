/* Internals of the journal reader: what journal_index.c builds and journal_reader.c reads by. For these two files only.
 */
#pragma once

#include <sys/types.h>

#include "reports/journal/journal_reader.h"

/* Internals of the journal reader: the lines of a journal's file, each read at its offset.
 *
 * Ownership: whoever fills the struct closes the file and frees path and text. */

typedef struct opc_journal_lines {
  FILE *file;
  char *path;
  uint64_t position; /* of the file; seeking throws away what stdio has read ahead */
  char *text;        /* the line that was read last */
  size_t capacity;
} opc_journal_lines_t;

/* Reads the line at an offset into lines->text. *out_length excludes the newline; a torn last line counts as the end:
 * *out_length is -1. */
opc_status_t opc_journal_line(opc_journal_lines_t *lines, uint64_t offset, ssize_t *out_length,
                              opc_error_t *error) OPC_CHECKED;

typedef struct opc_record {
  uint64_t offset;
  opc_record_kind_t kind;
} opc_record_t;

typedef struct opc_operator_entry {
  opc_journal_operator_t op;
  uint64_t offset; /* of its record, where op.library is set */
} opc_operator_entry_t;

/* What else is in an offset of a result, as no file is so long: it is a failure or an error; the number of its check in
 * opc_check_infos, from 1 (0: another); the reason of a skip. */
#define OPC_OFFSET_FINDING (UINT64_C(1) << 63)
enum { OPC_OFFSET_CHECK_AT = 56, OPC_OFFSET_CHECK_MAX = 127, OPC_OFFSET_REASON_AT = 52, OPC_OFFSET_REASON_MAX = 15 };
#define OPC_OFFSET_PLACE ((UINT64_C(1) << OPC_OFFSET_REASON_AT) - 1)
_Static_assert((int)OPC_SKIP_COUNT <= (int)OPC_OFFSET_REASON_MAX + 1, "a skip's reason has four bits");

struct opc_journal_reader {
  opc_journal_lines_t lines;
  uint64_t current; /* offset of the record that a visitor is given */

  const opc_kept_records_t *known; /* while indexing: records that whoever wrote the journal has kept; may be NULL */
  opc_kept_records_t kept;         /* what most journals hold is not parsed again by each report */

  opc_record_t *records; /* all but results and suspects */
  size_t record_count, record_capacity;

  /* While indexing: results as they come. Afterwards: result_offsets grouped by operator, and no result_operators. */
  uint64_t *result_offsets; /* with OPC_OFFSET_… */
  uint32_t *result_operators;
  size_t result_count, result_capacity;
  size_t *first_result; /* operator_count + 1 */

  opc_operator_entry_t *operators;
  size_t operator_count, operator_capacity;
  json_t *operator_indexes; /* name -> index */
  json_t *sample_sources;   /* name -> offset of the record */
  json_t *coverages;        /* the same */
  json_t *finished;         /* the same */
  json_t *libraries;        /* path -> null: owns the paths that operators point at */
  json_t *classes;  /* class as operators are named, "ns::Name", or library's file, "library::libmy_ops.so" -> [its
                       library, offset of its record, whether it is the file] */
  json_t *suspects; /* case -> [result index, verdict, whether it is a warning]: those without a result so far */
  opc_journal_summary_t summary;
  bool has_run, has_lines;
};

/* Indexes reader->lines: records, operators, results by operator, summary. What it allocates is the reader's, also
 * after an error. */
opc_status_t opc_journal_index(opc_journal_reader_t *reader, opc_error_t *error) OPC_CHECKED;

/* The object of a line without lists, whose texts are ASCII without escapes; a new reference. NULL: another object, or
 * none; jansson decides. */
json_t *opc_journal_parse_plain(const char *line, size_t length);
