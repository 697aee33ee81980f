/* A child's work: a batch of commands, and the crash record that outlives it.
 *
 * Handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP and SIGSYS record signal, address and frames; then the
 * default action follows. An exit() from inside an operator records its frames with signal 0 and keeps its status;
 * static destructors of the libraries do not run. All code in handlers is async-signal-safe: the unwinder was warmed up
 * before.
 * An access that guarded memory forbids (memory/guard.h) is recorded there and is not a crash.
 * Threads: handlers serve whichever thread faults first. Fork: a process forked by an operator does not touch the
 * record. */
#pragma once

#include "model/case/case.h"
#include "model/sample/sample.h"
#include "wire/protocol.h"

/* Maps a crash record from its memfd; the supervisor has written its magic. Kept for the life of the process. */
opc_status_t opc_crash_map(int fd, opc_crash_record_t **out, opc_error_t *error) OPC_CHECKED;
/* From now on this process writes its crash into the record, which outlives the process. */
opc_status_t opc_crash_install(opc_crash_record_t *record, opc_error_t *error) OPC_CHECKED;

/* The crash record for a case or a try: written before it starts, so that a crash is attributed to it. One thread
 * writes; the supervisor reads at any time. */
void opc_crash_case_begin(opc_crash_record_t *record, const char *case_id, opc_call_label_t label);
void opc_crash_case_announce(opc_crash_record_t *record, opc_call_label_t label);
void opc_crash_case_end(opc_crash_record_t *record);

/* A child's commands: runs cases and tries, and answers them one by one (protocol.h, batch channel).
 *
 * Ownership: the caller owns the crash record `record` and the operators. */

/* Serves until the channel ends. Takes ownership of fd. An error means that the channel is no longer usable. */
opc_status_t opc_batch_serve(int fd, opc_crash_record_t *record, const json_t *operators,
                             opc_error_t *error) OPC_CHECKED;

/* Valgrind's errors in a case or a try, if the child runs under Valgrind. Only counts are kept. */

/* number: of the case or try within its child (opc_crash_record_t). */
void opc_valgrind_case_begin(uint64_t number);
/* Ends the case or try; errors, if any, go to "memcheck" of the message. */
void opc_valgrind_case_end(uint64_t number, json_t *message);
