/* A package (.pt2) before and after it is loaded: whether this machine can run it at all, and inputs for it where no
 * sample file has any.
 *
 * Ownership: plain structs; samples go to the session. Threads: one. */
#ifndef OPC_SUPERVISE_LOAD_MODEL_PACKAGE_RUN_H
#define OPC_SUPERVISE_LOAD_MODEL_PACKAGE_RUN_H

#include "inspect/library_error.h"
#include "model/package/model_package.h"

struct opc_session;

/* Where a package is to run. */
typedef struct opc_package_target {
  const char *device;       /* "cpu", "cuda", "cuda-sim" */
  const char *architecture; /* of the simulated device; NULL: the usual one */
} opc_package_target_t;

/* Looks at the file before anything is started for it. True: it may be loaded. Kinds: not_found, unreadable, truncated,
 * not_package, architecture, instruction_set, device. */
bool opc_package_probe(const char *path, const opc_package_target_t *target, opc_library_error_t *out);
/* False: the models are for another device than that, or it is not here; kind device. */
bool opc_package_fits(const opc_package_t *package, const opc_package_target_t *target, opc_library_error_t *out);
/* What it was compiled for: "cuda" where a model of the package was, "cpu" otherwise, also where the file cannot be
 * read; and the simulated architecture with the compute capability that a model of CUDA was compiled for, where there
 * is one. */
opc_package_target_t opc_package_target(const char *path);
/* Models without a sample get one from what the package says of its inputs. */
opc_status_t opc_package_samples(struct opc_session *session, opc_error_t *error) OPC_CHECKED;

#endif
