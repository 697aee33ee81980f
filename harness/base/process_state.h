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
} opc_process_state_t;

/* About 10 us. Flushes stdout. */
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
  OPC_PROCESS_SURROUNDINGS, /* everything else */
  OPC_PROCESS_PARTS
} opc_process_part_t;
/* Adds a clause to *out[part] for each difference: "the umask was 022 and is 000". Does not compare sizes of
 * streams. */
void opc_process_state_compare(const opc_process_state_t *before, const opc_process_state_t *after,
                               opc_text_t *const out[OPC_PROCESS_PARTS]);

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
