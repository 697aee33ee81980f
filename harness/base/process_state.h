/* What a process has besides its memory and its libraries' settings, and a call into a library must leave as it found
 * it.
 *
 * Ownership: nothing to free; opc_process_state_keep copies what restoring needs, once, for the life of the process.
 * Threads: of the calling thread where a thing is a thread's own. Fork: what was kept before a fork serves the child.
 */
#ifndef OPC_BASE_PROCESS_STATE_H
#define OPC_BASE_PROCESS_STATE_H

#include <limits.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text.h"

enum { OPC_STREAMS = 3, OPC_SIGNALS = 32, OPC_LOCALE_SIZE = 256 };

/* How the processor computes with floating-point numbers: rounding, denormals, traps. Flags that an operation raised
 * are no part of it. */
typedef struct opc_fp_control {
  uint64_t vector; /* MXCSR, FPCR */
  uint64_t scalar; /* the x87 control word; 0 elsewhere */
} opc_fp_control_t;
opc_fp_control_t opc_fp_control_read(void); /* a few ns */
void opc_fp_control_write(opc_fp_control_t control);
/* The same, with denormal numbers taken for zero and results flushed to it. */
opc_fp_control_t opc_fp_control_flushing(opc_fp_control_t control);

typedef struct opc_process_state {
  opc_fp_control_t fp;
  struct opc_stream_state {
    bool open;
    dev_t device; /* of the file behind it */
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
  struct sigaction actions[OPC_SIGNALS]; /* by signal number */
  uint64_t environment;                  /* a hash */
} opc_process_state_t;

/* About 10 us. Flushes stdout. */
void opc_process_state_read(opc_process_state_t *state);
/* Reads it and copies what a later opc_process_state_restore needs. Only the first call counts; what it read is the
 * state to restore. */
const opc_process_state_t *opc_process_state_keep(void);
/* Puts back whatever `now` has changed of what was kept. */
void opc_process_state_restore(const opc_process_state_t *now);

typedef enum opc_process_part {
  OPC_PROCESS_FLOATING_POINT = 0,
  OPC_PROCESS_STREAMS,      /* closed, another file, another mode */
  OPC_PROCESS_PROCESSORS,   /* that the thread may run on */
  OPC_PROCESS_SURROUNDINGS, /* everything else */
  OPC_PROCESS_PARTS
} opc_process_part_t;
/* Adds a clause to *out[part] for each thing that differs: "the umask was 022 and is 000". Sizes of streams are not
 * compared. */
void opc_process_state_compare(const opc_process_state_t *before, const opc_process_state_t *after,
                               opc_text_t *const out[OPC_PROCESS_PARTS]);

#endif
