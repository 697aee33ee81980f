/* A sandboxed process for a batch of cases: it serves commands until its channel ends.
 *
 * Fork: runs in the fresh child of the fork server, or in the worker itself (--exec-batch), and never returns. */
#pragma once

#include <sys/types.h>

#include "wire/channel.h"

typedef struct opc_sandbox {
  int batch, crash_record, output; /* descriptors from the supervisor; ownership is taken */
  const char *directory;           /* an empty working directory */
  long long memory_mib; /* address space in addition to what is mapped already; 0: no limit (CUDA reserves terabytes) */
  pid_t parent;         /* the process ends with this one */
  const json_t *operators; /* by name, as listed; may be empty */
} opc_sandbox_t;

enum {
  OPC_SANDBOX_BROKEN = 125
}; /* exit status: the process could not be set up, or lost its channel; its output says why */

/* Setup that the fork server can do once before it forks, on behalf of its children: one thread, seeded generators, no
 * backtraces. Call it after the libraries were loaded. */
void opc_sandbox_prepare(void);
/* The caller has made the process a group leader and has closed the fork server's descriptors. */
_Noreturn void opc_sandbox_run(const opc_sandbox_t *sandbox);

/* The worker after loading: forks a child for each "fork" command, reports when children end, and ends when the
 * supervisor does.
 *
 * No operator runs here. */

/* limit_memory false: children get no limit, whatever the command says. Returns when the control channel has ended and
 * no child is left. */
opc_status_t opc_fork_server_run(opc_channel_t *control, const json_t *operators, bool limit_memory,
                                 opc_error_t *error) OPC_CHECKED;
