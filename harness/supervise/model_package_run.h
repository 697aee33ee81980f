/* A package (.pt2) before and after it is loaded: whether this machine can run it at all, and inputs for it where no sample file has any.
 *
 * Ownership: plain structs; samples go to the session. Threads: one. */
#ifndef OPC_SUPERVISE_MODEL_PACKAGE_RUN_H
#define OPC_SUPERVISE_MODEL_PACKAGE_RUN_H

#include "inspect/library_error.h"

struct opc_session;

/* Looks at the file before anything is started for it. True: it may be loaded. Kinds: not_found, unreadable, truncated, not_package, architecture, instruction_set,
 * device. */
bool opc_package_probe(const char *path, opc_library_error_t *out);
/* "cuda" where a model of the package was compiled for it, "cpu" otherwise, also where the file cannot be read. */
const char *opc_package_device(const char *path);
/* Models without a sample get one from what the package says of its inputs. */
opc_status_t opc_package_samples(struct opc_session *session, opc_error_t *error) OPC_CHECKED;

#endif
