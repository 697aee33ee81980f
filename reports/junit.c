/* The JUnit report, in the strict dialect that Jenkins' junit-10.xsd accepts and every reader that we know of shows:
 * one testsuite a library, one testcase a case. What does not belong to a case (a library that did not load, a run that
 * broke off) is an error testcase of its own, because a report without it would look like a success.
 *
 * Sources: Jenkins xunit-plugin's junit-10.xsd; ECMA-48 and XML 1.0 through xml_text.h. */
#include <errno.h>
#include <libxml/xmlwriter.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "checks/catalogue/rules.h"
#include "reports/hash_set.h"
#include "reports/report.h"
#include "reports/xml_text.h"

typedef struct junit {
  opc_journal_reader_t *journal;
  xmlTextWriterPtr xml; /* NULL during the pass that only looks at names */
  FILE *stream;
  int cause; /* errno of the first failed write */
  opc_journal_summary_t summary;
  opc_hash_set_t names;
  json_t *suites;        /* paths of the libraries that have had their suite in this pass */
  json_t *run, *tool;    /* records; may be NULL */
  const json_t *library; /* record of the suite that is being written; NULL in the last one, which is about the run */
  const opc_journal_operator_t *op;
  opc_text_t text;
  uint64_t run_errors; /* testcases of the last suite */
  opc_status_t status;
  opc_error_t *error;
} junit_t;

/* ---- writing, with one sticky status ---- */

/* libxml2 tells a failed write on stderr and forgets why it failed; so it is not told. */
static int write_bytes(void *context, const char *bytes, int length) {
  junit_t *junit = context;
  if (junit->cause == 0 && fwrite(bytes, 1, (size_t)length, junit->stream) != (size_t)length)
    junit->cause = errno ? errno : EIO;
  return length;
}

static void check_written(junit_t *junit, int result) {
  if (result < 0 && junit->status == OPC_OK)
    junit->status = opc_error_set(junit->error, OPC_ERR_IO, "cannot write the JUnit report");
}

static void open_element(junit_t *junit, const char *name) {
  check_written(junit, xmlTextWriterStartElement(junit->xml, BAD_CAST name));
}
static void close_element(junit_t *junit) { check_written(junit, xmlTextWriterEndElement(junit->xml)); }

static void attribute(junit_t *junit, const char *name, const char *value) {
  opc_text_reset(&junit->text);
  opc_xml_text_add(&junit->text, value, strlen(value));
  check_written(junit, xmlTextWriterWriteAttribute(junit->xml, BAD_CAST name, BAD_CAST opc_text_c(&junit->text)));
}

static void message_attribute(junit_t *junit, const char *value) {
  opc_text_reset(&junit->text);
  opc_xml_text_message(&junit->text, value, strlen(value));
  check_written(junit, xmlTextWriterWriteAttribute(junit->xml, BAD_CAST "message", BAD_CAST opc_text_c(&junit->text)));
}

static void count_attribute(junit_t *junit, const char *name, uint64_t value) {
  check_written(junit, xmlTextWriterWriteFormatAttribute(junit->xml, BAD_CAST name, "%llu", (unsigned long long)value));
}

static void time_attribute(junit_t *junit, double seconds) {
  check_written(junit,
                xmlTextWriterWriteFormatAttribute(junit->xml, BAD_CAST "time", "%.3f", seconds < 0 ? 0 : seconds));
}

static void body(junit_t *junit, const opc_text_t *value) {
  opc_text_reset(&junit->text);
  opc_xml_text_stream(&junit->text, opc_text_c(value), value->length);
  check_written(junit, xmlTextWriterWriteString(junit->xml, BAD_CAST opc_text_c(&junit->text)));
}

static void property(junit_t *junit, const char *name, const char *value) {
  if (!*value) return;
  open_element(junit, "property");
  attribute(junit, "name", name);
  attribute(junit, "value", value);
  close_element(junit);
}

/* ---- names ---- */

/* "libops.so.1" -> "libops": a classname is dotted, so the stem holds no dot. */
static void add_stem(opc_text_t *out, const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const char *end = strstr(name, ".so");
  while (end && end[3] != '\0' && end[3] != '.') end = strstr(end + 1, ".so");
  if (!end || end == name) end = name + strlen(name);
  for (; name < end; name++) opc_text_add_bytes(out, *name == '.' ? "_" : name, 1);
}

static void add_classname(opc_text_t *out, const char *library, const char *operator_name) {
  if (library) add_stem(out, library);
  if (library && operator_name) opc_text_add(out, ".");
  for (const char *at = operator_name; at && *at; at++) {
    bool colons = at[0] == ':' && at[1] == ':';
    opc_text_add_bytes(out, colons ? "." : at, 1);
    if (colons) at++;
  }
}

/* A reader that finds a name twice shows one of the two: that would be a result lost. */
static void claim_name(junit_t *junit, const char *classname, const char *name) {
  bool added = true;
  opc_text_t both = {0};
  opc_text_addf(&both, "%s\n%s", classname, name);
  if (junit->status == OPC_OK)
    junit->status = opc_hash_set_add(&junit->names, opc_text_c(&both), both.length, &added, junit->error);
  if (!added)
    junit->status = opc_error_set(junit->error, OPC_ERR_PROTOCOL, "the journal holds two results of one case, %s in %s",
                                  name, classname);
  opc_text_clear(&both);
}

static void open_testcase(junit_t *junit, const char *library, const char *operator_name, const char *name,
                          double seconds) {
  opc_text_t classname = {0};
  add_classname(&classname, library, operator_name);
  if (junit->xml) {
    open_element(junit, "testcase");
    attribute(junit, "classname", opc_text_c(&classname));
    attribute(junit, "name", name);
    time_attribute(junit, seconds);
  } else {
    claim_name(junit, opc_text_c(&classname), name);
  }
  opc_text_clear(&classname);
}

/* ---- testcases ---- */

static void add_line(opc_text_t *out, const char *label, const char *value) {
  if (*value) opc_text_addf(out, "%s: %s\n", label, value);
}

/* What stands in the body of a failure: enough to act on without the other reports. */
static void describe(opc_text_t *out, const json_t *record) {
  const char *rule_name = opc_record_text(record, "rule");
  const opc_rule_t *rule = opc_rule_find(rule_name);
  opc_text_addf(out, "%s\n", opc_record_text(record, "message"));
  if (strcmp(opc_record_text(record, "t"), "suspect") == 0)
    opc_text_add(out, "Not confirmed: the run broke off before it.\n");
  opc_text_add(out, "\n");
  opc_text_addf(out, "rule: %s%s%s\n", rule_name, rule ? ", " : "", rule ? rule->title : "");
  if (rule) add_line(out, "why", rule->why);
  add_line(out, "case", opc_record_text(record, "case"));
  const json_t *evidence = json_object_get(record, "evidence");
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)evidence, key, value) {
    char *text = json_is_string(value) ? NULL : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *label = strcmp(key, "why") == 0 ? "tried because" : key; /* "why" is the rule's */
    opc_text_addf(out, "%s: %s\n", label, text ? text : json_is_string(value) ? json_string_value(value) : "");
    free(text);
  }
  add_line(out, "repro", opc_record_text(record, "repro"));
  if (rule) opc_text_addf(out, "more: opcheck-c explain %s\n", rule->name);
}

static void write_finding(junit_t *junit, const char *element, const json_t *record) {
  opc_text_t text = {0};
  bool warning = strcmp(element, "system-out") == 0;
  if (warning) opc_text_add(&text, "WARNING: ");
  describe(&text, record);
  open_element(junit, element);
  if (!warning) {
    attribute(junit, "type", opc_record_text(record, "rule"));
    message_attribute(junit, opc_record_text(record, "message"));
  }
  body(junit, &text);
  close_element(junit);
  opc_text_clear(&text);
}

static void write_skip(junit_t *junit, const json_t *record) {
  opc_text_t text = {0};
  const char *message = opc_record_text(record, "message");
  opc_text_addf(&text, "%s%s%s", opc_record_text(record, "reason"), *message ? ": " : "", message);
  open_element(junit, "skipped");
  attribute(junit, "type", opc_record_text(record, "reason"));
  message_attribute(junit, opc_text_c(&text));
  close_element(junit);
  opc_text_clear(&text);
}

static bool visit_result(const json_t *record, void *context) {
  junit_t *junit = context;
  open_testcase(junit, junit->op->library, junit->op->name, opc_record_text(record, "case"),
                json_number_value(json_object_get(record, "seconds")));
  if (!junit->xml) return junit->status == OPC_OK;
  bool warning = strcmp(opc_record_text(record, "severity"), opc_severity_name(OPC_SEVERITY_WARNING)) == 0;
  switch (opc_verdict_find(opc_record_text(record, "verdict"))) {
    case OPC_VERDICT_PASS:
      break;
    case OPC_VERDICT_SKIP:
      write_skip(junit, record);
      break;
    case OPC_VERDICT_FAIL:
      write_finding(junit, warning ? "system-out" : "failure", record);
      break;
    default:
      write_finding(junit, warning ? "system-out" : "error", record);
      break;
  }
  close_element(junit);
  return junit->status == OPC_OK;
}

static void write_error(junit_t *junit, const char *type, const char *message, const opc_text_t *text) {
  open_element(junit, "error");
  attribute(junit, "type", type);
  message_attribute(junit, message);
  body(junit, text);
  close_element(junit);
}

static void write_load_failure(junit_t *junit, const char *path) {
  opc_text_t name = {0}, text = {0}, type = {0};
  const json_t *cause = json_object_get(junit->library, "error");
  const char *kind = opc_record_text(cause, "kind");
  opc_text_addf(&name, "load %s", path);
  open_testcase(junit, path, NULL, opc_text_c(&name), 0);
  if (junit->xml) {
    opc_text_addf(&type, "load.%s", *kind ? kind : "failed");
    opc_text_addf(&text, "%s could not be loaded.\n%s\n", path, opc_record_text(cause, "message"));
    write_error(junit, opc_text_c(&type), opc_record_text(cause, "message"), &text);
    close_element(junit);
  }
  opc_text_clear(&name);
  opc_text_clear(&text);
  opc_text_clear(&type);
}

/* ---- suites ---- */

static void open_suite(junit_t *junit, const char *name, const opc_journal_counts_t *counts, double seconds) {
  const char *started = opc_record_text(junit->run, "started");
  opc_text_t stamp = {0};
  open_element(junit, "testsuite");
  attribute(junit, "name", name);
  count_attribute(junit, "tests", counts->pass + counts->fail + counts->skip + counts->error + counts->warnings);
  count_attribute(junit, "failures", counts->fail);
  count_attribute(junit, "errors", counts->error);
  count_attribute(junit, "skipped", counts->skip);
  time_attribute(junit, seconds);
  if (*started) {
    opc_text_add_bytes(&stamp, started, strcspn(started, "Z")); /* readers expect it without a zone */
    attribute(junit, "timestamp", opc_text_c(&stamp));
  }
  opc_text_clear(&stamp);
}

static void write_properties(junit_t *junit) {
  open_element(junit, "properties");
  property(junit, "opcheck-c", opc_record_text(junit->run, "version"));
  property(junit, "torch", opc_record_text(junit->tool, "torch"));
  property(junit, "cuda", opc_record_text(junit->tool, "cuda"));
  property(junit, "library", opc_record_text(junit->library, "path"));
  char *seed = json_dumps(json_object_get(junit->run, "seed"), JSON_ENCODE_ANY);
  property(junit, "seed", seed ? seed : "");
  free(seed);
  close_element(junit);
}

/* The last suite (path NULL) takes what no library's suite took, so that no result is lost. */
static bool in_suite(const junit_t *junit, const opc_journal_operator_t *op, const char *path) {
  if (!path) return !op->library || !json_object_get(junit->suites, op->library);
  return op->library && strcmp(op->library, path) == 0;
}

static void write_operators(junit_t *junit, const char *path) {
  for (size_t i = 0; junit->status == OPC_OK && i < opc_journal_reader_operator_count(junit->journal); i++) {
    junit->op = opc_journal_reader_operator(junit->journal, i);
    if (!in_suite(junit, junit->op, path)) continue;
    opc_hash_set_clear(&junit->names); /* a classname holds the operator's: no name can be there from another one */
    opc_status_t status = opc_journal_reader_results(junit->journal, i, visit_result, junit, junit->error);
    if (junit->status == OPC_OK) junit->status = status;
  }
}

static void count_operators(junit_t *junit, const char *path, opc_journal_counts_t *counts, double *seconds) {
  for (size_t i = 0; i < opc_journal_reader_operator_count(junit->journal); i++) {
    const opc_journal_operator_t *op = opc_journal_reader_operator(junit->journal, i);
    if (!in_suite(junit, op, path)) continue;
    counts->pass += op->counts.pass;
    counts->fail += op->counts.fail;
    counts->skip += op->counts.skip;
    counts->error += op->counts.error;
    counts->warnings += op->counts.warnings;
    *seconds += op->seconds;
  }
}

static bool visit_library(const json_t *record, void *context) {
  junit_t *junit = context;
  const char *path = opc_record_text(record, "path");
  bool failed = strcmp(opc_record_text(record, "status"), "failed") == 0;
  junit->library = record;
  if (junit->xml) {
    opc_journal_counts_t counts = {.error = failed};
    double seconds = 0;
    opc_text_t stem = {0};
    count_operators(junit, path, &counts, &seconds);
    add_stem(&stem, path);
    open_suite(junit, opc_text_c(&stem), &counts, seconds);
    write_properties(junit);
    opc_text_clear(&stem);
  }
  if (failed) write_load_failure(junit, path);
  write_operators(junit, path);
  if (junit->status == OPC_OK && json_object_set_new(junit->suites, path, json_null()) != 0)
    junit->status = opc_error_set(junit->error, OPC_ERR_MEMORY, "out of memory while writing the JUnit report");
  if (junit->xml) close_element(junit);
  junit->library = NULL;
  return junit->status == OPC_OK;
}

static bool visit_note(const json_t *record, void *context) {
  opc_text_addf(context, "%s\n", opc_record_text(record, "message"));
  return true;
}

/* What is wrong with the run as a whole; NULL when nothing is. */
static const char *run_trouble(const opc_journal_summary_t *summary, const char **out_message) {
  if (!summary->complete) {
    *out_message = summary->damaged ? "the journal has damaged lines: results are missing"
                                    : "the run broke off: results are missing";
    return "harness.incomplete";
  }
  if (summary->exit_code == 5) {
    *out_message = "nothing was checked: no operators, none selected, or none could be called";
    return "harness.nothing_ran";
  }
  if (summary->exit_code == 3) {
    *out_message = "the harness could not do its work";
    return "harness.failed";
  }
  return NULL;
}

static void write_run_suite(junit_t *junit) {
  const char *message = NULL, *type = run_trouble(&junit->summary, &message);
  opc_journal_counts_t counts = {.error = type != NULL};
  double seconds = 0;
  count_operators(junit, NULL, &counts, &seconds);
  if (counts.pass + counts.fail + counts.skip + counts.error + counts.warnings == 0) return;
  junit->run_errors = type != NULL;
  if (junit->xml) {
    open_suite(junit, "opcheck-c", &counts, seconds);
    write_properties(junit);
  }
  if (type) {
    open_testcase(junit, NULL, "opcheck-c", "run", 0);
    if (junit->xml) {
      opc_text_t text = {0};
      opc_text_addf(&text, "%s\n", message);
      opc_status_t status = opc_journal_reader_each(junit->journal, "note", visit_note, &text, junit->error);
      if (junit->status == OPC_OK) junit->status = status;
      write_error(junit, type, message, &text);
      opc_text_clear(&text);
      close_element(junit);
    }
  }
  write_operators(junit, NULL);
  if (junit->xml) close_element(junit);
}

/* Both passes walk the same way, so that the names that were looked at are the names that are written. */
static void walk(junit_t *junit) {
  json_object_clear(junit->suites);
  opc_status_t status = opc_journal_reader_each(junit->journal, "library", visit_library, junit, junit->error);
  if (junit->status == OPC_OK) junit->status = status;
  if (junit->status == OPC_OK) write_run_suite(junit);
}

static void write_document(junit_t *junit, FILE *stream) {
  const opc_journal_summary_t *summary = &junit->summary;
  xmlOutputBufferPtr buffer = xmlOutputBufferCreateIO(write_bytes, NULL, junit, NULL);
  junit->stream = stream;
  junit->xml = buffer ? xmlNewTextWriter(buffer) : NULL;
  if (!junit->xml) {
    if (buffer) xmlOutputBufferClose(buffer);
    junit->status = opc_error_set(junit->error, OPC_ERR_MEMORY, "out of memory while writing the JUnit report");
    return;
  }
  uint64_t errors = summary->error + summary->libraries_failed + junit->run_errors;
  check_written(junit, xmlTextWriterSetIndent(junit->xml, 1));
  check_written(junit, xmlTextWriterStartDocument(junit->xml, NULL, "UTF-8", NULL));
  open_element(junit, "testsuites");
  attribute(junit, "name", "opcheck-c");
  count_attribute(junit, "tests", summary->pass + summary->fail + summary->skip + summary->warnings + errors);
  count_attribute(junit, "failures", summary->fail);
  count_attribute(junit, "errors", errors);
  time_attribute(junit, summary->seconds);
  walk(junit);
  if (junit->status == OPC_OK) check_written(junit, xmlTextWriterEndDocument(junit->xml));
  xmlFreeTextWriter(junit->xml); /* flushes */
  errno = junit->cause;
  if (junit->cause && junit->status == OPC_OK)
    junit->status =
        opc_error_set(junit->error, OPC_ERR_IO, "cannot write the JUnit report: %s", strerror(junit->cause));
}

static opc_status_t write_junit(opc_journal_reader_t *journal, FILE *stream, opc_error_t *error) {
  junit_t junit = {.journal = journal, .suites = json_object(), .error = error};
  opc_journal_reader_summary(journal, &junit.summary);
  junit.status = opc_journal_reader_first(journal, "run", &junit.run, error);
  if (junit.status == OPC_OK) junit.status = opc_journal_reader_first(journal, "tool", &junit.tool, error);
  if (junit.status == OPC_OK) walk(&junit);
  opc_hash_set_clear(&junit.names);
  if (junit.status == OPC_OK) write_document(&junit, stream);
  json_decref(junit.suites);
  json_decref(junit.run);
  json_decref(junit.tool);
  opc_text_clear(&junit.text);
  return junit.status;
}

const opc_report_t opc_report_junit = {"junit", "results as JUnit XML, for CI dashboards", write_junit};
