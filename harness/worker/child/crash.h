/* The crash record's writer: what a child reports about its own death.
 *
 * SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP and SIGSYS fill in signal, address and frames, then take their
 * default course. An exit() from inside an operator leaves its frames with signal 0 and keeps its status; static
 * destructors of the libraries do not run. Everything that runs in a handler is async-signal-safe: the unwinder was
 * warmed up before.
 * An access that guarded memory forbids (memory/guard.h) is noted there and is no death.
 * Threads: handlers serve whichever thread faults first. Fork: a process that an operator forks leaves the box alone.
 */
#ifndef OPC_WORKER_CHILD_CRASH_H
#define OPC_WORKER_CHILD_CRASH_H

#include "base/status.h"
#include "wire/protocol.h"

/* Maps a crash record from its memfd; the supervisor has written its magic. Kept for the life of the process. */
opc_status_t opc_crash_map(int fd, opc_crash_record_t **out, opc_error_t *error) OPC_CHECKED;
/* From now on this process writes its death into the box, which outlives the process. */
opc_status_t opc_crash_install(opc_crash_record_t *box, opc_error_t *error) OPC_CHECKED;

#endif
