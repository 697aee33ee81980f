/* The black box around a case or a try: written before, so that a death is known to be this one's.
 *
 * Ownership: the box is the caller's. Threads: one writes; the supervisor reads at any time. */
#ifndef OPC_WORKER_CHILD_BLACK_BOX_H
#define OPC_WORKER_CHILD_BLACK_BOX_H

#include "wire/protocol.h"

void opc_batch_begin(opc_blackbox_t *box, const char *case_id, const char *phase);
void opc_batch_phase(opc_blackbox_t *box, const char *phase);
void opc_batch_end(opc_blackbox_t *box);

#endif
