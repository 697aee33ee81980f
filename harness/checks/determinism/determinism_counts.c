/* Compares the operator with several intra-op threads to itself with one. */
#include "checks/call/changed_argument.h"
#include "checks/determinism/determinism.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/system.h"
#include "checks/compare/compare.h"
#include "memory/cpu_memory.h"
#include "memory/trap.h"
#include "memory/valgrind_requests.h"

/* Holds up one thread of a call that uses several, until the others have done their work: data that the threads share
 * then changes at the worst moment. A race that needs two threads within the same few instructions shows in one call,
 * even with one processor.
 *
 * The call's arguments need fixed addresses (checks/call/call.h). Threads: one call at a time. */
/* Where: at the first access to a third of the largest argument, early in it, because the thread that runs first must
 * be held; or, after such an access, at the next write to memory that the operator allocated, or may write. There the
 * thread has read the old value already: an update by another thread is lost (not of a single instruction, which reads
 * again). In the order of the runs. */
typedef enum opc_hold {
  OPC_HOLD_NOWHERE = 0,
  OPC_HOLD_NOWHERE_AGAIN,
  OPC_HOLD_FIRST,
  OPC_HOLD_SECOND,
  OPC_HOLD_THIRD,
  OPC_HOLD_WRITE_AFTER_FIRST,
  OPC_HOLD_WRITE_AFTER_SECOND,
  OPC_HOLD_WRITE_AFTER_THIRD,
  OPC_HOLD_RUNS
} opc_hold_t;

enum { PARTS = 3, STEP_NS = 200 * 1000, STEPS = 200 };
static const uintptr_t page = 4096;

static double linger_seconds;

/* Called in the fault handler. */
static void linger(void) {
  const struct timespec time = {.tv_nsec = STEP_NS};
  const double until = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) + linger_seconds;
  for (int step = 0; step < STEPS && opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) < until; step++)
    (void)nanosleep(&time, NULL);
}

/* ---- what the operator writes ---- */

static opc_trap_pages_t written[OPC_TRAP_PAGES_MAX];
static atomic_size_t written_count; /* read in the fault handler of another thread */

static void note_written(const void *data, size_t bytes) {
  const uintptr_t start = (uintptr_t)data / page * page, end = ((uintptr_t)data + bytes + page - 1) / page * page;
  const size_t count = written_count;
  if (bytes == 0 || count == OPC_TRAP_PAGES_MAX) return;
  written[count] = (opc_trap_pages_t){.start = (void *)start, .bytes = end - start};
  written_count = count + 1;
}

/* Guarded memory has its pages to itself. The pages of a small block stay after it was freed. Those of a larger one may
 * be unmapped when they are to be closed, which then fails. */
static void note_block(void *data, size_t bytes) {
  enum { SMALL = 1 << 20 };
  opc_guard_block_t block;
  if (bytes <= SMALL && opc_guard_find(data, &block)) note_written(data, bytes);
}

static void note_mutable(const opc_call_t *call, const opc_places_t *places) {
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_meta_t *meta = &call->tensor_args[i].before;
    if (opc_tensor_arg_is_mutable(&call->tensor_args[i]) && opc_places_have(places, meta->storage_data))
      note_written(meta->storage_data, meta->storage_bytes);
  }
}

static void await_write(void) { opc_trap_arm_writes(written, written_count, linger); }

/* ---- both ---- */

static const opc_tensor_meta_t *largest_argument(const opc_call_t *call) {
  const opc_tensor_meta_t *largest = NULL;
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (!largest || call->tensor_args[i].before.storage_bytes > largest->storage_bytes)
      largest = &call->tensor_args[i].before;
  return largest;
}

/* Before the call. seconds: of processor time that the process uses before the held thread goes on; or after 40 ms. */
static void hold_begin(const opc_call_t *call, const opc_places_t *places, opc_hold_t where, double seconds) {
  const opc_tensor_meta_t *largest = largest_argument(call);
  const bool at_write = where >= OPC_HOLD_WRITE_AFTER_FIRST;
  linger_seconds = seconds;
  written_count = 0;
  if (where < OPC_HOLD_FIRST || !largest || opc_valgrind_active()) return;
  const size_t part = (size_t)(where - (at_write ? OPC_HOLD_WRITE_AFTER_FIRST : OPC_HOLD_FIRST));
  const uintptr_t data = (uintptr_t)largest->storage_data, end = (data + largest->storage_bytes) / page * page,
                  start = (data + largest->storage_bytes * part / PARTS + page - 1) / page * page;
  if (end <= start) return;
  if (at_write) {
    note_mutable(call, places);
    opc_cpu_memory_on_allocation(note_block);
    opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  }
  (void)opc_trap_arm((void *)start, page, at_write ? await_write : linger);
}

static void hold_end(void) {
  opc_trap_disarm();
  opc_cpu_memory_on_allocation(NULL);
  opc_cpu_memory_plain();
}

/* Three does not divide what two and four divide. A remainder that three threads happen not to leave is left by five or
 * seven. */
enum { THREADS = 3, PAIR = 2, MANY = 200 };

static const double seconds_of_a_thread = 2e-6; /* minimum of a thread that had work */
static const double seconds_of_many = 0.04;     /* processor time of many calls */

static const double work_meanwhile = 0.6; /* as a fraction of all threads' work: how long a thread is held up */

/* ---- another summation order, or wrong ---- */

/* The error of adding n numbers, in any order, is at most n roundings of the largest intermediate sum. That sum is at
 * most the sum of all numbers that contribute to an element. */
typedef struct rounding {
  const opc_result_t *left, *right;
  double largest, numel; /* of the arguments: largest absolute value; numel of the largest one */
  double unit;           /* in the last place of 1, for the coarsest dtype */
} rounding_t;

/* A NaN is a NaN, whatever its sign. */
static double difference_between(double left, double right) {
  if (left == right || (isnan(left) && isnan(right))) return 0.0;
  return fabs(left - right);
}

static double number_difference(opc_number_t left, opc_number_t right, double *out_size) {
  if (left.kind == OPC_NUMBER_COMPLEX && right.kind == OPC_NUMBER_COMPLEX) {
    *out_size = fmax(hypot(left.c.re, left.c.im), hypot(right.c.re, right.c.im));
    return hypot(difference_between(left.c.re, right.c.re), difference_between(left.c.im, right.c.im));
  }
  *out_size = fmax(fabs(left.f), fabs(right.f));
  return difference_between(left.f, right.f);
}

static bool is_sum_rounding(size_t number, int64_t element, void *context) {
  const rounding_t *rounding = context;
  const opc_result_item_t *left = &rounding->left->items[number], *right = &rounding->right->items[number];
  if (!opc_result_is_measurable(left) || !opc_result_is_measurable(right)) return false;
  size_t at = (size_t)element * left->meta.itemsize;
  double size,
      difference = number_difference(opc_number_load(left->meta.dtype, (const char *)left->bytes + at),
                                     opc_number_load(right->meta.dtype, (const char *)right->bytes + at), &size);
  double terms = fmax(1.0, rounding->numel / (double)left->meta.numel);
  double unit = fmax(opc_dtype_ulp(left->meta.dtype, 1.0), rounding->unit);
  return difference == 0.0 || difference <= rounding->numel * unit * fmax(size, terms * rounding->largest);
}

static rounding_t rounding_of(const opc_replay_t *values, double numel, bool widest, const opc_trial_outcome_t *left,
                              const opc_trial_outcome_t *right) {
  rounding_t rounding = {.left = &left->result, .right = &right->result, .numel = numel};
  for (size_t i = 0; i < values->count; i++) {
    rounding.largest = fmax(rounding.largest, values->tensor_args[i].largest);
    if (!widest) rounding.unit = fmax(rounding.unit, opc_dtype_ulp(values->tensor_args[i].dtype, 1.0));
  }
  return rounding;
}

static bool differ_as_sums(const opc_replay_t *values, double numel, bool widest, const opc_trial_outcome_t *left,
                           const opc_trial_outcome_t *right) {
  if (left->outcome != OPC_CALL_RETURNED || right->outcome != OPC_CALL_RETURNED) return false;
  rounding_t rounding = rounding_of(values, numel, widest, left, right);
  return opc_result_compare(&left->result, &right->result, is_sum_rounding, &rounding).kind == OPC_DIFFERENCE_NONE;
}

bool opc_trial_is_sum_rounding(const opc_replay_t *values, bool widest, const opc_trial_outcome_t *left,
                               const opc_trial_outcome_t *right) {
  int64_t numel = 0;
  for (size_t i = 0; i < values->count; i++)
    if (values->tensor_args[i].numel > numel) numel = values->tensor_args[i].numel;
  return differ_as_sums(values, (double)numel, widest, left, right);
}

static bool only_rounding(const opc_grown_t *grown, bool widest, const opc_trial_outcome_t *one,
                          const opc_trial_outcome_t *several) {
  return differ_as_sums(&grown->values, (double)grown->numel, widest, one, several);
}

typedef struct effort {
  double all, others; /* processor time of a call: of all threads, of all except this one */
} effort_t;

/* Holds a thread only at fixed addresses. `effort` (may be NULL) is the smallest of earlier calls; this call may lower
 * it. */
static opc_status_t counts_call(const opc_again_t *trial, int threads, opc_hold_t where, effort_t *effort,
                                opc_call_t *call, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_trial_make(trial, call, error));
  opc_bridge_threads(threads);
  double own = opc_clock_of(CLOCK_THREAD_CPUTIME_ID), all = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  hold_begin(call, trial->places, where, effort ? effort->all * work_meanwhile : 0.0);
  opc_arguments_watch_pause(true);
  opc_trial_call(trial, call);
  opc_arguments_watch_pause(false);
  hold_end();
  own = opc_clock_of(CLOCK_THREAD_CPUTIME_ID) - own;
  all = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - all;
  if (effort && (effort->all == 0.0 || all < effort->all)) *effort = (effort_t){.all = all, .others = all - own};
  opc_bridge_threads(1);
  return OPC_OK;
}

static opc_status_t counts_run(const opc_again_t *trial, int threads, opc_trial_outcome_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_RETURN_IF_ERROR(counts_call(trial, threads, OPC_HOLD_NOWHERE, NULL, &call, error));
  return opc_again_take(&call, out, error);
}

/* Runs once more with so many threads. *out_differs: differs from `before`, and the text says where. A call that throws
 * may have passed its memory to the system: EFAULT. */
static opc_status_t counts_run_again(const opc_again_t *trial, int threads, opc_hold_t where, effort_t *effort,
                                     const opc_trial_outcome_t *before, opc_text_t *out, bool *out_differs,
                                     opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  OPC_RETURN_IF_ERROR(counts_call(trial, threads, where, effort, &call, error));
  OPC_RETURN_IF_ERROR(opc_trial_look(&call, &again, error));
  *out_differs =
      again.outcome == OPC_CALL_RETURNED && opc_trial_differ(before, &again, "another run with as many", out);
  return OPC_OK;
}

/* First run with several threads. *out stays empty if the result is the same as with one. */
static opc_status_t counts_run_first(const opc_again_t *trial, effort_t *effort, const opc_trial_outcome_t *one,
                                     opc_trial_outcome_t *out, bool *out_differs, opc_error_t *error) {
  OPC_SCOPED(opc_call_clear) opc_call_t call = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t first = {0};
  OPC_RETURN_IF_ERROR(counts_call(trial, THREADS, OPC_HOLD_NOWHERE, effort, &call, error));
  OPC_RETURN_IF_ERROR(opc_trial_look(&call, &first, error));
  *out_differs = opc_trial_differ(one, &first, "", NULL);
  return *out_differs ? opc_again_take(&call, out, error) : OPC_OK;
}

/* One thread for everything that the operator calls in turn, several for its own code. *out_inside: the result is then
 * as with one thread, so the parallel parts are libtorch's own. */
static opc_status_t is_in_libtorch(const opc_again_t *trial, int threads, const opc_trial_outcome_t *one,
                                   bool *out_inside, opc_error_t *error) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t outer = {0};
  opc_bridge_inner_threads(1);
  const opc_status_t status = counts_run(trial, threads, &outer, error);
  opc_bridge_inner_threads(0);
  OPC_RETURN_IF_ERROR(status);
  *out_inside = !opc_trial_differ(one, &outer, "", NULL);
  return OPC_OK;
}

/* In float64, if the operator accepts it, rounding is too small to hide anything else. */
static opc_status_t is_rounding_of(const opc_again_t *trial, const opc_grown_t *grown, int threads,
                                   const opc_trial_outcome_t *one, const opc_trial_outcome_t *several,
                                   bool *out_rounding, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t wide = {0};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t one_wide = {0}, several_wide = {0};
  opc_again_t trial_wide = *trial;
  OPC_RETURN_IF_ERROR(opc_sample_copy(trial->sample, &wide, error));
  opc_sample_widen(&wide);
  trial_wide.sample = &wide;
  trial_wide.places = NULL;
  OPC_RETURN_IF_ERROR(counts_run(&trial_wide, 1, &one_wide, error));
  bool measured = one_wide.outcome == OPC_CALL_RETURNED;
  if (measured) OPC_RETURN_IF_ERROR(counts_run(&trial_wide, threads, &several_wide, error));
  measured = measured && several_wide.outcome == OPC_CALL_RETURNED;
  *out_rounding =
      only_rounding(grown, false, one, several) && (!measured || only_rounding(grown, true, &one_wide, &several_wide));
  return OPC_OK;
}

typedef struct counts {
  const opc_again_t *trial;
  const opc_grown_t *grown;
  const opc_trial_outcome_t *one; /* with one thread */
  opc_finding_t *finding;
  opc_error_t *error;
} counts_t;

static void report_counts(const counts_t *counts, opc_rule_id_t rule, opc_text_t *text) {
  opc_text_add(text, "; on ");
  opc_grown_note(counts->grown, counts->trial->context->op, text, counts->finding);
  opc_finding_fail(counts->finding, rule, "%s", opc_text_c(text));
}

/* Calls with so many threads differ from each other, as the text says. */
static void report_race(const counts_t *counts, int threads, const opc_text_t *difference) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_text_addf(&text, "with %d threads %s", threads, opc_text_c(difference));
  report_counts(counts, OPC_RULE_determinism_threads, &text);
}

typedef struct uncertainty {
  rounding_t rounding;
  opc_bound_t bound;
} uncertainty_t;

/* A pivot or an index is another one where the numbers that it is made of are uncertain. */
static bool is_uncertain(size_t number, int64_t element, void *context) {
  uncertainty_t *uncertainty = context;
  if (!opc_result_is_measurable(&uncertainty->bound.reference->items[number]))
    return uncertainty->bound.tolerance->changed[number];
  return is_sum_rounding(number, element, &uncertainty->rounding) ||
         opc_bound_holds(number, element, &uncertainty->bound);
}

/* Arguments that move by one unit in the last place change the result as much, as they do the factors of a matrix that
 * is nearly singular. */
static opc_status_t is_uncertainty_of(const counts_t *counts, const opc_trial_outcome_t *several, bool *out) {
  OPC_SCOPED(opc_tolerance_clear) opc_tolerance_t tolerance = {0};
  const opc_result_t *one = &counts->one->result;
  const opc_grown_t *grown = counts->grown;
  bool moved = false;
  OPC_RETURN_IF_ERROR(opc_tolerance_measure(&tolerance, counts->trial, one, counts->error));
  uncertainty_t uncertainty = {
      .rounding = rounding_of(&grown->values, (double)grown->numel, false, counts->one, several),
      .bound = {.got = &several->result,
                .reference = one,
                .tolerance = &tolerance,
                .ulps = OPC_TOLERANCE_ULPS,
                .narrow = OPC_DTYPE_OTHER}};
  for (size_t i = 0; i < tolerance.count && i < one->count; i++)
    moved |= tolerance.changed[i] && opc_result_is_measurable(&one->items[i]);
  *out = moved && several->outcome == OPC_CALL_RETURNED &&
         opc_result_compare(one, &several->result, is_uncertain, &uncertainty).kind == OPC_DIFFERENCE_NONE;
  return OPC_OK;
}

/* With so many threads the outcome is `several`, which differs. */
static opc_status_t check_counts_differ(const counts_t *counts, int threads, const opc_trial_outcome_t *several) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  char name[32];
  bool inside = false, rounding = false;
  snprintf(name, sizeof name, "with %d threads it", threads);
  (void)opc_trial_differ(counts->one, several, name, &text);
  OPC_RETURN_IF_ERROR(is_in_libtorch(counts->trial, threads, counts->one, &inside, counts->error));
  if (inside) return OPC_OK;
  OPC_RETURN_IF_ERROR(
      is_rounding_of(counts->trial, counts->grown, threads, counts->one, several, &rounding, counts->error));
  if (!rounding) OPC_RETURN_IF_ERROR(is_uncertainty_of(counts, several, &rounding));
  report_counts(counts, rounding ? OPC_RULE_determinism_thread_rounding : OPC_RULE_determinism_threads, &text);
  return OPC_OK;
}

/* A lost update shows only if two threads write at the same moment: many short calls, with as many threads as most
 * machines can run at once. */
static opc_status_t check_many_calls(const counts_t *counts) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t first = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  bool differs = false;
  OPC_RETURN_IF_ERROR(counts_run(counts->trial, PAIR, &first, counts->error));
  const double until = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) + seconds_of_many;
  for (int i = 0;
       first.outcome == OPC_CALL_RETURNED && !differs && i < MANY && opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) < until;
       i++)
    OPC_RETURN_IF_ERROR(
        counts_run_again(counts->trial, PAIR, OPC_HOLD_NOWHERE_AGAIN, NULL, &first, &text, &differs, counts->error));
  if (differs) report_race(counts, PAIR, &text);
  return OPC_OK;
}

/* On a busy machine the other threads may get no processor while one is held. */
static int hold_rounds(void) {
  enum { BUSY_ROUNDS = 3 };
  double load = 0;
  return getloadavg(&load, 1) == 1 && load > (double)sysconf(_SC_NPROCESSORS_ONLN) ? BUSY_ROUNDS : 1;
}

/* Other numbers of threads, after one that makes no difference. */
static opc_status_t check_other_counts(const counts_t *counts) {
  static const int others[] = {5, 7};
  bool differs = false;
  for (size_t i = 0; i < sizeof others / sizeof *others && !differs; i++) {
    OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t several = {0};
    OPC_RETURN_IF_ERROR(counts_run(counts->trial, others[i], &several, counts->error));
    differs = opc_trial_differ(counts->one, &several, "", NULL);
    if (differs) OPC_RETURN_IF_ERROR(check_counts_differ(counts, others[i], &several));
  }
  return OPC_OK;
}

static opc_status_t check_counts(const opc_again_t *trial, const opc_grown_t *grown, int64_t *compared,
                                 opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t one = {0}, first = {0};
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  const counts_t counts = {.trial = trial, .grown = grown, .one = &one, .finding = finding, .error = error};
  effort_t effort = {0};
  bool differs = false, nondeterministic = false;
  const opc_rule_id_t before = finding->rule;
  OPC_RETURN_IF_ERROR(counts_run(trial, 1, &one, error));
  OPC_RETURN_IF_ERROR(counts_run_first(trial, &effort, &one, &first, &differs, error));
  const bool divided = effort.others > seconds_of_a_thread;
  const int runs = divided ? hold_rounds() * OPC_HOLD_RUNS : 0;
  for (int run = OPC_HOLD_NOWHERE_AGAIN; run < runs && !nondeterministic; run++)
    OPC_RETURN_IF_ERROR(counts_run_again(trial, THREADS, (opc_hold_t)(run % OPC_HOLD_RUNS), &effort,
                                         differs ? &first : &one, &text, &nondeterministic, error));
  if (divided) *compared += opc_result_numel(&one.result);
  if (nondeterministic) report_race(&counts, THREADS, &text);
  if (nondeterministic) return OPC_OK;
  if (differs) return check_counts_differ(&counts, THREADS, &first);
  if (!divided) return OPC_OK;
  OPC_RETURN_IF_ERROR(check_other_counts(&counts));
  return finding->rule != before ? OPC_OK : check_many_calls(&counts);
}

opc_status_t opc_thread_counts_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *compared,
                                     opc_finding_t *finding, opc_error_t *error) {
  const opc_again_t trial = {.context = context,
                             .sample = &grown->sample,
                             .replay = &grown->values,
                             .places = opc_places_new(&grown->sample),
                             .label = {OPC_CALL_KIND_CALL, "with several intra-op threads"}};
  if (!trial.places) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a larger sample");
  opc_cpu_memory_plain(); /* mapping guards for large tensors again and again would cost more than the calls */
  const opc_status_t status = check_counts(&trial, grown, compared, finding, error);
  opc_cpu_memory_guard(OPC_GUARD_BEHIND);
  opc_places_free(trial.places);
  return status;
}
