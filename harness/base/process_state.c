#include "base/process_state.h"

#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"

/* ---- reading ---- */

/* Variables in which OpenMP and torch keep notes for themselves: where compiled code is, and that the runtime is
 * loaded. */
static bool is_note_of_runtime(const char *entry) {
  static const char *const notes[] = {"__KMP_REGISTERED_LIB_", "TORCHINDUCTOR_CACHE_DIR=", "TRITON_CACHE_DIR="};
  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
    if (opc_string_begins(entry, notes[i])) return true;
  return false;
}

/* Sum of the FNV-1a hashes of the variables, so that their order does not matter. */
static uint64_t environment_hash(void) {
  uint64_t sum = 0;
  for (char **entry = environ; entry && *entry; entry++) {
    uint64_t hash = 0xcbf29ce484222325u;
    if (is_note_of_runtime(*entry)) continue;
    for (const char *at = *entry; *at; at++) hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    sum += hash;
  }
  return sum;
}

/* ---- refusals, processes ---- */

static const opc_refusals_t *watched;

void opc_refusals_watch(const opc_refusals_t *refusals) { watched = refusals; }

void opc_refusals_last(const opc_refusals_t *refusals, char out[sizeof(((opc_refusals_t *)0)->last)]) {
  memcpy(out, refusals->last, sizeof refusals->last);
  out[sizeof refusals->last - 1] = '\0';
  for (char *at = out; *at; at++)
    if ((unsigned char)*at < ' ') *at = '?';
}

/* The letter of a process's state in /proc; '\0': it is gone. */
static char process_letter(pid_t pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE *file = fopen(path, "re");
  const char *end = file && fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL; /* the name may be anything */
  if (file) fclose(file);
  return end && end[1] == ' ' ? end[2] : '\0';
}

static void started_read(opc_process_state_t *state) {
  enum { AT_MOST = 64 };
  pid_t started[AT_MOST];
  const size_t count = opc_process_children(getpid(), started, AT_MOST);
  for (size_t i = 0; i < count; i++) {
    const char letter = process_letter(started[i]);
    if (letter == '\0' || letter == 'Z' || letter == 'X') continue;
    state->started++;
    state->latest = started[i];
  }
}

static void stream_read(int fd, struct opc_stream_state *stream) {
  struct stat status;
  *stream = (struct opc_stream_state){0};
  if (fstat(fd, &status) != 0) return;
  stream->open = true;
  stream->device = status.st_dev;
  stream->inode = status.st_ino;
  stream->size = status.st_size;
  stream->flags = fcntl(fd, F_GETFL);
}

void opc_process_state_read(opc_process_state_t *state) {
  memset(state, 0, sizeof *state);
  state->fp = opc_fp_control_read();
  fflush(stdout);
  for (int fd = 0; fd < OPC_STREAMS; fd++) stream_read(fd, &state->streams[fd]);
  sched_getaffinity(0, sizeof state->processors, &state->processors);
  if (!getcwd(state->directory, sizeof state->directory)) state->directory[0] = '\0';
  state->umask = umask(0); /* there is no other way to read it */
  umask(state->umask);
  const char *locale = setlocale(LC_ALL, NULL);
  snprintf(state->locale, sizeof state->locale, "%s", locale ? locale : "");
  state->thread_locale = uselocale((locale_t)0);
  pthread_sigmask(SIG_SETMASK, NULL, &state->blocked);
  for (int number = 1; number < OPC_SIGNALS; number++) sigaction(number, NULL, &state->actions[number]);
  state->environment = environment_hash();
  state->refusals = watched ? watched->count : 0;
  started_read(state);
}

/* ---- keeping and restoring ---- */

static bool is_kept;
static opc_process_state_t kept;
static int kept_streams[OPC_STREAMS] = {-1, -1, -1};
static char **kept_environment;

static char **environment_copy(void) {
  size_t count = 0;
  while (environ && environ[count]) count++;
  char **copy = calloc(count + 1, sizeof *copy);
  for (size_t i = 0; copy && i < count; i++) copy[i] = opc_string_copy(environ[i]);
  return copy;
}

const opc_process_state_t *opc_process_state_keep(void) {
  if (is_kept) return &kept;
  is_kept = true;
  opc_process_state_read(&kept);
  for (int fd = 0; fd < OPC_STREAMS; fd++)
    if (kept.streams[fd].open) kept_streams[fd] = fcntl(fd, F_DUPFD_CLOEXEC, OPC_STREAMS);
  kept_environment = environment_copy();
  return &kept;
}

static bool is_of_environment(const char *entry) {
  for (char **own = environ; own && *own; own++)
    if (*own == entry) return true;
  return false;
}

/* environment_restore may have made them the environment's: those stay. */
static void environment_forget(void) {
  for (char **entry = kept_environment; entry && *entry; entry++)
    if (!is_of_environment(*entry)) free(*entry);
  free(kept_environment);
  kept_environment = NULL;
}

void opc_process_state_forget(void) {
  for (int fd = 0; fd < OPC_STREAMS; fd++) {
    if (kept_streams[fd] >= 0) close(kept_streams[fd]);
    kept_streams[fd] = -1;
  }
  environment_forget();
  is_kept = false;
}

static bool same_file(const struct opc_stream_state *left, const struct opc_stream_state *right) {
  return left->open == right->open && left->device == right->device && left->inode == right->inode;
}

/* Flags and mask matter only for the process's own handlers. The kernel's mask has 64 signals; sigaction does not write
 * the rest of glibc's mask. */
static bool same_action(const struct sigaction *left, const struct sigaction *right) {
  if (left->sa_handler != right->sa_handler) return false;
  if (left->sa_handler == SIG_DFL || left->sa_handler == SIG_IGN) return true;
  return left->sa_flags == right->sa_flags && memcmp(&left->sa_mask, &right->sa_mask, sizeof(uint64_t)) == 0;
}

static const char *kept_variable(const char *name, size_t length) {
  for (char **entry = kept_environment; entry && *entry; entry++)
    if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return NULL;
}

static opc_text_t *clause(opc_text_t *text) {
  if (text->length) opc_text_add(text, ", ");
  return text;
}

/* Adds a clause for each variable that is new, changed or removed. Values are not reported: some are secrets. */
static void environment_compare(opc_text_t *out) {
  for (char **entry = environ; entry && *entry; entry++) {
    size_t length = strcspn(*entry, "=");
    const char *before = kept_variable(*entry, length);
    if (is_note_of_runtime(*entry) || (before && (*entry)[length] == '=' && strcmp(*entry + length + 1, before) == 0))
      continue;
    opc_text_addf(clause(out), "the environment variable %.*s %s", (int)length, *entry,
                  before ? "has another value" : "was not set and is set");
  }
  for (char **entry = kept_environment; entry && *entry; entry++) {
    char name[128];
    size_t length = strcspn(*entry, "=");
    snprintf(name, sizeof name, "%.*s", (int)length, *entry);
    if (!getenv(name) && !is_note_of_runtime(*entry))
      opc_text_addf(clause(out), "the environment variable %s was set and is not set", name);
  }
}

static void environment_restore(void) {
  clearenv();
  for (char **entry = kept_environment; entry && *entry; entry++) putenv(*entry);
}

static void streams_restore(const opc_process_state_t *now) {
  for (int fd = 0; fd < OPC_STREAMS; fd++) {
    if (kept_streams[fd] < 0) continue;
    if (!same_file(&kept.streams[fd], &now->streams[fd])) dup2(kept_streams[fd], fd);
    if (kept.streams[fd].flags != now->streams[fd].flags) fcntl(fd, F_SETFL, kept.streams[fd].flags);
  }
}

void opc_process_state_restore(const opc_process_state_t *now) {
  opc_fp_control_write(kept.fp);
  streams_restore(now);
  if (!CPU_EQUAL(&kept.processors, &now->processors)) sched_setaffinity(0, sizeof kept.processors, &kept.processors);
  if (kept.directory[0] && strcmp(kept.directory, now->directory) != 0 && chdir(kept.directory) != 0) {
    /* The directory was removed: it cannot be restored. */
  }
  umask(kept.umask);
  if (strcmp(kept.locale, now->locale) != 0) setlocale(LC_ALL, kept.locale);
  if (kept.thread_locale != now->thread_locale) uselocale(kept.thread_locale);
  pthread_sigmask(SIG_SETMASK, &kept.blocked, NULL);
  for (int number = 1; number < OPC_SIGNALS; number++)
    if (!same_action(&kept.actions[number], &now->actions[number])) sigaction(number, &kept.actions[number], NULL);
  if (kept.environment != now->environment) environment_restore();
}

/* ---- comparing ---- */

#if defined(__x86_64__)
enum { ROUNDING_SHIFT = 13, ROUNDING_BITS = 3, FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040, TRAPS = 0x1f80 };
static const char *const rounding_names[] = {"to nearest", "down", "up", "toward zero"};
#elif defined(__aarch64__)
enum { ROUNDING_SHIFT = 22, ROUNDING_BITS = 3, FLUSH_TO_ZERO = 1 << 24, DENORMALS_ARE_ZERO = 0, TRAPS = 0x9f00 };
static const char *const rounding_names[] = {"to nearest", "up", "down", "toward zero"};
#else
enum { ROUNDING_SHIFT = 0, ROUNDING_BITS = 0, FLUSH_TO_ZERO = 0, DENORMALS_ARE_ZERO = 0, TRAPS = 0 };
static const char *const rounding_names[] = {""};
#endif

static void switch_compare(uint64_t before, uint64_t after, uint64_t bit, const char *name, opc_text_t *out) {
  if ((before & bit) != (after & bit))
    opc_text_addf(clause(out), "%s was %s and is %s", name, before & bit ? "on" : "off", after & bit ? "on" : "off");
}

static void fp_compare(opc_fp_control_t before, opc_fp_control_t after, opc_text_t *out) {
  if (before.vector == after.vector && before.scalar == after.scalar) return;
  size_t length = out->length;
  unsigned was = (unsigned)(before.vector >> ROUNDING_SHIFT) & ROUNDING_BITS,
           is = (unsigned)(after.vector >> ROUNDING_SHIFT) & ROUNDING_BITS;
  if (was != is) opc_text_addf(clause(out), "rounding was %s and is %s", rounding_names[was], rounding_names[is]);
  switch_compare(before.vector, after.vector, FLUSH_TO_ZERO, "flushing of denormal results to zero", out);
  switch_compare(before.vector, after.vector, DENORMALS_ARE_ZERO, "taking denormal inputs for zero", out);
  if ((before.vector & TRAPS) != (after.vector & TRAPS))
    opc_text_add(clause(out), "other floating-point exceptions trap than before");
  if (out->length == length)
    opc_text_addf(clause(out), "the control words were 0x%llx, 0x%llx and are 0x%llx, 0x%llx",
                  (unsigned long long)before.vector, (unsigned long long)before.scalar,
                  (unsigned long long)after.vector, (unsigned long long)after.scalar);
}

static void stream_compare(int fd, const struct opc_stream_state *before, const struct opc_stream_state *after,
                           opc_text_t *out) {
  static const char *const names[OPC_STREAMS] = {"standard input", "standard output", "standard error"};
  if (before->open && !after->open) opc_text_addf(clause(out), "%s is closed", names[fd]);
  else if (!same_file(before, after)) opc_text_addf(clause(out), "%s is another file", names[fd]);
  else if (before->flags != after->flags)
    opc_text_addf(clause(out), "%s has other flags%s", names[fd],
                  (before->flags ^ after->flags) & O_NONBLOCK ? " (O_NONBLOCK)" : "");
}

static void signals_compare(const opc_process_state_t *before, const opc_process_state_t *after, opc_text_t *out) {
  for (int number = 1; number < OPC_SIGNALS; number++) {
    const struct sigaction *is = &after->actions[number];
    const char *name = opc_signal_abbreviation(number) ? opc_signal_abbreviation(number) : "?";
    if (!same_action(&before->actions[number], is))
      opc_text_addf(clause(out), "SIG%s %s", name,
                    is->sa_handler == SIG_IGN   ? "is ignored"
                    : is->sa_handler == SIG_DFL ? "has its default action"
                                                : "has another handler");
    if (sigismember(&before->blocked, number) != sigismember(&after->blocked, number))
      opc_text_addf(clause(out), "SIG%s %s", name,
                    sigismember(&after->blocked, number) ? "is blocked" : "is not blocked any more");
  }
}

static void refusals_compare(uint32_t before, uint32_t after, opc_text_t *out) {
  char last[sizeof watched->last];
  if (before == after || !watched) return;
  opc_refusals_last(watched, last);
  opc_text_addf(clause(out), "the sandbox refused it to %s", last);
  if (after - before > 1) opc_text_addf(out, " (and %u more)", (unsigned)(after - before - 1));
}

static void started_compare(const opc_process_state_t *before, const opc_process_state_t *after, opc_text_t *out) {
  char path[64], name[64] = "";
  if (after->started <= before->started) return;
  snprintf(path, sizeof path, "/proc/%d/comm", (int)after->latest);
  FILE *file = fopen(path, "re");
  if (file && fgets(name, sizeof name, file)) name[strcspn(name, "\n")] = '\0';
  if (file) fclose(file);
  const size_t more = after->started - before->started;
  opc_text_addf(clause(out), "%zu process%s that it started still run%s", more, more == 1 ? "" : "es",
                more == 1 ? "s" : "");
  if (name[0] != '\0') opc_text_addf(out, " (%s)", name);
}

void opc_process_state_compare(const opc_process_state_t *before, const opc_process_state_t *after,
                               opc_text_t *const out[OPC_PROCESS_PARTS]) {
  opc_text_t *rest = out[OPC_PROCESS_SURROUNDINGS];
  fp_compare(before->fp, after->fp, out[OPC_PROCESS_FLOATING_POINT]);
  for (int fd = 0; fd < OPC_STREAMS; fd++)
    stream_compare(fd, &before->streams[fd], &after->streams[fd], out[OPC_PROCESS_STREAMS]);
  if (!CPU_EQUAL(&before->processors, &after->processors))
    opc_text_addf(clause(out[OPC_PROCESS_PROCESSORS]), "the thread could run on %d processors and can run on %d",
                  CPU_COUNT(&before->processors), CPU_COUNT(&after->processors));
  refusals_compare(before->refusals, after->refusals, out[OPC_PROCESS_REFUSALS]);
  started_compare(before, after, out[OPC_PROCESS_STARTED]);
  if (strcmp(before->directory, after->directory) != 0)
    opc_text_addf(clause(rest), "the working directory is %s", after->directory[0] ? after->directory : "gone");
  if (before->umask != after->umask)
    opc_text_addf(clause(rest), "the umask was %03o and is %03o", (unsigned)before->umask, (unsigned)after->umask);
  if (strcmp(before->locale, after->locale) != 0)
    opc_text_addf(clause(rest), "the locale was %s and is %s", before->locale, after->locale);
  if (before->thread_locale != after->thread_locale) opc_text_add(clause(rest), "the thread has another locale");
  signals_compare(before, after, rest);
  if (before->environment != after->environment) environment_compare(rest);
}
