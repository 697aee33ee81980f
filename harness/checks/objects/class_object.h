/* An object of the class under check, and calls of its methods with arguments that they accept.
 *
 * Ownership: opc_class_made_clear, opc_class_method_clear; zeroed ones are empty and valid. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* An object, and the arguments from which it was made; it may hold them. */
typedef struct opc_class_made {
  opc_call_t call;
  opc_object_t *object; /* NULL: call.outcome says why */
} opc_class_made_t;

opc_status_t opc_class_object_make(opc_case_context_t *context, opc_class_made_t *out, opc_error_t *error) OPC_CHECKED;
void opc_class_made_clear(opc_class_made_t *made);

/* The schema of a method, without self. */
typedef struct opc_class_method {
  opc_operator_t op;
  size_t all; /* arguments, with self: it is beyond op's count */
} opc_class_method_t;

/* The schema without self, under the method's name. */
opc_status_t opc_class_method_read(const opc_method_t *method, opc_class_method_t *out, opc_error_t *error) OPC_CHECKED;
void opc_class_method_clear(opc_class_method_t *method);
/* Calls it with simple arguments, and then with what its messages ask for, until it accepts some: always the same
 * calls. object NULL: another one for each call. OPC_ERR_UNSUPPORTED: some type has no value. */
opc_status_t opc_class_method_call(opc_case_context_t *context, const opc_object_t *object,
                                   const opc_operator_t *method, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
