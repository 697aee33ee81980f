/* GitLab's code quality report: an object for each problem, and for what made the run as a whole fail.
 *
 * Source: GitLab's documentation, "Code Quality", "Import code quality results from a CI/CD job". */
#include <string.h>

#include "model/json/json_write.h"
#include "reports/ci/ci.h"

typedef struct gitlab {
  FILE *stream;
  bool first;
} gitlab_t;

static opc_status_t put_issue(gitlab_t *gitlab, const char *description, const char *check, const char *fingerprint,
                              const char *severity, const char *path, int line, opc_error_t *error) {
  json_t *issue = json_object();
  opc_json_put(&issue, "description", opc_json_string(description));
  opc_json_put(&issue, "check_name", opc_json_string(check));
  opc_json_put(&issue, "fingerprint", opc_json_string(fingerprint));
  opc_json_put(&issue, "severity", json_string(severity));
  opc_json_put(&issue, "location", json_pack("{s:o, s:{s:i}}", "path", opc_json_string(path), "lines", "begin", line));
  const char *before = gitlab->first ? "[\n  " : ",\n  ";
  gitlab->first = false;
  return opc_ci_write(gitlab->stream, before, issue, error);
}

static opc_status_t put_gitlab_trouble(const opc_ci_trouble_t *trouble, void *context, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0}, fingerprint = {0};
  opc_text_addf(&text, "%s%s%s", trouble->path ? trouble->path : "", trouble->path ? " could not be loaded: " : "",
                trouble->message);
  opc_text_addf(&fingerprint, "%s%s%s", trouble->rule, trouble->path ? "/" : "", trouble->path ? trouble->path : "");
  return put_issue(context, opc_text_c(&text), trouble->rule, opc_text_c(&fingerprint), "critical",
                   trouble->path ? trouble->path : "opcheck-c", 1, error);
}

static opc_status_t put_gitlab_problem(const opc_ci_problem_t *problem, void *context, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_text_addf(&text, "%s: %s", problem->title, problem->message);
  return put_issue(context, opc_text_c(&text), opc_record_text(problem->json, "rule"), problem->fingerprint,
                   problem->known   ? "info"
                   : problem->error ? "critical"
                                    : "minor",
                   problem->path, problem->line, error);
}

static opc_status_t write_gitlab(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  gitlab_t gitlab = {.stream = stream, .first = true};
  OPC_RETURN_IF_ERROR(opc_ci_each_trouble(source, put_gitlab_trouble, &gitlab, error));
  OPC_RETURN_IF_ERROR(opc_ci_each_problem(source, put_gitlab_problem, &gitlab, error));
  if (fputs(gitlab.first ? "[]\n" : "\n]\n", stream) < 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot write the GitLab report");
  return OPC_OK;
}

const opc_report_t opc_report_gitlab = {"gitlab", "problems as GitLab's code quality report", false, false,
                                        write_gitlab};
