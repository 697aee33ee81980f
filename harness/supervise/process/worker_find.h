/* Which opcheck-worker to execute, and with which library path: next to the running program (a build), else in
 * ../libexec/opcheck-c (installed). A worker is built for one minor version of libtorch, given in its file name:
 * opcheck-worker-2.12. opcheck-worker is a link to the default one.
 *
 * Ownership: opc_worker_plan_clear frees the plan's strings. Threads: any. */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "base/status.h"
#include "inspect/library_error.h"
#include "supervise/process/worker_choice.h"

typedef struct opc_worker_plan {
  char *program;
  char *library_path;          /* prepended to LD_LIBRARY_PATH; NULL: leave it unchanged */
  char torch_folder[PATH_MAX]; /* lib/ of the libtorch that the worker will load; "": not known */
  char torch_how[PATH_MAX];    /* how that was found: "by its RUNPATH" */
  char wanted[16];             /* version of --torch, "2.11"; "" without --torch */
} opc_worker_plan_t;

/* worker and torch_root may be NULL. OPC_ERR_USAGE: ROOT is not a libtorch. OPC_ERR_NOT_FOUND: no worker, or none for
 * ROOT's version, which the message names. */
opc_status_t opc_worker_plan(const char *worker, const char *torch_root, opc_worker_plan_t *out,
                             opc_error_t *error) OPC_CHECKED;
/* Without --torch: chooses the worker that the libraries were built for (worker_choice.h), from the folder of the
 * planned one, and its libtorch. errors[i].kind is "" if library i fits it, otherwise why it cannot be loaded. choice
 * may be NULL. OPC_ERR_NOT_FOUND: no libtorch is installed for any worker. */
opc_status_t opc_worker_plan_choose(opc_worker_plan_t *plan, const char *const *libraries, size_t count,
                                    opc_worker_choice_t *choice, opc_library_error_t *errors,
                                    opc_error_t *error) OPC_CHECKED;
/* Checks that the worker's libtorch ("2.11.0") is the wanted one. OPC_ERR_NOT_FOUND names both. */
opc_status_t opc_worker_plan_check(const opc_worker_plan_t *plan, const char *torch_version,
                                   opc_error_t *error) OPC_CHECKED;
/* Lists the workers in the planned one's folder, each with its libtorch. */
opc_status_t opc_worker_plan_workers(const opc_worker_plan_t *plan, const opc_torches_t *torches, opc_workers_t *out,
                                     opc_error_t *error) OPC_CHECKED;
/* "2.11" of plan->torch_folder; "": not known. */
void opc_worker_torch_version(const opc_worker_plan_t *plan, char version[16]);
void opc_worker_plan_clear(opc_worker_plan_t *plan);
