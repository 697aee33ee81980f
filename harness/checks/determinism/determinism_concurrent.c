/* Two threads that call the operator at once.
 *
 * Calls of a few microseconds seldom overlap in the few instructions that a race needs. So one thread, the held one, is
 * stopped during its call, and the other one makes a complete call before the first resumes. Any scheduler may do that,
 * and data that the call keeps in shared memory is then overwritten. The held thread stops where it allocates memory
 * and where it first touches a tensor's memory (an argument's or its own), anywhere or on the last page: these places
 * are the same in every run. It also stops at moments spread over the call: these are not. */
#include "checks/determinism/determinism.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/random.h"
#include "base/system.h"
#include "memory/cpu_memory.h"
#include "memory/trap.h"
#include "memory/valgrind_requests.h"

static const long NS_MOST = 1000 * 1000 * 1000;
enum {
  ARGUMENTS = 4,             /* tensors at which the held thread is stopped, at most */
  ALLOCATIONS = 3,           /* and blocks that the operator allocates */
  MOMENTS = 8,               /* spread over the call */
  MOMENT_SIGNAL = 5,         /* from SIGRTMIN on; the last ones are Valgrind's */
  HOLD_NS = 2 * 1000 * 1000, /* then: is the other thread waiting for a lock that the held one has? */
  HOLDS = 100,               /* at most, while the other thread runs or waits for a processor */
  VAIN_HOLDS = 3             /* points at which the other one waited for a lock, before giving up */
};

/* Where the held thread stops. */
typedef struct point {
  enum { POINT_NOWHERE = 0, POINT_ARGUMENT, POINT_ALLOCATION, POINT_MOMENT, POINT_KINDS } kind;
  size_t number; /* of the tensor argument, of the allocation in its call, of the moment */
  enum {
    PART_TOUCH = 0,
    PART_LAST_PAGE,
    PART_GIVEN,
    PARTS
  } part; /* of an allocation or a tensor argument; GIVEN: where it is allocated */
} point_t;

/* A thread that calls, on arguments of its own. */
typedef struct caller {
  opc_op_handle_t *handle; /* its own, because a handle keeps its stack */
  opc_call_t call;
  bool writes; /* mutable arguments are restored before each call */
  opc_trial_outcome_t alone, differing;
  bool differs;
  double seconds; /* of its last call while nothing else ran */
  opc_status_t status;
  opc_error_t error;
} caller_t;

typedef struct meeting {
  caller_t held, other;
  timer_t timer; /* signals the held thread */
  point_t point;
  atomic_bool over;
} meeting_t;

/* ---- holding a thread ---- */

typedef enum event { EVENT_NONE = 0, EVENT_START, EVENT_HELD, EVENT_DONE } event_t;
static atomic_uint event; /* state of the held thread's call */
static atomic_bool go_on;
static atomic_uint go_on_word; /* counter */
static atomic_bool in_vain;
static atomic_bool inside;  /* inside the operator */
static char other_stat[64]; /* /proc file that has the other thread's state */
static point_t point;       /* of this call, for allocations */
static size_t allocations;  /* in this call */
static bool reached;        /* there was something to stop at */

/* Async-signal-safe. False: timed out. `most` NULL: no time limit. */
static bool futex_wait(atomic_uint *word, unsigned value, const struct timespec *most) {
  return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, most, NULL, 0) == 0 || errno != ETIMEDOUT;
}

static void futex_set(atomic_uint *word, unsigned value) {
  atomic_store(word, value);
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* Async-signal-safe. The other thread sleeps: it waits for a lock. On a busy machine it may need long without that. */
static bool other_sleeps(void) {
  char text[256];
  int file = open(other_stat, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text);
  if (file >= 0) (void)close(file);
  const char *name_end = length > 0 ? memrchr(text, ')', (size_t)length) : NULL; /* TID (NAME) STATE … */
  return !name_end || name_end + 2 >= text + length || name_end[2] == 'S';
}

/* Also called in a signal handler. */
static void stop(void) {
  const struct timespec most = {.tv_nsec = HOLD_NS};
  unsigned word = atomic_load(&go_on_word);
  int holds = 0;
  futex_set(&event, EVENT_HELD);
  while (!atomic_load(&go_on)) {
    if (futex_wait(&go_on_word, word, &most) || (++holds < HOLDS && !other_sleeps())) continue;
    atomic_store(&in_vain, true);
    return;
  }
}

static void on_moment(int signal_number) {
  int before = errno;
  (void)signal_number;
  if (atomic_exchange(&inside, false)) stop();
  errno = before;
}

/* The pages of a block that shares no page. */
static void stop_at(const void *data, size_t bytes) {
  static const uintptr_t page = 4096;
  opc_guard_block_t block;
  uintptr_t start = (uintptr_t)data / page * page, end = ((uintptr_t)data + bytes + page - 1) / page * page;
  if (!bytes || !opc_guard_find(data, &block)) return;
  if (point.part == PART_LAST_PAGE && end - start == page) return; /* the first page is the last */
  if (point.part == PART_LAST_PAGE) start = end - page;
  reached = opc_trap_arm((void *)start, end - start, stop);
}

static void on_allocation(void *data, size_t bytes) {
  if (allocations++ != point.number) return;
  if (point.part != PART_GIVEN) {
    stop_at(data, bytes);
  } else {
    reached = true;
    stop();
  }
}

static void arm(const meeting_t *meeting) {
  const opc_call_t *call = &meeting->held.call;
  point = meeting->point;
  allocations = 0;
  reached = false;
  if (point.kind == POINT_ARGUMENT && point.number < call->tensor_arg_count) {
    opc_tensor_meta_t now;
    opc_tensor_describe(call->tensor_args[point.number].tensor, &now);
    stop_at(now.storage_data, now.storage_bytes);
  } else if (point.kind == POINT_ALLOCATION) {
    opc_cpu_memory_on_allocation(on_allocation);
  } else if (point.kind == POINT_MOMENT) {
    double seconds = meeting->held.seconds * opc_random_uniform(0, 0, point.number);
    struct itimerspec moment = {.it_value = {.tv_nsec = 1 + (long)(seconds * 1e9) % NS_MOST}};
    reached = timer_settime(meeting->timer, 0, &moment, NULL) == 0;
  }
  atomic_store(&inside, true);
}

static void disarm(const meeting_t *meeting) {
  const struct itimerspec never = {0};
  atomic_store(&inside, false);
  if (point.kind == POINT_MOMENT) (void)timer_settime(meeting->timer, 0, &never, NULL);
  opc_cpu_memory_on_allocation(NULL);
  opc_trap_disarm();
}

/* ---- calls ---- */

/* meeting: the held thread's, which stops; NULL: the thread does not stop. */
static opc_status_t caller_call(caller_t *caller, const meeting_t *meeting, opc_error_t *error) {
  opc_call_t *call = &caller->call;
  if (caller->writes) OPC_RETURN_IF_ERROR(opc_call_restore(call, error));
  if (meeting) arm(meeting);
  double began = opc_clock();
  opc_text_reset(&call->message);
  call->outcome = opc_op_call(caller->handle, call->arguments, call->absent, call->argument_count, &call->returns,
                              &call->return_count, &call->message);
  if (meeting) disarm(meeting);
  else caller->seconds = opc_clock() - began;
  return OPC_OK;
}

static void caller_returns_free(caller_t *caller) {
  opc_call_t *call = &caller->call;
  if (call->returns) opc_returns_free(call->returns, call->return_count);
  call->returns = NULL;
  call->return_count = 0;
}

/* One call, compared with the same call alone. */
static opc_status_t caller_compare(caller_t *caller, const meeting_t *meeting, opc_error_t *error) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t now = {0};
  OPC_RETURN_IF_ERROR(caller_call(caller, meeting, error));
  OPC_RETURN_IF_ERROR(opc_trial_look(&caller->call, &now, error));
  if (meeting && now.outcome != OPC_CALL_RETURNED) return OPC_OK; /* the trap may have made a system call fail */
  if (!opc_trial_differ(&now, &caller->alone, "alone it", NULL)) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_again_take(&caller->call, &caller->differing, error));
  caller->differs = opc_trial_differ(&caller->differing, &caller->alone, "alone it", NULL);
  if (!caller->differs) opc_trial_outcome_clear(&caller->differing);
  return OPC_OK;
}

/* False: nothing more can be learned. */
static bool caller_try(caller_t *caller, const meeting_t *meeting) {
  caller->status = caller_compare(caller, meeting, &caller->error);
  caller_returns_free(caller);
  if (caller->status != OPC_OK) return false;
  return !caller->differs;
}

static void *held_run(void *context) {
  meeting_t *meeting = context;
  struct sigevent notice = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + MOMENT_SIGNAL};
  notice._sigev_un._tid = gettid();
  bool timed = timer_create(CLOCK_MONOTONIC, &notice, &meeting->timer) == 0;
  opc_bridge_threads(1); /* is thread-local */
  for (;;) {
    unsigned now;
    while ((now = atomic_load(&event)) != EVENT_START) (void)futex_wait(&event, now, NULL);
    if (atomic_load(&meeting->over)) break;
    if (!timed && meeting->point.kind == POINT_MOMENT) meeting->point.kind = POINT_NOWHERE;
    if (!caller_try(&meeting->held, meeting)) atomic_store(&meeting->over, true);
    futex_set(&event, EVENT_DONE);
  }
  if (timed) timer_delete(meeting->timer);
  return NULL;
}

/* Makes one call of the held thread, and one of the other thread while it is stopped. False: nothing more can be
 * learned. */
static bool meeting_round(meeting_t *meeting) {
  unsigned now;
  bool useful = true;
  atomic_store(&go_on, false);
  atomic_store(&in_vain, false);
  futex_set(&event, EVENT_START);
  while ((now = atomic_load(&event)) == EVENT_START) (void)futex_wait(&event, now, NULL);
  if (now == EVENT_HELD) {
    useful = caller_try(&meeting->other, NULL);
    atomic_store(&go_on, true);
    futex_set(&go_on_word, atomic_load(&go_on_word) + 1);
  }
  while ((now = atomic_load(&event)) != EVENT_DONE) (void)futex_wait(&event, now, NULL);
  return useful && !atomic_load(&meeting->over);
}

static void other_run(meeting_t *meeting) {
  static const struct {
    size_t numbers, parts;
  } rows[POINT_KINDS] = {[POINT_ARGUMENT] = {ARGUMENTS, PART_GIVEN},
                         [POINT_ALLOCATION] = {ALLOCATIONS, PARTS},
                         [POINT_MOMENT] = {MOMENTS, 1}};
  int vain = 0;
  bool useful = true;
  for (int kind = POINT_ARGUMENT; useful && kind < POINT_KINDS; kind++) {
    for (size_t i = 0; useful && vain < VAIN_HOLDS && i < rows[kind].numbers * rows[kind].parts; i++) {
      meeting->point = (point_t){.kind = kind, .number = i / rows[kind].parts, .part = i % rows[kind].parts};
      useful = meeting_round(meeting);
      vain += atomic_load(&in_vain);
      if (meeting->point.part == PART_TOUCH && !reached) break; /* there are no more of them */
    }
  }
  atomic_store(&meeting->over, true);
  futex_set(&event, EVENT_START);
}

/* False: the system could not create a thread. */
static bool meet(meeting_t *meeting) {
  struct sigaction moment = {.sa_handler = on_moment, .sa_flags = SA_RESTART}, before;
  sigemptyset(&moment.sa_mask);
  if (sigaction(SIGRTMIN + MOMENT_SIGNAL, &moment, &before) != 0) return false;
  pthread_t thread;
  atomic_store(&event, EVENT_NONE);
  snprintf(other_stat, sizeof other_stat, "/proc/self/task/%d/stat", (int)gettid());
  bool started = pthread_create(&thread, NULL, held_run, meeting) == 0;
  if (started) {
    other_run(meeting);
    pthread_join(thread, NULL);
  }
  sigaction(SIGRTMIN + MOMENT_SIGNAL, &before, NULL);
  return started;
}

/* ---- before and after ---- */

/* *out_same: the same arguments give the same bits again. */
static opc_status_t caller_repeat(caller_t *caller, bool *out_same, opc_error_t *error) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  OPC_RETURN_IF_ERROR(caller_call(caller, NULL, error));
  OPC_RETURN_IF_ERROR(opc_trial_look(&caller->call, &again, error));
  *out_same = caller->alone.outcome == OPC_CALL_RETURNED && !opc_trial_differ(&caller->alone, &again, "", NULL);
  for (size_t i = 0; i < caller->call.tensor_arg_count; i++)
    *out_same = *out_same && opc_tensor_arg_is_in_place(&caller->call.tensor_args[i]);
  return OPC_OK;
}

/* Makes the arguments and calls twice, alone. *out_same: the same arguments give the same bits again (an object or a
 * shape may have changed). */
static opc_status_t caller_prepare(caller_t *caller, opc_case_context_t *context, const opc_sample_t *sample,
                                   opc_replay_t *values, bool *out_same, opc_error_t *error) {
  opc_call_options_t options = {
      .device = context->device, .seed = context->seed, .values = opc_replay_values, .values_context = values};
  OPC_RETURN_IF_ERROR(opc_call_make_with(&caller->call, context->op, sample, &options, error));
  OPC_RETURN_IF_ERROR(opc_call_snapshot(&caller->call, error));
  OPC_RETURN_IF_ERROR(opc_op_find(context->op->name, &caller->handle, error));
  for (size_t i = 0; i < caller->call.tensor_arg_count; i++)
    caller->writes |= opc_tensor_arg_is_mutable(&caller->call.tensor_args[i]);
  context->announce(OPC_CALL_LABEL(CALL_OF_OTHERS, "on larger tensors"));
  OPC_RETURN_IF_ERROR(caller_call(caller, NULL, error));
  OPC_RETURN_IF_ERROR(opc_again_take(&caller->call, &caller->alone, error));
  caller_returns_free(caller);
  OPC_RETURN_IF_ERROR(caller_repeat(caller, out_same, error));
  caller_returns_free(caller);
  return OPC_OK;
}

static void caller_clear(caller_t *caller) {
  opc_call_clear(&caller->call);
  opc_op_free(caller->handle);
  opc_trial_outcome_clear(&caller->alone);
  opc_trial_outcome_clear(&caller->differing);
}

static void meeting_clear(meeting_t *meeting) {
  caller_clear(&meeting->held);
  caller_clear(&meeting->other);
}

static opc_status_t caller_status(const caller_t *caller, opc_error_t *error) {
  if (caller->status != OPC_OK) *error = caller->error;
  return caller->status;
}

static void report_concurrent(const opc_case_context_t *context, const opc_grown_t *grown, const caller_t *caller,
                              opc_finding_t *finding) {
  OPC_SCOPED(opc_text_clear) opc_text_t text = {0};
  opc_text_add(&text, "two threads call it at once, each with arguments of its own: ");
  opc_trial_differ(&caller->differing, &caller->alone, "alone the same call", &text);
  opc_text_add(&text, "; on ");
  opc_grown_note(grown, context->op, &text, finding);
  opc_finding_fail(finding, OPC_RULE_determinism_concurrent, "%s", opc_text_c(&text));
}

opc_status_t opc_concurrent_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *compared,
                                  opc_finding_t *finding, opc_error_t *error) {
  OPC_SCOPED(meeting_clear) meeting_t meeting = {0};
  bool same = false;
  if (opc_valgrind_active()) return OPC_OK; /* there are no pages to stop at */
  OPC_RETURN_IF_ERROR(caller_prepare(&meeting.held, context, &grown->sample, &grown->values, &same, error));
  if (!same) return OPC_OK;
  OPC_RETURN_IF_ERROR(caller_prepare(&meeting.other, context, &grown->sample, &grown->other, &same, error));
  if (!same) return OPC_OK;
  context->announce(OPC_CALL_LABEL(CALL, "from two threads at once"));
  if (!meet(&meeting)) return OPC_OK;
  OPC_RETURN_IF_ERROR(caller_status(&meeting.held, error));
  OPC_RETURN_IF_ERROR(caller_status(&meeting.other, error));
  *compared += opc_result_numel(&meeting.held.alone.result);
  if (meeting.held.differs) report_concurrent(context, grown, &meeting.held, finding);
  else if (meeting.other.differs) report_concurrent(context, grown, &meeting.other, finding);
  return OPC_OK;
}
