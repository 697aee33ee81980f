/* Converts a compute-sanitizer record to a finding: its rule, a sentence, and the stacks.
 *
 * Threads: one. */
#pragma once

#include <jansson.h>

#include "supervise/tools/sanitize_xml.h"

/* The compute-sanitizer tools that --sanitize accepts: "memcheck", …; NULL-terminated. */
extern const char *const opc_sanitize_tools[];

/* "sanitize.invalid_write"; unknown kinds give "sanitize.suspicious". */
const char *opc_sanitize_rule(const char *tool, const opc_sanitize_record_t *record);
/* An array of findings {"rule", "message", "severity", "frames", "device_frames", "sanitizer": {"tool", "kind", "text",
 * "records", "places"}}, one per rule, for its first record; errors before warnings. New reference; NULL: out of
 * memory. */
json_t *opc_sanitize_findings(const char *tool, const opc_sanitize_records_t *records);
