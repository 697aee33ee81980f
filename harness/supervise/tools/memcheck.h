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
#include "result/case_result.h"
#include "supervise/common/journal.h"
#include "supervise/common/run_options.h"
#include "supervise/evidence/crash_report.h"

/* Reads one process's errors from Valgrind's XML (--xml=yes, protocol 4), while the process still runs or after it
 * was killed in the middle of a line. Reads complete parts, and omits the rest.
 *
 * Ownership: opc_memcheck_errors_clear. Sizes are bounded whatever the file contains. */

enum { OPC_MEMCHECK_FRAMES = 24, OPC_MEMCHECK_AUX = 3, OPC_MEMCHECK_ERRORS_MAX = 2000 };

typedef struct opc_memcheck_stack {
  uint64_t addresses[OPC_MEMCHECK_FRAMES]; /* the first is the instruction's, the others are inside their calls; a
                                              function and everything inlined there share one */
  size_t count;
  size_t skip;        /* number of leading frames in Valgrind's replacements of C library functions */
  char replaced[128]; /* the name of the first of these: "operator delete(void*)"; "": none */
} opc_memcheck_stack_t;

typedef struct opc_memcheck_error {
  char kind[40];  /* "InvalidRead" */
  char what[320]; /* "Invalid read of size 4" */
  opc_memcheck_stack_t stack;
  struct {
    char text[320]; /* "Address 0x4a430c0 is 0 bytes after a block of size 64 alloc'd" */
    opc_memcheck_stack_t stack;
  } aux[OPC_MEMCHECK_AUX];
  size_t aux_count;
  uint64_t key;    /* opc_memcheck_key of what and stack */
  uint64_t number; /* of the case or try announced last; 0: none */
  /* The argument that contains or adjoins the address; path "": none. As announced for the call that ran. */
  struct {
    char path[96];
    uint64_t data, bytes;
  } tensor;
} opc_memcheck_error_t;

typedef struct opc_memcheck_errors {
  opc_memcheck_error_t *items; /* in order of occurrence */
  size_t count;
  bool finished;   /* the process ended in a way that Valgrind noticed */
  bool new_failed; /* operator new was out of memory: Valgrind cannot throw, and ends the process */
} opc_memcheck_errors_t;

/* Equal for the same error at the same location, in XML and in the log. */
uint64_t opc_memcheck_key(const char *what, const uint64_t *addresses, size_t count);
/* Adds a frame's address while there is room; omits duplicates from inlining. */
void opc_memcheck_stack_add(opc_memcheck_stack_t *stack, uint64_t address);

/* Replaces *out. OPC_ERR_IO: the file is unreadable; a truncated file is not an error. */
opc_status_t opc_memcheck_xml_read(const char *path, opc_memcheck_errors_t *out, opc_error_t *error) OPC_CHECKED;
void opc_memcheck_errors_clear(opc_memcheck_errors_t *errors);

/* Converts a Valgrind error to a finding: its rule, a sentence, and the frames. */

/* How to resolve addresses. */
typedef struct opc_memcheck_view {
  opc_symboliser_t *symboliser;
  const opc_maps_t *maps; /* may be NULL */
  const char *library;    /* path of the library under test; may be NULL */
} opc_memcheck_view_t;

/* "memcheck.invalid_read". Unknown kinds give memcheck.suspicious. */
opc_rule_id_t opc_memcheck_rule(const char *kind);
/* A finding for opc_also_add. `rest` has "frames", "block" (frames) for the origin of the memory, and "valgrind":
 * {"kind", "what", "about": [TEXT…]}. Its message is NULL if memory ran out. */
opc_also_t opc_memcheck_describe(const opc_memcheck_error_t *error, const opc_memcheck_view_t *view);

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
