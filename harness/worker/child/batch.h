/* A child's commands: cases and tries, answered one by one (protocol.h, batch channel).
 *
 * Ownership: the box and the operators are the caller's. Threads: one. */
#ifndef OPC_WORKER_CHILD_BATCH_H
#define OPC_WORKER_CHILD_BATCH_H

#include <jansson.h>

#include "model/sample/sample.h"
#include "wire/protocol.h"

/* Serves until the channel ends. Takes fd over. An error means that nothing more can be said on the channel. */
opc_status_t opc_batch_serve(int fd, opc_crash_record_t *box, const json_t *operators, opc_error_t *error) OPC_CHECKED;

#endif
