/* Gives a finding the rule and severity that the standing of its case allows (checks/catalogue/severity.h), before it
 * is counted and written.
 *
 * Ownership: changes the result in place. Threads: one. Errors: none; without memory it stays as it was. */
#ifndef OPC_SUPERVISE_SESSION_JUDGE_H
#define OPC_SUPERVISE_SESSION_JUDGE_H

#include <jansson.h>
#include <stdbool.h>

#include "model/case/case.h"
#include "model/case/standing.h"

/* The standing that a result states; voucher NONE where it states none. */
opc_standing_t opc_result_standing(const json_t *result, const opc_case_id_t *id);

/* For a fail or error. The strongest of the rule and those of evidence "also" becomes the rule. A finding that only
 * valid input would make an error becomes memory.unchecked_arguments, with evidence "seen" (write, crash, read, hang,
 * memory), "seen_rule" (the rule before) and "argument" (the one that was varied; left out where it is not one). */
void opc_result_judge(json_t *result, const opc_case_id_t *id, bool untrusted_input);

/* Notes the control of a finding under another layout: the case with the same logical values in plain layout, and
 * whether it was clean. opc_result_judge reads it. */
void opc_result_note_control(json_t *result, const char *control_case, bool held);
/* Notes that the sample itself left its tensors, crashed or hung in this case: its variants are as good as it is. */
void opc_result_note_broken_base(json_t *result, const char *base_case);
/* Notes that the operator leaves its tensors on every input that it accepts: no argument is to blame for the access. */
void opc_result_note_every_input(json_t *result);

#endif
