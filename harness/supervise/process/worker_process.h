/* The opcheck-worker process: executed, spoken to, ended. What it says is read by load.c (until "ready") and by the
 * event loop (children).
 *
 * Ownership: opc_worker_stop releases everything inside. Threads: one. Fork: every descriptor is close-on-exec; the
 * worker dies with its parent. */
#ifndef OPC_SUPERVISE_PROCESS_WORKER_PROCESS_H
#define OPC_SUPERVISE_PROCESS_WORKER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"
#include "supervise/process/worker_find.h"
#include "wire/channel.h"

typedef struct opc_worker {
  pid_t pid; /* 0: not running */
  int pidfd;
  int leave_ms; /* how long it may take to leave once its channel is closed */
  int output;   /* memfd: what it and its libraries printed */
  opc_channel_t control;
  int status; /* wait status, once it ended */
  bool ended;
} opc_worker_t;

#define OPC_WORKER_INIT \
  { .pidfd = -1, .leave_ms = 200, .output = -1, .control = OPC_CHANNEL_INIT }

/* What stands in front of the worker's command line: Valgrind, compute-sanitizer. */
typedef struct opc_launcher {
  const char *const *words;     /* NULL at their end; the first is the path of the program */
  const char *tool;             /* the worker's --tool; NULL: none */
  const char *variable, *value; /* of its environment */
  int log;                      /* becomes descriptor OPC_LOG_FD; -1: none */
} opc_launcher_t;

/* What every way of executing a worker needs. */
typedef struct opc_worker_command {
  const opc_worker_plan_t *plan;
  const char *const *preloads;
  size_t preload_count;
  const char *const *namespaces; /* listed whole */
  size_t namespace_count;
  const char *const *libraries;
  size_t library_count;
  const char *package;            /* NULL: none */
  const char *mode;               /* OPC_MODE_… */
  const char *cuda_wrappers;      /* preloaded; NULL: none */
  const char *cuda_architecture;  /* of the simulated devices: "sm_90" */
  const opc_launcher_t *launcher; /* NULL: none */
} opc_worker_command_t;

opc_status_t opc_worker_start(const opc_worker_command_t *command, opc_worker_t *worker,
                              opc_error_t *error) OPC_CHECKED;
/* Executes a worker that is one batch's child itself (--exec-batch). The descriptors stay the caller's. */
opc_status_t opc_worker_start_batch(const opc_worker_command_t *command, int memory_mib, int control, int channel,
                                    int crash_record, int output, pid_t *out_pid, int *out_pidfd,
                                    opc_error_t *error) OPC_CHECKED;
/* Waits up to milliseconds for the end of the worker; true once it ended, `status` is filled in then. */
bool opc_worker_wait(opc_worker_t *worker, int milliseconds);
/* Kills it if it still runs, reaps it, releases everything. */
void opc_worker_stop(opc_worker_t *worker);

/* A memfd that is appended to by whoever writes. -1: errno says why. */
int opc_output_open(void);
/* Adds the last `size` bytes of an output memfd at most, with leading and trailing blanks left out. */
void opc_output_tail(int fd, size_t size, opc_text_t *out);
/* Sends SIGKILL to the process and, when it leads one, to its process group. A process that has been reaped is left
 * alone. */
void opc_pidfd_kill(int pidfd, pid_t pid);

#endif
