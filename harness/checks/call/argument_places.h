/* Memory for arguments at addresses of our choice: for check determinism, and for whoever asks whether a result follows
 * addresses.
 *
 * Ownership: opc_places_free. Threads: one; the operator may end a tensor in any. */
#ifndef OPC_CHECKS_CALL_ARGUMENT_PLACES_H
#define OPC_CHECKS_CALL_ARGUMENT_PLACES_H

#include "checks/call/call.h"

/* Memory for a sample's tensors, where none was before, the first at the highest address, that stays where it is from
 * one call to the next. Its pages are nobody else's. NULL: out of memory. */
typedef struct opc_places opc_places_t;
opc_places_t *opc_places_new(const opc_sample_t *sample);
/* What the operator still holds is left to it for good. NULL is fine. */
void opc_places_free(opc_places_t *places);
/* For opc_call_options_t.memory. */
opc_call_memory_t opc_places_memory(opc_places_t *places);
/* The operator kept a tensor, so that a later call got other memory. */
bool opc_places_kept(const opc_places_t *places);

#endif
