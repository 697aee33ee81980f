/* Checks custom classes: each constructor is an operator of its own kind, and gets simple arguments if no sample file
 * has any and the search found none.
 *
 * Ownership: the operators are the loaded libraries', the samples the caller's. Threads: one. */
#pragma once

#include "supervise/session/session.h"

/* Fills class_values, and class_operators. The latter omits a class with the name of an operator. */
opc_status_t opc_classes_take(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* Adds simple arguments for a constructor: several sets, so that one may fit. */
opc_status_t opc_class_samples(const opc_session_t *session, const opc_operator_t *op, opc_sample_set_t *out,
                               opc_error_t *error) OPC_CHECKED;
