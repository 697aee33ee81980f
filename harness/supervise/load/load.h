/* Loads the libraries into a worker, one after the other, and keeps what they registered. A library that kills or hangs
 * the worker gets its error, and the worker is started again without it.
 *
 * Ownership: opc_loaded_clear releases everything, the worker too. The options outlive it. Threads: one. */
#ifndef OPC_SUPERVISE_LOAD_LOAD_H
#define OPC_SUPERVISE_LOAD_LOAD_H

#include "inspect/library_error.h"
#include "model/schema/schema.h"
#include "supervise/common/run_options.h"
#include "supervise/process/cuda_plan.h"
#include "supervise/process/worker_process.h"

typedef enum opc_library_state { OPC_LIBRARY_PENDING = 0, OPC_LIBRARY_LOADED, OPC_LIBRARY_FAILED } opc_library_state_t;

typedef struct opc_library {
  const char *path; /* as it was given: what reports call it */
  char *real;       /* what the worker is given */
  opc_library_state_t state;
  opc_library_error_t error; /* of a FAILED one */
  int64_t operators, classes;
  char *note;             /* what is inert for it; NULL: nothing */
  bool package;           /* a .pt2 */
  const char *checked_as; /* the name of its file among library_operators; NULL: it is not checked */
} opc_library_t;

#define OPC_LIBTORCH "libtorch"

typedef struct opc_loaded {
  opc_library_t *libraries;
  size_t library_count;
  const char **preloads;     /* files of the --preload options */
  size_t *order;             /* indices of the libraries as they are loaded: each behind those that it depends on */
  opc_operator_t *operators; /* in order of registration; `library` as it was given */
  size_t operator_count;
  opc_operator_t *class_operators; /* the classes' constructors, opc_classes_take */
  size_t class_operator_count;
  opc_operator_t *library_operators; /* the libraries with GPU code, opc_libraries_take; `library` as it was given */
  size_t library_operator_count;
  size_t torch_operators;   /* among them: of no library here, only of a namespace that was asked for; `library` is
                               OPC_LIBTORCH */
  json_t *package_inputs;   /* object: operator -> array of VALUEs, where its package says what it takes */
  json_t *package_examples; /* object: operator -> true, where these are the inputs that it was exported with */
  json_t *classes;          /* array of what "class" messages carry */
  opc_worker_t worker;
  opc_worker_plan_t plan;
  const char *mode;                    /* of the worker: OPC_MODE_CPU where `cuda.why` says that there is no CUDA */
  opc_cuda_plan_t cuda;                /* for a CUDA device, real or simulated */
  const struct opc_memcheck *memcheck; /* the worker runs under Valgrind; NULL: it does not */
  char torch[32], cuda_version[32];
  double cpu_seconds; /* processor time that the worker took to load everything */
  int threads;
  bool cuda_initialised;
  bool exec_batch; /* forking is unsafe: a process a batch */
} opc_loaded_t;

/* Returns OPC_OK also when libraries failed: their state says so. OPC_ERR_LIBRARY: a --preload cannot be loaded. Other
 * errors: no worker, or one that does not work. mode: OPC_MODE_…. memcheck (may be NULL) outlives *out. */
opc_status_t opc_load(const opc_run_options_t *options, const char *mode, const struct opc_memcheck *memcheck,
                      opc_loaded_t *out, opc_error_t *error) OPC_CHECKED;
/* A new worker with the libraries that loaded, after the old one died. */
opc_status_t opc_load_again(const opc_run_options_t *options, opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* The command that starts another such worker; *out_paths (caller frees) holds its libraries. */
opc_status_t opc_load_command(const opc_run_options_t *options, const opc_loaded_t *loaded, opc_worker_command_t *out,
                              const char ***out_paths, opc_error_t *error) OPC_CHECKED;
void opc_loaded_clear(opc_loaded_t *loaded);

#endif
