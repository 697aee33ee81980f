/* A child's commands: runs cases and tries, and answers them one by one (protocol.h, batch channel).
 *
 * Ownership: the caller owns the crash record `record` and the operators. Threads: one. */
#pragma once

#include <jansson.h>

#include "model/sample/sample.h"
#include "wire/protocol.h"

/* Serves until the channel ends. Takes ownership of fd. An error means that the channel is no longer usable. */
opc_status_t opc_batch_serve(int fd, opc_crash_record_t *record, const json_t *operators,
                             opc_error_t *error) OPC_CHECKED;
