/* NVIDIA's compute-sanitizer as an external tool (--sanitize TOOL): each process that runs cases on a CUDA device runs
 * under it, and its records become findings.
 *
 * Unlike Valgrind, it reports only at the end of a process, without times. So a process runs the cases of one operator.
 * If its report holds records, the cases are run again and bisected, until only the first one that shows them is left.
 * An operator without records costs one process. Its exit code is unreliable (it hides the worker's): the worker's
 * verdict comes through its channel as usual, and a process without a report is a harness error. Ownership:
 * opc_sanitize_free. Threads: one. */
#pragma once

#include "supervise/common/journal.h"
#include "supervise/process/batch_child.h"
#include "supervise/tools/sanitize_words.h"

typedef struct opc_sanitize opc_sanitize_t;

/* Finds compute-sanitizer, creates a folder for its reports, and reads the libraries' kernel names: only these kernels
 * are watched, as libtorch_cuda has 21,504. OPC_ERR_NOT_FOUND says where it searched and what to install. */
opc_status_t opc_sanitize_new(const char *tool, const char *const *libraries, size_t library_count,
                              opc_sanitize_t **out, opc_error_t *error) OPC_CHECKED;
void opc_sanitize_free(opc_sanitize_t *sanitize); /* accepts NULL */

/* For the process of the child with this id; valid until the next call. */
opc_status_t opc_sanitize_launcher(opc_sanitize_t *sanitize, uint64_t child, const opc_launcher_t **out,
                                   opc_error_t *error) OPC_CHECKED;
const char *opc_sanitize_tool(const opc_sanitize_t *sanitize);

/* For a child that died: its wait status is compute-sanitizer's. It becomes the worker's, if the crash record has a
 * signal. */
void opc_sanitize_take_signal(opc_child_t *child);
/* Reads the report of a process that ended. called: some result needs it. *out_lost: why it is unusable (the caller
 * frees); NULL: it can be used, or none is needed. A process that crashed or was killed may lose its report; whatever
 * is left is read anyway. */
opc_status_t opc_sanitize_report(const opc_sanitize_t *sanitize, const opc_child_t *child, bool called,
                                 opc_sanitize_records_t *out, char **out_lost, opc_error_t *error) OPC_CHECKED;

/* For the journal; do nothing for NULL: that all kernels are watched, and how many processes were. */
opc_status_t opc_sanitize_note_begin(const opc_sanitize_t *sanitize, opc_journal_t *journal,
                                     opc_error_t *error) OPC_CHECKED;
opc_status_t opc_sanitize_note_end(const opc_sanitize_t *sanitize, opc_journal_t *journal,
                                   opc_error_t *error) OPC_CHECKED;
