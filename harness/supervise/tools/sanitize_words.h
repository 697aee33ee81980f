/* Converts a compute-sanitizer record to a finding: its rule, a sentence, and the stacks.
 *
 * Threads: one. */
#pragma once

#include "result/case_result.h"
#include "supervise/tools/sanitize_xml.h"

/* The compute-sanitizer tools that --sanitize accepts: "memcheck", …; NULL-terminated. */
extern const char *const opc_sanitize_tools[];

/* "sanitize.invalid_write"; unknown kinds give "sanitize.suspicious". */
opc_rule_id_t opc_sanitize_rule(const char *tool, const opc_sanitize_record_t *record);
/* Adds findings, one per rule, for its first record; errors before warnings. `rest` has "frames", "device_frames", and
 * "sanitizer": {"tool", "kind", "text", "records", "places"}. */
opc_status_t opc_sanitize_findings(const char *tool, const opc_sanitize_records_t *records, opc_also_list_t *out,
                                   opc_error_t *error) OPC_CHECKED;
