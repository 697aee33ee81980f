/* Process state other than memory and library settings. A call into a library must leave it unchanged.
 *
 * Ownership: nothing to free; opc_process_state_keep copies the data for restoring, until opc_process_state_forget.
 * Threads: per-thread state is the calling thread's. Fork: a child can use what was kept before the fork. */
#pragma once

#include <limits.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

enum { OPC_STREAMS = 3, OPC_SIGNALS = 32, OPC_LOCALE_SIZE = 256 };

/* Floating-point mode of the processor: rounding, denormals, traps. Does not include exception flags. */
typedef struct opc_fp_control {
  uint64_t vector; /* MXCSR, FPCR */
  uint64_t scalar; /* the x87 control word; 0 elsewhere */
} opc_fp_control_t;
opc_fp_control_t opc_fp_control_read(void); /* a few ns */
void opc_fp_control_write(opc_fp_control_t control);
/* The same mode, but denormal inputs count as zero and denormal results become zero. */
opc_fp_control_t opc_fp_control_flushing(opc_fp_control_t control);

/* What the sandbox refused this process and those that it started. Another process writes it, and it may hold
 * anything. */
typedef struct opc_refusals {
  volatile uint32_t count;
  volatile uint32_t crowded; /* half of the processes that it may have are there; the process itself clears it */
  pid_t pid;                 /* of this process */
  char last[252];            /* "write to /etc/hosts" */
} opc_refusals_t;
/* This process's own, for the rest of its life; NULL: nobody counts them. */
void opc_refusals_watch(const opc_refusals_t *refusals);
/* The last one, without control characters; `out` has room for it. */
void opc_refusals_last(const opc_refusals_t *refusals, char out[sizeof(((opc_refusals_t *)0)->last)]);

typedef struct opc_process_state {
  opc_fp_control_t fp;
  struct opc_stream_state {
    bool open;
    dev_t device; /* of the underlying file */
    ino_t inode;
    int flags; /* fcntl(F_GETFL) */
    off_t size;
  } streams[OPC_STREAMS]; /* standard input, output, error */
  cpu_set_t processors;
  char directory[PATH_MAX];
  mode_t umask;
  char locale[OPC_LOCALE_SIZE];
  locale_t thread_locale;
  sigset_t blocked;
  struct sigaction actions[OPC_SIGNALS]; /* index: signal number */
  uint64_t environment;                  /* a hash */
  uint32_t refusals;                     /* opc_refusals_watch */
  size_t started;                        /* processes that it started and that run */
  pid_t latest;                          /* of these; 0: none */
} opc_process_state_t;

/* About 20 us. Flushes stdout. */
void opc_process_state_read(opc_process_state_t *state);
/* Reads the state and copies what opc_process_state_restore needs later. Only the first call has an effect; the state
 * that it read is the one to restore. */
const opc_process_state_t *opc_process_state_keep(void);
/* The next opc_process_state_keep is the first again. */
void opc_process_state_forget(void);
/* Restores everything in which `now` differs from the kept state. */
void opc_process_state_restore(const opc_process_state_t *now);

typedef enum opc_process_part {
  OPC_PROCESS_FLOATING_POINT = 0,
  OPC_PROCESS_STREAMS,      /* closed, another file, another mode */
  OPC_PROCESS_PROCESSORS,   /* that the thread may run on (affinity) */
  OPC_PROCESS_REFUSALS,     /* accesses outside that the sandbox refused */
  OPC_PROCESS_STARTED,      /* processes that still run */
  OPC_PROCESS_SURROUNDINGS, /* everything else */
  OPC_PROCESS_PARTS
} opc_process_part_t;
/* Adds a clause to *out[part] for each difference: "the umask was 022 and is 000". Does not compare sizes of
 * streams. */
void opc_process_state_compare(const opc_process_state_t *before, const opc_process_state_t *after,
                               opc_text_t *const out[OPC_PROCESS_PARTS]);

/* The processes that its threads started and that have not been waited for; returns their number, at most `size`. */
size_t opc_process_children(pid_t pid, pid_t *out, size_t size);

/* Kills the processes that children in the sandbox left behind, which this process adopts (PR_SET_CHILD_SUBREAPER), and
 * what those started. known: its own children. */
void opc_strays_kill(const pid_t *known, size_t count);
/* Kills all processes that this one started or adopted. */
void opc_children_kill(void);

/* Resources that this process uses now; shows what calls leave behind.
 *
 * Threads: any; includes the use by other threads. Fork: counts the child's own. */

typedef struct opc_process_use {
  size_t allocated_bytes; /* by malloc, in all arenas, without what malloc caches */
  size_t mapped_bytes;    /* address space outside malloc: mappings, libraries, stacks */
  size_t descriptors;
  size_t threads;
} opc_process_use_t;

/* About 15 us. OPC_ERR_SYSTEM: /proc is unreadable; see errno (EMFILE: no descriptor is left). */
opc_status_t opc_process_use_read(opc_process_use_t *use, opc_error_t *error) OPC_CHECKED;
