/* Which opcheck-worker to execute, and with which library path: next to the running program (a build), else in
 * ../libexec/opcheck-c (installed). A worker is built for one minor version of libtorch, given in its file name:
 * opcheck-worker-2.12. opcheck-worker is a link to the default one.
 *
 * Ownership: opc_worker_plan_clear frees the plan's strings. Threads: any. */
#pragma once

#include <limits.h>

#include "inspect/library_error.h"

/* The libtorches that are installed on this machine, as Python's packages: beside opcheck-c itself (it was installed
 * with pip), in the active environment (VIRTUAL_ENV, CONDA_PREFIX), for each python3 on the PATH, and in the user's
 * own folder. No Python is started.
 *
 * Ownership: plain structs. Threads, fork: no shared state; reads the environment. */

enum { OPC_TORCHES = 16 }; /* any more are left out */

typedef struct opc_torch {
  char root[PATH_MAX];     /* the folder with lib/ */
  char version[16];        /* "2.11"; "": unknown */
  char how[PATH_MAX + 32]; /* how it was found: "in VIRTUAL_ENV" */
} opc_torch_t;

typedef struct opc_torches {
  opc_torch_t items[OPC_TORCHES]; /* in the order of the list above, without duplicates */
  size_t count;
} opc_torches_t;

void opc_torches_find(opc_torches_t *out);
/* "2.11" for the libtorch in a folder with include/ or version.py; "": unknown. */
void opc_torch_version_read(const char *root, char out[16]);
/* The same for ROOT/lib; "": unknown. */
void opc_torch_version_of_lib(const char *folder, char out[16]);
/* The folder of this program; "": unknown. */
void opc_program_folder(char out[PATH_MAX]);

/* The workers in a folder, each for one libtorch. A worker's file is called opcheck-worker-2.15; opcheck-worker is a
 * link to the first one. A worker that was built here finds its libtorch by its RUNPATH. One that was installed (with
 * pip, say) is offered those that are installed here.
 *
 * Ownership: opc_workers_clear. Reads files, executes nothing. */

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

/* Which of several workers a run uses without --torch: the one whose libtorch the libraries under test were built
 * for.
 *
 * Two criteria; opcheck-c itself knows no version of libtorch:
 * - its home: the libtorch that the loader would find for it by its RUNPATH, that is in the same site-packages, or that
 *   its package requires. A library that uses libtorch's C++ symbols works only with that minor version, as these are
 *   compatible with no other. One that uses only the C shim merely prefers it.
 * - its libtorch is installed: a worker without one cannot start.
 * - symbols, if there are several workers and no home decides: a library does not fit a worker whose libtorch lacks a
 *   symbol that it needs and that another worker's libtorch has. If several workers fit, the first one is used.
 *
 * Ownership: plain structs. Reads files, loads and executes nothing. */

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
/* Without --torch: chooses the worker that the libraries were built for (opc_worker_choose), from the folder of the
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

/* The Python interpreter that hosts the worker, for --python: its torch is the run's libtorch, and it imports the
 * user's modules. opcheck-c itself contains no Python.
 *
 * Ownership: opc_python_host_clear. Threads: one; starts a process and waits for it. */

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

/* How to start a worker for a CUDA device, real or simulated: the wrappers of the CUDA runtime (cuda/log/launch.h)
 * that fit the chosen libtorch, or why there are none. Reads files, loads nothing.
 *
 * Ownership: opc_cuda_plan_clear releases the string. */

#define OPC_CUDA_ARCHITECTURE_USUAL "sm_90"
enum { OPC_SIMULATED_DEVICES = 2 };

#define OPC_MODE_CPU "cpu"
#define OPC_MODE_CUDA "cuda"
#define OPC_MODE_SIMULATED "cuda-sim" /* also the simulated device's name */

typedef struct opc_cuda_plan {
  char *wrappers; /* file to preload; NULL: none fits */
  char why[512];  /* why there is no CUDA with this libtorch, and what to do; "": CUDA is available */
  bool usable;    /* CUDA itself works: only the wrappers are missing, which a real device does not need */
  int major;      /* of libtorch's CUDA runtime; 0: unknown */
} opc_cuda_plan_t;

/* A missing file is not an error: `why` describes it. */
opc_status_t opc_cuda_plan(const opc_worker_plan_t *worker, opc_cuda_plan_t *out, opc_error_t *error) OPC_CHECKED;
/* The same for one of the workers that are here, with the libtorch that it is run with. */
opc_status_t opc_cuda_plan_candidate(const opc_worker_candidate_t *worker, opc_cuda_plan_t *out,
                                     opc_error_t *error) OPC_CHECKED;
/* OPC_ERR_USAGE: no device of this architecture ("sm_90") can be simulated; the message lists those that can. */
opc_status_t opc_cuda_architecture_check(const char *name, opc_error_t *error) OPC_CHECKED;
void opc_cuda_plan_clear(opc_cuda_plan_t *plan);
/* The architecture to simulate if the user chose none (--cuda-arch): one that these libraries have GPU code for. A
 * constant name; NULL: the default is as good as any. Ignores libraries without GPU code and unreadable files. */
const char *opc_architecture_choose(const char *const *libraries, size_t count);
