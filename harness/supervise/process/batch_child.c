#include "supervise/process/batch_child.h"

#include "base/process_state.h"
#include "supervise/process/hang_place.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const double start_seconds = 60; /* until "forked", or until its own worker has loaded everything */
static const double idle_seconds = 30;  /* between cases: building the plan, making arguments */
static const double leave_seconds = 2;
static const double look_again_seconds = 0.05; /* at a child that a busy machine left no time to run */
static const double closed_seconds = 2;        /* after the channel ends, the process must end */
static const double starved_share = 0.95, starved_patience = 10; /* of a case's time */
static const double program_patience = 300, between_programs = 2, seconds_between_looks = 0.1,
                    seconds_between_output_looks = 0.02;
enum { OUTPUT_KEPT = 1 << 20, FORKED_MAX = 16 };

static opc_status_t open_files(opc_child_t *child, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_channel_open(&child->channel, &child->theirs[0], error));
  child->theirs[1] = memfd_create("opcheck-blackbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  child->output = opc_output_open();
  void *map = MAP_FAILED;
  /* The file is sealed: a child that shrinks it under our mapping would kill us with SIGBUS. */
  if (child->theirs[1] >= 0 && child->output >= 0 && ftruncate(child->theirs[1], OPC_CRASH_RECORD_SIZE) == 0 &&
      fcntl(child->theirs[1], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    map = mmap(NULL, OPC_CRASH_RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, child->theirs[1], 0);
  if (map == MAP_FAILED) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot make a memory file: %s", strerror(errno));
  child->crash_record = map;
  child->crash_record->magic = OPC_CRASH_RECORD_MAGIC;
  return OPC_OK;
}

opc_status_t opc_child_open(uint64_t id, void *owner, opc_child_t **out, opc_error_t *error) {
  *out = NULL;
  opc_child_t *child = calloc(1, sizeof *child);
  if (!child) return opc_out_of_memory(error);
  *child = (opc_child_t){.id = id,
                         .channel = OPC_CHANNEL_INIT,
                         .control = OPC_CHANNEL_INIT,
                         .theirs = {-1, -1, -1},
                         .output = -1,
                         .pidfd = -1,
                         .owner = owner};
  child->opened = child->heard = opc_clock();
  child->pace = 1;
  const opc_status_t status = open_files(child, error);
  if (status != OPC_OK) {
    opc_child_close(child);
    return status;
  }
  *out = child;
  return OPC_OK;
}

static void close_theirs(opc_child_t *child) {
  for (size_t i = 0; i < 2; i++) {
    if (child->theirs[i] >= 0) close(child->theirs[i]);
    child->theirs[i] = -1;
  }
}

opc_status_t opc_child_request(opc_child_t *child, opc_channel_t *control, int memory_mib, opc_error_t *error) {
  json_t *request = json_pack("{s:s, s:I, s:i}", "t", "fork", "child", (json_int_t)child->id, "memory_mib", memory_mib);
  int fds[3] = {child->theirs[0], child->theirs[1], child->output};
  opc_status_t status = opc_channel_send(control, request, fds, 3, error);
  json_decref(request);
  close_theirs(child);
  return status;
}

opc_status_t opc_child_execute(opc_child_t *child, const opc_worker_command_t *command, int memory_mib,
                               opc_error_t *error) {
  int other = -1, pidfd = -1;
  pid_t pid = 0;
  child->launched = command->launcher && command->launcher->words[0];
  OPC_RETURN_IF_ERROR(opc_channel_open(&child->control, &other, error));
  const opc_status_t status = opc_worker_start_batch(command, memory_mib, other, child->theirs[0], child->theirs[1],
                                                     child->output, &pid, &pidfd, error);
  close(other);
  OPC_RETURN_IF_ERROR(status);
  opc_child_started(child, pid, pidfd, true);
  return OPC_OK;
}

void opc_child_started(opc_child_t *child, pid_t pid, int pidfd, bool own) {
  child->pid = pid;
  child->pidfd = pidfd;
  child->own = own;
  child->heard = opc_clock();
  close_theirs(child);
}

void opc_child_kill(opc_child_t *child, opc_end_cause_t cause) {
  if (child->killed || child->reaped) return;
  child->killed = true;
  child->killed_at = opc_clock();
  child->cause = cause;
  opc_pidfd_kill(child->pidfd, child->pid);
}

void opc_child_leave(opc_child_t *child) {
  child->leaving = true;
  child->closed_at = opc_clock();
  opc_channel_finish(&child->channel);
}

/* An operator that prints forever must not fill the memory; the file is opened for appending. */
static void bound_output(opc_child_t *child, double now) {
  struct stat status;
  if (now - child->output_looked < seconds_between_output_looks) return;
  child->output_looked = now;
  if (fstat(child->output, &status) != 0 || status.st_size <= OUTPUT_KEPT) return;
  if (ftruncate(child->output, 0) != 0) return; /* the next look tries again */
}

/* The clock says its time is over, but most of that time it could not run. A loaded machine must not change a run's
 * findings. A process that waits is not spared, unless it waits for a process that it forked: then the time of that
 * process counts. */
static bool is_starved(const opc_child_t *child, double started, double case_seconds, double now) {
  pid_t forked[FORKED_MAX];
  double used = opc_process_cpu(child->pid);
  if (used < 0 || now - started >= starved_patience * case_seconds) return false;
  bool runnable = opc_process_is_runnable(child->pid);
  const size_t count = opc_process_children(child->pid, forked, FORKED_MAX);
  for (size_t i = 0; i < count; i++) {
    double more = opc_process_cpu(forked[i]);
    used += more > 0 ? more : 0;
    runnable = runnable || opc_process_is_runnable(forked[i]);
  }
  return runnable && used - child->cpu < starved_share * case_seconds;
}

/* It waits for another program, such as the compiler of an operator that is built at its first call. To kill it would
 * leave a half-built file, or a lock that the next call waits for. Between two such programs nothing may run, so that
 * the looks begin before its time is up. */
static bool waits_for_program(opc_child_t *child, double started, double limit, double now) {
  const double pause = between_programs * child->pace;
  if (child->launched || now < limit - pause || now - started >= program_patience * child->pace) return false;
  if (now - child->program_looked >= seconds_between_looks && now - started >= seconds_between_looks) {
    child->program_looked = now;
    if (opc_process_runs_a_program(child->pid)) child->program_seen = now;
  }
  return child->program_seen >= started && now - child->program_seen < pause;
}

/* It compiles its operator itself, which ends: the next call with these dtypes finds the result, unless it was killed.
 * A compiler also runs code of others. */
static bool compiles_itself(opc_child_t *child, double started, double now) {
  if (child->launched || now - started >= program_patience * child->pace) return false;
  if (opc_hang_compiles(child)) child->compiler_seen = now;
  return child->compiler_seen >= started && now - child->compiler_seen < between_programs * child->pace;
}

/* The child can write the crash record. A start in the future, or before the child was opened, gives it no extra time:
 * the time then counts from when the child was last heard. */
static double case_start(const opc_child_t *child, double now) {
  const double started = (double)child->crash_record->started_ns * 1e-9;
  return started > now || started < child->opened ? child->heard : fmin(started, child->heard);
}

double opc_child_watch(opc_child_t *child, double case_seconds) {
  double now = opc_clock(), limit;
  opc_end_cause_t cause = OPC_END_IDLE;
  if (child->reaped || child->killed) return 60;
  bound_output(child, now);
  if (child->crash_record->sequence != child->sequence) {
    child->sequence = child->crash_record->sequence;
    child->heard = now;
    child->cpu = opc_process_cpu(child->pid);
  }
  if (child->leaving) {
    double leave = leave_seconds * child->pace;
    limit = child->closed_at + (case_seconds / 20 > leave ? case_seconds / 20 : leave);
  } else if (child->closed) {
    limit = child->closed_at + closed_seconds * child->pace;
    cause = OPC_END_CHANNEL;
  } else if (child->crash_record->running == 1) {
    const double started = case_start(child, now);
    limit = started + case_seconds;
    cause = OPC_END_TIMEOUT;
    const bool waits = waits_for_program(child, started, limit, now);
    if (child->hangs && opc_hang_is_known(child->hangs, child, now - started, case_seconds)) {
      child->hung_after = now - started;
      limit = now;
    } else if (now >= limit) {
      if (waits || is_starved(child, started, case_seconds, now) || compiles_itself(child, started, now))
        return case_seconds / 4;
      if (child->hangs) opc_hang_note(child->hangs, child);
    } else if (child->hangs) {
      const double look = started + opc_hang_look_after(child->hangs, child, case_seconds);
      if (look < limit) return fmin(limit - now, fmax(look - now, look_again_seconds));
    }
  } else {
    limit = child->heard + (child->sequence == 0 ? start_seconds : idle_seconds) * child->pace;
  }
  if (now >= limit) {
    opc_child_kill(child, cause);
    return 60;
  }
  return limit - now;
}

bool opc_child_reap(opc_child_t *child) {
  if (child->reaped) return true;
  struct rusage usage;
  pid_t got = child->own && child->pid > 0 ? wait4(child->pid, &child->status, WNOHANG, &usage) : 0;
  if (got <= 0) return false;
  child->reaped = true;
  child->max_rss_kib = usage.ru_maxrss;
  return true;
}

bool opc_child_case(const opc_child_t *child, char out[OPC_CRASH_RECORD_CASE_SIZE]) {
  memcpy(out, (const void *)child->crash_record->case_id, OPC_CRASH_RECORD_CASE_SIZE);
  out[OPC_CRASH_RECORD_CASE_SIZE - 1] = '\0';
  return child->crash_record->running == 1 && out[0] != '\0';
}

void opc_child_close(opc_child_t *child) {
  if (!child) return;
  if (!child->reaped) {
    opc_pidfd_kill(child->pidfd, child->pid);
    if (child->own && child->pid > 0) {
      while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {
      }
    }
  }
  opc_channel_close(&child->channel);
  opc_channel_close(&child->control);
  opc_maps_clear(&child->maps);
  close_theirs(child);
  if (child->crash_record) munmap(child->crash_record, OPC_CRASH_RECORD_SIZE);
  if (child->output >= 0) close(child->output);
  if (child->pidfd >= 0) close(child->pidfd);
  free(child);
}
