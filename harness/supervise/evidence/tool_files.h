/* What running another program over the worker takes (Valgrind, compute-sanitizer): finding it, and a temporary folder
 * for what it writes.
 *
 * Ownership: strings that are returned belong to the caller. Threads, fork: no shared state. */
#ifndef OPC_SUPERVISE_EVIDENCE_TOOL_FILES_H
#define OPC_SUPERVISE_EVIDENCE_TOOL_FILES_H

#include <limits.h>

#include "base/status.h"

/* As execvp would find it. NULL: it is nowhere. */
char *opc_tool_on_path(const char *name);
/* A folder of its own under TMPDIR, as an absolute path: a library may change the working directory of its process.
 * whose: "Valgrind", for the message. */
opc_status_t opc_tool_folder_make(const char *whose, char out[PATH_MAX], opc_error_t *error) OPC_CHECKED;
/* With the files in it; "" does nothing. */
void opc_tool_folder_remove(const char *path);

#endif
