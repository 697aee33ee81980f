/* Checks custom classes: each constructor is an operator of its own kind, and gets arguments if no sample file has any.
 *
 * Ownership: the operators are the loaded libraries', samples go to the session. Threads: one. */
#ifndef OPC_SUPERVISE_SESSION_CLASSES_H
#define OPC_SUPERVISE_SESSION_CLASSES_H

#include "supervise/session/session.h"

/* Fills class_operators. Omits a class with the name of an operator. */
opc_status_t opc_classes_take(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* Simple arguments for a constructor, unless it has a sample: several sets, so that one may fit. */
opc_status_t opc_class_samples(opc_session_t *session, const opc_operator_t *op, opc_error_t *error) OPC_CHECKED;

#endif
