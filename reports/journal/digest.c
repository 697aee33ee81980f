#include "reports/journal/digest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalogue/rules.h"
#include "model/case/case.h"

static void add_finding(opc_digest_t *digest, const json_t *record, const opc_case_id_t *id, bool warning) {
  const char *rule = opc_record_text(record, "rule");
  int complexity = opc_case_id_complexity(id);
  for (size_t i = 0; i < digest->finding_count; i++) {
    opc_digest_finding_t *known = &digest->findings[i];
    if (strcmp(opc_record_text(known->record, "rule"), rule) != 0 || known->warning != warning) continue;
    known->cases++;
    if (complexity < known->complexity) {
      json_decref(known->record);
      known->record = json_incref((json_t *)record);
      known->complexity = complexity;
    }
    return;
  }
  if (digest->finding_count == digest->finding_capacity) {
    size_t capacity = digest->finding_capacity ? digest->finding_capacity * 2 : 8;
    void *grown = realloc(digest->findings, capacity * sizeof *digest->findings);
    if (!grown) {
      digest->status = OPC_ERR_MEMORY;
      return;
    }
    digest->findings = grown;
    digest->finding_capacity = capacity;
  }
  digest->findings[digest->finding_count++] = (opc_digest_finding_t){
      .record = json_incref((json_t *)record), .complexity = complexity, .cases = 1, .warning = warning};
}

static opc_digest_check_t *check_of(opc_digest_t *digest, const char *name) {
  for (size_t i = 0; i < digest->check_count; i++)
    if (strcmp(digest->checks[i].name, name) == 0) return &digest->checks[i];
  /* A journal of ours never has more names than the table holds; further ones are counted together. */
  if (digest->check_count == OPC_DIGEST_CHECKS) return &digest->checks[OPC_DIGEST_CHECKS - 1];
  opc_digest_check_t *check = &digest->checks[digest->check_count++];
  snprintf(check->name, sizeof check->name, "%s", name);
  return check;
}

static void add_dtype(opc_digest_t *digest, const opc_case_id_t *id, int verdict, opc_skip_reason_t reason) {
  bool accepted = verdict == OPC_VERDICT_PASS || verdict == OPC_VERDICT_FAIL, crashed = verdict == OPC_VERDICT_ERROR;
  bool rejected = verdict == OPC_VERDICT_SKIP && reason == OPC_SKIP_REJECTED;
  if (!*id->dtype || !(accepted || crashed || rejected)) return;
  size_t at = 0;
  while (at < digest->dtype_count &&
         (strcmp(digest->dtypes[at].dtype, id->dtype) != 0 || strcmp(digest->dtypes[at].device, id->device) != 0))
    at++;
  if (at == OPC_DIGEST_DTYPES) return;
  opc_digest_dtype_t *row = &digest->dtypes[at];
  if (at == digest->dtype_count) {
    memcpy(row->dtype, id->dtype, sizeof row->dtype);
    memcpy(row->device, id->device, sizeof row->device);
    digest->dtype_count++;
  }
  row->accepted |= accepted;
  row->rejected |= rejected;
  row->crashed |= crashed;
}

static bool visit_result(const json_t *record, void *context) {
  opc_digest_t *digest = context;
  opc_case_id_t id = {0};
  if (opc_case_id_parse(opc_record_text(record, "case"), &id, NULL) != OPC_OK) id = (opc_case_id_t){0};
  opc_digest_check_t *check = check_of(digest, opc_record_text(record, "check"));
  bool warning = strcmp(opc_record_text(record, "severity"), opc_severity_name(OPC_SEVERITY_WARNING)) == 0;
  opc_skip_reason_t reason = opc_skip_reason_find(opc_record_text(record, "reason"));
  int verdict = opc_verdict_find(opc_record_text(record, "verdict"));
  switch (verdict) {
    case OPC_VERDICT_PASS:
      check->counts.pass++;
      break;
    case OPC_VERDICT_FAIL:
      if (warning) check->counts.warnings++;
      else check->counts.fail++;
      add_finding(digest, record, &id, warning);
      break;
    case OPC_VERDICT_SKIP:
      check->counts.skip++;
      check->skips[reason]++;
      if (!check->skip_details[reason])
        check->skip_details[reason] = opc_string_copy(opc_record_text(record, "message"));
      break;
    default:
      if (warning) check->counts.warnings++;
      else check->counts.error++;
      add_finding(digest, record, &id, warning);
      break;
  }
  if (strcmp(check->name, "dtype") == 0) add_dtype(digest, &id, verdict, reason);
  return digest->status == OPC_OK;
}

/* Findings come last in a journal, but the checks are shown in their own order. */
static int compare_checks(const void *left, const void *right) {
  const opc_digest_check_t *a = left, *b = right;
  int first = opc_check_info_find(a->name), second = opc_check_info_find(b->name);
  if (first < 0) first = INT_MAX;
  if (second < 0) second = INT_MAX;
  return first != second ? (first > second) - (first < second) : strcmp(a->name, b->name);
}

opc_status_t opc_digest_make(opc_journal_reader_t *journal, size_t operator_index, opc_digest_t *out,
                             opc_error_t *error) {
  *out = (opc_digest_t){0};
  opc_status_t status = opc_journal_reader_results(journal, operator_index, visit_result, out, error);
  if (status == OPC_OK && out->status != OPC_OK)
    status = opc_error_set(error, out->status, "out of memory while summing up results");
  qsort(out->checks, out->check_count, sizeof out->checks[0], compare_checks);
  return status;
}

void opc_digest_clear(opc_digest_t *digest) {
  for (size_t i = 0; i < digest->finding_count; i++) json_decref(digest->findings[i].record);
  free(digest->findings);
  for (size_t i = 0; i < digest->check_count; i++)
    for (size_t reason = 0; reason < OPC_SKIP_COUNT; reason++) free(digest->checks[i].skip_details[reason]);
  *digest = (opc_digest_t){0};
}
