/* Loads the libraries into a worker, one after the other, and keeps what they registered. If a library kills or hangs
 * the worker, it gets the error, and the worker restarts without it.
 *
 * Ownership: opc_loaded_clear releases everything, including the worker. The options outlive it. Threads: one. */
#pragma once

#include "inspect/digest.h"
#include "inspect/elf_file.h"
#include "model/package/model_package.h"
#include "supervise/common/run_options.h"
#include "supervise/process/worker_process.h"

typedef enum opc_library_state { OPC_LIBRARY_PENDING = 0, OPC_LIBRARY_LOADED, OPC_LIBRARY_FAILED } opc_library_state_t;

typedef struct opc_library {
  const char *path; /* as given; the name in reports */
  char *real;       /* path passed to the worker */
  opc_library_state_t state;
  opc_library_error_t error; /* if FAILED */
  int64_t operators, classes;
  int64_t extended;             /* operators of other libraries that it adds kernels to */
  char *note;                   /* which symbols of its dependencies are stubs; NULL: none */
  char *build_note;             /* which of several builds it is; NULL: there is one */
  bool package;                 /* a .pt2 */
  bool module;                  /* of Python; `real` is its name */
  bool changed_state;           /* of the process, by being loaded */
  char digest[OPC_DIGEST_SIZE]; /* of the file and those that it needs; "": none */
  const char *checked_as;       /* its file name among library_operators; NULL: not checked */
} opc_library_t;

typedef struct opc_loaded {
  opc_library_t *libraries;
  size_t library_count;
  const char **preloads;     /* files of the --preload options */
  size_t *order;             /* indices of the libraries in load order: each after its dependencies */
  opc_operator_t *operators; /* in order of registration; `library` as given */
  size_t operator_count;
  opc_class_t *class_values; /* what `classes` says, see opc_classes_take */
  size_t class_count;
  opc_operator_t *class_operators; /* the classes' constructors */
  size_t class_operator_count;
  opc_operator_t *library_operators; /* what libraries themselves have to check, see opc_libraries_take */
  size_t library_operator_count;
  size_t torch_operators;   /* those of no given library, only of a requested namespace; `library` is OPC_LIBTORCH */
  json_t *package_inputs;   /* object: operator -> array of VALUEs, if its package describes its inputs */
  json_t *package_examples; /* object: operator -> true, if these are the example inputs of its export */
  json_t *classes;          /* array of the contents of "class" messages */
  opc_worker_t worker;
  opc_worker_plan_t plan;
  opc_python_host_t python;            /* without a program: no Python */
  const char *mode;                    /* of the worker: OPC_MODE_CPU if `cuda.why` says that there is no CUDA */
  opc_cuda_plan_t cuda;                /* for a CUDA device, real or simulated */
  const struct opc_memcheck *memcheck; /* not NULL: the worker runs under Valgrind */
  char torch[32], cuda_version[32];
  char *sandbox_misses; /* what the kernel lacks for the children's sandbox; NULL: nothing */
  double cpu_seconds;   /* processor time that the worker needed for loading */
  int threads;
  bool cuda_initialised;
  bool exec_batch; /* forking is unsafe: one process per batch */
} opc_loaded_t;

/* Returns OPC_OK even if libraries failed: see their state. OPC_ERR_LIBRARY: a --preload cannot be loaded. Other
 * errors: no worker, or a broken one. mode: OPC_MODE_…. memcheck (may be NULL) outlives *out. */
opc_status_t opc_load(const opc_run_options_t *options, const char *mode, const struct opc_memcheck *memcheck,
                      opc_loaded_t *out, opc_error_t *error) OPC_CHECKED;
/* Starts a new worker with the loaded libraries, after the old one died. */
opc_status_t opc_load_again(const opc_run_options_t *options, opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* The command that starts another such worker; *out_paths (the caller frees) holds its libraries. */
opc_status_t opc_load_command(const opc_run_options_t *options, const opc_loaded_t *loaded, opc_worker_command_t *out,
                              const char ***out_paths, opc_error_t *error) OPC_CHECKED;
void opc_loaded_clear(opc_loaded_t *loaded);

/* A package may bring one library in several builds, one for each libtorch, in folders such as torch-2.11 and
 * torch-2.12. Removes the builds for other versions from loaded->libraries, and notes on the ones that stay which they
 * are. The version is that of --torch, else that of the first worker whose libtorch is here and for which there is a
 * build. If there is none, the build for the newest version stays, and its error says what is missing. */
opc_status_t opc_builds_choose(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED; /* builds.c */

/* The files of the loaded libraries as operators of kind LIBRARY, so that facts about a library are found once,
 * however many operators it has.
 *
 * Ownership: opc_loaded_clear. */

/* Fills library_operators with the loaded libraries that contain GPU code, and with the libraries and modules that
 * changed the process's state: "library::libmy_ops.so". If several have the same file name, the second is
 * "library::2:libmy_ops.so". */
opc_status_t opc_libraries_take(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* The real file, or the module's name, of an operator of kind LIBRARY; NULL: another kind. */
const char *opc_library_file(const opc_loaded_t *loaded, const opc_operator_t *op);

/* A package (.pt2) before and after loading: whether this machine can run it, and inputs for it if no sample file has
 * any.
 *
 * Ownership: plain structs; samples go to the session. */

struct opc_session;

/* Where to run a package. */
typedef struct opc_package_target {
  const char *device;       /* "cpu", "cuda", "cuda-sim" */
  const char *architecture; /* of the simulated device; NULL: the default */
} opc_package_target_t;

/* Checks the file before anything starts. True: it may be loaded. Kinds: not_found, unreadable, truncated, not_package,
 * architecture, instruction_set, device. */
bool opc_package_probe(const char *path, const opc_package_target_t *target, opc_library_error_t *out);
/* False: the models are for another device, or the device does not exist; kind device. */
bool opc_package_fits(const opc_package_t *package, const opc_package_target_t *target, opc_library_error_t *out);
/* What it was compiled for. Device: "cuda" if any of its models was, otherwise "cpu", also if the file is unreadable.
 * Architecture: the simulated one with the compute capability of a CUDA model, if there is one. */
opc_package_target_t opc_package_target(const char *path);
/* Gives models without a sample one from the package's description of its inputs. */
opc_status_t opc_package_samples(struct opc_session *session, opc_error_t *error) OPC_CHECKED;
