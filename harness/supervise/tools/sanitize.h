/* NVIDIA's compute-sanitizer as an external tool (--sanitize TOOL): each process that runs cases on a CUDA device runs
 * under it, and its records become findings.
 *
 * Unlike Valgrind, it reports only at the end of a process, without times. So a process runs the cases of one operator.
 * If its report holds records, the cases are run again and bisected, until only the first one that shows them is left.
 * An operator without records costs one process. Its exit code is unreliable (it hides the worker's): the worker's
 * verdict comes through its channel as usual, and a process without a report is a harness error. Ownership:
 * opc_sanitize_free. Threads: one. */
#pragma once

#include <limits.h>

#include "model/schema/schema.h"
#include "supervise/process/worker_process.h"
#include "supervise/tools/sanitize_words.h"

typedef struct opc_sanitize opc_sanitize_t;
struct opc_session;

/* Finds compute-sanitizer, creates a folder for its reports, and reads the libraries' kernel names: only these kernels
 * are watched, as libtorch_cuda has 21,504. OPC_ERR_NOT_FOUND says where it searched and what to install. */
opc_status_t opc_sanitize_new(const char *tool, const char *const *libraries, size_t library_count,
                              opc_sanitize_t **out, opc_error_t *error) OPC_CHECKED;
void opc_sanitize_free(opc_sanitize_t *sanitize); /* accepts NULL */

/* For the next process; valid until the next call. *out_report: path of its report. */
opc_status_t opc_sanitize_launcher(opc_sanitize_t *sanitize, const opc_launcher_t **out, char out_report[PATH_MAX + 32],
                                   opc_error_t *error) OPC_CHECKED;
const char *opc_sanitize_tool(const opc_sanitize_t *sanitize);
/* Number of kernel names that it is restricted to; 0: it watches every kernel. */
size_t opc_sanitize_kernels(const opc_sanitize_t *sanitize);

/* Runs all cases of these operators, one after the other, as there is one device. sanitize_run.c */
opc_status_t opc_sanitize_run(struct opc_session *session, const opc_operator_t *const *operators, size_t count,
                              opc_error_t *error) OPC_CHECKED;
