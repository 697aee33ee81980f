/* Valgrind as a second tool (--tool memcheck): the worker and its children run under it, and what it finds while an
 * operator runs becomes findings.
 *
 * A child says with each result how many errors Valgrind counted during the case. Which they were is read from files
 * that Valgrind writes as they come up, so they are there before the result is: one XML file a process, and one log.
 * Both lie in a temporary folder that ends with the run. An error of Valgrind's is not confirmed by a second run: it is
 * no matter of luck, the same instructions do the same again, and it would take a child each. Ownership:
 * opc_memcheck_free; NULL is a run without Valgrind, for which everything here does nothing. Threads: one. */
#ifndef OPC_SUPERVISE_TOOLS_MEMCHECK_H
#define OPC_SUPERVISE_TOOLS_MEMCHECK_H

#include "supervise/common/journal.h"
#include "supervise/common/run_options.h"
#include "supervise/evidence/crash_report.h"
#include "supervise/process/batch_child.h"
#include "supervise/process/worker_process.h"
#include "supervise/tools/memcheck_words.h"

typedef struct opc_memcheck opc_memcheck_t;

/* Looks for Valgrind and makes the folder. OPC_ERR_NOT_FOUND names what to install. */
opc_status_t opc_memcheck_new(opc_memcheck_t **out, opc_error_t *error) OPC_CHECKED;
void opc_memcheck_free(opc_memcheck_t *memcheck);
/* memcheck's own; NULL without. */
const opc_launcher_t *opc_memcheck_launcher(const opc_memcheck_t *memcheck);
/* The end of what Valgrind said, for a worker that never came to speak. */
void opc_memcheck_last_words(const opc_memcheck_t *memcheck, opc_text_t *out);

/* The worker died while a library loaded, on an instruction that Valgrind does not know: its bytes. */
bool opc_memcheck_is_unwatchable(const opc_memcheck_t *memcheck, pid_t pid, int wait_status, opc_text_t *bytes);

/* A message of the child; other than these it stays as it is:
 *   a result gets what Valgrind saw during the case, and evidence.witnessed. Where that is worse than what the check
 * found, it is the result; otherwise it is among evidence.also; the answer to a try is "unclean" where the operator
 * read or wrote outside of its memory. Where errors were counted that are not in Valgrind's files (a full disk), the
 * result is the harness's error, rule "harness". */
opc_status_t opc_memcheck_judge(opc_memcheck_t *memcheck, const opc_child_t *child, const opc_memcheck_view_t *view,
                                json_t *message, opc_error_t *error) OPC_CHECKED;

/* A child that died in a case or a try: adds what Valgrind saw before to the evidence. */
typedef enum opc_memcheck_end {
  OPC_MEMCHECK_END_OWN = 0,     /* the operator's doing, as far as Valgrind goes */
  OPC_MEMCHECK_END_INSTRUCTION, /* Valgrind does not know an instruction: the crash's message says so, and it is no
                                   crash of the operator */
  OPC_MEMCHECK_END_FAILURE      /* Valgrind itself broke down: rule and message say so */
} opc_memcheck_end_t;
opc_status_t opc_memcheck_crash(opc_memcheck_t *memcheck, const opc_child_t *child, const opc_memcheck_view_t *view,
                                opc_crash_t *crash, opc_memcheck_end_t *out, opc_error_t *error) OPC_CHECKED;

/* At the end of the run, when the worker is gone: notes how much was watched, and what came up outside of any case
 * (while the libraries were loaded, or a leak where VALGRIND_OPTS asks for them). *out_lost: errors could not be read,
 * of whichever case. */
opc_status_t opc_memcheck_note_rest(opc_memcheck_t *memcheck, const opc_memcheck_view_t *view, opc_journal_t *journal,
                                    bool *out_lost, opc_error_t *error) OPC_CHECKED;

#endif
