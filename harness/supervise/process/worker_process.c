#include "supervise/process/worker_process.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "memory/cpu_memory.h"
#include "memory/heap_pages.h"
#include "wire/protocol.h"

enum { FIXED_ARGUMENTS = 16, FIRST_FREE_FD = 64, BATCH_FDS = 4 };

int opc_output_open(void) {
  int fd = memfd_create("opcheck-output", MFD_CLOEXEC);
  if (fd >= 0) (void)fcntl(fd, F_SETFL, O_APPEND); /* so that it can be emptied while others write to it */
  return fd;
}

void opc_output_tail(int fd, size_t size, opc_text_t *out) {
  struct stat status;
  if (fd < 0 || fstat(fd, &status) != 0 || status.st_size <= 0) return;
  OPC_SCOPED(opc_scope_free) char *tail = malloc(size + 1);
  off_t from = status.st_size > (off_t)size ? status.st_size - (off_t)size : 0;
  ssize_t got = tail ? pread(fd, tail, size, from) : -1;
  if (got > 0) {
    size_t end = (size_t)got, start = 0;
    while (end > 0 && isspace((unsigned char)tail[end - 1])) end--;
    while (start < end && isspace((unsigned char)tail[start])) start++;
    for (size_t i = start; i < end; i++) { /* JSON strings are UTF-8: other bytes are shown as escapes */
      unsigned char byte = (unsigned char)tail[i];
      if (byte >= 0x80 || (byte < 0x20 && byte != '\n' && byte != '\t')) opc_text_addf(out, "\\x%02x", byte);
      else opc_text_add_bytes(out, &tail[i], 1);
    }
  }
}

/* Waits for a process's end by its pidfd; true if it ended. -1: forever. */
static bool pidfd_wait(int pidfd, int milliseconds) {
  struct pollfd waiting = {.fd = pidfd, .events = POLLIN};
  int ready;
  do {
    ready = poll(&waiting, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

void opc_pidfd_kill(int pidfd, pid_t pid) {
  if (pidfd < 0) return;
  /* While the process exists, reaped or not, no other process has its number. Signal 0 asks whether it exists. */
  if (pid > 0 && opc_pidfd_signal(pidfd, 0) == 0 && getpgid(pid) == pid) (void)kill(-pid, SIGKILL);
  (void)opc_pidfd_signal(pidfd, SIGKILL);
}

/* Sets the variable to `text`, and puts that before the user's value, or behind it. Too long: false, it stays. */
static bool set_joined(const char *name, const char *text, bool before, void (*set)(const char *, const char *)) {
  char joined[2 * PATH_MAX];
  const char *given = getenv(name);
  const bool any = given && given[0] != '\0';
  const int length = snprintf(joined, sizeof joined, "%s%s%s", before || !any ? text : given, any ? ":" : "",
                              !any     ? ""
                              : before ? given
                                       : text);
  if (length <= 0 || (size_t)length >= sizeof joined) return false;
  set(name, joined);
  return true;
}

static void set_variable(const char *name, const char *value) { setenv(name, value, 1); }

/* Added to the user's own settings. If they are too long, malloc does not fill small blocks: the run finds less, and
 * forks cost more. watched: under a tool with its own malloc. Large pages gain nothing there, and Valgrind reports how
 * glibc 2.36 looks for them as an error. */
static void tune_malloc(bool watched) {
  (void)set_joined("GLIBC_TUNABLES",
                   watched ? OPC_SCRATCH_MEMORY_TUNABLE : OPC_SCRATCH_MEMORY_TUNABLE ":" OPC_HEAP_PAGES_TUNABLE, false,
                   set_variable);
}

/* Placed before the user's own settings. The worker removes its own part before it loads anything. */
static void wrap_cuda(const opc_worker_command_t *command) {
  if (!set_joined("LD_PRELOAD", command->cuda_wrappers, true, set_variable))
    return; /* the worker reports that it has no wrappers */
  setenv("OPC_CUDA_MODE", strcmp(command->mode, OPC_MODE_SIMULATED) == 0 ? "simulated" : "through", 1);
  if (command->cuda_architecture) setenv("OPC_CUDA_ARCHITECTURE", command->cuda_architecture, 1);
}

static bool hosted(const opc_worker_command_t *command) { return command->python && command->python->program; }

/* Not the script itself: its folder would be the first of sys.path, in place of the working directory. */
static const char run_script[] = "import sys; exec(compile(open(sys.argv[1]).read(), sys.argv[1], 'exec'))";

/* A variable for the start of the interpreter; host.py restores the user's value. */
static void set_for_start(const char *name, const char *value) {
  char before[64];
  const char *given = getenv(name);
  snprintf(before, sizeof before, "OPC_BEFORE_%s", name);
  if (given) setenv(before, given, 1);
  else unsetenv(before);
  setenv(name, value, 1);
}

/* The worker precedes libtorch in symbol lookup, as it does in its own program. One thread, or it could not be forked;
 * no buffer, or each child would print its content again. */
static void prepare_interpreter(const opc_python_host_t *python) {
  (void)set_joined("LD_PRELOAD", python->worker, true, set_for_start);
  set_for_start("OPENBLAS_NUM_THREADS", "1");
  set_for_start("MKL_NUM_THREADS", "1");
  set_for_start("OMP_NUM_THREADS", "1");
  set_for_start("PYTHONUNBUFFERED", "1");
}

/* Runs in the forked process until execve: only calls that are safe there. fds[i] becomes descriptor OPC_CONTROL_FD +
 * i. */
static _Noreturn void worker_process_become(const opc_worker_command_t *command, char *const *arguments, const int *fds,
                                            size_t fd_count, int output, pid_t parent) {
  const char *library_path = command->plan->library_path;
  int moved[BATCH_FDS], null = open("/dev/null", O_RDWR), log = -1;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  static const int defaults[] = {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGHUP};
  for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) signal(defaults[i], SIG_DFL);
  setpgid(0, 0); /* opcheck-c handles a Ctrl-C at the terminal */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  for (size_t i = 0; i < fd_count; i++) moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD);
  if (command->launcher && command->launcher->log >= 0)
    log = fcntl(command->launcher->log, F_DUPFD_CLOEXEC, FIRST_FREE_FD);
  dup2(null, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  for (size_t i = 0; i < fd_count; i++) dup2(moved[i], OPC_CONTROL_FD + (int)i);
  if (log >= 0) dup2(log, OPC_LOG_FD);
  if (library_path) setenv("LD_LIBRARY_PATH", library_path, 1);
  if (command->cuda_wrappers) wrap_cuda(command);
  if (hosted(command)) prepare_interpreter(command->python);
  if (command->launcher) setenv(command->launcher->variable, command->launcher->value, 1);
  tune_malloc(command->launcher);
  setenv("OMP_WAIT_POLICY", "passive",
         0); /* waiting threads would use up a processor each, long after the call that started them: 5 ms become 1 */
  if (hosted(command)) execvp(arguments[0], arguments);
  else execv(arguments[0], arguments);
  dprintf(STDERR_FILENO, "cannot execute %s: %s\n", arguments[0], strerror(errno));
  _exit(127);
}

static size_t launcher_length(const opc_worker_command_t *command) {
  size_t length = 0;
  while (command->launcher && command->launcher->words[length]) length++;
  return length;
}

static void worker_process_add_option(const char **arguments, size_t *count, const char *option, const char *value) {
  if (!value) return;
  arguments[(*count)++] = option;
  arguments[(*count)++] = value;
}

static opc_status_t launch(const opc_worker_command_t *command, const char *batch_memory, const int *fds,
                           size_t fd_count, int output, pid_t *out_pid, int *out_pidfd, opc_error_t *error) {
  size_t launcher = launcher_length(command);
  const char **arguments = calloc(launcher + FIXED_ARGUMENTS +
                                      2 * (command->preload_count + command->namespace_count + command->module_count) +
                                      command->library_count,
                                  sizeof *arguments);
  if (!arguments) return opc_out_of_memory(error);
  char since[32];
  snprintf(since, sizeof since, "%.6f", command->sandbox_since);
  size_t count = 0;
  for (size_t i = 0; i < launcher; i++) arguments[count++] = command->launcher->words[i];
  if (hosted(command)) {
    arguments[count++] = command->python->program;
    arguments[count++] = "-c";
    arguments[count++] = run_script;
    arguments[count++] = command->python->script;
    arguments[count++] = command->python->worker;
  } else {
    arguments[count++] = command->plan->program;
  }
  if (launcher > 0) worker_process_add_option(arguments, &count, "--tool", command->launcher->tool);
  for (size_t i = 0; i < command->preload_count; i++)
    worker_process_add_option(arguments, &count, "--preload", command->preloads[i]);
  for (size_t i = 0; i < command->namespace_count; i++)
    worker_process_add_option(arguments, &count, "--namespace", command->namespaces[i]);
  for (size_t i = 0; i < command->module_count; i++)
    worker_process_add_option(arguments, &count, "--module", command->modules[i]);
  /* Valgrind and compute-sanitizer write files themselves. */
  if (command->sandbox_since > 0 && launcher == 0) worker_process_add_option(arguments, &count, "--sandbox", since);
  worker_process_add_option(arguments, &count, "--mode", command->mode);
  worker_process_add_option(arguments, &count, "--package", command->package);
  worker_process_add_option(arguments, &count, "--exec-batch", batch_memory);
  for (size_t i = 0; i < command->library_count; i++) arguments[count++] = command->libraries[i];

  pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    /* execv takes char *const * but does not change the strings. */
    char *const *words = (char *const *)(void *)arguments;
    worker_process_become(command, words, fds, fd_count, output, parent);
  }
  int number = errno;
  free(arguments);
  *out_pid = pid;
  *out_pidfd = pid > 0 ? opc_pidfd_open(pid) : -1;
  if (pid > 0 && *out_pidfd >= 0) return OPC_OK;
  if (pid > 0) {
    number = errno;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    *out_pid = 0;
  }
  return opc_error_set(error, OPC_ERR_SYSTEM, "cannot start %s: %s", command->plan->program, strerror(number));
}

opc_status_t opc_worker_start(const opc_worker_command_t *command, opc_worker_t *worker, opc_error_t *error) {
  *worker = (opc_worker_t)OPC_WORKER_INIT;
  int other = -1;
  OPC_RETURN_IF_ERROR(opc_channel_open(&worker->control, &other, error));
  worker->output = opc_output_open();
  const opc_status_t status =
      worker->output < 0 ? opc_error_set(error, OPC_ERR_SYSTEM, "cannot make a memory file: %s", strerror(errno))
                         : launch(command, NULL, &other, 1, worker->output, &worker->pid, &worker->pidfd, error);
  close(other);
  if (status != OPC_OK) opc_worker_stop(worker);
  return status;
}

opc_status_t opc_worker_start_batch(const opc_worker_command_t *command, int memory_mib, int control, int channel,
                                    int crash_record, int output, pid_t *out_pid, int *out_pidfd, opc_error_t *error) {
  char memory[16];
  snprintf(memory, sizeof memory, "%d", memory_mib);
  int fds[BATCH_FDS] = {control, channel, crash_record, output};
  return launch(command, memory, fds, BATCH_FDS, output, out_pid, out_pidfd, error);
}

bool opc_worker_wait(opc_worker_t *worker, int milliseconds) {
  if (worker->ended || worker->pid <= 0) return true;
  if (!pidfd_wait(worker->pidfd, milliseconds)) return false;
  while (waitpid(worker->pid, &worker->status, 0) < 0 && errno == EINTR) {
  }
  worker->ended = true;
  return true;
}

void opc_worker_end(opc_worker_t *worker, int milliseconds) {
  if (opc_worker_wait(worker, milliseconds)) return;
  opc_pidfd_kill(worker->pidfd, worker->pid);
  (void)opc_worker_wait(worker, -1);
}

void opc_worker_stop(opc_worker_t *worker) {
  if (worker->pid > 0 && !worker->ended) {
    opc_channel_finish(&worker->control);
    opc_worker_end(worker, worker->leave_ms);
  }
  opc_channel_close(&worker->control);
  if (worker->pidfd >= 0) close(worker->pidfd);
  if (worker->output >= 0) close(worker->output);
  *worker = (opc_worker_t)OPC_WORKER_INIT;
}
