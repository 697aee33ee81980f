/* Whether operators have a derivative where libtorch looks for one: this one, and the others of its library.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* Whether a call with tensors of the device reaches a registered derivative: first the device's own Autograd key, then
 * the alias keys, as in c10's OperatorEntry::computeDispatchTableEntry. */
bool opc_autograd_is_registered(const opc_operator_t *op, opc_device_t device);

/* Of the library's other operators: those that take and return tensors, without those that compute gradients. */
typedef struct opc_autograd_others {
  size_t count, with; /* with: they have a derivative */
  bool expected; /* this one is such an operator itself, writes no argument, and at least half of the others have one */
} opc_autograd_others_t;
opc_autograd_others_t opc_autograd_others(const opc_operator_t *op, opc_device_t device);
