/* Loads the libraries under test and reports what they registered (protocol.h, control channel, up to "ready").
 *
 * Threads: before any is started. Fork: before any. A library may end this process at any point, so the message about
 * each step is sent before it. */
#pragma once

#include "model/package/model_package.h"
#include "wire/channel.h"

/* The worker's own descriptors are high, because a library may close or use the low ones. */
enum { OPC_OWN_FD_AT_LEAST = 200 };

typedef struct opc_loading {
  const char *const *preloads;
  size_t preload_count;
  const char *const *libraries;
  size_t library_count;
  const char *const *namespaces; /* all of their operators are listed */
  size_t namespace_count;
  const char *const *modules; /* imported after the libraries */
  size_t module_count;
  const char *package;        /* loaded after the libraries; may be NULL */
  bool cuda;                  /* for a CUDA device */
  const char *sandbox_misses; /* what the kernel lacks for the sandbox; "": nothing */
  opc_channel_t *control;
} opc_loading_t;

/* *out_operators: an object of operators by name (new reference), as reported. */
opc_status_t opc_loading_run(const opc_loading_t *loading, json_t **out_operators, opc_error_t *error) OPC_CHECKED;

/* Loads a package, after the libraries of operators: checks its dependencies, loads it once in a subprocess, and makes
 * its models operators.
 *
 * Threads: before any is started. Fork: forks. */

typedef struct opc_package_failure {
  const char *kind; /* of the "load_failed" message */
  char message[OPC_ERROR_MESSAGE_SIZE];
} opc_package_failure_t;

/* cuda: the process is for a CUDA device. False: *failure says why. *out (freed by opc_package_clear): the package's
 * description of itself; its operators are "package::NAME". */
bool opc_package_load(const char *path, bool cuda, opc_package_t *out, opc_package_failure_t *failure);

/* The Python interpreter that hosts this worker, if one does (--python): host.py has loaded the worker into its own
 * process. Its functions are looked up at run time, so that no Python is needed to build.
 *
 * Threads: one, which holds the interpreter's lock until opc_interpreter_release. Fork: see below. */

/* Asks host.py for something (the keys of its ANSWERS), with a word that says for what. 0: `text` is the answer;
 * otherwise it says what was raised. */
typedef int (*opc_interpreter_request_t)(const char *what, const char *word, char *text, size_t size);

/* Called by host.py, before it imports torch: objects that are made from then on are on large pages. */
void opc_interpreter_use_large_pages(void);
/* Called by host.py, before opc_worker_main. */
void opc_interpreter_set(opc_interpreter_request_t request);
bool opc_interpreter_hosts(void);

/* The folder of a module's file, or of its top-level package; imports nothing. `out` has PATH_MAX bytes. False: it is
 * not known. */
bool opc_interpreter_folder(const char *module, char *out);
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
