/* One batch child: a process that receives commands for one operator and is watched. Nothing it does is trusted: its
 * channel may carry garbage or nothing, its crash record may contain anything, it may end at any time.
 *
 * Life: opc_child_open; then the worker's "forked" message gives it a process (or opc_worker_start_batch does);
 * opc_child_command; lines…; and its end: reported by the worker ("reaped"), or by its pidfd if it is this process's
 * own child. Ownership: opc_child_close releases everything and kills what still runs. Threads: one. Times:
 * CLOCK_MONOTONIC, seconds. */
#pragma once

#include "base/system.h"
#include "supervise/process/worker_process.h"
#include "supervise/symbols/symbolise.h"
#include "wire/protocol.h"

typedef enum opc_end_cause {
  OPC_END_BY_ITSELF = 0, /* see the wait status */
  OPC_END_TIMEOUT,       /* killed: a case exceeded its time limit */
  OPC_END_IDLE,          /* killed: no case was running, and no message came */
  OPC_END_GARBAGE,       /* killed: it sent something that is not a message */
  OPC_END_CHANNEL,       /* killed: it closed its channel but did not exit */
  OPC_END_WORKER         /* it killed the worker too; the wait status is the worker's */
} opc_end_cause_t;

typedef struct opc_child {
  uint64_t id;
  opc_channel_t channel;
  int theirs[3]; /* the other ends of batch channel, crash record and output, until they are sent; then -1 */
  opc_crash_record_t *crash_record;
  int output; /* memfd */
  int pidfd;  /* -1: not forked yet */
  pid_t pid;
  bool own;              /* this process's own child: must be reaped here */
  opc_channel_t control; /* of an own child: receives "ready" */
  opc_maps_t maps;       /* of an own child; others use their worker's */
  bool reaped;
  int status; /* wait status, once reaped */
  int64_t max_rss_kib;
  opc_end_cause_t cause;
  char culprit[OPC_CRASH_RECORD_CASE_SIZE];   /* OPC_END_GARBAGE: the case that wrote it, if known; otherwise "" */
  bool killed, closed;                        /* closed: the channel has ended */
  double opened, heard, closed_at, killed_at; /* closed_at: when the channel ended, or when it was told to leave */
  bool leaving;                               /* its work is done; it may exit */
  uint64_t sequence;                          /* of the crash record at the last look */
  double cpu;                                 /* its processor time at that moment, seconds */
  uint64_t looked;                            /* the sequence when it was last looked for in known hangs */
  double hung_after;                          /* seconds, if it is in a known hang and was not waited for; else 0 */
  bool launched;                              /* its process is a tool's, and the worker another program to it */
  double program_seen, program_looked; /* when another program last ran for it, and was last looked for; 0: never */
  double output_looked;                /* when the size of its output was last looked at; 0: never */
  double compiler_seen;                /* when it was last seen to compile within its own process; 0: never */
  double pace;                         /* slowdown factor for all time limits except a case's */
  void *owner;                         /* for whom it works; NULL once it was given up */
  struct opc_hang_places *hangs;       /* of the run (hang_place.h); NULL: none are kept */
  const opc_maps_t *hangs_maps;        /* of the worker that forked it */
  bool learns;                         /* it tries other arguments than a sample's: nobody vouches for them */
} opc_child_t;

opc_status_t opc_child_open(uint64_t id, void *owner, opc_child_t **out, opc_error_t *error) OPC_CHECKED;
/* Requests the process from the worker; memory_mib is its limit. */
opc_status_t opc_child_request(opc_child_t *child, opc_channel_t *control, int memory_mib,
                               opc_error_t *error) OPC_CHECKED;
/* Executes a separate worker as its process (--exec-batch). */
opc_status_t opc_child_execute(opc_child_t *child, const opc_worker_command_t *command, int memory_mib,
                               opc_error_t *error) OPC_CHECKED;
/* The process has started. Takes the pidfd. */
void opc_child_started(opc_child_t *child, pid_t pid, int pidfd, bool own);
void opc_child_kill(opc_child_t *child, opc_end_cause_t cause);
/* No more work for it: closes its channel; it exits or is killed after 2 s. */
void opc_child_leave(opc_child_t *child);
/* Kills it when its time is up. case_seconds: limit of a case or try. Returns the seconds until the next call is
 * due. */
double opc_child_watch(opc_child_t *child, double case_seconds);
/* Reaps an own child that ended; true if it is reaped (now or before). */
bool opc_child_reap(opc_child_t *child);
/* The case or try in the crash record, truncated to size; false: none was running. */
bool opc_child_case(const opc_child_t *child, char out[OPC_CRASH_RECORD_CASE_SIZE]);
void opc_child_close(opc_child_t *child);

/* What a process and those that it started are doing, from /proc. All of it is a glance: a process may end while it
 * is looked at, which counts as doing nothing.
 *
 * Threads: any. */

/* Processor seconds that a process has used; -1: not known. */
double opc_process_cpu(pid_t pid);
/* True if one of its threads runs, or waits for a processor or in the kernel (state D, such as for a disk). */
bool opc_process_is_runnable(pid_t pid);
/* True if a process that it started, or one that those started, executes another program and is runnable: a compiler,
 * for example. */
bool opc_process_runs_a_program(pid_t pid);
