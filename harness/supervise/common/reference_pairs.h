/* --reference OPERATOR=REFERENCE: another operator computes what is right. A `*` on both sides stands for the same
 * text: my_ops::fast_*=my_ops::slow_*.
 *
 * Threads: any. */
#pragma once

#include "model/sample/sample.h"
#include "supervise/common/run_options.h"

/* OPC_ERR_USAGE: it is not of that form; the error says what is. */
opc_status_t opc_reference_pair_check(const char *pair, opc_error_t *error) OPC_CHECKED;
/* The reference of this operator by the pair, for the caller to free. NULL: the pair is about other operators, or there
 * is no memory. */
char *opc_reference_of_pair(const char *pair, const char *operator_name);
/* Gives the sample the reference of the first pair that names its operator. Leaves a reference of its own, and a sample
 * that must be rejected. */
void opc_reference_give(const opc_run_options_t *options, opc_sample_t *sample);
