/* Reads a run's journal (JSON lines, only appended to; supervise/common/journal.c writes it) without holding it in
 * memory.
 *
 * Each line is a JSON object; `t` says what it records:
 *   {"t":"run","format":"opcheck-c/journal/1","version":"0.1.0","argv":[…],"seed":N,"started":"2026-01-02T03:04:05Z"}
 *   {"t":"tool","torch":…,"cuda":…}
 *   {"t":"basis","basis":{…}}     what results depend on besides the libraries (supervise/session/basis.h)
 *   {"t":"library","path":…,"status":"loaded|failed","error":null|{"kind","message"},"operators":N,"classes":N,
 *    "digest":HEX,                of the file and of the libraries that it needs; only if it was loaded from a file
 *    "checked_as":NAME}           checked_as: the name that results of the file itself have; only if it is checked
 *   {"t":"operator",…}            as model/schema/schema.h makes it
 *   {"t":"class",…}               the same
 *   {"t":"sample_source","operator":…,"source":"file|recorded|searched|none","detail":TEXT,
 *    "search":{…},                what the search did (opc_search_to_json of search/engine/search.h), "cpu_seconds",
 *                                 "seconds"; left out if there was no search
 *    "beside":{…},                the same of the search for other inputs than its samples, and "samples", the number
 * of those that it found; left out if there was none "relations":{"samples":{NAME:[…]},"tries":N,"seconds":S}, the
 * relations between the samples' arguments (as in sample files), and what learning them took; left out if nothing is
 * known and nothing was tried "recipe":"FILE:LINE"}        the recipe that the search followed; left out if there was
 * none
 *   {"t":"coverage","operator":…,"inputs":{"accepted":N,"crashed":N,"refused":N},"devices":{NAME:OUTCOME},
 *    "arguments":{ARGUMENT:{PROPERTY:{VALUE:OUTCOME}}},"methods":{NAME:OUTCOME},"refusals":{MESSAGE:N}}
 *                                 the different inputs of its cases, after the last one. OUTCOME: "accepted", else
 *                                 "crashed", else "refused". PROPERTY: dimensions, dtypes, elements ("none", "one",
 *                                 "few", "many": more than 1024) and layouts of a tensor, "values", "presence"
 *   {"t":"finished","operator":…,"inputs":HEX}  all its cases have results, which a later run may take over; inputs:
 *                                 digest of its samples and recipes in files
 *   {"t":"since","report":…,"taken_over":N,"checked":N}  --since: operators whose results are of an earlier run, and
 *                                 others
 *   {"t":"shard","part":K,"of":N,"plan":HEX}  --shard K/N; plan: digest of which operator is in which part
 *   {"t":"suspect",…}             a finding before its confirmation, or a case that was skipped because of one. Counts
 *                                 only if no result of that case follows: the run stopped early
 *   {"t":"result",…}              fields of the JSON report's results, in their order; final
 *   {"t":"note","message":…}      something that a person should read
 *   {"t":"known","problem":ID,"by":"baseline|xfail","file":…,"line":N,"rule":…,"operator":…,"reason":…,"expired":DATE,
 *    "whole":true}                a problem that must not fail the run (problems.h), unless it has expired. Written
 * after the run. rule, operator: of a baseline; reason: of an xfail file; whole: the run was of all operators and
 * checks, so that a line that no problem matches is out of date
 *   {"t":"end","seconds":S,"job_seconds":S,"idle_seconds":S,"parts":N,"exit_code":N,"complete":true,"stale_lines":N,
 *    "outdated_lines":[N]}        job_seconds: with operators at work; idle_seconds: of these, with fewer than --jobs.
 *                                 parts: of operators' cases, that idle jobs ran.
 *                                 Lines of the xfail file: how many were an error (--strict), and which nothing needs
 *                                 any more
 *
 * A last line without a newline (a killed run) is ignored, and so are records of an unknown t. A line that is not a
 * record, or a result that opc_case_result_decode refuses, counts as damaged, and a journal with damaged lines is not
 * complete.
 *
 * Ownership: opc_journal_reader_close, or OPC_SCOPED(opc_scope_journal_reader); NULL is accepted. Threads: one. */
#pragma once

#include "model/case/kept_records.h"
#include "result/case_result.h"

/* A record of a journal by itself: its kind and its fields (journal_reader.h).
 *
 * Threads: any. */

typedef enum opc_record_kind {
  OPC_RECORD_UNKNOWN = 0,
  OPC_RECORD_RUN,
  OPC_RECORD_TOOL,
  OPC_RECORD_LIBRARY,
  OPC_RECORD_OPERATOR,
  OPC_RECORD_CLASS,
  OPC_RECORD_SAMPLE_SOURCE,
  OPC_RECORD_COVERAGE,
  OPC_RECORD_SUSPECT,
  OPC_RECORD_RESULT,
  OPC_RECORD_NOTE,
  OPC_RECORD_KNOWN,
  OPC_RECORD_END,
  OPC_RECORD_BASIS,
  OPC_RECORD_FINISHED,
  OPC_RECORD_SINCE,
  OPC_RECORD_SHARD,
  OPC_RECORD_COUNT
} opc_record_kind_t;

opc_record_kind_t opc_record_kind_find(const char *name);   /* OPC_RECORD_UNKNOWN where there is none */
json_t *opc_journal_parse(const char *line, size_t length); /* new reference; NULL: no object */
/* Text of a record's field; "" where it is absent, null or no string. */
const char *opc_record_text(const json_t *record, const char *key);

typedef struct opc_journal_reader opc_journal_reader_t;

typedef struct opc_journal_counts {
  uint64_t pass, fail, skip, error, warnings; /* warnings are counted in `warnings` and in none of the others */
} opc_journal_counts_t;

typedef struct opc_journal_summary {
  uint64_t pass, fail, skip, error, warnings; /* as opc_journal_counts_t */
  uint64_t operators, classes, libraries, libraries_failed;
  bool complete;
  double seconds;
  int exit_code;                               /* -1: the run stopped early */
  uint64_t stale_lines;                        /* of the xfail file, which were an error */
  double budget;                               /* of --budget, in seconds; 0: none */
  uint64_t left_out_cases, left_out_operators; /* that it left no time for */
  uint64_t taken_over;                         /* operators whose results are of an earlier run (--since) */
  uint64_t damaged;                            /* lines that are no records */
  /* On the simulated device: launches that computed values, exact ones and approximations; calls of libtorch that the
   * CPU has computed; launches that were only recorded, and those of them that ran some of their blocks; cases in which
   * values were compared and none was missing. */
  uint64_t kernels_exact, kernels_bounded, kernels_replaced, kernels_recorded, kernels_sampled, cases_computed;
} opc_journal_summary_t;

/* One operator that the journal names, and a summary of its results. */
typedef struct opc_journal_operator {
  const char *name;
  const char *library; /* path; NULL: results without an operator record */
  opc_journal_counts_t counts;
  double seconds;   /* sum of its cases */
  bool is_file;     /* not an operator: a library's file ("checked_as") */
  bool asked;       /* it has results of a check that calls operators */
  bool called;      /* one of them comes from a call, be it one that was refused */
  bool has_verdict; /* some check has a verdict, with or without a call */
  uint64_t checks;  /* with a verdict or a refused call: bits by index of opc_check_infos, up to 63 */
  uint64_t asked_checks, proved_checks; /* with any result, and with a verdict: the same bits */
  uint32_t skips[OPC_SKIP_COUNT];       /* by reason */
} opc_journal_operator_t;

/* Indexes the file: offsets of the records, results grouped by operator in the order of the operator records (12 bytes
 * a result). */
opc_status_t opc_journal_reader_open(const char *path, opc_journal_reader_t **out, opc_error_t *error) OPC_CHECKED;
/* The same by whoever has written the journal: records that it has kept are not read again. They are needed until this
 * returns. */
opc_status_t opc_journal_reader_open_known(const char *path, const opc_kept_records_t *known,
                                           opc_journal_reader_t **out, opc_error_t *error) OPC_CHECKED;
void opc_journal_reader_close(opc_journal_reader_t *reader);
void opc_scope_journal_reader(opc_journal_reader_t **reader);
void opc_journal_reader_summary(const opc_journal_reader_t *reader, opc_journal_summary_t *out);
/* Calls visit for every record of type t in order; results have their own functions. The record is valid during the
 * call (json_incref keeps it longer); visit returns false to stop. */
typedef bool opc_record_visit_t(const json_t *record, void *context);
opc_status_t opc_journal_reader_each(opc_journal_reader_t *reader, const char *t, opc_record_visit_t *visit,
                                     void *context, opc_error_t *error) OPC_CHECKED;

/* Operators by name, in the order of their records. One with kernels of several libraries is listed once, under the
 * library that defines it. */
size_t opc_journal_reader_operator_count(const opc_journal_reader_t *reader);
const opc_journal_operator_t *opc_journal_reader_operator(const opc_journal_reader_t *reader,
                                                          size_t index); /* owned by the reader */
/* Its record, a new reference; NULL where it has none. */
opc_status_t opc_journal_reader_operator_record(opc_journal_reader_t *reader, size_t index, json_t **out,
                                                opc_error_t *error) OPC_CHECKED;
/* Calls visit for the results of one operator, which are valid during the call; visit returns false to stop. */
typedef bool opc_result_visit_t(const opc_case_result_t *result, void *context);
opc_status_t opc_journal_reader_results(opc_journal_reader_t *reader, size_t operator_index, opc_result_visit_t *visit,
                                        void *context, opc_error_t *error) OPC_CHECKED;
/* Those of all operators, one operator after the other; unresolved suspects among them. */
opc_status_t opc_journal_reader_all_results(opc_journal_reader_t *reader, opc_result_visit_t *visit, void *context,
                                            opc_error_t *error) OPC_CHECKED;
/* The same as lines, without the newline, which are not parsed. An error of visit ends it and is passed on. */
typedef opc_status_t opc_line_visit_t(const char *line, size_t length, void *context, opc_error_t *error);
opc_status_t opc_journal_reader_result_lines(opc_journal_reader_t *reader, opc_line_visit_t *visit, void *context,
                                             opc_error_t *error) OPC_CHECKED;
/* Its failures and errors alone, warnings among them: the others are not read. */
opc_status_t opc_journal_reader_findings(opc_journal_reader_t *reader, size_t operator_index, opc_result_visit_t *visit,
                                         void *context, opc_error_t *error) OPC_CHECKED;
/* What the index knows of a result, which is not read. */
typedef struct opc_result_outline {
  uint64_t offset;          /* for opc_journal_reader_result */
  int check;                /* index in opc_check_infos; -1: not one of them */
  opc_skip_reason_t reason; /* of a skip */
  bool finding;             /* a failure or an error; without it and a reason: a pass */
} opc_result_outline_t;
typedef opc_status_t opc_outline_visit_t(const opc_result_outline_t *outline, void *context, opc_error_t *error);
/* The same results as those of opc_journal_reader_results, in the same order. An error of visit ends it and is passed
 * on. */
opc_status_t opc_journal_reader_outlines(const opc_journal_reader_t *reader, size_t operator_index,
                                         opc_outline_visit_t *visit, void *context, opc_error_t *error) OPC_CHECKED;
/* Where in the file the result is that visit is given, for opc_journal_reader_result. */
uint64_t opc_journal_reader_offset(const opc_journal_reader_t *reader);
/* The result at such an offset: opc_case_result_free. */
opc_status_t opc_journal_reader_result(opc_journal_reader_t *reader, uint64_t offset, opc_case_result_t **out,
                                       opc_error_t *error) OPC_CHECKED;
/* The first record of type t, a new reference; NULL where there is none. */
opc_status_t opc_journal_reader_first(opc_journal_reader_t *reader, const char *t, json_t **out,
                                      opc_error_t *error) OPC_CHECKED;
/* The sample_source record of an operator, a new reference; NULL where there is none. */
opc_status_t opc_journal_reader_sample_source(opc_journal_reader_t *reader, const char *operator_name, json_t **out,
                                              opc_error_t *error) OPC_CHECKED;
/* The same for its record "finished". */
opc_status_t opc_journal_reader_finished(opc_journal_reader_t *reader, const char *operator_name, json_t **out,
                                         opc_error_t *error) OPC_CHECKED;
/* The same for its coverage record. */
opc_status_t opc_journal_reader_coverage(opc_journal_reader_t *reader, const char *operator_name, json_t **out,
                                         opc_error_t *error) OPC_CHECKED;
