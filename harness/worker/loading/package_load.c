#include "worker/loading/package_load.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/old_glibc.h"
#include "bridge/api/bridge.h"
#include "bridge/api/prepare.h"
#include "worker/child/child_folder.h"
#include "worker/loading/package_needs.h"

/* The loading process sends this through a pipe. */
typedef struct trial {
  bool finished;
  opc_status_t status;
  size_t inputs, outputs;
  char message[OPC_ERROR_MESSAGE_SIZE];
} trial_t;

static bool fail(opc_package_failure_t *failure, const char *kind, const char *message) {
  failure->kind = kind;
  snprintf(failure->message, sizeof failure->message, "%s", message);
  return false;
}

/* ---- the loading process ---- */

/* Its wait status shows how it ends: no handler of a library or a sanitizer may change that. */
static void end_by_signals(void) {
  static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
  for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++) signal(fatal[i], SIG_DFL);
}

static _Noreturn void trial_run(const char *path, const char *model, const char *folder, int result, pid_t parent) {
  trial_t trial = {0};
  opc_error_t error = {0};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || chdir(folder) != 0) _exit(1);
  end_by_signals();
  trial.status = opc_bridge_package_try(path, model, &trial.inputs, &trial.outputs, &error);
  snprintf(trial.message, sizeof trial.message, "%s", error.message);
  trial.finished = true;
  _exit(write(result, &trial, sizeof trial) == (ssize_t)sizeof trial ? 0 : 1);
}

/* It may hang: then opcheck-c, which knows what is being loaded, ends this process and its child. */
static opc_status_t trial_make(const char *path, const char *model, trial_t *out, int *out_status, opc_error_t *error) {
  char folder[PATH_MAX];
  int ends[2];
  opc_status_t status = opc_child_folder_make(folder, error);
  if (status != OPC_OK) return status;
  if (pipe2(ends, O_CLOEXEC) != 0) return opc_error_set(error, OPC_ERR_SYSTEM, "no pipe: %s", strerror(errno));
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) trial_run(path, model, folder, ends[1], parent);
  close(ends[1]);
  if (pid < 0) status = opc_error_set(error, OPC_ERR_SYSTEM, "cannot fork: %s", strerror(errno));
  if (pid > 0 && read(ends[0], out, sizeof *out) != (ssize_t)sizeof *out) out->finished = false;
  if (pid > 0) {
    while (waitpid(pid, out_status, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  opc_child_folder_remove(folder);
  return status;
}

/* ---- its result ---- */

static bool judge_message(const opc_package_model_t *model, const char *words, opc_package_failure_t *failure) {
  char text[OPC_ERROR_MESSAGE_SIZE];
  const char *symbol = strstr(words, "undefined symbol: ");
  if (symbol) {
    snprintf(text, sizeof text,
             "it was compiled for another libtorch than this %s, which does not have %.200s: give that one with "
             "--torch, or export it again with this one",
             opc_bridge_torch_version(), symbol + strlen("undefined symbol: "));
    return fail(failure, "abi", text);
  }
  if (strstr(words, "cannot open shared object file")) {
    snprintf(text, sizeof text,
             "its compiled code needs a library that the loader does not find: name it with --preload. The loader "
             "says: %.600s",
             words);
    return fail(failure, "missing_dependency", text);
  }
  snprintf(text, sizeof text, "libtorch %s cannot load its model %s: %.800s", opc_bridge_torch_version(), model->name,
           words);
  return fail(failure, "package", text);
}

static bool judge_death(int status, opc_package_failure_t *failure) {
  char text[OPC_ERROR_MESSAGE_SIZE];
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const char *name = number ? opc_signal_abbreviation(number) : NULL;
  if (number == SIGILL) {
    return fail(failure, "instruction_set",
                "its compiled code has an instruction that this processor does not know (SIGILL while it loads): "
                "export it on this machine, or with "
                "torch._inductor.config.cpp.simdlen set to what this machine has");
  }
  if (number)
    snprintf(text, sizeof text,
             "its compiled code ends the process with SIG%s while it loads: export it again with this libtorch and "
             "this machine's compiler",
             name ? name : "?");
  else
    snprintf(text, sizeof text, "its compiled code ends the process with exit code %d while it loads",
             WEXITSTATUS(status));
  return fail(failure, "package_crashed", text);
}

static bool load_model(const char *path, const opc_package_model_t *model, opc_package_failure_t *failure) {
  trial_t trial = {0};
  opc_package_lack_t lack;
  opc_error_t error = {0};
  int ended = 0;
  opc_package_needs_check(path, model, &lack);
  if (lack.kind) return fail(failure, lack.kind, lack.message);
  if (trial_make(path, model->name, &trial, &ended, &error) != OPC_OK) return fail(failure, "package", error.message);
  if (!trial.finished) return judge_death(ended, failure);
  if (trial.status != OPC_OK) return judge_message(model, trial.message, failure);
  opc_package_operator_t op = {.path = path,
                               .model = model->name,
                               .device = model->device,
                               .inputs = model->inputs ? json_array_size(model->inputs) : trial.inputs,
                               .outputs = model->outputs ? model->outputs : trial.outputs};
  return opc_bridge_package_define(&op, &error) == OPC_OK || fail(failure, "package", error.message);
}

/* The libraries that its compiled library needs, above all libtorch.so, are loaded first, as for a library of
 * operators. */
static bool prepare_model(const char *path, const opc_package_model_t *model, bool cuda,
                          opc_package_failure_t *failure) {
  char folder[PATH_MAX], file[PATH_MAX + 16];
  opc_prepared_t prepared = {0};
  opc_error_t error = {0};
  if (opc_child_folder_make(folder, &error) != OPC_OK) return fail(failure, "package", error.message);
  snprintf(file, sizeof file, "%s/model.so", folder);
  opc_status_t status = opc_package_unpack_code(path, model->name, file, &error);
  bool has_code = status != OPC_ERR_NOT_FOUND; /* libtorch then compiles the source */
  if (status == OPC_OK) status = opc_bridge_prepare(file, cuda, &prepared, &error);
  opc_prepared_clear(&prepared);
  opc_child_folder_remove(folder);
  return status == OPC_OK || !has_code || fail(failure, "package", error.message);
}

bool opc_package_load(const char *path, bool cuda, opc_package_t *out, opc_package_failure_t *failure) {
  opc_error_t error = {0};
  bool good = true;
  *out = (opc_package_t){0};
  if (opc_package_read(path, out, &error) != OPC_OK) return fail(failure, "package", error.message);
  for (size_t i = 0; good && i < out->count; i++) good = prepare_model(path, &out->models[i], cuda, failure);
  for (size_t i = 0; good && i < out->count; i++) good = load_model(path, &out->models[i], failure);
  if (!good) opc_package_clear(out);
  return good;
}
