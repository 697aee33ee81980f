/* The observable state of an object: the values of all its methods that need no arguments. Used to compare two objects
 * of a class.
 *
 * Ownership: opc_class_state_clear. Threads: one. A method may change the object, so take each object's state once, in
 * the same way. */
#pragma once

#include "checks/call/call.h"
#include "model/case/case.h"

typedef struct opc_class_view {
  const char *method; /* owned by the operator */
  opc_call_outcome_t outcome;
  opc_call_t call; /* only its returns */
  opc_result_t result;
} opc_class_view_t;

typedef struct opc_class_state {
  opc_class_view_t *views;
  size_t count;
} opc_class_state_t;

/* announce gets each method's name before the method runs. */
opc_status_t opc_class_state_take(const opc_operator_t *op, const opc_object_t *object,
                                  void (*announce)(opc_call_label_t label), opc_class_state_t *out,
                                  opc_error_t *error) OPC_CHECKED;
void opc_class_state_clear(opc_class_state_t *state);
/* The first method on which left and right differ while left and `control` agree; -1: none. `control` is the state of
 * an object made in the same way as left's. text (may be NULL) says how they differ. *out_compared: number of compared
 * methods. */
int opc_class_state_compare(const opc_class_state_t *left, const opc_class_state_t *control,
                            const opc_class_state_t *right, const char *right_name, opc_text_t *text,
                            size_t *out_compared);
/* The first method whose tensors share storage between left and right, but not between left and control; -1: none. */
int opc_class_state_shared(const opc_class_state_t *left, const opc_class_state_t *control,
                           const opc_class_state_t *right);
