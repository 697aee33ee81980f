#include "checks/determinism/determinism.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "memory/valgrind_requests.h"

enum { LOG_BYTES = 32 << 20, BEFORE_SIZE = 512, SECONDS_MOST = 3 };
static const double seconds_of_changes = 0.05; /* of processor time */
static const double seconds_of_hang = 0.5 /* of processor time */, calls_of_hang = 100;

/* Shared memory: the results of the subprocess. */
typedef struct subprocess_log {
  sem_t wanted;
  opc_subprocess_stage_t stage;
  bool calling; /* a call of the stage is running, on arguments that the operator accepts */
  bool out_of_bounds, random;
  bool larger_outside; /* larger tensors last: the call read or wrote outside its memory */
  int larger_signal;   /* it ended the process; 0: it did not */
  opc_enlargement_t large, medium;
  opc_batch_t batches[OPC_SUBPROCESS_SAMPLES];
  size_t refused;
  char before[BEFORE_SIZE], changed[96], turned[OPC_TURNS][96];
  size_t used; /* bytes of complete records */
  unsigned char records[];
} subprocess_log_t;

struct opc_subprocess {
  pid_t pid; /* 0: joined */
  int signal;
  subprocess_log_t *log;
  opc_trial_outcome_t outcomes[OPC_SUBPROCESS_STAGES][OPC_SUBPROCESS_SAMPLES];
  bool present[OPC_SUBPROCESS_STAGES][OPC_SUBPROCESS_SAMPLES];
};

/* ---- records ---- */

/* If the log has no room for the outcome, it is left out. */
static void record_write(subprocess_log_t *log, opc_subprocess_stage_t stage, size_t sample,
                         const opc_trial_outcome_t *outcome) {
  opc_record_key_t key = {.stage = stage, .sample = sample};
  log->used += opc_record_write(log->records + log->used, LOG_BYTES - sizeof *log - log->used, key, outcome);
}

static void records_read(opc_subprocess_t *subprocess) {
  const subprocess_log_t *log = subprocess->log;
  size_t most = LOG_BYTES - sizeof *log, end = log->used < most ? log->used : most;
  for (size_t at = 0, step; at < end; at += step) {
    opc_record_key_t key;
    opc_trial_outcome_t outcome;
    step = opc_record_read(log->records + at, end - at, &key, &outcome);
    if (!step) return;
    bool known = key.stage < OPC_SUBPROCESS_STAGES && key.sample < OPC_SUBPROCESS_SAMPLES;
    opc_trial_outcome_t *place = known ? &subprocess->outcomes[key.stage][key.sample] : &outcome;
    opc_trial_outcome_clear(place);
    if (!known) return;
    *place = outcome;
    subprocess->present[key.stage][key.sample] = true;
  }
}

/* ---- in the subprocess ---- */

typedef struct life {
  opc_case_context_t context;
  subprocess_log_t *log;
  opc_replay_t other[OPC_SUBPROCESS_SAMPLES];
  size_t count; /* of samples */
} life_t;

static void say_nothing(opc_call_label_t label) { (void)label; } /* the crash record belongs to the parent */

static opc_status_t other_call(life_t *life, opc_subprocess_stage_t stage, size_t sample, opc_trial_outcome_t *out,
                               opc_error_t *error) {
  opc_again_t trial = {
      .context = &life->context, .sample = &life->context.samples[sample], .replay = &life->other[sample]};
  if (stage == OPC_SUBPROCESS_THIRD) trial.conditions = OPC_TRIAL_ELSEWHERE;
  life->log->stage = stage;
  life->log->calling = true;
  opc_status_t status = opc_trial_run(&trial, out, error);
  life->log->calling = false;
  return status;
}

static opc_status_t stage_run(life_t *life, opc_subprocess_stage_t stage, opc_error_t *error) {
  for (size_t i = 0; i < life->count; i++) {
    OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t outcome = {0};
    OPC_RETURN_IF_ERROR(other_call(life, stage, i, &outcome, error));
    record_write(life->log, stage, i, &outcome);
  }
  return OPC_OK;
}

static opc_status_t own_values_run(life_t *life, opc_error_t *error) {
  for (size_t i = 0; i < life->count; i++) {
    opc_again_t trial = {.context = &life->context, .sample = &life->context.samples[i]};
    OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t outcome = {0};
    OPC_RETURN_IF_ERROR(opc_trial_run(&trial, &outcome, error));
  }
  return OPC_OK;
}

/* Makes the call that is compared. True: it differs, which is recorded. */
static bool record_difference(life_t *life, opc_subprocess_stage_t stage, const opc_trial_outcome_t *before) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t after = {0};
  opc_error_t ignored;
  if (other_call(life, stage, 0, &after, &ignored) != OPC_OK || !opc_trial_differ(&after, before, "", NULL))
    return false;
  record_write(life->log, stage, 0, &after);
  return true;
}

/* Runs a changed call, then the one that is compared. False: the change made a difference, which was recorded. */
static bool change_run(life_t *life, opc_sample_t *changed, const char *what, const opc_trial_outcome_t *before) {
  opc_again_t trial = {.context = &life->context, .sample = changed};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t outcome = {0};
  opc_error_t ignored;
  bool random = false;
  const opc_status_t status = opc_trial_run_watched(&trial, &outcome, &random, &ignored);
  life->log->random |= random;
  if (status != OPC_OK) return true;          /* the arguments cannot be made */
  if (opc_trial_out_of_bounds()) return true; /* memory out of bounds may now belong to something else */
  bool refused = outcome.outcome != OPC_CALL_RETURNED;
  const char *message = opc_text_c(&outcome.message);
  snprintf(life->log->before, sizeof life->log->before, "%s%s%.*s", what, refused ? ", which throws: " : "",
           (int)strcspn(message, "\n"), message);
  snprintf(life->log->changed, sizeof life->log->changed, "%s", what);
  life->log->refused += refused;
  return !record_difference(life, refused ? OPC_SUBPROCESS_AFTER_REFUSED : OPC_SUBPROCESS_AFTER_CHANGED, before);
}

/* False: larger tensors made a difference. */
static bool growth_run(life_t *life, const opc_trial_outcome_t *before) {
  subprocess_log_t *log = life->log;
  opc_enlargement_t large, medium;
  opc_error_t ignored;
  if (opc_enlargement_search(&life->context, &life->context.samples[0], OPC_GROWTH_LARGE, OPC_GROWTH_MEDIUM, &large,
                             &medium, &ignored) != OPC_OK)
    return true;
  if (opc_trial_out_of_bounds()) return true;
  log->large = large;
  log->medium = medium;
  snprintf(log->before, sizeof log->before, "calls on larger tensors");
  snprintf(log->changed, sizeof log->changed, "calls on larger tensors");
  return !record_difference(life, OPC_SUBPROCESS_AFTER_CHANGED, before);
}

/* The process ends after this much processor time, so the load of the machine does not matter. */
static void end_within(double seconds) {
  const struct itimerval most = {
      .it_value = {.tv_sec = (time_t)seconds, .tv_usec = (suseconds_t)(fmod(seconds, 1) * 1e6)}};
  signal(SIGPROF, SIG_DFL);
  setitimer(ITIMER_PROF, &most, NULL);
}

/* Ended by its own limit or by the parent: not the operator's fault. */
static bool was_ended(int number) { return number == SIGALRM || number == SIGPROF || number == SIGKILL; }

static opc_status_t changes_run(life_t *life, opc_error_t *error) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t before = {0};
  const double called = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  OPC_RETURN_IF_ERROR(other_call(life, OPC_SUBPROCESS_AFTER_OTHERS, 0, &before, error));
  const double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
  /* A changed argument may make the operator loop forever: the case must not take that long. */
  end_within(seconds_of_hang + calls_of_hang * (began - called));
  for (size_t number = 0;
       !opc_trial_out_of_bounds() && opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began < seconds_of_changes; number++) {
    OPC_SCOPED(opc_sample_clear) opc_sample_t changed = {0};
    char what[96];
    if (number == opc_change_first_misfit && !growth_run(life, &before)) break;
    opc_change_state_t state =
        opc_change_make(life->context.op, &life->context.samples[0], number, &changed, what, sizeof what);
    if (state == OPC_CHANGES_OVER) break;
    if (state == OPC_CHANGE_MADE && !change_run(life, &changed, what, &before)) break;
  }
  return OPC_OK;
}

/* ---- other flags and numbers, or another dtype, first and last ---- */

/* Called twice, with the same outcome, and without randomness. */
static bool turned_call(life_t *life, opc_turn_t turn, opc_trial_outcome_t *out) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t changed = {0};
  opc_again_t trial = {.context = &life->context, .sample = &changed};
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t again = {0};
  opc_error_t ignored;
  char *what = life->log->turned[turn];
  bool random = true;
  if (opc_change_turn(life->context.op, &life->context.samples[0], turn, &changed, what,
                      sizeof life->log->turned[turn]) != OPC_CHANGE_MADE ||
      opc_trial_run_watched(&trial, out, &random, &ignored) != OPC_OK || random || out->outcome != OPC_CALL_RETURNED)
    return false;
  trial.conditions = OPC_TRIAL_ELSEWHERE;
  return opc_trial_run(&trial, &again, &ignored) == OPC_OK && !opc_trial_differ(out, &again, "", NULL) &&
         !opc_trial_out_of_bounds();
}

static bool can_be_turned(const life_t *life, opc_turn_t turn) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t changed = {0};
  char what[96];
  return opc_change_turn(life->context.op, &life->context.samples[0], turn, &changed, what, sizeof what) ==
         OPC_CHANGE_MADE;
}

/* True in a child with its own time limit, which must exit; false in its parent, when the child has ended. */
static bool in_child(int *out_status) {
  pid_t parent = getpid(), child = fork();
  if (child == 0) {
    struct itimerval most = {.it_value = {.tv_sec = SECONDS_MOST / 2}};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    setitimer(ITIMER_REAL, &most, NULL);
    return true;
  }
  *out_status = 0;
  while (child > 0 && waitpid(child, out_status, 0) < 0 && errno == EINTR) {
  }
  return false;
}

/* A result that is cached under an incomplete key is right for the first caller: this process makes only this call, so
 * it comes first. */
static void turned_first(life_t *life, opc_turn_t turn) {
  int ignored;
  if (!can_be_turned(life, turn) || !in_child(&ignored)) return;
  opc_trial_outcome_t outcome = {0};
  if (turned_call(life, turn, &outcome)) record_write(life->log, OPC_SUBPROCESS_TURNED_FIRST, turn, &outcome);
  _exit(0);
}

/* False: that process recorded no such call. */
static bool find_turned(const life_t *life, opc_turn_t turn, opc_trial_outcome_t *out) {
  const subprocess_log_t *log = life->log;
  opc_record_key_t key;
  for (size_t at = 0, bytes; at < log->used; at += bytes) {
    opc_trial_outcome_t outcome = {0};
    bytes = opc_record_read(log->records + at, log->used - at, &key, &outcome);
    if (bytes == 0) return false;
    if (key.stage == OPC_SUBPROCESS_TURNED_FIRST && key.sample == (size_t)turn) {
      *out = outcome;
      return true;
    }
    opc_trial_outcome_clear(&outcome);
  }
  return false;
}

static void turned_last(life_t *life, opc_turn_t turn) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t first = {0}, last = {0};
  if (find_turned(life, turn, &first) && turned_call(life, turn, &last) && opc_trial_differ(&last, &first, "", NULL))
    record_write(life->log, OPC_SUBPROCESS_TURNED_AFTER, turn, &last);
}

/* Larger tensors last. The call may write outside its memory, so it has a process of its own. */
static void larger_last(life_t *life) {
  OPC_SCOPED(opc_trial_outcome_clear) opc_trial_outcome_t first = {0};
  int status;
  if (!find_turned(life, OPC_TURN_LARGER, &first)) return;
  if (in_child(&status)) {
    turned_last(life, OPC_TURN_LARGER);
    life->log->larger_outside = opc_trial_out_of_bounds();
    _exit(0);
  }
  if (WIFSIGNALED(status) && !was_ended(WTERMSIG(status))) life->log->larger_signal = WTERMSIG(status);
}

/* ---- batches ---- */

/* Of the first sample, and of those that promise something. */
static bool has_batch(const life_t *life, size_t sample) {
  const opc_sample_t *of = &life->context.samples[sample];
  return (sample == 0 || of->expect.batch_invariant) && opc_sample_tensor(of, 0) &&
         !opc_operator_is_random(life->context.op) && !opc_operator_has_tag(life->context.op, "dynamic_output_shape");
}

static opc_status_t batches_look(life_t *life, opc_error_t *error) {
  for (size_t i = 0; i < life->count && !opc_trial_out_of_bounds(); i++)
    if (has_batch(life, i))
      OPC_RETURN_IF_ERROR(opc_batch_look(&life->context, &life->context.samples[i], &life->log->batches[i], error));
  return OPC_OK;
}

/* Batches of other sizes may crash. */
static void batches_run(life_t *life) {
  bool any = false;
  int status;
  opc_error_t ignored;
  for (size_t i = 0; i < life->count; i++) any |= has_batch(life, i);
  if (any && in_child(&status)) _exit(batches_look(life, &ignored) == OPC_OK ? 0 : 1);
}

/* All stages that do not change the arguments. */
static opc_status_t stages_run(life_t *life, opc_error_t *error) {
  for (size_t i = 0; i < life->count; i++) {
    bool changed = false;
    OPC_RETURN_IF_ERROR(
        opc_trial_other_values(&life->context, &life->context.samples[i], &life->other[i], &changed, error));
  }
  for (opc_subprocess_stage_t stage = OPC_SUBPROCESS_FIRST; stage <= OPC_SUBPROCESS_THIRD; stage++)
    OPC_RETURN_IF_ERROR(stage_run(life, stage, error));
  OPC_RETURN_IF_ERROR(own_values_run(life, error));
  return stage_run(life, OPC_SUBPROCESS_AFTER_OTHERS, error);
}

static opc_status_t life_run(life_t *life, opc_error_t *error) {
  opc_trial_memory_begin();
  for (opc_turn_t turn = 0; turn < OPC_TURNS; turn++) turned_first(life, turn);
  const opc_status_t status = stages_run(life, error);
  life->log->out_of_bounds = opc_trial_out_of_bounds();
  OPC_RETURN_IF_ERROR(status);
  if (!life->log->out_of_bounds) batches_run(life);
  if (!life->log->out_of_bounds) larger_last(life);
  OPC_RETURN_IF_ERROR(changes_run(life, error));
  for (opc_turn_t turn = 0; turn < OPC_TURN_LARGER && !opc_trial_out_of_bounds(); turn++) turned_last(life, turn);
  return OPC_OK;
}

static _Noreturn void live(const opc_case_context_t *context, subprocess_log_t *log, pid_t parent) {
  life_t life = {.context = *context, .log = log, .count = context->sample_count};
  struct itimerval most = {.it_value = {.tv_sec = SECONDS_MOST}};
  opc_error_t error;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  while (sem_wait(&log->wanted) != 0) {
  }
  signal(SIGALRM, SIG_DFL);
  setitimer(ITIMER_REAL, &most,
            NULL); /* a hang here may come from the changed arguments; the parent would find other hangs by itself */
  int null =
      open("/dev/null", O_RDWR | O_CLOEXEC); /* the parent detects whether the operator prints, and reports it once */
  if (null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0) dup2(null, STDERR_FILENO);
  if (life.count > OPC_SUBPROCESS_SAMPLES) life.count = OPC_SUBPROCESS_SAMPLES;
  life.context.announce = say_nothing;
  _exit(life_run(&life, &error) == OPC_OK ? 0 : 1);
}

/* ---- in the parent ---- */

/* After a fork only the forking thread exists: a lock held by another thread would never be released. Valgrind would
 * report what the subprocess does as part of the operator's cases. */
static bool may_fork(void) { return !opc_valgrind_active() && !opc_bridge_cuda_initialised() && opc_threads_are_one(); }

opc_subprocess_t *opc_subprocess_start(const opc_case_context_t *context) {
  if (!context->sample_count || !may_fork()) return NULL;
  opc_subprocess_t *subprocess = calloc(1, sizeof *subprocess);
  if (!subprocess) return NULL;
  void *memory = mmap(NULL, LOG_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) goto fail;
  subprocess->log = memory;
  (void)sem_init(&subprocess->log->wanted, true, 0); /* this value cannot fail */
  pid_t parent = getpid();
  subprocess->pid = fork();
  if (subprocess->pid == 0) live(context, subprocess->log, parent);
  if (subprocess->pid > 0) return subprocess;
  munmap(memory, LOG_BYTES);

fail:
  free(subprocess);
  return NULL;
}

void opc_subprocess_wake(opc_subprocess_t *subprocess) { (void)sem_post(&subprocess->log->wanted); }

void opc_subprocess_join(opc_subprocess_t *subprocess) {
  int status = 0;
  if (!subprocess->pid) return;
  pid_t ended;
  do {
    ended = waitpid(subprocess->pid, &status, 0);
  } while (ended < 0 && errno == EINTR);
  if (ended == subprocess->pid && WIFSIGNALED(status)) subprocess->signal = WTERMSIG(status);
  subprocess->pid = 0;
  records_read(subprocess);
}

void opc_subprocess_clear(opc_subprocess_t *subprocess) {
  if (!subprocess) return;
  if (subprocess->pid) kill(subprocess->pid, SIGKILL);
  opc_subprocess_join(subprocess);
  for (size_t stage = 0; stage < OPC_SUBPROCESS_STAGES; stage++)
    for (size_t sample = 0; sample < OPC_SUBPROCESS_SAMPLES; sample++)
      opc_trial_outcome_clear(&subprocess->outcomes[stage][sample]);
  munmap(subprocess->log, LOG_BYTES);
  free(subprocess);
}

const opc_trial_outcome_t *opc_subprocess_outcome(const opc_subprocess_t *subprocess, opc_subprocess_stage_t stage,
                                                  size_t sample) {
  return sample < OPC_SUBPROCESS_SAMPLES && subprocess->present[stage][sample] ? &subprocess->outcomes[stage][sample]
                                                                               : NULL;
}

int opc_subprocess_signal(const opc_subprocess_t *subprocess, opc_subprocess_stage_t *out_stage) {
  *out_stage = subprocess->log->stage;
  return subprocess->log->calling && !was_ended(subprocess->signal) ? subprocess->signal : 0;
}

const char *opc_subprocess_before(const opc_subprocess_t *subprocess) { return subprocess->log->before; }
const char *opc_subprocess_changed(const opc_subprocess_t *subprocess) { return subprocess->log->changed; }
const char *opc_subprocess_turned(const opc_subprocess_t *subprocess, opc_turn_t turn) {
  return subprocess->log->turned[turn];
}
bool opc_subprocess_larger_fails(const opc_subprocess_t *subprocess, int *out_signal) {
  *out_signal = subprocess->log->larger_signal;
  return subprocess->log->larger_outside || *out_signal;
}
size_t opc_subprocess_refused(const opc_subprocess_t *subprocess) { return subprocess->log->refused; }
bool opc_subprocess_random(const opc_subprocess_t *subprocess) { return subprocess->log->random; }

void opc_subprocess_enlargement(const opc_subprocess_t *subprocess, opc_enlargement_t *out_large,
                                opc_enlargement_t *out_medium) {
  *out_large = subprocess->log->large;
  *out_medium = subprocess->log->medium;
}

const opc_batch_t *opc_subprocess_batch(const opc_subprocess_t *subprocess, size_t sample) {
  return &subprocess->log->batches[sample];
}

bool opc_subprocess_out_of_bounds(const opc_subprocess_t *subprocess) { return subprocess->log->out_of_bounds; }
