#include "catalogue/case_kernel.h"

#include <string.h>

/* Kernels for all devices, which run where there is no other. */
#define COMPOSITE "CompositeExplicitAutograd", "CompositeImplicitAutograd"

static const struct {
  const char *check;
  opc_case_kernel_t kernel;
} of_checks[] = {{"meta", {"Meta kernel", {"Meta", COMPOSITE}}},
                 {"symbolic", {"Meta kernel", {"Meta", COMPOSITE}}},
                 {"fake", {"fake kernel", {"Meta", COMPOSITE}}},
                 {"autograd", {"derivative", {"Autograd", "AutogradCPU", "AutogradCUDA", "CompositeImplicitAutograd"}}},
                 {"vmap", {"rule for torch.vmap", {"FuncTorchBatched"}}},
                 {"autocast", {"autocast kernel", {"AutocastCPU"}}},
                 {"registration", {NULL, {NULL}}},
                 {"tags", {NULL, {NULL}}}};

static const struct {
  const char *device;
  opc_case_kernel_t kernel;
} of_devices[] = {{"cpu", {"CPU kernel", {"CPU", COMPOSITE}}},
                  {"cuda", {"CUDA kernel", {"CUDA", COMPOSITE}}},
                  {"cuda-sim", {"CUDA kernel", {"CUDA", COMPOSITE}}}};

const opc_case_kernel_t *opc_case_kernel_of(const opc_case_id_t *id) {
  for (size_t i = 0; i < sizeof of_checks / sizeof *of_checks; i++)
    if (strcmp(of_checks[i].check, id->check) == 0) return of_checks[i].kernel.text ? &of_checks[i].kernel : NULL;
  for (size_t i = 0; i < sizeof of_devices / sizeof *of_devices; i++)
    if (strcmp(of_devices[i].device, id->device) == 0) return &of_devices[i].kernel;
  return NULL;
}

const opc_kernel_t *opc_case_kernel_find(const opc_case_id_t *id, const opc_operator_t *op) {
  const opc_case_kernel_t *wanted = opc_case_kernel_of(id);
  for (size_t i = 0; wanted && i < OPC_CASE_KERNEL_KEYS && wanted->keys[i]; i++)
    if (opc_operator_has_kernel(op, wanted->keys[i])) return opc_operator_kernel(op, wanted->keys[i]);
  return NULL;
}
