/* The workers in a folder, each for one libtorch. A worker's file is called opcheck-worker-2.15; opcheck-worker is a
 * link to the first one. A worker that was built here finds its libtorch by its RUNPATH. One that was installed (with
 * pip, say) is offered those that are installed here.
 *
 * Ownership: opc_workers_clear. Threads, fork: no shared state. Reads files, executes nothing. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "supervise/process/torch_search.h"

enum { OPC_WORKERS = 16 }; /* more than enough versions */

typedef struct opc_worker_candidate {
  char *program;               /* path in the folder */
  char *real;                  /* after resolving links */
  char version[16];            /* "2.15", from its name; "": not in the name */
  char torch_folder[PATH_MAX]; /* lib/ of the libtorch that it is run with; "": not found */
  char torch_how[PATH_MAX];    /* how that was found: "by its RUNPATH" */
  bool torch_offered;          /* and the loader does not find it: it has to be put on LD_LIBRARY_PATH */
  size_t torch_rank;           /* of two that fit, the worker with the smaller one is used; 0: it finds its libtorch */
} opc_worker_candidate_t;

typedef struct opc_workers {
  opc_worker_candidate_t items[OPC_WORKERS]; /* opcheck-worker comes first, then by version */
  size_t count;
} opc_workers_t;

/* Lists all workers in a folder, without duplicates. */
opc_status_t opc_workers_find(const char *folder, opc_workers_t *out, opc_error_t *error) OPC_CHECKED;
/* Adds the worker in the file path; a link that leads nowhere is none. */
opc_status_t opc_workers_add(opc_workers_t *workers, const char *path, opc_error_t *error) OPC_CHECKED;
/* The libtorch in root becomes that of the workers for this version that have none. how: how it was found. */
void opc_workers_offer(opc_workers_t *workers, const char *root, const char *version, const char *how, size_t rank);
/* Offers all that are installed here; those that were found first have the smaller ranks. */
void opc_workers_offer_installed(opc_workers_t *workers, const opc_torches_t *torches);
void opc_workers_clear(opc_workers_t *workers);
