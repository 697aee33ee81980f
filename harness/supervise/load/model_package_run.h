/* A package (.pt2) before and after loading: whether this machine can run it, and inputs for it if no sample file has
 * any.
 *
 * Ownership: plain structs; samples go to the session. Threads: one. */
#pragma once

#include "inspect/library_error.h"
#include "model/package/model_package.h"

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
