/* NVIDIA's compute-sanitizer as a second tool (--sanitize TOOL): each process that runs cases on a CUDA device runs
 * under it, and what it finds becomes findings.
 *
 * Unlike Valgrind it says what it found at the end of a process, and not when: so a process runs the cases of one
 * operator, and where its report holds records the cases are run again, halved each time, until the first one that
 * shows them is left. An operator without records costs one process. Its exit code is not to be trusted (it hides that
 * of the worker): the worker's verdict comes by its channel as ever, and a process that leaves no report is a failure
 * of the harness. Ownership: opc_sanitize_free. Threads: one. */
#ifndef OPC_SUPERVISE_TOOLS_SANITIZE_H
#define OPC_SUPERVISE_TOOLS_SANITIZE_H

#include <limits.h>

#include "model/schema/schema.h"
#include "supervise/process/worker_process.h"
#include "supervise/tools/sanitize_words.h"

typedef struct opc_sanitize opc_sanitize_t;
struct opc_session;

/* Looks for compute-sanitizer, makes a folder for its reports, and reads from the libraries which kernels are theirs:
 * libtorch_cuda has 21,504, and only these are watched. OPC_ERR_NOT_FOUND names the places and what to install. */
opc_status_t opc_sanitize_new(const char *tool, const char *const *libraries, size_t library_count,
                              opc_sanitize_t **out, opc_error_t *error) OPC_CHECKED;
void opc_sanitize_free(opc_sanitize_t *sanitize); /* NULL is fine */

/* For the next process; valid until the next call. *out_report: where its report will be. */
opc_status_t opc_sanitize_launcher(opc_sanitize_t *sanitize, const opc_launcher_t **out, char out_report[PATH_MAX + 32],
                                   opc_error_t *error) OPC_CHECKED;
const char *opc_sanitize_tool(const opc_sanitize_t *sanitize);
/* How many names of kernels it is restricted to; 0: it watches every kernel. */
size_t opc_sanitize_kernels(const opc_sanitize_t *sanitize);

/* All cases of these operators, one after the other: there is one device. sanitize_run.c */
opc_status_t opc_sanitize_run(struct opc_session *session, const opc_operator_t *const *operators, size_t count,
                              opc_error_t *error) OPC_CHECKED;

#endif
