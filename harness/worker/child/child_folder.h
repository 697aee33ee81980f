/* Working directories of the children, under TMPDIR, gone when the worker is gone, however that came about.
 *
 * A small process of its own (a fork of the worker, made before any library under test is loaded) waits for the
 * worker's end and removes what is left.
 * Threads: one. Fork: children use the paths only. */
#ifndef OPC_WORKER_CHILD_CHILD_FOLDER_H
#define OPC_WORKER_CHILD_CHILD_FOLDER_H

#include <limits.h>

#include "base/status.h"

/* Once, at the start of the worker. */
opc_status_t opc_child_folder_open(opc_error_t *error) OPC_CHECKED;
/* An empty directory for a child; out takes PATH_MAX bytes. */
opc_status_t opc_child_folder_make(char out[PATH_MAX], opc_error_t *error) OPC_CHECKED;
/* Removes a directory with whatever was left in it. */
void opc_child_folder_remove(const char *path);
/* At the worker's orderly end. */
void opc_child_folder_close(void);

#endif
