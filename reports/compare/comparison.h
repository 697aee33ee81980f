/* Two runs of one library, and what differs (`report compare`, `run --torch all`).
 *
 * A run is read from its journal or its JSON report. What is kept of it is bounded by its operators, checks and
 * problems, whatever the number of results. Problems are the same in two runs if their ids are.
 *
 * Ownership: opc_compare_run_clear, opc_comparison_clear; a comparison points into both runs. Threads: one. */
#pragma once

#include "reports/json/run_file.h"
#include "reports/text/screen.h"

/* How many cases of an operator, check and device, or of an operator and a sample with a name, have a verdict. */
typedef struct opc_compare_part {
  const char *operator_name, *name; /* "stride (cpu)", "sample small" */
  uint64_t checked;
  uint64_t skips[OPC_SKIP_COUNT];
} opc_compare_part_t;

enum { OPC_COMPARE_PART_SIZE = sizeof((opc_case_id_t){0}).sample + sizeof "sample " };
void opc_compare_part_name(const opc_case_id_t *id, char out[OPC_COMPARE_PART_SIZE]); /* "stride (cpu)" */

typedef struct opc_compare_run {
  char *name;    /* its file, in messages */
  char *torch;   /* "2.11.0"; NULL: not known */
  bool complete; /* it did not stop early */
  bool left_out; /* it had no time for some of its cases (--budget) */
  opc_coverage_t coverage;
  size_t libraries;
  json_t *library_names; /* a set of their file names */
  json_t *failed;        /* libraries that could not be loaded: path -> message */
  json_t *operators;     /* name -> {"library", "schema", "tags", "dispatch_keys"}; a class: {"library", "schema"} */
  json_t *problems;      /* a list, as in the JSON report */
  json_t *ids;           /* id -> problem */
  json_t *by_case;       /* case -> list of problems */
  opc_compare_part_t *parts;
  size_t part_count;
  json_t *part_indexes; /* operator and part -> index; owns their names */
  json_t *again;        /* of the cases of the earlier run's problems: what became of them here */
} opc_compare_run_t;

/* before (optional): the run that this one will be compared with. OPC_ERR_INPUT: the file is neither a journal nor a
 * report, or is cut off. */
opc_status_t opc_compare_run_read(const char *path, const opc_compare_run_t *before, opc_compare_run_t *out,
                                  opc_error_t *error) OPC_CHECKED;
void opc_compare_run_clear(opc_compare_run_t *run);

/* ---- what differs ---- */

typedef enum opc_compare_kind {
  OPC_COMPARE_NEW = 0,
  OPC_COMPARE_WORSE,   /* a warning became an error, or it does more harm */
  OPC_COMPARE_FIXED,   /* its cases were tried again: they pass, or are refused */
  OPC_COMPARE_CHANGED, /* the same problem, with another severity, rule or other operators */
  OPC_COMPARE_GONE,    /* nobody knows: its cases were not tried, or something hides it */
  OPC_COMPARE_KINDS
} opc_compare_kind_t;
const char *opc_compare_kind_name(opc_compare_kind_t kind); /* "new" */

typedef struct opc_compare_problem {
  opc_compare_kind_t kind;
  const json_t *before, *now; /* NULL: that run does not have it */
  char *why;                  /* NULL: there is nothing to say */
} opc_compare_problem_t;

typedef struct opc_compare_operator {
  const char *name;
  bool before, now;
  json_t *fields; /* if it is in both: what differs, {"schema": [old, new], "tags": [[…], […]]} */
} opc_compare_operator_t;

/* What was checked before, and is not any more. */
typedef struct opc_compare_lost {
  const char *operator_name, *name; /* as in opc_compare_part_t; name NULL: the whole operator */
  uint64_t cases;                   /* that had a verdict before */
  opc_skip_reason_t reason;         /* NONE: no case of it ran */
} opc_compare_lost_t;

typedef struct opc_comparison {
  const opc_compare_run_t *before, *now;
  const char *unloaded; /* a library that can no longer be loaded, which is worse; NULL: none */
  opc_compare_problem_t *problems;
  size_t problem_count, counts[OPC_COMPARE_KINDS];
  size_t known; /* of the new and worse ones, those that the later run's baseline or xfail file lists */
  opc_compare_operator_t *operators;
  size_t operator_count;
  opc_compare_lost_t *lost;
  size_t lost_count;
} opc_comparison_t;

/* OPC_ERR_INPUT: they are of different libraries. */
opc_status_t opc_comparison_make(const opc_compare_run_t *before, const opc_compare_run_t *now, opc_comparison_t *out,
                                 opc_error_t *error) OPC_CHECKED;
void opc_comparison_clear(opc_comparison_t *comparison);
/* Something is new or worse, and not known. */
bool opc_comparison_is_worse(const opc_comparison_t *comparison);
/* Differences of operators and problems: not what was not checked. */
size_t opc_comparison_differences(const opc_comparison_t *comparison);

/* ---- reports of it: comparison_text.c, comparison_json.c, html_compare.c ---- */

const char *opc_comparison_word(const opc_comparison_t *comparison);          /* "NOT WORSE" */
void opc_comparison_say(const opc_comparison_t *comparison, opc_text_t *out); /* adds "1 new, 2 fixed" */
/* Of what differs in a field that is a list, [old, new]: adds "-CPU +CUDA". */
void opc_compare_say_lists(const json_t *pair, opc_text_t *out);
const char *opc_compare_field_label(const char *field); /* "dispatch_keys" -> "keys" */

/* verbose: all of every list. */
void opc_compare_show(const opc_comparison_t *comparison, const opc_screen_t *screen, bool verbose);
extern const opc_report_t opc_report_compare_json, opc_report_compare_html;
