#include "supervise/process/batch_child.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

#include "base/process_state.h"

enum { CHILDREN_MAX = 16, DEPTH_MAX = 8 };

double opc_process_cpu(pid_t pid) {
  clockid_t clock;
  struct timespec used;
  if (pid <= 0 || clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return -1;
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static DIR *threads_of(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  return opendir(path);
}

/* A file of one thread; NULL: the thread has ended. */
static FILE *file_of(pid_t pid, const struct dirent *thread, const char *name) {
  char path[96];
  if (thread->d_name[0] == '.') return NULL;
  snprintf(path, sizeof path, "/proc/%d/task/%.20s/%s", (int)pid, thread->d_name, name);
  return fopen(path, "re");
}

bool opc_process_is_runnable(pid_t pid) {
  char line[512];
  bool runnable = false;
  DIR *threads = threads_of(pid);
  for (const struct dirent *thread; threads && !runnable && (thread = readdir(threads));) {
    FILE *file = file_of(pid, thread, "stat");
    const char *state = file && fgets(line, sizeof line, file) ? strrchr(line, ')')
                                                               : NULL; /* the name before it may contain anything */
    runnable = state && (state[2] == 'R' || state[2] == 'D');
    if (file) fclose(file);
  }
  if (threads) closedir(threads);
  return runnable;
}

/* "" if it has ended. */
static void program_of(pid_t pid, char out[PATH_MAX]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  const ssize_t length = readlink(path, out, PATH_MAX - 1);
  out[length > 0 ? length : 0] = '\0';
}

static bool runs_other(pid_t pid, const char *program, int depth) {
  pid_t children[CHILDREN_MAX];
  const size_t count = depth < DEPTH_MAX ? opc_process_children(pid, children, CHILDREN_MAX) : 0;
  for (size_t i = 0; i < count; i++) {
    char other[PATH_MAX];
    program_of(children[i], other);
    if (other[0] != '\0' && strcmp(other, program) != 0 && opc_process_is_runnable(children[i])) return true;
    if (runs_other(children[i], program, depth + 1)) return true;
  }
  return false;
}

bool opc_process_runs_a_program(pid_t pid) {
  char program[PATH_MAX];
  program_of(pid, program);
  return program[0] != '\0' && runs_other(pid, program, 0);
}
