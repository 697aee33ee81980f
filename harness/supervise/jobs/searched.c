#include "supervise/jobs/searching.h"

#include <string.h>

int opc_search_round_budget(int round) {
  static const int budgets[OPC_SEARCH_ROUNDS + 1] = {300, 900, 1800, 60};
  return budgets[round - 1];
}

opc_searched_t *opc_search_found(const opc_session_t *session, const opc_operator_t *op) {
  const opc_loaded_t *loaded = &session->loaded;
  if (!session->found || op->kind == OPC_OPERATOR_LIBRARY) return NULL; /* a file has no arguments */
  if (op->kind == OPC_OPERATOR_CLASS)
    return &session->found[loaded->operator_count + (size_t)(op - loaded->class_operators)];
  size_t index = (size_t)(op - loaded->operators);
  return index < loaded->operator_count ? &session->found[index] : NULL;
}

/* The operator has a kernel for any device. It may be a CUDA kernel that was registered without naming its device. */
static bool is_composite(const opc_operator_t *op) {
  return opc_operator_has_kernel(op, "CompositeExplicitAutograd") ||
         opc_operator_has_kernel(op, "CompositeImplicitAutograd") ||
         opc_operator_has_kernel(op, "CompositeExplicitAutogradNonFunctional");
}

/* A kernel at Autograd calls the kernel of the device. */
static bool is_for_cuda_alone(const opc_operator_t *op) {
  return opc_operator_has_kernel(op, "CUDA") && !opc_operator_has_kernel(op, "CPU") && !is_composite(op);
}

const char *opc_search_device(const opc_session_t *session, const opc_operator_t *op) {
  size_t i;
  json_t *device;
  const opc_searched_t *found = opc_search_found(session, op);
  const bool wants_cuda = found && found->wants_cuda && (opc_operator_has_kernel(op, "CUDA") || is_composite(op));
  if (!is_for_cuda_alone(op) && !wants_cuda) return OPC_MODE_CPU;
  json_array_foreach(session->devices, i, device) {
    if (strcmp(json_string_value(device), OPC_MODE_CPU) != 0) return json_string_value(device);
  }
  return OPC_MODE_CPU;
}

/* For every device they are tried on the CPU. */
bool opc_search_is_guarded(const opc_session_t *session, const opc_operator_t *op) {
  /* Under Valgrind a try takes fifty times as long. */
  return session->calls && !session->memcheck && !session->sanitize && op->schema && op->kind == OPC_OPERATOR &&
         opc_operator_serves(op, OPC_DEVICE_CPU) && strcmp(opc_search_device(session, op), OPC_MODE_CPU) == 0;
}
