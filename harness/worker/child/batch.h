/* A child's commands: cases and tries, answered one by one (protocol.h, batch channel).
 *
 * Ownership: the box and the operators are the caller's. Threads: one. */
#ifndef OPC_WORKER_CHILD_BATCH_H
#define OPC_WORKER_CHILD_BATCH_H

#include <jansson.h>

#include "model/sample/sample.h"
#include "wire/protocol.h"

/* Serves until the channel ends. Takes fd over. An error means that nothing more can be said on the channel. */
opc_status_t opc_batch_serve(int fd, opc_blackbox_t *box, const json_t *operators, opc_error_t *error) OPC_CHECKED;

/* The black box around a case or a try: written before, so that a death is known to be this one's. */
void opc_batch_begin(opc_blackbox_t *box, const char *case_id, const char *phase);
void opc_batch_phase(opc_blackbox_t *box, const char *phase);
void opc_batch_end(opc_blackbox_t *box);

#endif
