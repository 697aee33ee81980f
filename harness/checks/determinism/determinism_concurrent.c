/* Two threads that call the operator at once.
 *
 * Calls of a few microseconds seldom overlap in the few instructions that a race needs. So one thread, the held one, is
 * stopped during its call, and the other one makes a complete call before the first resumes. Any scheduler may do that,
 * and data that the call keeps in shared memory is then overwritten. The held thread stops where it allocates memory
 * and where it first touches a tensor's memory (an argument's or its own), anywhere or on the last page: these places
 * are the same in every run. It also stops at moments spread over the call: these are not. */
#include "checks/determinism/determinism_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
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
    opc_cpu_memory_tell(on_allocation);
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
  opc_cpu_memory_tell(NULL);
  opc_trap_disarm();
}

/* ---- calls ---- */

/* meeting: the held thread's, which stops; NULL: the thread does not stop. */
static opc_status_t caller_call(caller_t *caller, const meeting_t *meeting) {
  opc_call_t *call = &caller->call;
  opc_status_t status = caller->writes ? opc_call_restore(call, &caller->error) : OPC_OK;
  if (status != OPC_OK) return status;
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

/* False: nothing more can be learned. */
static bool caller_compare(caller_t *caller, const meeting_t *meeting) {
  opc_trial_outcome_t now = {0};
  caller->status = caller_call(caller, meeting);
  if (caller->status == OPC_OK) caller->status = opc_trial_look(&caller->call, &now, &caller->error);
  bool differs = caller->status == OPC_OK && opc_trial_differ(&now, &caller->alone, "alone it", NULL);
  if (differs && meeting && now.outcome != OPC_CALL_RETURNED)
    differs = false; /* the trap may have made a system call fail */
  opc_trial_outcome_clear(&now);
  if (differs) caller->status = opc_trial_take(&caller->call, &caller->differing, &caller->error);
  caller->differs =
      differs && caller->status == OPC_OK && opc_trial_differ(&caller->differing, &caller->alone, "alone it", NULL);
  if (!caller->differs) opc_trial_outcome_clear(&caller->differing);
  caller_returns_free(caller);
  return caller->status == OPC_OK && !caller->differs;
}

static void *held_run(void *context) {
  meeting_t *meeting = context;
  struct sigevent told = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + MOMENT_SIGNAL};
  told._sigev_un._tid = gettid();
  bool timed = timer_create(CLOCK_MONOTONIC, &told, &meeting->timer) == 0;
  opc_bridge_threads(1); /* is thread-local */
  for (;;) {
    unsigned now;
    while ((now = atomic_load(&event)) != EVENT_START) (void)futex_wait(&event, now, NULL);
    if (atomic_load(&meeting->over)) break;
    if (!timed && meeting->point.kind == POINT_MOMENT) meeting->point.kind = POINT_NOWHERE;
    if (!caller_compare(&meeting->held, meeting)) atomic_store(&meeting->over, true);
    futex_set(&event, EVENT_DONE);
  }
  if (timed) timer_delete(meeting->timer);
  return NULL;
}

/* Makes one call of the held thread, and one of the other thread while it is stopped. False: nothing more can be
 * learned. */
static bool round_run(meeting_t *meeting) {
  unsigned now;
  bool useful = true;
  atomic_store(&go_on, false);
  atomic_store(&in_vain, false);
  futex_set(&event, EVENT_START);
  while ((now = atomic_load(&event)) == EVENT_START) (void)futex_wait(&event, now, NULL);
  if (now == EVENT_HELD) {
    useful = caller_compare(&meeting->other, NULL);
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
      useful = round_run(meeting);
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

/* Makes the arguments and calls twice, alone. *out_steady: the same arguments give the same bits again (an object or a
 * shape may have changed). */
static opc_status_t caller_prepare(caller_t *caller, opc_case_context_t *context, const opc_sample_t *sample,
                                   opc_replay_t *values, bool *out_steady, opc_error_t *error) {
  opc_call_options_t options = {
      .device = context->device, .seed = context->seed, .values = opc_replay_values, .values_context = values};
  opc_trial_outcome_t again = {0};
  opc_status_t status = opc_call_make_with(&caller->call, context->op, sample, &options, error);
  if (status == OPC_OK) status = opc_call_snapshot(&caller->call, error);
  if (status == OPC_OK) status = opc_op_find(context->op->name, &caller->handle, error);
  if (status != OPC_OK) return status;
  for (size_t i = 0; i < caller->call.tensor_arg_count; i++)
    caller->writes |= opc_tensor_arg_is_mutable(&caller->call.tensor_args[i]);
  context->announce(OPC_CALL_LABEL(CALL_OF_OTHERS, "on larger tensors"));
  status = caller_call(caller, NULL);
  if (status == OPC_OK) status = opc_trial_take(&caller->call, &caller->alone, &caller->error);
  caller_returns_free(caller);
  if (status == OPC_OK) status = caller_call(caller, NULL);
  if (status == OPC_OK) status = opc_trial_look(&caller->call, &again, &caller->error);
  *out_steady = status == OPC_OK && caller->alone.outcome == OPC_CALL_RETURNED &&
                !opc_trial_differ(&caller->alone, &again, "", NULL);
  for (size_t i = 0; i < caller->call.tensor_arg_count; i++)
    *out_steady = *out_steady && opc_tensor_arg_is_in_place(&caller->call.tensor_args[i]);
  opc_trial_outcome_clear(&again);
  caller_returns_free(caller);
  if (status != OPC_OK) *error = caller->error;
  return status;
}

static void caller_clear(caller_t *caller) {
  opc_call_clear(&caller->call);
  opc_op_free(caller->handle);
  opc_trial_outcome_clear(&caller->alone);
  opc_trial_outcome_clear(&caller->differing);
}

static void report(const opc_case_context_t *context, const opc_grown_t *grown, const caller_t *caller,
                   opc_finding_t *finding) {
  opc_text_t text = {0};
  opc_text_add(&text, "two threads call it at once, each with arguments of its own: ");
  opc_trial_differ(&caller->differing, &caller->alone, "alone the same call", &text);
  opc_text_add(&text, "; on ");
  opc_grown_note(grown, context->op, &text, finding);
  opc_finding_fail(finding, "determinism.concurrent", "%s", opc_text_c(&text));
  opc_text_clear(&text);
}

opc_status_t opc_concurrent_check(opc_case_context_t *context, opc_grown_t *grown, int64_t *out_compared,
                                  opc_finding_t *finding, opc_error_t *error) {
  meeting_t meeting = {0};
  bool steady = false, other_steady = false;
  if (opc_valgrind_active()) return OPC_OK; /* there are no pages to stop at */
  opc_status_t status = caller_prepare(&meeting.held, context, &grown->sample, &grown->values, &steady, error);
  if (status == OPC_OK && steady)
    status = caller_prepare(&meeting.other, context, &grown->sample, &grown->other, &other_steady, error);
  if (status != OPC_OK || !other_steady) goto release;

  context->announce(OPC_CALL_LABEL(CALL, "from two threads at once"));
  if (!meet(&meeting)) goto release;
  if (meeting.held.status != OPC_OK || meeting.other.status != OPC_OK) {
    status = meeting.held.status != OPC_OK ? meeting.held.status : meeting.other.status;
    *error = meeting.held.status != OPC_OK ? meeting.held.error : meeting.other.error;
    goto release;
  }
  *out_compared += opc_result_numel(&meeting.held.alone.result);
  if (meeting.held.differs) report(context, grown, &meeting.held, finding);
  else if (meeting.other.differs) report(context, grown, &meeting.other, finding);

release:
  caller_clear(&meeting.held);
  caller_clear(&meeting.other);
  return status;
}
