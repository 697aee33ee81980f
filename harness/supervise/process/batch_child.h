/* One batch child: a process that is sent commands for one operator, and watched. Nothing it does is trusted: its
 * channel may carry garbage or nothing, its crash record anything, its end may come at any time.
 *
 * Life: opc_child_open, then "forked" of the worker gives it a process (or opc_worker_start_batch does),
 * opc_child_command, lines…, and its end: told by the worker ("reaped"), or by its pidfd where it is this process's own
 * child. Ownership: opc_child_close releases everything and kills what still runs. Threads: one. Times:
 * CLOCK_MONOTONIC, seconds. */
#ifndef OPC_SUPERVISE_PROCESS_BATCH_CHILD_H
#define OPC_SUPERVISE_PROCESS_BATCH_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "supervise/process/worker_process.h"
#include "supervise/symbols/symbolise.h"
#include "wire/channel.h"
#include "wire/protocol.h"

typedef enum opc_end_cause {
  OPC_END_BY_ITSELF = 0, /* the wait status says how */
  OPC_END_TIMEOUT,       /* killed: a case ran for longer than its time */
  OPC_END_IDLE,          /* killed: no case, and nothing heard */
  OPC_END_GARBAGE,       /* killed: what came on the channel was no message */
  OPC_END_CHANNEL,       /* killed: it closed its channel and stayed */
  OPC_END_WORKER         /* it took the worker with it; the wait status is the worker's */
} opc_end_cause_t;

typedef struct opc_child {
  uint64_t id;
  opc_channel_t channel;
  int theirs[3]; /* batch channel, crash record, output: the other ends, until they are sent; -1 then */
  opc_crash_record_t *crash_record;
  int output; /* memfd */
  int pidfd;  /* -1: not forked yet */
  pid_t pid;
  bool own;              /* this process's own child: to be waited for here */
  opc_channel_t control; /* of an own child: "ready" comes on it */
  opc_maps_t maps;       /* of an own child; the others have their worker's */
  bool reaped;
  int status; /* wait status, once reaped */
  int64_t max_rss_kib;
  opc_end_cause_t cause;
  char culprit[OPC_CRASH_RECORD_CASE_SIZE];   /* OPC_END_GARBAGE: the case that wrote it, where that is known; ""
                                                 otherwise */
  bool killed, closed;                        /* closed: the channel has ended */
  double opened, heard, closed_at, killed_at; /* closed_at: when the channel ended, or when it was told to leave */
  bool leaving;                               /* its work is done; it may go */
  uint64_t sequence;                          /* of the crash record when last looked at */
  double cpu;                                 /* processor time that it had used then, seconds */
  double pace;                                /* how many times longer than usual everything but a case may take */
  void *owner;                                /* whose work it does; NULL once it is leaving */
} opc_child_t;

opc_status_t opc_child_open(uint64_t id, void *owner, opc_child_t **out, opc_error_t *error) OPC_CHECKED;
/* Asks the worker for the process; memory_mib is its limit. */
opc_status_t opc_child_request(opc_child_t *child, opc_channel_t *control, int memory_mib,
                               opc_error_t *error) OPC_CHECKED;
/* Executes a worker for it, which is its process alone (--exec-batch). */
opc_status_t opc_child_execute(opc_child_t *child, const opc_worker_command_t *command, int memory_mib,
                               opc_error_t *error) OPC_CHECKED;
/* The process is there. Takes the pidfd. */
void opc_child_started(opc_child_t *child, pid_t pid, int pidfd, bool own);
void opc_child_kill(opc_child_t *child, opc_end_cause_t cause);
/* Nothing more is wanted from it: its channel ends, it leaves by itself or is killed after 2 s. */
void opc_child_leave(opc_child_t *child);
/* Kills it when its time is over. case_seconds: of a case or try. Returns the seconds until it must be asked again. */
double opc_child_watch(opc_child_t *child, double case_seconds);
/* An own child that ended is reaped; true when it is (or was). */
bool opc_child_reap(opc_child_t *child);
/* The case or try that the crash record names, cut to size; false when none was running. */
bool opc_child_case(const opc_child_t *child, char out[OPC_CRASH_RECORD_CASE_SIZE]);
void opc_child_close(opc_child_t *child);

#endif
