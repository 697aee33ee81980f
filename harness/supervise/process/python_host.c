#include "supervise/process/worker_find.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "inspect/library_search.h"

extern char **environ;

/* Prints where torch is, without importing it; nothing if it is not installed. */
static const char find_torch[] =
    "import importlib.util as u\n"
    "s = u.find_spec('torch')\n"
    "print(s.submodule_search_locations[0] if s else '')\n";

/* Reads what the program prints, up to size - 1 bytes, without the last line feed. */
static opc_status_t ask_python(const char *program, char *out, size_t size, opc_error_t *error) {
  int ends[2], status = 0;
  pid_t pid = 0;
  posix_spawn_file_actions_t actions;
  char code[sizeof find_torch];
  memcpy(code, find_torch, sizeof code);
  char *words[] = {(char *)(void *)program, "-c", code, NULL};
  if (pipe(ends) != 0) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot make a pipe: %s", strerror(errno));
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  const int number = posix_spawnp(&pid, program, &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  size_t length = 0;
  for (ssize_t got = 1; number == 0 && got > 0 && length + 1 < size; length += got > 0 ? (size_t)got : 0)
    got = read(ends[0], out + length, size - 1 - length);
  close(ends[0]);
  out[length] = '\0';
  if (number != 0)
    return opc_error_set(error, OPC_ERR_USAGE, "%s cannot be executed: %s. Name a Python with --python-executable",
                         program, strerror(number));
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (length > 0 && out[length - 1] == '\n') out[--length] = '\0';
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && (length == 0 || out[0] == '/')) return OPC_OK;
  return opc_error_set(error, OPC_ERR_USAGE,
                       "%s does not answer as a Python does: name another with --python-executable", program);
}

opc_status_t opc_python_host_find(const char *named, opc_python_host_t *out, opc_error_t *error) {
  const char *program = named ? named : getenv("PYTHON");
  if (!program || program[0] == '\0') program = "python3";
  *out = (opc_python_host_t){0};
  OPC_RETURN_IF_ERROR(ask_python(program, out->torch_root, sizeof out->torch_root, error));
  if (out->torch_root[0] == '\0')
    return opc_error_set(error, OPC_ERR_USAGE,
                         "%s has no torch: install it there, or name another Python with --python-executable", program);
  if (!(out->program = opc_string_copy(program))) return opc_out_of_memory(error);
  return OPC_OK;
}

/* The library that the worker's program starts. */
static char *python_host_library_of(const char *program) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  opc_error_t ignored;
  OPC_SCOPED(opc_scope_free) char *real = realpath(program, NULL);
  char *found = NULL;
  if (real && opc_elf_open(real, &file, &ignored) == OPC_OK) {
    for (size_t i = 0; !found && i < file->needed_count; i++) {
      opc_library_place_t place;
      if (strncmp(file->needed[i], "libopcheck-worker-", strlen("libopcheck-worker-")) != 0) continue;
      opc_library_find_by_own_path(file, file->needed[i], &place);
      if (place.how != OPC_FOUND_NOWHERE) found = realpath(place.path, NULL);
    }
  }
  return found;
}

opc_status_t opc_python_host_complete(opc_python_host_t *host, const opc_worker_plan_t *plan, opc_error_t *error) {
  host->worker = python_host_library_of(plan->program);
  if (!host->worker)
    return opc_error_set(error, OPC_ERR_NOT_FOUND, "%s has no library for --python: install opcheck-c again",
                         plan->program);
  host->script = opc_string_format("%.*s/host.py", (int)(strrchr(host->worker, '/') - host->worker), host->worker);
  if (!host->script) return opc_out_of_memory(error);
  if (access(host->script, R_OK) == 0) return OPC_OK;
  return opc_error_set(error, OPC_ERR_NOT_FOUND, "%s: %s. Install opcheck-c again", host->script, strerror(errno));
}

void opc_python_host_clear(opc_python_host_t *host) {
  free(host->program);
  free(host->script);
  free(host->worker);
  *host = (opc_python_host_t){0};
}
