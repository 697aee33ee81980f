/* The workers that lie in a folder, each for one libtorch. A worker's file is called opcheck-worker-2.15;
 * opcheck-worker is a link to the first one.
 *
 * Ownership: opc_workers_clear. Threads, fork: no shared state. Nothing is executed: files are read. */
#ifndef OPC_SUPERVISE_PROCESS_WORKER_LIST_H
#define OPC_SUPERVISE_PROCESS_WORKER_LIST_H

#include <limits.h>
#include <stddef.h>

#include "base/status.h"

enum { OPC_WORKERS = 16 }; /* more versions than anybody builds for */

typedef struct opc_worker_candidate {
  char *program;               /* as it lies in the folder */
  char *real;                  /* where a link to it leads */
  char version[16];            /* "2.15", by its name; "": it does not say */
  char torch_folder[PATH_MAX]; /* lib/ of the libtorch that it would load; "": not found */
} opc_worker_candidate_t;

typedef struct opc_workers {
  opc_worker_candidate_t items[OPC_WORKERS]; /* the one called opcheck-worker comes first */
  size_t count;
} opc_workers_t;

/* All in a folder, each once. */
opc_status_t opc_workers_find(const char *folder, opc_workers_t *out, opc_error_t *error) OPC_CHECKED;
void opc_workers_clear(opc_workers_t *workers);

#endif
