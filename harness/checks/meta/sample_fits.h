/* Whether the arguments of a searched sample fit together. Nobody vouches for them: a kernel whose arithmetic
 * broadcasts and promotes takes arguments that its fake kernel was never written for. So a difference between the two
 * kernels counts only on arguments that leave the real one nothing to broadcast, to promote or to look up.
 *
 * Threads: one. Ownership: nothing is kept. */
#pragma once

#include "checks/framework/check.h"

/* Calls both kernels on the context's sample. *out: both return, and their results agree. */
typedef opc_status_t opc_kernels_agree_t(opc_case_context_t *context, bool *out, opc_error_t *error);

/* The case is an unmodified sample that a search found: nobody vouches for it. */
bool opc_sample_is_only_searched(const opc_case_context_t *context);

/* real: a call with the context's sample, which returned. *out false:
 *
 * - a tensor has a dimension of 1, which may stand for another size: what is learned of the sample says nothing of it;
 * - a list of integers is given: it may not fit the numbers of dimensions;
 * - a tensor lacks dimensions of an output, and with them the kernels agree: it was broadcast;
 * - the tensors have several dtypes of a kind, and with one of them the kernels agree: they were promoted;
 * - with floating numbers in place of all integers, or of one tensor's beside floating ones, the kernels agree:
 * integers are taken by accident, or promoted;
 * - with other numbers in the tensors an output has another shape: it follows values, which a search cannot know.
 *
 * Calls the operator on arguments of its own, on guarded memory. */
opc_status_t opc_sample_fits(opc_case_context_t *context, const opc_call_t *real, opc_kernels_agree_t *agree, bool *out,
                             opc_error_t *error) OPC_CHECKED;
