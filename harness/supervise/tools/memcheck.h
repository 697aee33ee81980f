/* Valgrind as an external tool (--tool memcheck): the worker and its children run under it, and errors while an
 * operator runs become findings.
 *
 * With each result a child reports how many errors Valgrind counted during the case. Their details come from files that
 * Valgrind writes as errors occur, so they are there before the result: one XML file per process, and one log, in a
 * temporary folder that is removed at the end of the run. Valgrind's errors are not confirmed by a second run: they are
 * deterministic, and each would need another child. Ownership: opc_memcheck_free; NULL means a run without Valgrind:
 * every function here does nothing. Threads: one. */
#pragma once

#include "model/sample/tried.h"
#include "supervise/common/journal.h"
#include "supervise/common/run_options.h"
#include "supervise/evidence/crash_report.h"
#include "supervise/process/batch_child.h"
#include "supervise/process/worker_process.h"
#include "supervise/tools/memcheck_words.h"

typedef struct opc_memcheck opc_memcheck_t;

/* Finds Valgrind and creates the folder. OPC_ERR_NOT_FOUND says what to install. */
opc_status_t opc_memcheck_new(opc_memcheck_t **out, opc_error_t *error) OPC_CHECKED;
void opc_memcheck_free(opc_memcheck_t *memcheck);
/* memcheck's own launcher; NULL without memcheck. */
const opc_launcher_t *opc_memcheck_launcher(const opc_memcheck_t *memcheck);
/* The end of Valgrind's log, for a worker that never sent a message. */
void opc_memcheck_last_words(const opc_memcheck_t *memcheck, opc_text_t *out);

/* True if the worker died while loading a library, at an instruction that Valgrind does not know; appends its bytes. */
bool opc_memcheck_is_unwatchable(const opc_memcheck_t *memcheck, pid_t pid, int wait_status, opc_text_t *bytes);

/* Adds what Valgrind found during the case to the result of a child's message: as the result if it is worse than the
 * check's finding, otherwise as a further finding. If counted errors are missing from Valgrind's files (a full disk),
 * the result is a harness error, rule "harness". `witnessed` says whether any of this happened, with or without
 * memcheck. */
opc_status_t opc_memcheck_judge_result(opc_memcheck_t *memcheck, const opc_child_t *child,
                                       const opc_memcheck_view_t *view, const json_t *message,
                                       opc_case_result_t *result, opc_error_t *error) OPC_CHECKED;
/* The answer to a try becomes UNCLEAN if the operator read or wrote outside its memory. */
opc_status_t opc_memcheck_judge_tried(opc_memcheck_t *memcheck, const opc_child_t *child, const json_t *message,
                                      opc_tried_t *tried, opc_error_t *error) OPC_CHECKED;

/* For a child that died in a case or a try: adds Valgrind's earlier errors to the evidence. */
typedef enum opc_memcheck_end {
  OPC_MEMCHECK_END_OWN = 0,     /* caused by the operator, as far as Valgrind can tell */
  OPC_MEMCHECK_END_INSTRUCTION, /* Valgrind does not know an instruction: not a crash of the operator; the crash's
                                   message says so */
  OPC_MEMCHECK_END_FAILURE      /* Valgrind itself failed: see rule and message */
} opc_memcheck_end_t;
opc_status_t opc_memcheck_crash(opc_memcheck_t *memcheck, const opc_child_t *child, const opc_memcheck_view_t *view,
                                opc_crash_t *crash, opc_memcheck_end_t *out, opc_error_t *error) OPC_CHECKED;

/* At the end of the run, after the worker is gone: notes how much was watched, and errors outside any case (while
 * loading libraries, or leaks if VALGRIND_OPTS asks for them). *out_lost: errors of some case could not be read. */
opc_status_t opc_memcheck_note_rest(opc_memcheck_t *memcheck, const opc_memcheck_view_t *view, opc_journal_t *journal,
                                    bool *out_lost, opc_error_t *error) OPC_CHECKED;
