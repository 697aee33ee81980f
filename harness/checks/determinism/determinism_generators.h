/* Inside check determinism: the state of the default generators before and after a call.
 *
 * Ownership: opc_generators_clear. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* Finds whether a call draws numbers from a default generator that it may use on its device: keep the states, make the
 * call with the context's seed, then ask. */
typedef struct opc_generators {
  struct opc_generator_state {
    void *bytes;
    size_t size;
  } states[2]; /* of the CPU, and of the device if that is another */
} opc_generators_t;
opc_status_t opc_generators_keep(const opc_case_context_t *context, opc_generators_t *out,
                                 opc_error_t *error) OPC_CHECKED;
opc_status_t opc_generators_used(const opc_case_context_t *context, const opc_generators_t *kept, bool *out_used,
                                 opc_error_t *error) OPC_CHECKED;
void opc_generators_clear(opc_generators_t *generators);
