/* The worker after loading: forks a child for each "fork" command, reports when children end, and ends when the
 * supervisor does.
 *
 * No operator runs here. Threads: one. */
#pragma once

#include <jansson.h>

#include "wire/channel.h"

/* limit_memory false: children get no limit, whatever the command says. Returns when the control channel has ended and
 * no child is left. */
opc_status_t opc_fork_server_run(opc_channel_t *control, const json_t *operators, bool limit_memory,
                                 opc_error_t *error) OPC_CHECKED;
