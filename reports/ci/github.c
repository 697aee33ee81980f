/* For a step of a GitHub workflow: annotations as workflow commands on standard output, and the step's summary, in
 * Markdown, appended to the file that GITHUB_STEP_SUMMARY names.
 *
 * GitHub shows ten annotations of each kind a step, and no summary above 1 MiB: what is left out is counted.
 * Source: GitHub's documentation "Workflow commands", "Limitations" of annotations and of step summaries. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "reports/ci/ci.h"

enum { ANNOTATIONS = 10, SUMMARY_LIMIT = 1024 * 1024, SUMMARY_END = 512, CELL_LIMIT = 400 };

typedef struct github {
  const opc_report_source_t *source;
  FILE *commands, *summary;         /* summary: NULL outside of GitHub */
  size_t annotated[2], left_out[2]; /* warnings, errors */
  size_t room;                      /* bytes that the summary may still have */
  size_t rows_left_out;
} github_t;

/* ---- annotations ---- */

/* A property's value ends at a comma or a colon, a message at the end of the line. */
static void add_escaped(opc_text_t *out, const char *text, bool property) {
  for (; *text; text++) {
    if (*text == '%' || *text == '\r' || *text == '\n' || (property && (*text == ':' || *text == ',')))
      opc_text_addf(out, "%%%02X", (unsigned char)*text);
    else opc_text_add_bytes(out, text, 1);
  }
}

static opc_status_t annotate(github_t *github, bool error_kind, const char *title, const char *path, int line,
                             const char *message, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  if (github->annotated[error_kind] == ANNOTATIONS) {
    github->left_out[error_kind]++;
    return OPC_OK;
  }
  github->annotated[error_kind]++;
  opc_text_addf(&text, "::%s ", error_kind ? "error" : "warning");
  if (path) {
    opc_text_add(&text, "file=");
    add_escaped(&text, path, true);
    opc_text_addf(&text, ",line=%d,", line);
  }
  opc_text_add(&text, "title=");
  add_escaped(&text, title, true);
  opc_text_add(&text, "::");
  add_escaped(&text, message, false);
  if (text.failed) return opc_out_of_memory(error);
  return fprintf(github->commands, "%s\n", opc_text_c(&text)) < 0
             ? opc_error_set(error, OPC_ERR_IO, "cannot write the annotations")
             : OPC_OK;
}

/* ---- the summary ---- */

/* Text that Markdown shows as it is: all that could be markup, a link or a name becomes a character reference. */
static void add_markdown(opc_text_t *out, const char *text) {
  for (; *text; text++) {
    if (*text == '\n') opc_text_add(out, " ");
    else if (strchr("\\`*_{}[]()<>#+!|~&:@\"'$", *text)) opc_text_addf(out, "&#%d;", *text);
    else opc_text_add_bytes(out, text, 1);
  }
}

static void add_cell(opc_text_t *out, const char *text, bool code) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  opc_ci_line(&line, text, CELL_LIMIT);
  opc_text_add(out, code && *text ? " <code>" : " ");
  add_markdown(out, opc_text_c(&line));
  opc_text_add(out, code && *text ? "</code> |" : " |");
}

/* Text that does not fit any more is left out; SUMMARY_END bytes are kept for what must be said. */
static opc_status_t put_summary(github_t *github, const opc_text_t *text, size_t reserve, bool *out_written,
                                opc_error_t *error) {
  *out_written = github->summary && text->length + reserve <= github->room;
  if (!*out_written) return OPC_OK;
  github->room -= text->length;
  return fwrite(opc_text_c(text), 1, text->length, github->summary) == text->length
             ? OPC_OK
             : opc_error_set(error, OPC_ERR_IO, "cannot write the step's summary: %s", strerror(errno));
}

static opc_status_t put_row(github_t *github, const opc_text_t *row, opc_error_t *error) {
  bool written;
  OPC_RETURN_IF_ERROR(put_summary(github, row, SUMMARY_END, &written, error));
  github->rows_left_out += !written;
  return OPC_OK;
}

static opc_status_t put_github_problem(const opc_ci_problem_t *problem, void *context, opc_error_t *error) {
  github_t *github = context;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0}, row = {0}, place = {0}, operators = {0};
  const char *rule = opc_record_text(problem->json, "rule");
  const json_t *names = json_object_get(problem->json, "operators");
  opc_text_addf(&message, "%s\nrepro: %s\nopcheck-c explain %s", problem->message, problem->repro, rule);
  if (!problem->known)
    OPC_RETURN_IF_ERROR(annotate(github, problem->error, problem->title, problem->is_source ? problem->path : NULL,
                                 problem->line, opc_text_c(&message), error));
  opc_text_addf(&place, "%s:%d", problem->path, problem->line);
  opc_text_add(&operators, json_string_value(json_array_get(names, 0)));
  if (json_array_size(names) > 1) opc_text_addf(&operators, " and %zu more", json_array_size(names) - 1);
  opc_text_add(&row, problem->known ? "| known |" : problem->error ? "| error |" : "| warning |");
  add_cell(&row, opc_text_c(&operators), true);
  add_cell(&row, rule, true);
  add_cell(&row, problem->message, false);
  add_cell(&row, problem->is_source ? opc_text_c(&place) : problem->path, true);
  add_cell(&row, problem->repro, true);
  opc_text_add(&row, "\n");
  return put_row(github, &row, error);
}

static opc_status_t put_github_trouble(const opc_ci_trouble_t *trouble, void *context, opc_error_t *error) {
  github_t *github = context;
  OPC_SCOPED(opc_text_clear) opc_text_t title = {0}, line = {0};
  bool written;
  if (trouble->path) opc_text_addf(&title, "%s could not be loaded", trouble->path);
  else opc_text_add(&title, "opcheck-c");
  OPC_RETURN_IF_ERROR(annotate(github, true, opc_text_c(&title), NULL, 0, trouble->message, error));
  opc_text_add(&line, "**");
  add_markdown(&line, opc_text_c(&title));
  opc_text_add(&line, "**&#58; ");
  add_markdown(&line, trouble->message);
  opc_text_add(&line, "\n\n");
  return put_summary(github, &line, SUMMARY_END, &written, error);
}

static void add_summary_count(opc_text_t *out, uint64_t count, const char *what) {
  opc_text_addf(out, "%s%" PRIu64 " %s%s", out->length ? ", " : "", count, what, count == 1 ? "" : "s");
}

static uint64_t count_known_failures(opc_journal_reader_t *journal) {
  uint64_t count = 0;
  for (size_t i = 0; i < opc_journal_reader_operator_count(journal); i++)
    count += opc_journal_reader_operator(journal, i)->skips[OPC_SKIP_XFAIL];
  return count;
}

static opc_status_t put_summary_head(github_t *github, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0}, counts = {0}, checked = {0};
  const opc_coverage_t coverage = opc_coverage_of(github->source->journal);
  const size_t errors = opc_ci_error_count(github->source);
  const opc_problems_t *problems = github->source->problems;
  const uint64_t known = count_known_failures(github->source->journal) + (problems->count - problems->fresh);
  bool written;
  add_summary_count(&counts, errors, "error");
  add_summary_count(&counts, problems->fresh - errors, "warning");
  if (known) add_summary_count(&counts, known, "known failure");
  opc_coverage_say(&coverage, &checked);
  opc_text_addf(&text, "### opcheck-c: %s\n\n%s\n\n", opc_text_c(&counts), opc_text_c(&checked));
  return put_summary(github, &text, SUMMARY_END, &written, error);
}

static opc_status_t put_table_head(github_t *github, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool written;
  opc_text_add(&text, "| severity | operator | rule | what | where | reproduce |\n|---|---|---|---|---|---|\n");
  return github->source->problems->count ? put_summary(github, &text, SUMMARY_END, &written, error) : OPC_OK;
}

static opc_status_t put_left_out(github_t *github, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool written;
  const size_t annotations = github->left_out[0] + github->left_out[1];
  if (annotations > 0 && fprintf(github->commands, "::notice title=opcheck-c::%zu more problems have no annotation%s\n",
                                 annotations, github->summary ? ": the summary of this step lists them" : "") < 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot write the annotations");
  if (github->rows_left_out == 0) return OPC_OK;
  opc_text_addf(&text, "\n%zu more problems are left out: GitHub takes at most 1 MiB for a step.\n",
                github->rows_left_out);
  return put_summary(github, &text, 0, &written, error);
}

static opc_status_t put_all(github_t *github, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(put_summary_head(github, error));
  OPC_RETURN_IF_ERROR(opc_ci_each_trouble(github->source, put_github_trouble, github, error));
  OPC_RETURN_IF_ERROR(put_table_head(github, error));
  OPC_RETURN_IF_ERROR(opc_ci_each_problem(github->source, put_github_problem, github, error));
  return put_left_out(github, error);
}

static opc_status_t write_github(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  const char *file = getenv("GITHUB_STEP_SUMMARY");
  github_t github = {.source = source, .commands = stream};
  struct stat info;
  if (!file || !*file) return put_all(&github, error);
  /* Earlier commands of the step may have written to it. */
  const size_t there = stat(file, &info) == 0 && info.st_size > 0 ? (size_t)info.st_size : 0;
  github.room = there < SUMMARY_LIMIT ? SUMMARY_LIMIT - there : 0;
  github.summary = fopen(file, "ae");
  if (!github.summary)
    return opc_error_set(error, OPC_ERR_IO, "cannot write the step's summary %s (GITHUB_STEP_SUMMARY): %s", file,
                         strerror(errno));
  const opc_status_t status = put_all(&github, error);
  if (fclose(github.summary) != 0 && !status)
    return opc_error_set(error, OPC_ERR_IO, "cannot write the step's summary %s: %s", file, strerror(errno));
  return status;
}

const opc_report_t opc_report_github = {"github",
                                        "problems as annotations of a GitHub workflow, and as the summary of its step",
                                        false, true, write_github};
