/* What an object says of itself: the values of all its methods that want no arguments. Two objects of one class are
 * compared by them.
 *
 * Ownership: opc_class_state_clear. Threads: one. A method may change the object: take each object's state once, in the
 * same way. */
#ifndef OPC_CHECKS_OBJECTS_CLASS_STATE_H
#define OPC_CHECKS_OBJECTS_CLASS_STATE_H

#include "checks/call/result.h"

typedef struct opc_class_view {
  const char *method; /* the operator's */
  opc_call_outcome_t outcome;
  opc_call_t call; /* its returns alone */
  opc_result_t result;
} opc_class_view_t;

typedef struct opc_class_state {
  opc_class_view_t *views;
  size_t count;
} opc_class_state_t;

/* phase gets each method's name before the method runs. */
opc_status_t opc_class_state_take(const opc_operator_t *op, const opc_object_t *object, void (*phase)(const char *what),
                                  opc_class_state_t *out, opc_error_t *error) OPC_CHECKED;
void opc_class_state_clear(opc_class_state_t *state);
/* The first method on which the two differ, though `control`, of an object made like `left`'s, agrees with `left`; -1:
 * there is none. text (may be NULL) says how. *out_compared: methods that were compared. */
int opc_class_state_compare(const opc_class_state_t *left, const opc_class_state_t *control,
                            const opc_class_state_t *right, const char *right_name, opc_text_t *text,
                            size_t *out_compared);
/* The first method whose tensors share storage between the two, though those of left and control do not; -1: there is
 * none. */
int opc_class_state_shared(const opc_class_state_t *left, const opc_class_state_t *control,
                           const opc_class_state_t *right);

#endif
