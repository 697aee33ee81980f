/* A process of its own for a batch of cases: fenced in, then serving commands until its channel ends.
 *
 * Fork: runs in the fresh child of the fork server, or in the worker itself (--exec-batch), and never returns. */
#ifndef OPC_WORKER_PROCESS_SANDBOX_H
#define OPC_WORKER_PROCESS_SANDBOX_H

#include <jansson.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct opc_sandbox {
  int batch, crash_record, output; /* from the supervisor; taken over */
  const char *directory;           /* an empty one, to work in */
  long long memory_mib;    /* address space besides what is mapped already; 0: no limit (CUDA reserves terabytes) */
  pid_t parent;            /* the process ends with this one */
  const json_t *operators; /* by name, as they were listed; may be empty */
} opc_sandbox_t;

enum {
  OPC_SANDBOX_BROKEN = 125
}; /* exit status: the process could not be set up, or lost its channel; its output says why */

/* What the fork server may have done before it forks, so that its children find it done: one thread, and generators
 * that are there. Libraries are loaded. */
void opc_sandbox_prepare(void);
/* The caller has made the process a group leader and has closed what is the fork server's. */
_Noreturn void opc_sandbox_run(const opc_sandbox_t *sandbox);

#endif
