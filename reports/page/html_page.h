/* Internals of the HTML report: what its parts share. For html.c and html_*.c only.
 *
 * Ownership: html.c's write function owns all of it. The first error is kept in status, and nothing is written after
 * it. Threads: one. */
#pragma once

#include "reports/format/report.h"

typedef struct opc_html {
  const opc_report_source_t *source;
  FILE *stream;
  opc_status_t status;
  opc_error_t *error;
} opc_html_t;

/* The first error is kept. */
void opc_html_keep(opc_html_t *html, opc_status_t status);
/* Markup, as it is. */
void opc_html_put(opc_html_t *html, const char *markup);
void opc_html_putf(opc_html_t *html, const char *format, ...) OPC_PRINTF(2, 3); /* numbers, and words of our own */
enum { OPC_HTML_BRIEF = 240, OPC_HTML_WORD = 1024, OPC_HTML_MESSAGE = 8192 };
/* Text of any origin, for an element or an attribute in double quotes: markup is escaped, terminal sequences are
 * removed, control characters, characters that change the direction of writing and bytes that are not UTF-8 are shown
 * as \x1b. Of more than `limit` bytes the end is left out, and the text says how much. */
void opc_html_text(opc_html_t *html, const char *text, size_t limit);
/* The same of a sentence: what is between two backticks becomes code. Not for attributes. */
void opc_html_prose(opc_html_t *html, const char *text, size_t limit);
/* The same of text that was made harmless already; nothing of it is left out. */
void opc_html_escaped(opc_html_t *html, const char *text);
/* A value inside a script element: no "<" is left in it. Takes the reference. */
void opc_html_json(opc_html_t *html, json_t *value);
/* Text as opc_html_text shows it, not escaped. */
void opc_html_clean(const char *text, size_t limit, opc_text_t *out);

/* ---- the frame of a page: html_frame.c ---- */

/* The title is "FAILED: libmy_ops.so"; parts: markup, links to what follows the problems. */
void opc_html_begin(opc_html_t *html, const char *word, const char *subject, const char *parts);
void opc_html_end(opc_html_t *html);
typedef struct opc_html_part {
  const char *kind, *text; /* kind: a class of page.css, "w" */
  uint64_t count;
} opc_html_part_t;
void opc_html_bar(opc_html_t *html, const char *title, const opc_html_part_t *parts, size_t count);
/* The file's name; that of an extension module, such as "_C.so", after its folder. */
const char *opc_html_library_name(const char *path);

/* ---- parts of a problem: html_problem.c. json: as in the JSON report ---- */

typedef struct opc_html_head {
  const char *tone, *badge; /* classes of page.css */
  const char *kind;         /* of a comparison; NULL: none */
  const char *brief;        /* NULL: the message */
  bool known, open;
} opc_html_head_t;
/* Up to its list of facts, which is left open. */
void opc_html_problem_begin(opc_html_t *html, const json_t *json, const opc_html_head_t *head);
void opc_html_problem_end(opc_html_t *html, const json_t *json);
void opc_html_code(opc_html_t *html, const char *text, size_t limit);
void opc_html_fact(opc_html_t *html, const char *label, const char *text); /* label: a word of our own */
void opc_html_codes_fact(opc_html_t *html, const char *label, const json_t *list, size_t skipped);
void opc_html_file_fact(opc_html_t *html, const json_t *json);
void opc_html_rule(opc_html_t *html, const opc_rule_t *rule, bool warning);
void opc_html_repro(opc_html_t *html, const char *repro);
void opc_html_problem_cases(opc_html_t *html, const json_t *problem);

/* ---- the page of a run ---- */

/* A problem, which is open to be read or closed. */
void opc_html_problem(opc_html_t *html, const opc_problem_t *problem, bool open);
/* The support matrix. */
void opc_html_matrix(opc_html_t *html);
/* What a skip with this reason means. */
const char *opc_html_reason(opc_skip_reason_t reason);
/* What was not checked, and the inputs of each operator. */
void opc_html_coverage(opc_html_t *html);
/* All cases, as data for the page's script, and how many each check has. */
void opc_html_cases(opc_html_t *html);

/* The page's style and script, reports/page; the build makes a source of them (scripts/cmake/embed.cmake). A zero ends
 * each. */
extern const unsigned char opc_html_style[], opc_html_script[];
