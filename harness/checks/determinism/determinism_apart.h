/* Inside of check determinism: the operator in a process of its own.
 *
 * It is forked before the operator was called at all, so that its first call is the first of a process; and what it
 * does there, with arguments that the operator refuses or crashes on, ends with it. Until it is wanted it sleeps:
 * another check may end the parent before, again and again.
 *
 * Ownership: opc_apart_clear. Threads: one; where the process has more, or CUDA is in use, there is no forking, and
 * nothing apart. */
#ifndef OPC_CHECKS_DETERMINISM_DETERMINISM_APART_H
#define OPC_CHECKS_DETERMINISM_DETERMINISM_APART_H

#include "checks/determinism/determinism_grow.h"

enum { OPC_APART_SAMPLES = 4 };
/* Elements to grow to: enough for libtorch's kernels to be divided; enough for a kernel to take longer than what is
 * around it. */
enum { OPC_GROWTH_LARGE = 40000, OPC_GROWTH_MEDIUM = 10000 };

/* The calls, in this order; all that are compared are on other values than the samples' own (opc_trial_other_values).
 */
typedef enum opc_apart_stage {
  OPC_APART_FIRST = 0,     /* each sample, as the first calls of the process */
  OPC_APART_SECOND,        /* each again */
  OPC_APART_THIRD,         /* and again, at other addresses: what differs here differs for no order's sake */
  OPC_APART_AFTER_OTHERS,  /* each after calls with the samples' own values */
  OPC_APART_AFTER_CHANGED, /* the first after a call with another dtype, shape, number or flag; only if that made a
                              difference */
  OPC_APART_AFTER_REFUSED, /* the first after such a call that threw; only if that made a difference */
  OPC_APART_TURNED_FIRST,  /* the first with other flags and numbers, as the first call of a process of its own */
  OPC_APART_TURNED_AFTER,  /* and after all the others; only if that made a difference */
  OPC_APART_STAGES
} opc_apart_stage_t;

typedef struct opc_apart opc_apart_t;

/* Forks. NULL: not here. */
opc_apart_t *opc_apart_start(const opc_case_context_t *context);
/* Now it is wanted; more than once is as once. */
void opc_apart_wake(opc_apart_t *apart);
/* After opc_apart_wake. Waits until it has ended, and reads what it left. */
void opc_apart_join(opc_apart_t *apart);
void opc_apart_clear(opc_apart_t *apart);

/* After opc_apart_join. NULL: there was no such call, or it ended before. */
const opc_trial_outcome_t *opc_apart_outcome(const opc_apart_t *apart, opc_apart_stage_t stage, size_t sample);
/* The signal that ended it in a call of a stage, on arguments that the operator takes; 0: none did. */
int opc_apart_signal(const opc_apart_t *apart, opc_apart_stage_t *out_stage);
/* The call before that of AFTER_CHANGED or AFTER_REFUSED, in words. */
const char *opc_apart_before(const opc_apart_t *apart);
/* The same without what became of it: what was changed in the sample. */
const char *opc_apart_changed(const opc_apart_t *apart);
/* What is other in the calls of TURNED_FIRST and TURNED_AFTER, in words. */
const char *opc_apart_turned(const opc_apart_t *apart);
/* How many calls threw. */
size_t opc_apart_refused(const opc_apart_t *apart);
/* Some call, on changed arguments too, took numbers from a generator. */
bool opc_apart_random(const opc_apart_t *apart);
/* What the first sample can grow by. */
void opc_apart_enlargement(const opc_apart_t *apart, opc_enlargement_t *out_large, opc_enlargement_t *out_medium);
/* It read or wrote outside its tensors: check memory's business. */
bool opc_apart_strays(const opc_apart_t *apart);

#endif
