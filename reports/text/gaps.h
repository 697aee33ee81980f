/* What no call of an operator reached, as a person says it: "`x` was tried with 1 dimension only".
 *
 * Threads: any. Ownership: the caller's. */
#pragma once

#include <jansson.h>

#include "base/text.h"

/* Appends the gaps that matter, separated by "; "; nothing if there are none. op: the record of the operator or class;
 * coverage: its coverage record (reports/journal/journal_reader.h). */
void opc_gaps_of(const json_t *op, const json_t *coverage, opc_text_t *out);
