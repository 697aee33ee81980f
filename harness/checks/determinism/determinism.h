/* Inside check determinism: calls of the operator under given conditions, changed and larger samples, the operator in a
 * subprocess, and the check's parts.
 *
 * All calls run in guarded memory with the same poison, so uninitialised memory and memory outside a tensor look the
 * same to each of them. Other checks report such accesses. Ownership: opc_trial_outcome_clear, opc_generators_clear.
 * Threads: one. */
#pragma once

#include <sys/types.h>

#include "checks/framework/check.h"

typedef enum opc_trial_condition {
  OPC_TRIAL_ELSEWHERE = 1 << 0, /* tensors at other addresses and in the opposite order, malloc's small blocks at other
                                   addresses; on the CPU */
  OPC_TRIAL_NO_GRAD = 1 << 1,   /* grad mode off */
  OPC_TRIAL_REQUIRES_GRAD = 1 << 2,     /* every floating and complex argument that is not written requires grad */
  OPC_TRIAL_DEFAULT_DTYPE = 1 << 3,     /* float64 is the default dtype */
  OPC_TRIAL_OTHER_SEED = 1 << 4,        /* another seed for the generators; the arguments' values stay */
  OPC_TRIAL_ONLY_DETERMINISTIC = 1 << 5 /* torch.use_deterministic_algorithms(True) */
} opc_trial_condition_t;

typedef struct opc_trial_outcome {
  opc_call_outcome_t outcome;
  opc_result_t result; /* with mutable arguments; empty unless it returned */
  opc_text_t message;  /* of a call that did not return */
} opc_trial_outcome_t;
void opc_trial_outcome_clear(opc_trial_outcome_t *outcome);

/* The memory that trials run in. The runner resets it after the case; opc_trial_memory_end resets what the runner does
 * not. */
void opc_trial_memory_begin(void);
void opc_trial_memory_end(void);

/* Makes the arguments, calls the operator once under trial->conditions, takes the outcome. */
opc_status_t opc_trial_run(const opc_again_t *trial, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;
/* The steps of opc_trial_run, for conditions other than ELSEWHERE. Whatever the status, the caller clears the call,
 * then frees the places. */
opc_status_t opc_trial_make(const opc_again_t *trial, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
void opc_trial_call(const opc_again_t *trial, opc_call_t *call);
opc_status_t opc_again_take(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;
/* The same without copies that can be avoided, for an outcome that is cleared before the call. */
opc_status_t opc_trial_look(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;

/* ---- generators ---- */

/* Finds whether a call draws numbers from a default generator that it may use on its device: keep the states, make the
 * call with the context's seed, then ask. The caller clears them in any case. */
typedef struct opc_generators {
  struct opc_generator_state {
    void *bytes;
    size_t size;
  } states[2]; /* of the CPU, and of the device if that is another */
} opc_generators_t;
opc_status_t opc_generators_keep(const opc_case_context_t *context, opc_generators_t *out,
                                 opc_error_t *error) OPC_CHECKED;
opc_status_t opc_generators_used(const opc_case_context_t *context, const opc_generators_t *kept, bool *out_used,
                                 opc_error_t *error) OPC_CHECKED;
void opc_generators_clear(opc_generators_t *generators);
/* opc_trial_run between the two. *out_random: the call drew numbers from a default generator; false on errors. */
opc_status_t opc_trial_run_watched(const opc_again_t *trial, opc_trial_outcome_t *out, bool *out_random,
                                   opc_error_t *error) OPC_CHECKED;

/* ---- comparing ---- */

/* True: two calls returned different bits, or one threw and the other returned. *out (may be NULL) then says where:
 * "returns[0][1] is 1, NAME has 2…". */
bool opc_trial_differ(const opc_trial_outcome_t *left, const opc_trial_outcome_t *right, const char *right_name,
                      opc_text_t *out);

/* ---- determinism_record.c: outcomes as bytes, for memory shared by two processes ---- */

/* Both sides of a fork are the same program at the same address, so structs are copied unchanged; but the operator may
 * have damaged the bytes. The caller clears what is read.
 *
 * The call that an outcome belongs to. */
typedef struct opc_record_key {
  size_t stage, sample;
} opc_record_key_t;

/* Bytes used; 0: there is not enough room. */
size_t opc_record_write(void *room, size_t size, opc_record_key_t key, const opc_trial_outcome_t *outcome);
/* Bytes used; 0: there is no whole record, and nothing to clear. */
size_t opc_record_read(const void *bytes, size_t size, opc_record_key_t *out_key, opc_trial_outcome_t *out);

/* ---- other values ---- */

/* Other values for the sample's tensors, valid as far as the fills show: random fills draw other numbers; given
 * floating numbers other than 0 move, and keep their integer parts and their order. *out_changed: some value differs.
 * The caller clears *out. */
opc_status_t opc_trial_other_values(opc_case_context_t *context, const opc_sample_t *sample, opc_replay_t *out,
                                    bool *out_changed, opc_error_t *error) OPC_CHECKED;

/* True: something was read or written out of bounds since the case began. The memory check reports that, and bits may
 * differ because of it. */
bool opc_trial_out_of_bounds(void);

/* Changes something in a sample that an operator may keep between calls, or refuse.
 *
 * The changed sample need not be valid: the calls are made in a subprocess. Ownership: the caller clears the sample. */

typedef enum opc_change_state {
  OPC_CHANGE_MADE = 0,
  OPC_CHANGE_NOT_HERE /* the sample has nothing that this change applies to */,
  OPC_CHANGES_OVER
} opc_change_state_t;

/* From this change on, shapes do not fit: a kernel that trusts them may crash. */
extern const size_t opc_change_first_misfit;

/* The number-th change, from 0: dtypes, sizes, numbers and flags, then shapes that do not fit. `what` gets its
 * description. */
opc_change_state_t opc_change_make(const opc_operator_t *op, const opc_sample_t *sample, size_t number,
                                   opc_sample_t *out, char *what, size_t size);
/* What a result may be kept under without being part of the key. */
typedef enum opc_turn {
  OPC_TURN_OPTIONS = 0, /* other floating-point numbers and every flag inverted, or one of the two */
  OPC_TURN_DTYPE,       /* float64 in place of another floating dtype, float32 in place of float64 */
  OPC_TURN_LARGER,      /* larger tensors: memory that is as large as the first call wanted is too small */
  OPC_TURNS
} opc_turn_t;
opc_change_state_t opc_change_turn(const opc_operator_t *op, const opc_sample_t *sample, opc_turn_t turn,
                                   opc_sample_t *out, char *what, size_t size);

/* Makes a sample larger. libtorch splits work among threads from about 30,000 elements on, and a race needs more than a
 * few elements to show.
 *
 * A kernel that trusts its arguments (also a size passed as a number) may crash on a changed sample. So a subprocess
 * searches for what can grow; only growth known to be harmless is used. Ownership: opc_grown_clear. */

/* Every dimension of this size is multiplied, in every tensor: a batch, or a size that the tensors share. For size 1:
 * only the first dimension of the largest tensor. */
typedef struct opc_enlargement {
  int64_t size;
  int64_t factor; /* 0: nothing can grow */
} opc_enlargement_t;

/* *out: the growth at which the largest tensor has `numel` elements. *out_fewer, for many calls: the last fast step on
 * the way with at most `fewer` elements, or else the first fast step. Stops earlier if the operator refuses or a
 * further step would be too slow: an operator whose time grows with the cube of a size must not run for minutes. */
opc_status_t opc_enlargement_search(opc_case_context_t *context, const opc_sample_t *sample, int64_t numel,
                                    int64_t fewer, opc_enlargement_t *out, opc_enlargement_t *out_fewer,
                                    opc_error_t *error) OPC_CHECKED;

typedef struct opc_grown {
  opc_sample_t sample;
  int64_t numel; /* elements of its largest tensor */
  opc_replay_t values,
      other; /* the small sample's own values and, on request, others (opc_trial_other_values), repeated */
} opc_grown_t;

/* With growth->factor 0: the unmodified sample. Makes no call. */
opc_status_t opc_grown_make(opc_case_context_t *context, const opc_sample_t *sample, const opc_enlargement_t *growth,
                            bool others, opc_grown_t *out, opc_error_t *error) OPC_CHECKED;
void opc_grown_clear(opc_grown_t *grown);
/* *out gets "x = float32[93750, 3]", for messages; the finding gets the same text as its variant. */
void opc_grown_note(const opc_grown_t *grown, const opc_operator_t *op, opc_text_t *out, opc_finding_t *finding);

/* Batches: whether each row of the result depends on the same row of the arguments alone, bit for bit.
 *
 * A dimension is a batch if permuting it in the arguments permutes the result, and other numbers in some rows leave the
 * others as they are. Makes calls on other numbers of rows, which nobody vouches for: for a process of its own. */
typedef enum opc_batch_kind {
  OPC_BATCH_UNKNOWN = 0, /* not looked at */
  OPC_BATCH_NONE,        /* no dimension is a batch, as far as was seen */
  OPC_BATCH_SAME,        /* rows have the same bits in all batches */
  OPC_BATCH_INSIDE,      /* the last bits of a row depend on the batch, and libtorch's operators may be the cause */
  OPC_BATCH_ROUNDED,     /* the last bits of a row depend on the batch */
  OPC_BATCH_MIXED        /* more of a row depends on the batch, though not in small ones */
} opc_batch_kind_t;
typedef struct opc_batch {
  opc_batch_kind_t kind;
  int64_t rows, values; /* compared: the most rows of a call; elements */
  double units;         /* the largest difference in units in the last place */
  char text[600];       /* of INSIDE, ROUNDED and MIXED: what differs, without full stop */
  char variant[64];
} opc_batch_t;
opc_status_t opc_batch_look(opc_case_context_t *context, const opc_sample_t *sample, opc_batch_t *out,
                            opc_error_t *error) OPC_CHECKED;

/* The operator in a subprocess.
 *
 * It is forked before any call of the operator, so its first call is the first in a process. The effects of arguments
 * that the operator refuses or crashes on end with it. It sleeps until needed, because another check may end the parent
 * earlier, even repeatedly.
 *
 * Ownership: opc_subprocess_clear. Threads: one; if the process has more threads, or uses CUDA, there is no fork and no
 * subprocess. */

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
/* The call of TURNED_AFTER with OPC_TURN_LARGER left its memory, or ended its process with *out_signal (0: it did not);
 * as the first call of a process it returned. */
bool opc_subprocess_larger_fails(const opc_subprocess_t *subprocess, int *out_signal);
/* How many calls threw. */
size_t opc_subprocess_refused(const opc_subprocess_t *subprocess);
/* True: some call drew numbers from a generator; this includes calls on changed arguments. */
bool opc_subprocess_random(const opc_subprocess_t *subprocess);
/* What the first sample can grow by. */
void opc_subprocess_enlargement(const opc_subprocess_t *subprocess, opc_enlargement_t *out_large,
                                opc_enlargement_t *out_medium);
/* What was seen of the sample's batches. */
const opc_batch_t *opc_subprocess_batch(const opc_subprocess_t *subprocess, size_t sample);
/* True: it read or wrote outside its tensors. The memory check reports that. */
bool opc_subprocess_out_of_bounds(const opc_subprocess_t *subprocess);

/* Its parts, as its cases use them.
 *
 * Ownership: opc_threads_clear; nothing else is kept. Threads: called by one; threads started here end before the
 * return. */

/* ---- determinism_aggregate.c: the aggregate case ---- */

/* Frees the subprocess; NULL: there is none. */
opc_status_t opc_determinism_run_aggregate(opc_case_context_t *context, opc_subprocess_t *subprocess,
                                           opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* ---- determinism_asynchronous.c: results that are written after the call has returned ---- */

/* The threads of this process. */
typedef struct opc_threads {
  pid_t *ids;
  size_t count;
} opc_threads_t;
/* There is no other thread. */
bool opc_threads_are_one(void);
/* Takes 2 us if there is only one thread: the list is then empty. The caller clears it in any case. */
opc_status_t opc_threads_list(opc_threads_t *out, opc_error_t *error) OPC_CHECKED;
void opc_threads_clear(opc_threads_t *threads);

/* Called right after a call that returned `result`. If the call may have started threads or given threads work, waits a
 * while for them to end and reads the result again. A difference is reported as determinism.late_write. *result becomes
 * the later result. `before`: the threads before the call. Threads that stay are waited for only once per process. */
opc_status_t opc_asynchronous_check(const opc_call_t *call, const opc_threads_t *before, opc_result_t *result,
                                    opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
/* True: a late write was found in this process, so whether two calls agree depends on when their results are read. */
bool opc_asynchronous_found(void);

/* ---- determinism_cache.c: results that the operator keeps by the address of its arguments ---- */

/* New data then gets the result of the data that was there before, which is what happens in programs whose allocator
 * reuses memory. Both are for unmodified samples on the CPU.
 *
 * For an operator whose result was not seen to differ: other data in memory that it has seen. Adds its calls to
 * *calls. */
opc_status_t opc_determinism_cache_check(opc_case_context_t *context, int *calls, opc_finding_t *finding,
                                         opc_error_t *error) OPC_CHECKED;
/* For an operator whose result differs between addresses. *out: the cause is a kept result, and the finding says so.
 * Stays false for an operator that computes with addresses. */
opc_status_t opc_determinism_cache_is_cause(opc_case_context_t *context, bool *out, opc_finding_t *finding,
                                            opc_error_t *error) OPC_CHECKED;

/* ---- determinism_under_load.c: the device runs other work, on another stream and on the call's own ---- */

/* An operator that launches on a stream without synchronising, or reads a result too early, is right on an idle device
 * and wrong under concurrent load. Runs the trial several times under load, and compares with `first`. *out_differs:
 * the bits differed at least once; *out says where. Adds its calls to *calls. */
opc_status_t opc_determinism_under_load(const opc_again_t *trial, const opc_trial_outcome_t *first, bool *out_differs,
                                        int *calls, opc_text_t *out, opc_error_t *error) OPC_CHECKED;

/* ---- determinism_schedule.c: the order of blocks and warps, on the simulated device ---- */

typedef enum opc_schedule_effect {
  OPC_SCHEDULE_NO_EFFECT = 0,
  OPC_SCHEDULE_ROUNDING,    /* the results differ by no more than another order of adding makes */
  OPC_SCHEDULE_OTHER_RESULT /* by more */
} opc_schedule_effect_t;
/* Runs the trial with the blocks and warps of its kernels in other orders, and compares with `first`. *out (if there is
 * an effect) says where they differ. Adds its calls to *calls. */
opc_status_t opc_determinism_schedules(const opc_again_t *trial, const opc_trial_outcome_t *first, int *calls,
                                       opc_schedule_effect_t *out_effect, opc_text_t *out,
                                       opc_error_t *error) OPC_CHECKED;

/* ---- determinism_counts.c, determinism_concurrent.c: threads ---- */

/* Both returned, and differ by no more than another order of adding the arguments' elements can make. widest: the
 * arguments were widened to the widest dtype. */
bool opc_trial_is_sum_rounding(const opc_replay_t *values, bool widest, const opc_trial_outcome_t *left,
                               const opc_trial_outcome_t *right);

/* Compares the operator with several intra-op threads with itself with one: determinism.threads,
 * determinism.thread_rounding. *compared counts values. */
opc_status_t opc_thread_counts_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *compared,
                                     opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;

/* Two threads call the operator concurrently, each with its own arguments; one is delayed in the middle of its calls:
 * determinism.concurrent. */
opc_status_t opc_concurrent_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *compared,
                                  opc_finding_t *finding, opc_error_t *error) OPC_CHECKED;
