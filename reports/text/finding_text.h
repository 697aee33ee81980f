/* What a finding says, in words: where it is, what its evidence shows, why its input was tried.
 *
 * Ownership: the caller's opc_text_t. Threads: pure functions. */
#pragma once

#include "reports/problems/problems.h"

/* Adds "sum (scale.cpp:12) in libmy_ops.so" if the finding names a place in the code, with "Meta kernel" before it if
 * that is the kernel that its check looks at; else where that kernel was registered; else where the operator was,
 * "registered at ops.cpp:5 in libmy_ops.so". Adds nothing if none is known. `op`: the operator's record. */
void opc_finding_place(const opc_case_result_t *result, const json_t *op, opc_text_t *out);
/* Where the kernel that the case looks at was registered, else the operator, as the journal has it; "": not known. */
const char *opc_finding_registration(const opc_case_result_t *result, const json_t *op);

/* A line for each part of a finding's evidence that a person reads: "input: x = float32[5, 3]". The rest of it, and
 * what is too long, is in the JSON report. */
void opc_evidence_text(const json_t *evidence, opc_text_t *out);
/* "x = float32[5, 3], y = 2": input as the evidence has it. */
void opc_input_text(const json_t *input, opc_text_t *out);
/* Adds who vouches for the input, what was changed, and why such an input was tried; nothing where that is not known.
 */
void opc_finding_tried(const opc_case_result_t *result, opc_text_t *out);
