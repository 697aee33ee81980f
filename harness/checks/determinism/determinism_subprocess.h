/* Inside of check determinism: the operator in a process of its own.
 *
 * It is forked before the operator was called at all, so that its first call is the first of a process; and what it
 * does there, with arguments that the operator refuses or crashes on, ends with it. Until it is wanted it sleeps:
 * another check may end the parent before, again and again.
 *
 * Ownership: opc_subprocess_clear. Threads: one; where the process has more, or CUDA is in use, there is no forking,
 * and nothing apart. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_SUBPROCESS_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_SUBPROCESS_H

#include "checks/determinism/determinism_grow.h"

enum { OPC_SUBPROCESS_SAMPLES = 4 };
/* Elements to grow to: enough for libtorch's kernels to be divided; enough for a kernel to take longer than what is
 * around it. */
enum { OPC_GROWTH_LARGE = 40000, OPC_GROWTH_MEDIUM = 10000 };

/* The calls, in this order; all that are compared are on other values than the samples' own (opc_trial_other_values).
 */
typedef enum opc_subprocess_stage {
  OPC_SUBPROCESS_FIRST = 0,     /* each sample, as the first calls of the process */
  OPC_SUBPROCESS_SECOND,        /* each again */
  OPC_SUBPROCESS_THIRD,         /* and again, at other addresses: what differs here differs for no order's sake */
  OPC_SUBPROCESS_AFTER_OTHERS,  /* each after calls with the samples' own values */
  OPC_SUBPROCESS_AFTER_CHANGED, /* the first after a call with another dtype, shape, number or flag; only if that made a
                              difference */
  OPC_SUBPROCESS_AFTER_REFUSED, /* the first after such a call that threw; only if that made a difference */
  OPC_SUBPROCESS_TURNED_FIRST,  /* the first with other flags and numbers, as the first call of a process of its own */
  OPC_SUBPROCESS_TURNED_AFTER,  /* and after all the others; only if that made a difference */
  OPC_SUBPROCESS_STAGES
} opc_subprocess_stage_t;

typedef struct opc_subprocess opc_subprocess_t;

/* Forks. NULL: not here. */
opc_subprocess_t *opc_subprocess_start(const opc_case_context_t *context);
/* Now it is wanted; more than once is as once. */
void opc_subprocess_wake(opc_subprocess_t *subprocess);
/* After opc_subprocess_wake. Waits until it has ended, and reads what it left. */
void opc_subprocess_join(opc_subprocess_t *subprocess);
void opc_subprocess_clear(opc_subprocess_t *subprocess);

/* After opc_subprocess_join. NULL: there was no such call, or it ended before. */
const opc_trial_outcome_t *opc_subprocess_outcome(const opc_subprocess_t *subprocess, opc_subprocess_stage_t stage,
                                                  size_t sample);
/* The signal that ended it in a call of a stage, on arguments that the operator takes; 0: none did. */
int opc_subprocess_signal(const opc_subprocess_t *subprocess, opc_subprocess_stage_t *out_stage);
/* The call before that of AFTER_CHANGED or AFTER_REFUSED, in words. */
const char *opc_subprocess_before(const opc_subprocess_t *subprocess);
/* The same without what became of it: what was changed in the sample. */
const char *opc_subprocess_changed(const opc_subprocess_t *subprocess);
/* What is other in the calls of TURNED_FIRST and TURNED_AFTER, in words. */
const char *opc_subprocess_turned(const opc_subprocess_t *subprocess);
/* How many calls threw. */
size_t opc_subprocess_refused(const opc_subprocess_t *subprocess);
/* Some call, on changed arguments too, took numbers from a generator. */
bool opc_subprocess_random(const opc_subprocess_t *subprocess);
/* What the first sample can grow by. */
void opc_subprocess_enlargement(const opc_subprocess_t *subprocess, opc_enlargement_t *out_large,
                                opc_enlargement_t *out_medium);
/* It read or wrote outside its tensors: check memory's business. */
bool opc_subprocess_strays(const opc_subprocess_t *subprocess);

#endif
