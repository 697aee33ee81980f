/* Working directories of the children, under TMPDIR. They are removed when the worker ends, even after a crash.
 *
 * A small separate process (forked from the worker before any library under test is loaded) waits for the worker's end
 * and removes the rest.
 * Threads: one. Fork: children use the paths only. */
#pragma once

#include <limits.h>

#include "base/status.h"

/* Called once, at the start of the worker. */
opc_status_t opc_child_folder_open(opc_error_t *error) OPC_CHECKED;
/* Absolute; "" before opc_child_folder_open. */
const char *opc_child_folder_root(void);
/* Closes all descriptors but this one; -1: all. */
void opc_child_folder_close_others(int kept);
/* Makes an empty directory for a child; `out` has PATH_MAX bytes. */
opc_status_t opc_child_folder_make(char out[PATH_MAX], opc_error_t *error) OPC_CHECKED;
/* Removes a directory with its contents. */
void opc_child_folder_remove(const char *path);
/* Called when the worker ends normally. */
void opc_child_folder_close(void);
