#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process_state.h"

/* Filters of system calls that a process has; /proc says it since Linux 5.9. */
static int filters_of(pid_t pid) {
  char path[64], line[256];
  int filters = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *file = fopen(path, "re");
  while (file && fgets(line, sizeof line, file))
    if (sscanf(line, "Seccomp_filters: %d", &filters) == 1) break;
  if (file) fclose(file);
  return filters;
}

static bool stray_is_known(pid_t pid, const pid_t *known, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (known[i] == pid) return true;
  return false;
}

static void children_kill(const pid_t *known, size_t count, int filters) {
  enum { AT_ONCE = 256, ROUNDS = 64 };
  bool killed = true;
  for (int round = 0; killed && round < ROUNDS; round++) {
    pid_t children[AT_ONCE];
    const size_t found = opc_process_children(getpid(), children, AT_ONCE);
    killed = false;
    for (size_t i = 0; i < found; i++) {
      if (stray_is_known(children[i], known, count) || filters_of(children[i]) < filters) continue;
      kill(children[i], SIGKILL);
      killed = TEMP_FAILURE_RETRY(waitpid(children[i], NULL, 0)) == children[i] || killed;
    }
  }
}

void opc_strays_kill(const pid_t *known, size_t count) { children_kill(known, count, filters_of(getpid()) + 1); }

void opc_children_kill(void) { children_kill(NULL, 0, 0); }
