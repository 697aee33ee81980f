/* Gives a finding the rule and severity that the standing of its case allows (catalogue/severity.h), before it
 * is counted and written.
 *
 * Ownership: changes the result in place. Threads: one. Errors: none; if memory runs out, the result is unchanged. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "model/case/case.h"
#include "model/case/standing.h"

/* The standing given in a result; voucher NONE: none given. */
opc_standing_t opc_result_standing(const json_t *result, const opc_case_id_t *id);

/* For a fail or error. The most severe of the rule and those in evidence "also" becomes the rule. A finding that would
 * be an error only for valid input becomes memory.unchecked_arguments, with evidence "seen" (write, crash, read, hang,
 * memory), "seen_rule" (the original rule) and "argument" (the varied one; omitted if it is not a single one). */
void opc_result_judge(json_t *result, const opc_case_id_t *id, bool untrusted_input);

/* Records the control of a finding with another layout: the case with the same logical values in plain layout, and
 * whether it was clean. opc_result_judge reads it. */
void opc_result_note_control(json_t *result, const char *control_case, bool held);
/* Records that the unmodified sample went out of bounds, crashed or hung in this case: its variants are no less
 * valid. */
void opc_result_note_broken_base(json_t *result, const char *base_case);
/* Records that the operator goes out of bounds on every accepted input: no argument is to blame for the access. */
void opc_result_note_every_input(json_t *result);
/* Another layout of the case's sample shows that an index is too large for the sizes (supervise/jobs/kept_layouts.h).
 */
void opc_result_note_index_beyond(json_t *result);
