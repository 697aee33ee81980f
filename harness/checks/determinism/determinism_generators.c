#include "checks/determinism/determinism_generators.h"

#include <stdlib.h>
#include <string.h>

static opc_status_t generators_read(const opc_case_context_t *context, opc_generators_t *out, opc_error_t *error) {
  const opc_device_t devices[2] = {{.type = OPC_DEVICE_CPU, .index = -1}, context->device};
  opc_status_t status = OPC_OK;
  *out = (opc_generators_t){0};
  for (int i = 0; status == OPC_OK && i < 2; i++)
    if (i == 0 || devices[i].type != OPC_DEVICE_CPU)
      status = opc_bridge_generator_state(devices[i], &out->states[i].bytes, &out->states[i].size, error);
  if (status != OPC_OK) opc_generators_clear(out);
  return status;
}

opc_status_t opc_generators_keep(const opc_case_context_t *context, opc_generators_t *out, opc_error_t *error) {
  opc_bridge_seed(context->seed);
  return generators_read(context, out, error);
}

opc_status_t opc_generators_used(const opc_case_context_t *context, const opc_generators_t *kept, bool *out_used,
                                 opc_error_t *error) {
  opc_generators_t now;
  opc_status_t status = generators_read(context, &now, error);
  *out_used = false;
  for (int i = 0; status == OPC_OK && i < 2; i++)
    *out_used |= kept->states[i].size && memcmp(kept->states[i].bytes, now.states[i].bytes, kept->states[i].size) != 0;
  if (status == OPC_OK) opc_generators_clear(&now);
  return status;
}

void opc_generators_clear(opc_generators_t *generators) {
  for (int i = 0; i < 2; i++) free(generators->states[i].bytes);
  *generators = (opc_generators_t){0};
}
