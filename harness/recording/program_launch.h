/* Runs a program with the shim preloaded and everything else unchanged: standard streams, process group, signals,
 * limits.
 *
 * Threads: none; uses the process's signal handlers, and restores them at the end. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

typedef struct opc_program_launch {
  char *const *words; /* NULL-terminated */
  const char *shim;   /* must not contain a space or colon, which LD_PRELOAD cannot express */
  const char *folder;
  bool pipe_ignored, limit_ignored; /* SIGPIPE and SIGXFSZ were ignored when opcheck-c started */
} opc_program_launch_t;

/* Waits for the program to end: *out_status as from waitpid. Meanwhile, signals sent to this process are forwarded to
 * it; signals from the terminal reach it directly. OPC_ERR_USAGE: it cannot be executed. */
opc_status_t opc_program_run(const opc_program_launch_t *launch, int *out_status, opc_error_t *error) OPC_CHECKED;

/* Why a preloaded shim cannot work in a program, from its file: "it is statically linked". NULL: no reason known. */
const char *opc_program_kind(const char *word);
