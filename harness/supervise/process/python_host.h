/* The Python interpreter that hosts the worker, for --python: its torch is the run's libtorch, and it imports the
 * user's modules. opcheck-c itself contains no Python.
 *
 * Ownership: opc_python_host_clear. Threads: one; starts a process and waits for it. */
#pragma once

#include <limits.h>

#include "supervise/process/worker_find.h"

typedef struct opc_python_host {
  char *program;             /* the interpreter; NULL: there is none */
  char *script, *worker;     /* host.py, and the worker as a shared library */
  char torch_root[PATH_MAX]; /* the torch that it imports */
} opc_python_host_t;

/* named: --python-executable; NULL: the environment's PYTHON, else python3 of the PATH. Sets program and torch_root.
 * OPC_ERR_USAGE: it cannot be executed, is no Python, or has no torch. */
opc_status_t opc_python_host_find(const char *named, opc_python_host_t *out, opc_error_t *error) OPC_CHECKED;
/* Finds the script and the library that belong to the planned worker. OPC_ERR_NOT_FOUND: one is missing. */
opc_status_t opc_python_host_complete(opc_python_host_t *host, const opc_worker_plan_t *plan,
                                      opc_error_t *error) OPC_CHECKED;
void opc_python_host_clear(opc_python_host_t *host);
