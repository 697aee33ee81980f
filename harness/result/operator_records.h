/* Records of a journal (reports/journal/journal_reader.h) from what the JSON report of the same run says of an
 * operator. For whoever takes results of an earlier run into another journal.
 *
 * Ownership: new references. Threads: any. */
#pragma once

#include "result/case_result.h"

/* item: of "operators". *out NULL: it says nothing. */
opc_status_t opc_operator_source_record(const char *name, const json_t *item, json_t **out,
                                        opc_error_t *error) OPC_CHECKED;
/* item: of "operators" or "classes". *out NULL: it says nothing. */
opc_status_t opc_operator_coverage_record(const char *name, const json_t *item, json_t **out,
                                          opc_error_t *error) OPC_CHECKED;
