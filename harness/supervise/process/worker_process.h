/* The opcheck-worker process: starts it, talks to it, ends it. Its messages are read by load.c (until "ready") and by
 * the event loop (children).
 *
 * Ownership: opc_worker_stop releases everything inside. Threads: one. Fork: every descriptor is close-on-exec; the
 * worker dies with its parent. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "supervise/process/worker_find.h"
#include "wire/channel.h"

typedef struct opc_worker {
  pid_t pid; /* 0: not running */
  int pidfd;
  int leave_ms; /* how long it may take to exit after its channel is closed */
  int output;   /* memfd: output of it and its libraries */
  opc_channel_t control;
  int status; /* wait status, once it ended */
  bool ended;
} opc_worker_t;

#define OPC_WORKER_INIT \
  { .pidfd = -1, .leave_ms = 200, .output = -1, .control = OPC_CHANNEL_INIT }

/* Prefix of the worker's command line: Valgrind, compute-sanitizer. */
typedef struct opc_launcher {
  const char *const *words;     /* NULL-terminated; the first is the program's path */
  const char *tool;             /* the worker's --tool; NULL: none */
  const char *variable, *value; /* an environment variable for it */
  int log;                      /* becomes descriptor OPC_LOG_FD; -1: none */
} opc_launcher_t;

/* Parameters of every way to execute a worker. */
typedef struct opc_worker_command {
  const opc_worker_plan_t *plan;
  const char *const *preloads;
  size_t preload_count;
  const char *const *namespaces; /* all their operators are listed */
  size_t namespace_count;
  const char *const *libraries;
  size_t library_count;
  const char *const *modules; /* imported by `python` */
  size_t module_count;
  const opc_python_host_t *python; /* hosts the worker; NULL, or without a program: none */
  const char *package;             /* NULL: none */
  const char *mode;                /* OPC_MODE_… */
  const char *cuda_wrappers;       /* preloaded; NULL: none */
  const char *cuda_architecture;   /* of the simulated devices: "sm_90" */
  double sandbox_since;            /* when the run began; 0: no sandbox, and a launched worker has none either */
  const opc_launcher_t *launcher;  /* NULL: none */
} opc_worker_command_t;

opc_status_t opc_worker_start(const opc_worker_command_t *command, opc_worker_t *worker,
                              opc_error_t *error) OPC_CHECKED;
/* Executes a worker that is itself the child of one batch (--exec-batch). The descriptors remain the caller's. */
opc_status_t opc_worker_start_batch(const opc_worker_command_t *command, int memory_mib, int control, int channel,
                                    int crash_record, int output, pid_t *out_pid, int *out_pidfd,
                                    opc_error_t *error) OPC_CHECKED;
/* Waits up to milliseconds for the worker to end; true if it ended: `status` is then set. */
bool opc_worker_wait(opc_worker_t *worker, int milliseconds);
/* Kills it if it still runs after these milliseconds, and reaps it. */
void opc_worker_end(opc_worker_t *worker, int milliseconds);
/* Ends it and releases everything. */
void opc_worker_stop(opc_worker_t *worker);

/* A memfd to which all writers append. -1: see errno. */
int opc_output_open(void);
/* Appends at most the last `size` bytes of an output memfd, without leading and trailing blanks. */
void opc_output_tail(int fd, size_t size, opc_text_t *out);
/* Sends SIGKILL to the process and, if it is a group leader, to its process group. Does nothing if the process was
 * reaped. */
void opc_pidfd_kill(int pidfd, pid_t pid);
