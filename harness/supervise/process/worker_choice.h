/* Which of several workers a run uses without --torch: the one whose libtorch the libraries under test were built for.
 *
 * Two criteria; opcheck-c itself knows no version of libtorch:
 * - its home: the libtorch that the loader would find for it by its RUNPATH, that is in the same site-packages, or that
 *   its package requires. A library that uses libtorch's C++ symbols works only with that minor version, as these are
 *   compatible with no other. One that uses only the C shim merely prefers it.
 * - its libtorch is installed: a worker without one cannot start.
 * - symbols, if there are several workers and no home decides: a library does not fit a worker whose libtorch lacks a
 *   symbol that it needs and that another worker's libtorch has. If several workers fit, the first one is used.
 *
 * Ownership: plain structs. Threads, fork: no shared state. Reads files, loads and executes nothing. */
#pragma once

#include "inspect/library_error.h"
#include "supervise/process/torch_search.h"
#include "supervise/process/worker_list.h"

typedef struct opc_worker_choice {
  size_t index;             /* into workers->items */
  char why[PATH_MAX + 256]; /* why the first library gets this worker; "": no library */
} opc_worker_choice_t;

/* Offers the libtorches of the libraries, then those of `torches`, to the workers that have none, and chooses.
 * errors[i].kind is
 * "" if library i fits the chosen worker, otherwise why not. An unreadable file fits any. */
opc_status_t opc_worker_choose(opc_workers_t *workers, const opc_torches_t *torches, const char *const *libraries,
                               size_t count, opc_worker_choice_t *out, opc_library_error_t *errors,
                               opc_error_t *error) OPC_CHECKED;
