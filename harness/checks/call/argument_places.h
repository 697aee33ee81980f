/* Memory for arguments at addresses that we choose, for check determinism and others that test whether a result depends
 * on addresses.
 *
 * Ownership: opc_places_free. Threads: one; the operator may free a tensor in any thread. */
#pragma once

#include "checks/call/call.h"

/* Memory for a sample's tensors at addresses not used before, the first tensor at the highest. It stays in place from
 * one call to the next and shares its pages with nothing else. NULL: out of memory. */
typedef struct opc_places opc_places_t;
opc_places_t *opc_places_new(const opc_sample_t *sample);
/* Memory that the operator still holds is never freed. NULL is fine. */
void opc_places_free(opc_places_t *places);
/* For opc_call_options_t.memory. */
opc_call_memory_t opc_places_memory(opc_places_t *places);
/* The address is in a place: not in other memory, which a tensor got because its place was taken. */
bool opc_places_have(const opc_places_t *places, const void *data);
/* True: the operator kept a tensor, so a later call got other memory. */
bool opc_places_kept(const opc_places_t *places);
