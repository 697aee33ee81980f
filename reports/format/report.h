/* A report format: one file, one entry in reports.def. Every report is streamed from the journal, written beside its
 * target and renamed; the early one says "incomplete".
 *
 * Ownership: the reporter reads the journal through reports/journal/journal_reader.h and owns nothing of it. Errors:
 * OPC_ERR_IO names the file and what to do. */
#pragma once

#include "reports/problems/problems.h"

/* What a testcase of the JUnit report is. */
typedef enum opc_junit_cases {
  OPC_JUNIT_BY_OPERATOR = 0 /* an operator and check */,
  OPC_JUNIT_BY_CASE
} opc_junit_cases_t;

/* What reports are made from: the journal, and the problems of the same journal. */
typedef struct opc_report_source {
  opc_journal_reader_t *journal;
  const opc_problems_t *problems;
  opc_junit_cases_t junit_cases;
  const char *source_root;                 /* --source-root: the repository; NULL: found from the current folder */
  bool strict;                             /* --strict: the formats of CI show warnings as errors */
  int required;                            /* --require-checked, as opc_coverage_required takes it */
  bool updated;                            /* lines of known problems that are out of date have been removed */
  const struct opc_comparison *comparison; /* of `report compare`, which has no journal of its own; else NULL */
  const struct opc_rewrite *rewrite;       /* of opc_report_rewrite (baseline.h) */
} opc_report_source_t;

typedef struct opc_report {
  const char *name;    /* "json": the option is --json FILE */
  const char *summary; /* for --help */
  bool compressible;   /* a target FILE.gz or FILE.zst is compressed */
  bool on_stdout;      /* the option takes no FILE; the report is written to standard output, and none early */
  /* Writes the whole report of the journal to stream. A failed write is OPC_ERR_IO, and errno says why. */
  opc_status_t (*write)(const opc_report_source_t *source, FILE *stream, opc_error_t *error);
} opc_report_t;

/* Checks that the target's folder exists and can be written, and leaves the early report there. OPC_ERR_IO otherwise,
 * nothing half-written.
 */
opc_status_t opc_report_begin(const opc_report_t *report, const opc_report_source_t *source, const char *target,
                              opc_error_t *error) OPC_CHECKED;
/* Writes FILE.tmp-PID, fsyncs, renames. On failure the target keeps what it held. The target of a report on standard
 * output is ignored. */
opc_status_t opc_report_finish(const opc_report_t *report, const opc_report_source_t *source, const char *target,
                               opc_error_t *error) OPC_CHECKED;

/* A stream whose text is compressed into another stream (gzip by zlib, Zstandard by libzstd).
 *
 * Ownership: fclose ends the compressed data and frees the stream; the target stays open and the caller's. Errors: a
 * write that fails is an error of the stream (ferror), or fclose returns EOF; errno says why. */

typedef enum opc_compression { OPC_COMPRESSION_NONE = 0, OPC_COMPRESSION_GZIP, OPC_COMPRESSION_ZSTD } opc_compression_t;

/* By the end of a file's name: ".gz", ".zst". */
opc_compression_t opc_compression_of(const char *file);
/* NULL: out of memory. */
FILE *opc_compressed_stream(FILE *target, opc_compression_t compression);

/* By the first bytes of a file. */
opc_compression_t opc_compression_in(const char *path);
/* The text of a file that is compressed by gzip or Zstandard, or not at all: its first bytes say so. NULL: errno says
 * why. A read that fails is an error of the stream; EBADMSG: the compressed data is damaged or cut off. */
FILE *opc_decompressed_stream(const char *path);
