/* A longer sample for check dtype: more elements than a narrow dtype can count or add up.
 *
 * Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* How many times as many elements it takes until this dtype cannot count or add them up: float16 overflows at 65,520,
 * bfloat16 counts to 256. */
int64_t opc_dtype_many_factor(opc_dtype_t dtype);
/* The sample of `again` with so many times as many elements in the last dimension of its first tensor, and in all of
 * that size; its values repeat. *out_can false: there is none, or the operator seems to take long or to return much:
 * nothing was made. The caller clears both. */
opc_status_t opc_dtype_many(const opc_again_t *again, int64_t factor, opc_sample_t *sample, opc_replay_t *values,
                            bool *out_can, opc_error_t *error) OPC_CHECKED;
/* Calls with it. *out_quick false: it refused, or took so long that a comparison would seem to hang. The caller clears
 * the result. */
opc_status_t opc_dtype_try_many(const opc_again_t *many, opc_result_t *out, bool *out_quick,
                                opc_error_t *error) OPC_CHECKED;
/* Makes floating values positive, and equal ones different. */
void opc_dtype_make_positive(opc_replay_t *values);
