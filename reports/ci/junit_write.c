#include "reports/ci/junit_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reports/problems/problem_merge.h"
#include "reports/text/finding_text.h"
#include "reports/text/screen.h"

/* ---- writing, with one sticky status ---- */

/* libxml2 reports a failed write on stderr and forgets the cause; so this function hides the failure from it. */
int opc_junit_bytes(void *context, const char *bytes, int length) {
  opc_junit_t *junit = context;
  if (junit->cause == 0 && fwrite(bytes, 1, (size_t)length, junit->stream) != (size_t)length)
    junit->cause = errno ? errno : EIO;
  return length;
}

void opc_junit_keep(opc_junit_t *junit, opc_status_t status) {
  if (!junit->status) junit->status = status;
}

void opc_junit_written(opc_junit_t *junit, int result) {
  if (result < 0 && !junit->status)
    junit->status = opc_error_set(junit->error, OPC_ERR_IO, "cannot write the JUnit report");
}

void opc_junit_open(opc_junit_t *junit, const char *name) {
  opc_junit_written(junit, xmlTextWriterStartElement(junit->xml, BAD_CAST name));
}
void opc_junit_close(opc_junit_t *junit) { opc_junit_written(junit, xmlTextWriterEndElement(junit->xml)); }

void opc_junit_attribute(opc_junit_t *junit, const char *name, const char *value) {
  opc_text_reset(&junit->text);
  opc_xml_text_add(&junit->text, value, strlen(value));
  opc_junit_written(junit, xmlTextWriterWriteAttribute(junit->xml, BAD_CAST name, BAD_CAST opc_text_c(&junit->text)));
}

void opc_junit_message(opc_junit_t *junit, const char *value) {
  opc_text_reset(&junit->text);
  opc_xml_text_message(&junit->text, value, strlen(value));
  opc_junit_written(junit,
                    xmlTextWriterWriteAttribute(junit->xml, BAD_CAST "message", BAD_CAST opc_text_c(&junit->text)));
}

void opc_junit_count(opc_junit_t *junit, const char *name, uint64_t value) {
  opc_junit_written(junit,
                    xmlTextWriterWriteFormatAttribute(junit->xml, BAD_CAST name, "%llu", (unsigned long long)value));
}

void opc_junit_time(opc_junit_t *junit, double seconds) {
  opc_junit_written(junit,
                    xmlTextWriterWriteFormatAttribute(junit->xml, BAD_CAST "time", "%.3f", seconds < 0 ? 0 : seconds));
}

void opc_junit_body(opc_junit_t *junit, const opc_text_t *value) {
  opc_text_reset(&junit->text);
  opc_xml_text_stream(&junit->text, opc_text_c(value), value->length);
  opc_junit_written(junit, xmlTextWriterWriteString(junit->xml, BAD_CAST opc_text_c(&junit->text)));
}

/* ---- names ---- */

/* "libops.so.1" -> "libops": a classname is dotted, so the stem holds no dot. */
void opc_junit_stem(opc_text_t *out, const char *path) {
  const char *name = opc_base_name(path);
  for (const char *end = name + opc_library_stem(name); name < end; name++)
    opc_text_add_bytes(out, *name == '.' ? "_" : name, 1);
}

static void add_classname(opc_text_t *out, const char *library, const char *operator_name) {
  if (library) opc_junit_stem(out, library);
  if (library && operator_name) opc_text_add(out, ".");
  for (const char *at = operator_name; at && *at; at++) {
    bool colons = at[0] == ':' && at[1] == ':';
    opc_text_add_bytes(out, colons ? "." : at, 1);
    if (colons) at++;
  }
}

/* A reader that finds a name twice shows only one of the two: a result would be lost. */
static void claim_name(opc_junit_t *junit, const char *classname, const char *name) {
  bool added = true;
  opc_text_t both = {0};
  opc_text_addf(&both, "%s\n%s", classname, name);
  if (!junit->status)
    junit->status = opc_hash_set_add(&junit->names, opc_text_c(&both), both.length, &added, junit->error);
  if (!added)
    junit->status = opc_error_set(junit->error, OPC_ERR_PROTOCOL, "the journal holds two results of one case, %s in %s",
                                  name, classname);
  opc_text_clear(&both);
}

void opc_junit_testcase(opc_junit_t *junit, const char *library, const char *operator_name, const char *name,
                        double seconds) {
  opc_text_t classname = {0};
  add_classname(&classname, library, operator_name);
  if (junit->xml) {
    opc_junit_open(junit, "testcase");
    opc_junit_attribute(junit, "classname", opc_text_c(&classname));
    opc_junit_attribute(junit, "name", name);
    opc_junit_time(junit, seconds);
  } else {
    claim_name(junit, opc_text_c(&classname), name);
  }
  opc_text_clear(&classname);
}

/* ---- testcases ---- */

static void add_line(opc_text_t *out, const char *label, const char *value) {
  if (*value) opc_text_addf(out, "%s: %s\n", label, value);
}

/* Writes the body of a failure: enough to act on without the other reports. */
static void junit_write_describe(opc_text_t *out, const opc_case_result_t *result) {
  const opc_rule_t *rule = opc_rule_of(result->rule);
  if (result->suspect) opc_text_add(out, "Not confirmed: the run stopped early.\n");
  opc_text_addf(out, "\nrule: %s, %s\n", opc_rule_name(result->rule), rule->title);
  add_line(out, "why", rule->why);
  add_line(out, "case", result->case_id);
  json_auto_t *evidence = opc_case_result_evidence(result);
  opc_evidence_text(evidence, out);
  if (result->repro) add_line(out, "repro", result->repro);
  opc_text_addf(out, "more: opcheck-c explain %s\n", rule->name);
}

/* "the bits differ, at sum (scale.cpp:12)" */
static void junit_write_message(opc_junit_t *junit, const opc_case_result_t *result) {
  opc_code_place_t place;
  OPC_SCOPED(opc_text_clear) opc_text_t message = {0};
  opc_text_add(&message, result->message);
  if (opc_code_place_of(result, junit->op ? junit->op->library : NULL, &place) && *place.text &&
      !strstr(result->message, place.text))
    opc_text_addf(&message, ", at %s", place.text);
  opc_junit_message(junit, opc_text_c(&message));
}

void opc_junit_finding(opc_junit_t *junit, const char *element, const opc_case_result_t *result,
                       const opc_text_t *problems) {
  opc_text_t text = {0};
  bool warning = strcmp(element, "system-out") == 0;
  if (warning) opc_text_add(&text, "WARNING: ");
  if (problems) opc_text_addf(&text, "%s\nThe simplest case of this check:", opc_text_c(problems));
  /* Mostly the first problem's own message has it already. */
  if (!problems || !strstr(opc_text_c(problems), result->message))
    opc_text_addf(&text, "%s%s", problems ? " " : "", result->message);
  opc_text_add(&text, "\n");
  junit_write_describe(&text, result);
  opc_junit_open(junit, element);
  if (!warning) {
    opc_junit_attribute(junit, "type", opc_rule_name(result->rule));
    junit_write_message(junit, result);
  }
  opc_junit_body(junit, &text);
  opc_junit_close(junit);
  opc_text_clear(&text);
}

void opc_junit_skip(opc_junit_t *junit, const char *reason, const char *message) {
  opc_text_t text = {0};
  opc_text_addf(&text, "%s%s%s", reason, *message ? ": " : "", message);
  opc_junit_open(junit, "skipped");
  opc_junit_attribute(junit, "type", reason);
  opc_junit_message(junit, opc_text_c(&text));
  opc_junit_close(junit);
  opc_text_clear(&text);
}

void opc_junit_known(opc_junit_t *junit, const char *known_as) {
  opc_junit_open(junit, "skipped");
  opc_junit_attribute(junit, "type", "known");
  opc_junit_message(junit, known_as ? known_as : "known");
  opc_junit_close(junit);
}

void opc_junit_error(opc_junit_t *junit, const char *type, const char *message, const opc_text_t *text) {
  opc_junit_open(junit, "error");
  opc_junit_attribute(junit, "type", type);
  opc_junit_message(junit, message);
  opc_junit_body(junit, text);
  opc_junit_close(junit);
}
