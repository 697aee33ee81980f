/* Inside check determinism: the operator in a subprocess.
 *
 * It is forked before any call of the operator, so its first call is the first in a process. The effects of arguments
 * that the operator refuses or crashes on end with it. It sleeps until needed, because another check may end the parent
 * earlier, even repeatedly.
 *
 * Ownership: opc_subprocess_clear. Threads: one; if the process has more threads, or uses CUDA, there is no fork and no
 * subprocess. */
#pragma once

#include "checks/determinism/determinism_change.h"
#include "checks/determinism/determinism_grow.h"

enum { OPC_SUBPROCESS_SAMPLES = 4 };
/* Elements to grow to: LARGE suffices for libtorch to split its kernels among threads; MEDIUM for a kernel to take
 * longer than the code around it. */
enum { OPC_GROWTH_LARGE = 40000, OPC_GROWTH_MEDIUM = 10000 };

/* The calls, in this order. All compared calls use values other than the samples' own (opc_trial_other_values). */
typedef enum opc_subprocess_stage {
  OPC_SUBPROCESS_FIRST = 0,    /* each sample, in the first calls of the process */
  OPC_SUBPROCESS_SECOND,       /* each again */
  OPC_SUBPROCESS_THIRD,        /* and again, at other addresses: differences here do not come from the order of calls */
  OPC_SUBPROCESS_AFTER_OTHERS, /* each after calls with the samples' own values */
  OPC_SUBPROCESS_AFTER_CHANGED, /* the first sample after a call with another dtype, shape, number or flag; only if that
                                   changed the result */
  OPC_SUBPROCESS_AFTER_REFUSED, /* the first sample after such a call that threw; only if that changed the result */
  OPC_SUBPROCESS_TURNED_FIRST,  /* the first sample with each opc_turn_t (in place of a sample's number), as the first
                                   call of another process */
  OPC_SUBPROCESS_TURNED_AFTER,  /* and after all other calls; only if that changed the result */
  OPC_SUBPROCESS_STAGES
} opc_subprocess_stage_t;

typedef struct opc_subprocess opc_subprocess_t;

/* Forks. NULL: not possible in this process. */
opc_subprocess_t *opc_subprocess_start(const opc_case_context_t *context);
/* Starts it. Further calls have no effect. */
void opc_subprocess_wake(opc_subprocess_t *subprocess);
/* After opc_subprocess_wake. Waits for its end, and reads its records. */
void opc_subprocess_join(opc_subprocess_t *subprocess);
void opc_subprocess_clear(opc_subprocess_t *subprocess);

/* After opc_subprocess_join. NULL: there was no such call, or the subprocess ended before. */
const opc_trial_outcome_t *opc_subprocess_outcome(const opc_subprocess_t *subprocess, opc_subprocess_stage_t stage,
                                                  size_t sample);
/* The signal that ended it in a call of a stage, on arguments that the operator accepts; 0: none. */
int opc_subprocess_signal(const opc_subprocess_t *subprocess, opc_subprocess_stage_t *out_stage);
/* The call before the one of AFTER_CHANGED or AFTER_REFUSED, as text. */
const char *opc_subprocess_before(const opc_subprocess_t *subprocess);
/* The same without its outcome: what was changed in the sample. */
const char *opc_subprocess_changed(const opc_subprocess_t *subprocess);
/* What differs in the calls of TURNED_FIRST and TURNED_AFTER, as text. */
const char *opc_subprocess_turned(const opc_subprocess_t *subprocess, opc_turn_t turn);
/* How many calls threw. */
size_t opc_subprocess_refused(const opc_subprocess_t *subprocess);
/* True: some call drew numbers from a generator; this includes calls on changed arguments. */
bool opc_subprocess_random(const opc_subprocess_t *subprocess);
/* What the first sample can grow by. */
void opc_subprocess_enlargement(const opc_subprocess_t *subprocess, opc_enlargement_t *out_large,
                                opc_enlargement_t *out_medium);
/* True: it read or wrote outside its tensors. The memory check reports that. */
bool opc_subprocess_out_of_bounds(const opc_subprocess_t *subprocess);
