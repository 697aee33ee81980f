/* The Python interpreter that hosts this worker, if one does (--python): host.py has loaded the worker into its own
 * process. Its functions are looked up at run time, so that no Python is needed to build.
 *
 * Threads: one, which holds the interpreter's lock until opc_interpreter_release. Fork: see below. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* Asks host.py for something (the keys of its ANSWERS), with a word that says for what. 0: `text` is the answer;
 * otherwise it says what was raised. */
typedef int (*opc_interpreter_request_t)(const char *what, const char *word, char *text, size_t size);

/* Called by host.py, before opc_worker_main. */
void opc_interpreter_set(opc_interpreter_request_t request);
bool opc_interpreter_hosts(void);

/* OPC_ERR_LIBRARY: the module raised an exception. */
opc_status_t opc_interpreter_import(const char *module, opc_error_t *error) OPC_CHECKED;
/* Makes the first calls, which import much. */
opc_status_t opc_interpreter_warm_up(opc_error_t *error) OPC_CHECKED;

/* Around fork. Without an interpreter they do nothing. The child gives up the lock: operators in Python take it
 * themselves, and backward is refused by libtorch while it is held. */
void opc_interpreter_before_fork(void);
void opc_interpreter_after_fork_in_parent(void);
void opc_interpreter_after_fork_in_child(void);
void opc_interpreter_release(void);
