/* Runs a program with the shim preloaded, and nothing else changed: its standard streams, its process group, its
 * signals, its limits.
 *
 * Threads: none; the signal handlers are the process's, and are what they were before at the end. */
#ifndef OPC_RECORD_PROGRAM_LAUNCH_H
#define OPC_RECORD_PROGRAM_LAUNCH_H

#include <stdbool.h>

#include "base/status.h"

typedef struct opc_program_launch {
  char *const *words; /* NULL at the end */
  const char *shim;   /* no space or colon in it: LD_PRELOAD cannot say such a name */
  const char *folder;
  bool pipe_ignored, limit_ignored; /* SIGPIPE and SIGXFSZ were when opcheck-c started */
} opc_program_launch_t;

/* Waits for its end: *out_status as of waitpid. While it runs, signals that somebody sends to this process go on to it;
 * those of the terminal reach it by themselves. OPC_ERR_USAGE: it cannot be executed. */
opc_status_t opc_program_run(const opc_program_launch_t *launch, int *out_status, opc_error_t *error) OPC_CHECKED;

/* Why the preloaded shim cannot work in a program, found in its file: "it is statically linked". NULL: nothing is known
 * against it. */
const char *opc_program_kind(const char *word);

#endif
