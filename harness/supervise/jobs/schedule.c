#include "supervise/jobs/schedule.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process_state.h"
#include "supervise/jobs/parts.h"
#include "supervise/jobs/time_left.h"
#include "supervise/jobs/turns.h"
#include "supervise/session/basis.h"
#include "supervise/tools/sanitize.h"

enum { LINES_A_TURN = 512, LINES_AT_END = 65536, POLL_MILLISECONDS = 200, IDLE_DEATHS_MAX = 3, FDS_A_CHILD = 3 };
static const double progress_seconds = 0.25;
static const double reap_seconds = 10; /* within this time the worker must report the end of a killed child */

typedef struct schedule {
  opc_session_t *session;
  opc_agenda_t *agenda;
  opc_agenda_part_t part;
  opc_task_t **running; /* at most `jobs` entries */
  size_t running_count, jobs;
  opc_task_t **exclusive; /* tasks that wait until nothing else runs */
  size_t exclusive_count;
  opc_child_t **children;
  size_t child_count, child_capacity;
  struct pollfd *fds;
  uint64_t next_id;
  bool executes;                /* each batch is a process of its own; no worker forks */
  opc_worker_command_t command; /* of such a process */
  const char **paths;
  int idle_deaths;
  double told;
  opc_time_left_t time_left;
} schedule_t;

static const opc_task_t *longest(const schedule_t *schedule) {
  const opc_task_t *first = NULL;
  for (size_t i = 0; i < schedule->running_count; i++)
    if (!first || schedule->running[i]->began < first->began) first = schedule->running[i];
  return first;
}

static void tell_progress(schedule_t *schedule, bool at_once) {
  opc_session_t *session = schedule->session;
  const double now = opc_clock();
  if (!session->options->progress || (!at_once && now - schedule->told < progress_seconds)) return;
  schedule->told = now;
  const opc_task_t *task = longest(schedule);
  const opc_run_progress_t progress = {
      .operators_done = session->operators_done,
      .operators_total = session->operators_total,
      .findings = session->findings,
      .seconds_left = opc_time_left(&schedule->time_left, now, session->operators_done, session->operators_total),
      .current = task ? task->op->name : NULL,
      .current_seconds = task ? now - task->began : 0,
      .searching = task && task->is_search};
  session->options->progress(&progress, session->options->progress_context);
}

static void drop_child(schedule_t *schedule, size_t index) {
  opc_child_close(schedule->children[index]);
  schedule->children[index] = schedule->children[--schedule->child_count];
}

/* ---- tasks ---- */

static opc_status_t begin_task(schedule_t *schedule, const opc_operator_t *op, bool search, opc_error_t *error) {
  opc_session_t *session = schedule->session;
  opc_task_t *task = NULL;
  OPC_RETURN_IF_ERROR(opc_task_new(session, op, search ? &opc_phase_search : &opc_phase_cases, &task, error));
  schedule->running[schedule->running_count++] = task;
  opc_turn_begin(task, opc_agenda_left(schedule->agenda), schedule->jobs);
  if (search) return OPC_OK;
  if (session->options->emit_file) task->last = &opc_phase_minimise;
  if (session->sanitize) return opc_sanitize_begin(task, error);
  return opc_turns_are_over(session) ? opc_cases_begin(task, error) : opc_words_begin(task, error);
}

/* With --budget: the next turn of the task that has waited longest. A search beside its samples comes before the
 * variants. */
static opc_status_t resume(schedule_t *schedule, opc_error_t *error) {
  opc_session_t *session = schedule->session;
  opc_task_t *task = opc_turns_resume(session);
  schedule->running[schedule->running_count++] = task;
  opc_turn_begin(task, session->turns->paused_count, schedule->jobs);
  return task->turn > 2 || opc_turns_are_over(session) ? opc_cases_begin(task, error) : opc_beside_begin(task, error);
}

static bool may_resume(const schedule_t *schedule) {
  const opc_turns_t *turns = schedule->session->turns;
  bool searching = false;
  for (size_t i = 0; i < schedule->running_count; i++) searching |= schedule->running[i]->is_search;
  return turns && turns->paused_count > 0 && !searching;
}

/* Cases of a running task, for an idle job; *out: whether there are any. */
static opc_status_t divide(schedule_t *schedule, bool *out, opc_error_t *error) {
  opc_task_t *part = NULL;
  for (size_t i = 0; i < schedule->running_count && !part; i++)
    if (schedule->running[i]->phase == &opc_phase_cases)
      OPC_RETURN_IF_ERROR(opc_parts_divide(schedule->running[i], &part, error));
  if (part) schedule->running[schedule->running_count++] = part;
  *out = part;
  return OPC_OK;
}

static opc_status_t schedule_fill(schedule_t *schedule, opc_error_t *error) {
  const bool alone = schedule->running_count > 0 && schedule->running[0]->exclusive;
  while (!alone && schedule->running_count < schedule->jobs) {
    const opc_operator_t *op;
    bool search, divided = true;
    OPC_RETURN_IF_ERROR(opc_agenda_next(schedule->agenda, schedule->part, &op, &search, error));
    if (op) OPC_RETURN_IF_ERROR(begin_task(schedule, op, search, error));
    else if (may_resume(schedule)) OPC_RETURN_IF_ERROR(resume(schedule, error));
    else OPC_RETURN_IF_ERROR(divide(schedule, &divided, error));
    if (!divided) break;
  }
  if (schedule->running_count == 0 && schedule->exclusive_count > 0) {
    schedule->running[schedule->running_count++] = schedule->exclusive[--schedule->exclusive_count];
  }
  return OPC_OK;
}

/* All cases of an operator that is done have the results that any run would give. */
static bool has_all_results(const opc_session_t *session) {
  return !session->turns && !session->has_only && !session->trouble;
}

static opc_status_t retire(schedule_t *schedule, opc_error_t *error) {
  for (size_t i = 0; i < schedule->running_count;) {
    opc_task_t *task = schedule->running[i];
    if (opc_task_wants_child(task) || task->phase) {
      i++;
      continue;
    }
    const opc_operator_t *op = task->op;
    const bool search = task->is_search, part = task->is_part, goes_on = task->goes_on;
    if (!search && !part && has_all_results(schedule->session))
      OPC_RETURN_IF_ERROR(opc_basis_finished(schedule->session, op->name, error));
    if (goes_on) OPC_RETURN_IF_ERROR(opc_turns_pause(task, error));
    else opc_task_free(task);
    schedule->running[i] = schedule->running[--schedule->running_count];
    if (goes_on) continue;
    if (search) OPC_RETURN_IF_ERROR(opc_agenda_searched(schedule->agenda, op, error));
    else schedule->session->operators_done += !part;
  }
  return OPC_OK;
}

/* Tasks that were running when a worker died continue one at a time. The next death then has one suspect. */
static opc_status_t schedule_set_aside(schedule_t *schedule, opc_error_t *error) {
  for (size_t i = 0; i < schedule->running_count;) {
    opc_task_t *task = schedule->running[i];
    if (!task->exclusive) {
      i++;
      continue;
    }
    if (!OPC_ARRAY_GROW(schedule->exclusive, schedule->exclusive_count)) return opc_out_of_memory(error);
    schedule->exclusive[schedule->exclusive_count++] = task;
    schedule->running[i] = schedule->running[--schedule->running_count];
  }
  return OPC_OK;
}

/* ---- children ---- */

static opc_status_t start_child(schedule_t *schedule, opc_task_t *task, opc_error_t *error) {
  opc_session_t *session = schedule->session;
  opc_loaded_t *loaded = &session->loaded;
  if (schedule->child_count == schedule->child_capacity) {
    size_t capacity = schedule->child_capacity * 2 + 8;
    opc_child_t **children = realloc(schedule->children, capacity * sizeof *children);
    if (children) schedule->children = children;
    struct pollfd *fds = realloc(schedule->fds, (capacity * FDS_A_CHILD + 1) * sizeof *fds);
    if (fds) schedule->fds = fds;
    if (!children || !fds) return opc_out_of_memory(error);
    schedule->child_capacity = capacity;
  }
  opc_child_t *child = NULL;
  OPC_RETURN_IF_ERROR(opc_child_open(++schedule->next_id, task, &child, error));
  schedule->children[schedule->child_count++] = child;
  child->pace = opc_run_pace(session->options);
  if (!session->memcheck && !session->options->untrusted_input && !session->has_only) {
    child->hangs = &session->hangs;
    child->hangs_maps = &session->maps;
  }
  task->child = child;
  if (session->sanitize && !task->is_search)
    OPC_RETURN_IF_ERROR(opc_sanitize_launcher(session->sanitize, child->id, &schedule->command.launcher, error));
  if (schedule->executes) return opc_child_execute(child, &schedule->command, session->options->memory_mib, error);
  /* The end of the channel shows that a worker is gone. */
  if (opc_child_request(child, &loaded->worker.control, session->options->memory_mib, NULL) != OPC_OK) {
    opc_pidfd_kill(loaded->worker.pidfd, loaded->worker.pid);
  }
  return OPC_OK;
}

static opc_status_t start_children(schedule_t *schedule, opc_error_t *error) {
  for (size_t i = 0; i < schedule->running_count; i++) {
    if (opc_task_wants_child(schedule->running[i]))
      OPC_RETURN_IF_ERROR(start_child(schedule, schedule->running[i], error));
  }
  return OPC_OK;
}

static opc_status_t read_lines(opc_child_t *child, int limit, opc_error_t *error) {
  while (child->owner && !child->closed && limit-- > 0) {
    json_auto_t *message = NULL;
    opc_channel_event_t event = opc_channel_next(&child->channel, &message);
    if (event == OPC_CHANNEL_NOTHING) break;
    if (event == OPC_CHANNEL_LINE) {
      child->heard = opc_clock();
      OPC_RETURN_IF_ERROR(opc_task_message(child->owner, message, error));
    } else {
      child->closed = true;
      child->closed_at = opc_clock();
      if (event == OPC_CHANNEL_GARBAGE) opc_child_kill(child, OPC_END_GARBAGE);
    }
  }
  return OPC_OK;
}

/* A case can write garbage before its result is sent: the first result after the garbage is that case's. The child may
 * be far past it when it is killed. */
static void find_culprit(opc_child_t *child) {
  for (int limit = LINES_AT_END; limit > 0 && child->culprit[0] == '\0'; limit--) {
    json_auto_t *message = NULL;
    opc_channel_event_t event = opc_channel_next(&child->channel, &message);
    const char *type = json_string_value(json_object_get(message, "t")),
               *case_id = json_string_value(json_object_get(message, "case"));
    if (type && case_id && strcmp(type, "result") == 0) snprintf(child->culprit, sizeof child->culprit, "%s", case_id);
    if (event == OPC_CHANNEL_NOTHING || event == OPC_CHANNEL_END) break;
  }
}

/* The process is gone: reads its last messages, then handles its end. */
static opc_status_t child_ended(opc_child_t *child, opc_error_t *error) {
  const opc_status_t status = read_lines(child, LINES_AT_END, error);
  opc_task_t *owner = child->owner;
  if (child->cause == OPC_END_GARBAGE) find_culprit(child);
  if (status != OPC_OK || !owner) {
    child->owner = NULL;
    return status;
  }
  const opc_status_t ended = opc_task_child_ended(owner, error);
  child->owner = NULL;
  return ended;
}

/* A process of its own reports on its control channel when everything is loaded. */
static opc_status_t read_own_control(opc_child_t *child, opc_error_t *error) {
  for (;;) {
    json_auto_t *message = NULL;
    if (opc_channel_next(&child->control, &message) != OPC_CHANNEL_LINE) return OPC_OK;
    const char *type = json_string_value(json_object_get(message, "t"));
    child->heard = opc_clock();
    if (!type || strcmp(type, "ready") != 0 || !child->owner) continue;
    const json_int_t pid = json_integer_value(json_object_get(message, "pid")); /* a tool may be between */
    if (opc_maps_read(&child->maps, pid > 0 ? (pid_t)pid : child->pid, NULL) != OPC_OK)
      opc_maps_clear(&child->maps); /* then only names are missing */
    OPC_RETURN_IF_ERROR(opc_task_attach(child->owner, error));
  }
}

/* This process adopts what a process of its own leaves behind. */
static void strays_of_own(const schedule_t *schedule) {
  OPC_SCOPED(opc_scope_free) pid_t *known = calloc(schedule->child_count + 1, sizeof *known);
  for (size_t i = 0; known && i < schedule->child_count; i++) known[i] = schedule->children[i]->pid;
  if (known) opc_strays_kill(known, schedule->child_count);
}

static opc_status_t serve_children(schedule_t *schedule, opc_error_t *error) {
  for (size_t i = 0; i < schedule->child_count;) {
    opc_child_t *child = schedule->children[i];
    OPC_RETURN_IF_ERROR(read_lines(child, LINES_A_TURN, error));
    if (child->own) OPC_RETURN_IF_ERROR(read_own_control(child, error));
    const opc_task_t *task = child->owner;
    child->learns = task && task->phase == &opc_phase_relations;
    (void)opc_child_watch(child,
                          task && task->phase ? task->phase->seconds(task) : schedule->session->options->timeout);
    if (child->reaped || opc_child_reap(child)) {
      const opc_status_t status = child_ended(child, error);
      const bool own = child->own;
      drop_child(schedule, i);
      if (own && !schedule->session->options->no_sandbox) strays_of_own(schedule);
      OPC_RETURN_IF_ERROR(status);
      continue;
    }
    if (child->killed && !child->own && opc_clock() - child->killed_at > reap_seconds * child->pace) {
      opc_pidfd_kill(schedule->session->loaded.worker.pidfd,
                     schedule->session->loaded.worker.pid); /* it no longer reports on its children */
    }
    i++;
  }
  return OPC_OK;
}

/* ---- the worker ---- */

static opc_child_t *child_of(schedule_t *schedule, const json_t *message) {
  uint64_t id = (uint64_t)json_integer_value(json_object_get(message, "child"));
  for (size_t i = 0; i < schedule->child_count; i++) {
    if (schedule->children[i]->id == id) return schedule->children[i];
  }
  return NULL;
}

static opc_status_t on_control(schedule_t *schedule, const json_t *message, opc_error_t *error) {
  const char *type = json_string_value(json_object_get(message, "t")),
             *text = json_string_value(json_object_get(message, "message"));
  opc_child_t *child = child_of(schedule, message);
  if (!type) return OPC_OK;
  if (strcmp(type, "forked") == 0) {
    int pidfd = opc_channel_take_fd(&schedule->session->loaded.worker.control);
    if (!child || child->pidfd >= 0) {
      if (pidfd >= 0) close(pidfd);
      return OPC_OK;
    }
    pid_t pid = (pid_t)json_integer_value(json_object_get(message, "pid"));
    if (pidfd < 0) pidfd = opc_pidfd_open(pid); /* a worker under Valgrind 3.19 cannot send pidfds */
    opc_child_started(child, pid, pidfd, false);
    return child->owner ? opc_task_attach(child->owner, error) : OPC_OK;
  }
  if (strcmp(type, "reaped") == 0 && child) {
    child->reaped = true;
    child->status = (int)json_integer_value(json_object_get(message, "status"));
    child->max_rss_kib = json_integer_value(json_object_get(message, "max_rss_kib"));
  }
  if (strcmp(type, "fork_failed") == 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "the worker cannot fork: %s", text ? text : "?");
  return OPC_OK;
}

/* The worker is gone. If one child was at work, its operator is to blame; if several were, each continues alone. */
static opc_status_t on_worker_end(schedule_t *schedule, opc_error_t *error) {
  opc_session_t *session = schedule->session;
  opc_worker_t *worker = &session->loaded.worker;
  opc_child_t *guilty = NULL;
  size_t at_work = 0;
  opc_worker_end(worker, 2000);
  for (size_t i = 0; i < schedule->child_count; i++)
    OPC_RETURN_IF_ERROR(read_lines(schedule->children[i], LINES_AT_END, error));
  for (size_t i = 0; i < schedule->child_count; i++) {
    if (!schedule->children[i]->owner || schedule->children[i]->pidfd < 0) continue;
    guilty = schedule->children[i];
    at_work++;
  }
  if (at_work == 0 && ++schedule->idle_deaths > IDLE_DEATHS_MAX) {
    return opc_error_set(error, OPC_ERR_SYSTEM, "the worker ended %d times while no operator ran", IDLE_DEATHS_MAX);
  }
  if (at_work == 1) {
    opc_task_t *owner = guilty->owner;
    guilty->cause = OPC_END_WORKER;
    guilty->status = worker->status;
    const opc_status_t status = opc_task_child_ended(owner, error);
    guilty->owner = NULL;
    OPC_RETURN_IF_ERROR(status);
  }
  while (schedule->child_count > 0) {
    opc_task_t *task = schedule->children[0]->owner;
    bool started = schedule->children[0]->pidfd >= 0;
    if (task && started) opc_task_child_lost(task);
    else if (task) task->child = NULL;
    drop_child(schedule, 0);
  }
  OPC_RETURN_IF_ERROR(schedule_set_aside(schedule, error));
  OPC_RETURN_IF_ERROR(opc_load_again(session->options, &session->loaded, error));
  return opc_maps_read(&session->maps, session->loaded.worker.pid, error);
}

static opc_status_t serve_worker(schedule_t *schedule, opc_error_t *error) {
  for (bool more = !schedule->executes; more;) {
    json_auto_t *message = NULL;
    opc_channel_event_t event = opc_channel_next(&schedule->session->loaded.worker.control, &message);
    more = event == OPC_CHANNEL_LINE || event == OPC_CHANNEL_GARBAGE;
    if (event == OPC_CHANNEL_LINE) OPC_RETURN_IF_ERROR(on_control(schedule, message, error));
    if (event == OPC_CHANNEL_END) OPC_RETURN_IF_ERROR(on_worker_end(schedule, error));
  }
  return OPC_OK;
}

/* ---- the loop ---- */

static void add_fd(schedule_t *schedule, nfds_t *count, int fd) {
  if (fd >= 0) schedule->fds[(*count)++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* A child that runs its cases waits for no answer. */
static bool is_awaited(const schedule_t *schedule) {
  bool awaited = schedule->child_count == 0;
  for (size_t i = 0; i < schedule->child_count && !awaited; i++) {
    const opc_task_t *task = schedule->children[i]->owner;
    const bool runs_cases = task && (task->phase == &opc_phase_cases || task->phase == &opc_phase_part);
    awaited = !runs_cases || schedule->children[i]->crash_record->running != 1;
  }
  return awaited;
}

static void wait_for_something(schedule_t *schedule) {
  static const struct timespec together = {.tv_nsec = 1000 * 1000};
  nfds_t count = 0;
  double seconds = POLL_MILLISECONDS * 1e-3;
  if (!schedule->fds) return;
  /* Messages of one millisecond are read together. Waking up for each result costs both sides more than making and
   * reading it. */
  if (!is_awaited(schedule)) (void)nanosleep(&together, NULL);
  if (!schedule->executes) add_fd(schedule, &count, schedule->session->loaded.worker.control.fd);
  for (size_t i = 0; i < schedule->child_count; i++) {
    opc_child_t *child = schedule->children[i];
    const opc_task_t *task = child->owner;
    if (!child->closed && task) add_fd(schedule, &count, child->channel.fd);
    if (child->own) add_fd(schedule, &count, child->pidfd);
    if (child->own && !child->control.ended) add_fd(schedule, &count, child->control.fd);
    double left =
        opc_child_watch(child, task && task->phase ? task->phase->seconds(task) : schedule->session->options->timeout);
    if (left < seconds) seconds = left;
  }
  (void)poll(schedule->fds, count, (int)(seconds * 1e3) + 1);
}

static bool is_finished(const schedule_t *schedule) {
  /* The last children must be gone too: they have 2 s to leave. */
  return schedule->running_count == 0 && schedule->exclusive_count == 0 && schedule->child_count == 0;
}

/* What the children sent. The journal's lines are written at once. */
static opc_status_t schedule_serve(schedule_t *schedule, opc_error_t *error) {
  opc_journal_t *journal = schedule->session->journal;
  opc_journal_hold(journal);
  opc_status_t status = serve_worker(schedule, error);
  if (status != OPC_OK || (status = serve_children(schedule, error)) != OPC_OK) error = NULL; /* the first one stays */
  const opc_status_t written = opc_journal_release(journal, error);
  return status != OPC_OK ? status : written;
}

static void count_seconds(schedule_t *schedule, double seconds) {
  schedule->session->job_seconds += seconds;
  if (schedule->running_count < schedule->jobs) schedule->session->idle_seconds += seconds;
}

static opc_status_t schedule_all(schedule_t *schedule, opc_error_t *error) {
  opc_session_t *session = schedule->session;
  if (!schedule->running) return opc_out_of_memory(error);
  if (schedule->executes) {
    OPC_RETURN_IF_ERROR(
        opc_load_command(session->options, &session->loaded, &schedule->command, &schedule->paths, error));
    opc_worker_stop(&session->loaded.worker);
  }
  for (;;) {
    if (opc_interrupted()) return opc_error_set(error, OPC_ERR_SYSTEM, "interrupted");
    OPC_RETURN_IF_ERROR(retire(schedule, error));
    OPC_RETURN_IF_ERROR(schedule_fill(schedule, error));
    if (is_finished(schedule)) return OPC_OK;
    OPC_RETURN_IF_ERROR(start_children(schedule, error));
    tell_progress(schedule, false);
    const double began = opc_clock();
    wait_for_something(schedule);
    count_seconds(schedule, opc_clock() - began);
    OPC_RETURN_IF_ERROR(schedule_serve(schedule, error));
  }
}

opc_status_t opc_schedule_run(opc_session_t *session, opc_agenda_t *agenda, opc_agenda_part_t part, int jobs,
                              opc_error_t *error) {
  schedule_t schedule = {.session = session,
                         .agenda = agenda,
                         .part = part,
                         .jobs = (size_t)jobs,
                         .executes = session->loaded.exec_batch || (session->sanitize && part != OPC_AGENDA_SEARCHES),
                         .running = calloc((size_t)jobs, sizeof(opc_task_t *))};
  const opc_status_t status = schedule_all(&schedule, error);
  tell_progress(&schedule, true);
  for (size_t i = 0; i < schedule.running_count; i++) {
    schedule.running[i]->child = NULL;
    opc_task_free(schedule.running[i]);
  }
  for (size_t i = 0; i < schedule.exclusive_count; i++) opc_task_free(schedule.exclusive[i]);
  while (schedule.child_count > 0) drop_child(&schedule, 0);
  free(schedule.running);
  free(schedule.exclusive);
  free(schedule.children);
  free(schedule.fds);
  free(schedule.paths);
  return status;
}
