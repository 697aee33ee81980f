/* Adds what an external tool (Valgrind, compute-sanitizer) found while a case ran to the case's result.
 *
 * Threads: one. */
#pragma once

#include <limits.h>

#include "result/case_result.h"

/* The first finding becomes the result if it is worse than the check's; the others become further findings. Sets
 * `witnessed`. Takes the findings: the list is empty then. */
opc_status_t opc_external_tool_merge(opc_case_result_t *result, opc_also_list_t *findings,
                                     opc_error_t *error) OPC_CHECKED;

/* Helpers for running the worker under an external tool (Valgrind, compute-sanitizer): finding the tool, and a
 * temporary folder for its output.
 *
 * Ownership: returned strings belong to the caller. */

/* Searches as execvp does. NULL: not found. */
char *opc_tool_on_path(const char *name);
/* Creates a private folder under TMPDIR; its path is absolute, as a library may change the working directory. whose:
 * "Valgrind", for the message. */
opc_status_t opc_tool_folder_make(const char *whose, char out[PATH_MAX], opc_error_t *error) OPC_CHECKED;
/* Also removes the files in it; "" does nothing. */
void opc_tool_folder_remove(const char *path);
