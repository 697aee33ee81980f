/* `run --watch`: a run in a process of its own, then another whenever a library was rebuilt, and what differs from the
 * last run that loaded all libraries. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "cli/execution.h"
#include "inspect/elf_file.h"
#include "inspect/package.h"
#include "reports/compare/comparison.h"
#include "supervise/common/run_options.h"

enum {
  WATCHED_EVENTS = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MODIFY | IN_CREATE | IN_ATTRIB,
  TICK = 200 /* ms: how often folders that are gone are looked for */,
  QUIET = 300 /* ms without an event: a linker that writes again does so at once */,
  PATIENCE = 30 /* s for a file that is not whole; then the run says what is wrong with it */
};

typedef struct watched_folder {
  char *path;
  int watch; /* -1: it does not exist now */
} watched_folder_t;

typedef struct watcher {
  opc_execution_t *execution;
  int inotify;
  watched_folder_t *folders; /* of the libraries, in their order */
  size_t count;
  char *before, *now; /* journals: of the last run that others can be compared with, and of this one */
} watcher_t;

static void drop_journal(char **journal) {
  if (*journal) unlink(*journal);
  free(*journal);
  *journal = NULL;
}

static void watcher_clear(watcher_t *watcher) {
  for (size_t i = 0; i < watcher->count; i++) free(watcher->folders[i].path);
  drop_journal(&watcher->before);
  drop_journal(&watcher->now);
  free(watcher->folders);
  if (watcher->inotify >= 0) close(watcher->inotify);
}

/* ---- a rebuild ---- */

static const char *watched_file(const watcher_t *watcher, size_t index) {
  return watcher->execution->libraries.items[index];
}

/* True: a folder that was gone is there again. */
static bool watch_folders(watcher_t *watcher) {
  bool added = false;
  for (size_t i = 0; i < watcher->count; i++) {
    watched_folder_t *folder = &watcher->folders[i];
    if (folder->watch >= 0) continue;
    folder->watch = inotify_add_watch(watcher->inotify, folder->path, WATCHED_EVENTS);
    added |= folder->watch >= 0;
  }
  return added;
}

static bool is_about_library(watcher_t *watcher, const struct inotify_event *event) {
  bool found = event->mask & IN_Q_OVERFLOW; /* what was lost may be */
  for (size_t i = 0; i < watcher->count; i++) {
    if (watcher->folders[i].watch != event->wd) continue;
    if (event->mask & IN_IGNORED) watcher->folders[i].watch = -1; /* the folder was removed */
    else found |= event->len > 0 && strcmp(event->name, opc_base_name(watched_file(watcher, i))) == 0;
  }
  return found;
}

/* All events that are there: whether one of them is about a library. */
static bool read_events(watcher_t *watcher) {
  _Alignas(struct inotify_event) char buffer[16 * 1024];
  bool found = false;
  ssize_t length;
  while ((length = read(watcher->inotify, buffer, sizeof buffer)) > 0) {
    for (ssize_t at = 0; at < length;) {
      const struct inotify_event *event = (const struct inotify_event *)(const void *)(buffer + at);
      found |= is_about_library(watcher, event);
      at += (ssize_t)(sizeof *event + event->len);
    }
  }
  return found;
}

/* A lease for reading is refused while anybody has the file open for writing. */
static bool is_being_written(const char *file) {
  const int fd = open(file, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT;
  const bool written = fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
  close(fd); /* gives the lease back */
  return written;
}

static bool are_libraries_whole(const watcher_t *watcher) {
  for (size_t i = 0; i < watcher->count; i++) {
    opc_elf_file_t *file = NULL;
    if (is_being_written(watched_file(watcher, i))) return false;
    if (opc_elf_open(watched_file(watcher, i), &file, NULL) != OPC_OK) return false;
    opc_elf_close(file);
  }
  return true;
}

static int wait_for_events(const watcher_t *watcher, int milliseconds) {
  struct pollfd events = {.fd = watcher->inotify, .events = POLLIN};
  return poll(&events, 1, milliseconds);
}

/* False: interrupted. */
static bool wait_for_rebuild(watcher_t *watcher) {
  while (!opc_interrupted()) {
    const bool back = watch_folders(watcher);
    if (read_events(watcher) || back) break;
    (void)wait_for_events(watcher, TICK);
  }
  for (const double began = opc_clock(); !opc_interrupted() && opc_clock() - began < PATIENCE;) {
    const bool quiet = wait_for_events(watcher, QUIET) == 0;
    (void)watch_folders(watcher);
    if (!read_events(watcher) && quiet && are_libraries_whole(watcher)) break;
  }
  return !opc_interrupted();
}

/* ---- the runs ---- */

static opc_status_t name_run(opc_compare_run_t *run, const char *name, opc_error_t *error) {
  free(run->name);
  return opc_string_copy_to(name, &run->name, error);
}

opc_status_t opc_watch_show(const opc_execution_t *execution, const char *now, const opc_screen_t *screen, bool verbose,
                            opc_error_t *error) {
  OPC_SCOPED(opc_compare_run_clear) opc_compare_run_t before = {0}, after = {0};
  OPC_SCOPED(opc_comparison_clear) opc_comparison_t comparison = {0};
  OPC_RETURN_IF_ERROR(opc_compare_run_read(execution->before, NULL, &before, error));
  OPC_RETURN_IF_ERROR(opc_compare_run_read(now, &before, &after, error));
  OPC_RETURN_IF_ERROR(name_run(&before, "before the rebuild", error));
  OPC_RETURN_IF_ERROR(name_run(&after, "after it", error));
  OPC_RETURN_IF_ERROR(opc_comparison_make(&before, &after, &comparison, error));
  opc_compare_show(&comparison, screen, verbose);
  return OPC_OK;
}

/* The run was complete, and all libraries were loaded: after a build that failed, what differs from the one before it
 * is shown. */
static bool is_comparable(const char *journal) {
  OPC_SCOPED(opc_scope_journal_reader) opc_journal_reader_t *reader = NULL;
  opc_journal_summary_t summary = {0};
  if (!journal || opc_journal_reader_open(journal, &reader, NULL) != OPC_OK) return false;
  opc_journal_reader_summary(reader, &summary);
  return summary.complete && summary.libraries_failed == 0;
}

static opc_status_t new_journal(watcher_t *watcher, opc_error_t *error) {
  const char *folder = getenv("TMPDIR");
  if (is_comparable(watcher->now)) {
    drop_journal(&watcher->before);
    OPC_MOVE(&watcher->before, watcher->now);
  }
  drop_journal(&watcher->now);
  watcher->now = opc_string_format("%s/opcheck-c-XXXXXX.jsonl", folder && *folder ? folder : "/tmp");
  if (!watcher->now) return opc_out_of_memory(error);
  const int file = mkstemps(watcher->now, (int)strlen(".jsonl"));
  if (file < 0)
    return opc_error_set(error, OPC_ERR_IO, "cannot write a temporary journal %s: %s; set TMPDIR", watcher->now,
                         strerror(errno));
  close(file);
  return OPC_OK;
}

static opc_status_t watch_start_run(watcher_t *watcher, int *out_code, opc_error_t *error) {
  int status = 0;
  OPC_RETURN_IF_ERROR(new_journal(watcher, error));
  watcher->execution->journal = watcher->now;
  watcher->execution->before = watcher->before;
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int code = opc_execution_run_once(watcher->execution);
    fflush(stdout);
    _exit(code);
  }
  pid_t ended = child;
  while (child > 0 && (ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) kill(child, SIGTERM);
  if (ended < 0) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot start a process: %s", strerror(errno));
  *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : OPC_EXIT_HARNESS;
  return OPC_OK;
}

static opc_status_t watch_runs(watcher_t *watcher, int *out_code, opc_error_t *error) {
  bool first = true;
  do {
    OPC_RETURN_IF_ERROR(watch_start_run(watcher, out_code, error));
    /* Later, it is a mistake in a file that was edited. */
    if (opc_interrupted() || (first && *out_code == OPC_EXIT_USAGE)) break;
    first = false;
    puts("\nwaiting for a rebuild; Ctrl-C ends");
    fflush(stdout);
  } while (wait_for_rebuild(watcher));
  return OPC_OK;
}

static opc_status_t watcher_begin(watcher_t *watcher, opc_error_t *error) {
  const opc_strings_t *libraries = &watcher->execution->libraries;
  watcher->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (watcher->inotify < 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "--watch: files cannot be watched: %s", strerror(errno));
  watcher->folders = calloc(libraries->count + 1, sizeof *watcher->folders);
  if (!watcher->folders) return opc_out_of_memory(error);
  for (size_t i = 0; i < libraries->count; i++) {
    if (opc_package_file(libraries->items[i]) != libraries->items[i])
      return opc_error_set(error, OPC_ERR_USAGE, "--watch %s: give a library that is built again, not a wheel",
                           libraries->items[i]);
    char *copy = opc_string_copy(libraries->items[i]);
    watcher->folders[watcher->count++] =
        (watched_folder_t){.path = copy ? opc_string_copy(dirname(copy)) : NULL, .watch = -1};
    free(copy);
    if (!watcher->folders[i].path) return opc_out_of_memory(error);
  }
  (void)watch_folders(watcher);
  return OPC_OK;
}

int opc_watch_run(opc_execution_t *execution) {
  OPC_SCOPED(watcher_clear) watcher_t watcher = {.execution = execution, .inotify = -1};
  opc_error_t error;
  int code = OPC_EXIT_HARNESS;
  opc_interrupt_begin();
  opc_status_t status = watcher_begin(&watcher, &error);
  if (!status) status = watch_runs(&watcher, &code, &error);
  opc_interrupt_end();
  if (status != OPC_OK) opc_complain("%s", error.message);
  return status != OPC_OK ? opc_exit_code(status) : code;
}
