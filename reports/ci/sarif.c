/* The SARIF report: a result for each problem. GitHub shows at most 25,000 of them, finds a result again by its
 * primaryLocationLineHash, and drops those whose file is not relative to the repository.
 *
 * Sources: SARIF 2.1.0 (OASIS), GitHub's documentation "SARIF support for code scanning". */
#include <string.h>

#include "model/json/json_write.h"
#include "reports/ci/ci.h"

enum { OPERATORS_SHOWN = 20 };
#define URI_BASE "%SRCROOT%"

typedef struct sarif {
  const opc_report_source_t *source;
  FILE *stream;
  bool first;                /* of the list that is written */
  int indexes[OPC_RULE_END]; /* of a rule in the list of rules, from 1; 0: no problem has it */
  int rules;
} sarif_t;

static json_t *text_object(const char *text) { return json_pack("{s:o}", "text", opc_json_string(text)); }

static opc_status_t put_element(sarif_t *sarif, json_t *element, opc_error_t *error) {
  const char *before = sarif->first ? "\n        " : ",\n        ";
  sarif->first = false;
  return opc_ci_write(sarif->stream, before, element, error);
}

static opc_status_t sarif_puts(sarif_t *sarif, const char *text, opc_error_t *error) {
  return fputs(text, sarif->stream) < 0 ? opc_error_set(error, OPC_ERR_IO, "cannot write the SARIF report") : OPC_OK;
}

/* ---- rules ---- */

static json_t *describe_rule(opc_rule_id_t id) {
  OPC_SCOPED(opc_text_clear) opc_text_t help = {0};
  const opc_rule_t *rule = opc_rule_of(id);
  const char *name = opc_rule_name(id);
  opc_text_addf(&help, "%s\n\nHow to fix it: %s\n\nWhat a finding does not prove: %s", rule->why, rule->fix,
                rule->limits);
  json_t *object = json_object();
  opc_json_put(&object, "id", opc_json_string(name));
  opc_json_put(&object, "shortDescription", text_object(rule->title));
  opc_json_put(&object, "fullDescription", text_object(rule->why));
  opc_json_put(&object, "help", text_object(opc_text_c(&help)));
  opc_json_put(&object, "defaultConfiguration", json_pack("{s:s}", "level", opc_severity_name(rule->severity)));
  opc_json_put(&object, "properties", json_pack("{s:[o]}", "tags", json_stringn(name, strcspn(name, "."))));
  return object;
}

static opc_status_t put_rules(sarif_t *sarif, opc_error_t *error) {
  const opc_problems_t *problems = sarif->source->problems;
  sarif->first = true;
  for (size_t i = 0; i < problems->count; i++) {
    const opc_rule_id_t rule = opc_problem_rule(&problems->items[i]);
    if (sarif->indexes[rule] > 0) continue;
    sarif->indexes[rule] = ++sarif->rules;
    OPC_RETURN_IF_ERROR(put_element(sarif, describe_rule(rule), error));
  }
  return OPC_OK;
}

/* ---- results ---- */

/* What a URI cannot hold becomes %XX, byte by byte (RFC 3986). */
static void add_uri(opc_text_t *out, const char *path) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
  for (; *path; path++) {
    if (strchr(plain, *path)) opc_text_add_bytes(out, path, 1);
    else opc_text_addf(out, "%%%02X", (unsigned char)*path);
  }
}

static json_t *physical_location(const char *path, int line) {
  OPC_SCOPED(opc_text_clear) opc_text_t uri = {0};
  add_uri(&uri, path);
  return json_pack("{s:{s:s, s:s}, s:{s:i}}", "artifactLocation", "uri", opc_text_c(&uri), "uriBaseId", URI_BASE,
                   "region", "startLine", line);
}

static json_t *sarif_locations(const opc_ci_problem_t *problem) {
  json_t *names = json_array(), *name;
  size_t i;
  json_array_foreach(json_object_get(problem->json, "operators"), i, name) {
    if (i == OPERATORS_SHOWN) break;
    opc_json_append(&names, json_pack("{s:O, s:s}", "fullyQualifiedName", name, "kind", "function"));
  }
  return json_pack("[{s:o, s:o}]", "physicalLocation", physical_location(problem->path, problem->line),
                   "logicalLocations", names);
}

static json_t *sarif_properties(const opc_ci_problem_t *problem) {
  static const char *const copied[] = {"id",       "operators", "argument", "symptoms",
                                       "standing", "cases",     "count",    "repro"};
  json_t *object = json_object();
  for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
    json_t *value = json_object_get(problem->json, copied[i]);
    if (value && !json_is_null(value)) opc_json_put(&object, copied[i], json_incref(value));
  }
  return object;
}

static json_t *sarif_message(const opc_ci_problem_t *problem) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const char *location = opc_record_text(problem->json, "location");
  opc_text_addf(&text, "%s\n%s", problem->title, problem->message);
  if (*location) {
    opc_text_add(&text, "\nwhere: ");
    opc_ci_line(&text, location, OPC_CI_TEXT_LIMIT);
  }
  if (*problem->repro) opc_text_addf(&text, "\nrepro: %s", problem->repro);
  return text_object(opc_text_c(&text));
}

static opc_status_t put_sarif_result(const opc_ci_problem_t *problem, void *context, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t line_hash = {0};
  sarif_t *sarif = context;
  const opc_rule_id_t rule = opc_rule_id(opc_record_text(problem->json, "rule"));
  json_t *result = json_object();
  opc_text_addf(&line_hash, "%s:1", problem->fingerprint);
  opc_json_put(&result, "ruleId", opc_json_string(opc_record_text(problem->json, "rule")));
  opc_json_put(&result, "ruleIndex", json_integer(sarif->indexes[rule] - 1));
  opc_json_put(&result, "level", json_string(problem->known ? "note" : problem->error ? "error" : "warning"));
  opc_json_put(&result, "message", sarif_message(problem));
  opc_json_put(&result, "locations", sarif_locations(problem));
  opc_json_put(&result, "partialFingerprints",
               json_pack("{s:s, s:s}", "opcheckProblem/v1", problem->fingerprint, "primaryLocationLineHash",
                         opc_text_c(&line_hash)));
  opc_json_put(&result, "properties", sarif_properties(problem));
  if (problem->known) {
    OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
    opc_known_say(problem->known, &why);
    opc_json_put(&result, "suppressions",
                 json_pack("[{s:s, s:o}]", "kind", "external", "justification", opc_json_string(opc_text_c(&why))));
  }
  return put_element(sarif, result, error);
}

/* ---- the run ---- */

static opc_status_t put_notification(const opc_ci_trouble_t *trouble, void *context, opc_error_t *error) {
  json_t *object = json_object();
  opc_json_put(&object, "descriptor", json_pack("{s:s}", "id", trouble->rule));
  opc_json_put(&object, "level", json_string("error"));
  opc_json_put(&object, "message", text_object(trouble->message));
  if (trouble->path)
    opc_json_put(&object, "locations", json_pack("[{s:o}]", "physicalLocation", physical_location(trouble->path, 1)));
  return put_element(context, object, error);
}

static opc_status_t note_trouble(const opc_ci_trouble_t *trouble, void *context, opc_error_t *error) {
  (void)trouble;
  (void)error;
  *(bool *)context = true;
  return OPC_OK;
}

static opc_status_t put_invocation(sarif_t *sarif, const char *started, opc_error_t *error) {
  bool troubled = false;
  OPC_RETURN_IF_ERROR(opc_ci_each_trouble(sarif->source, note_trouble, &troubled, error));
  if (fprintf(sarif->stream, "      ]}},\n      \"invocations\": [{\"executionSuccessful\": %s, ",
              troubled ? "false" : "true") < 0)
    return sarif_puts(sarif, "", error);
  if (*started) {
    OPC_RETURN_IF_ERROR(opc_ci_write(sarif->stream, "\"startTimeUtc\": ", opc_json_string(started), error));
    OPC_RETURN_IF_ERROR(sarif_puts(sarif, ", ", error));
  }
  OPC_RETURN_IF_ERROR(sarif_puts(sarif, "\"toolExecutionNotifications\": [", error));
  sarif->first = true;
  OPC_RETURN_IF_ERROR(opc_ci_each_trouble(sarif->source, put_notification, sarif, error));
  return sarif_puts(sarif, "]}],\n", error);
}

static opc_status_t write_sarif(const opc_report_source_t *source, FILE *stream, opc_error_t *error) {
  json_auto_t *run = NULL;
  sarif_t sarif = {.source = source, .stream = stream};
  OPC_RETURN_IF_ERROR(opc_journal_reader_first(source->journal, "run", &run, error));
  OPC_RETURN_IF_ERROR(sarif_puts(&sarif,
                                 "{\n  \"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\",\n"
                                 "  \"version\": \"2.1.0\",\n  \"runs\": [\n    {\n"
                                 "      \"tool\": {\"driver\": {\"name\": \"opcheck-c\", ",
                                 error));
  OPC_RETURN_IF_ERROR(opc_ci_write(stream, "\"version\": ", opc_json_string(opc_record_text(run, "version")), error));
  OPC_RETURN_IF_ERROR(sarif_puts(&sarif, ", \"rules\": [", error));
  OPC_RETURN_IF_ERROR(put_rules(&sarif, error));
  OPC_RETURN_IF_ERROR(put_invocation(&sarif, opc_record_text(run, "started"), error));
  OPC_RETURN_IF_ERROR(sarif_puts(&sarif,
                                 "      \"originalUriBaseIds\": {\"" URI_BASE
                                 "\": {\"description\": {\"text\": \"the root of the repository\"}}},\n"
                                 "      \"results\": [",
                                 error));
  sarif.first = true;
  OPC_RETURN_IF_ERROR(opc_ci_each_problem(source, put_sarif_result, &sarif, error));
  return sarif_puts(&sarif, "\n      ]\n    }\n  ]\n}\n", error);
}

const opc_report_t opc_report_sarif = {"sarif", "problems as SARIF 2.1.0, for GitHub's code scanning", false, false,
                                       write_sarif};
