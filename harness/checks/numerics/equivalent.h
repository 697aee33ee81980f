/* The parts of check equivalent. Those with a context decide the finding.
 *
 * Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* Whether NaN reaches the result from elements that the operator ignores. A mask, a length or an index decides which
 * elements of another tensor count. An element that may hold any number without a change in the result is ignored. With
 * NaN in it the result must be the same too; it is not if the operator multiplies such elements by 0. */
opc_status_t opc_equivalent_ignored(opc_case_context_t *context, opc_finding_t *finding,
                                    opc_error_t *error) OPC_CHECKED;

/* For the unmodified sample: whether the operator reads only 32 bits of its int64 numbers. */
opc_status_t opc_equivalent_narrow(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* For a file's unmodified sample, whose result is `plain`: whether elements are NaN whatever finite numbers the
 * floating tensors hold. Decides the finding only if it fails. */
opc_status_t opc_equivalent_nan(opc_case_context_t *context, const opc_result_t *plain, opc_finding_t *finding,
                                opc_error_t *error) OPC_CHECKED;

/* For a sample in float64: whether the operator keeps fewer bits of a number argument (float, Scalar) than its tensors
 * have. */
opc_status_t opc_equivalent_float(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
/* For a sample with int64 tensors, whose values are `values`: the same for integral Scalars. Sets *out_compared if one
 * could be compared. */
opc_status_t opc_equivalent_integer(opc_case_context_t *context, opc_replay_t *values, bool *out_compared,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* Whether the operator keeps an integer of a number argument (float, Scalar) with a fraction. `values`: of the sample.
 * integers: they are integers, and not floating. Decides the finding only if it fails. */
opc_status_t opc_equivalent_cut(opc_case_context_t *context, opc_replay_t *values, bool integers,
                                opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
/* Runs the case's sample with another value of one argument, which becomes the callee's. *out is empty unless the call
 * returned. */
opc_status_t opc_equivalent_with_number(opc_case_context_t *context, opc_replay_t *values, size_t argument,
                                        opc_value_t value, opc_result_t *out, bool *out_returned,
                                        opc_error_t *error) OPC_CHECKED;

/* For larger samples: whether equal inputs give equal results at every position. All elements, rows or columns of the
 * arguments are made equal. An operator that treats each of them alone then gives equal ones. Code for a border, or for
 * the remainder after whole vectors or tiles, may give something else at a few positions. Operators that depend on the
 * position by definition are recognised: they differ at most positions, or a changed position shows at others. */
opc_status_t opc_equivalent_uneven(opc_case_context_t *context, opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* Whether what lies past the end of a row, by an argument of lengths, changes the result. Such an argument says how
 * many elements of each row of a batch count. It is recognised by its name, and by the learned relation that its
 * integers are at most the size of the other dimension of the batch.
 *
 * Changes the values of again->replay, and restores them. Decides the finding only if it fails; adds the number of rows
 * that were tried to *out_rows. `call`: one with the values of the replay. Only batches of integers, or only the
 * others. */
opc_status_t opc_equivalent_padding(const opc_again_t *again, const opc_call_t *call, bool integers, size_t *out_rows,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
