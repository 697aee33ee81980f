#include "worker/loading/loading.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "bridge/api/bridge.h"
#include "bridge/api/prepare.h"
#include "worker/child/child_folder.h"

/* Compares what a package calls by name with what is registered: operators with their arguments, and classes.
 *
 * Threads: one, after the libraries were loaded. */
typedef struct opc_package_lack {
  const char *kind; /* "missing_operator", "missing_class", "schema"; NULL: nothing is missing */
  char message[OPC_ERROR_MESSAGE_SIZE];
} opc_package_lack_t;

/* ---- a library that may be the missing one ---- */

static bool file_holds(const char *path, const char *const words[2]) {
  struct stat info;
  bool found = false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    found = bytes != MAP_FAILED;
    for (int i = 0; found && i < 2; i++) found = memmem(bytes, size, words[i], strlen(words[i]));
    if (bytes != MAP_FAILED) munmap(bytes, size);
  }
  if (fd >= 0) close(fd);
  return found;
}

static bool folder_search(const char *folder, const char *const words[2], char out[PATH_MAX]) {
  bool found = false;
  DIR *listing = opendir(folder);
  for (const struct dirent *entry = listing ? readdir(listing) : NULL; entry && !found; entry = readdir(listing)) {
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 3, ".so") != 0) continue;
    int written = snprintf(out, PATH_MAX, "%s/%s", folder, entry->d_name);
    found = written > 0 && written < PATH_MAX && file_holds(out, words);
  }
  if (listing) closedir(listing);
  return found;
}

/* Next to the package, and in the lib folders of a build tree. */
static bool candidate_find(const char *package, const char *space, const char *name, char out[PATH_MAX]) {
  static const char *const places[] = {"", "/lib", "/../lib"};
  char folder[PATH_MAX], plain[PATH_MAX];
  const char *slash = strrchr(package, '/'), *const words[2] = {space, name};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int written =
        snprintf(folder, sizeof folder, "%.*s%s", slash ? (int)(slash - package) : 1, slash ? package : ".", places[i]);
    if (written > 0 && (size_t)written < sizeof folder && realpath(folder, plain) && folder_search(plain, words, out))
      return true;
  }
  return false;
}

/* The best known advice. */
static void advise(const char *path, const opc_package_model_t *model, const char *space, const char *name,
                   opc_text_t *text) {
  char candidate[PATH_MAX], inner[256];
  snprintf(inner, sizeof inner, "%.*s", (int)strcspn(name, "."), name);
  bool found = candidate_find(path, space, inner, candidate);
  if (model->libraries[0]) opc_text_addf(text, ". The package was exported with %s", model->libraries);
  if (found)
    opc_text_addf(text, "%s: name it with --library %s",
                  model->libraries[0] ? "" : ". A library that holds these names is there", candidate);
  else opc_text_addf(text, ": name the library that registers %s with --library", space);
}

/* ---- operators and classes ---- */

static void set_lack(opc_package_lack_t *out, const char *kind, opc_text_t *text) {
  out->kind = kind;
  snprintf(out->message, sizeof out->message, "%s", opc_text_c(text));
  opc_text_clear(text);
}

static void package_load_split(const char *name, const char *separator, char space[128], const char **out_rest) {
  const char *at = strstr(name, separator);
  snprintf(space, 128, "%.*s", at ? (int)(at - name) : (int)strlen(name), name);
  *out_rest = at ? at + strlen(separator) : name;
}

/* An argument that the package passes and the schema lacks, or one that the schema requires and the package does not
 * pass. */
static void check_schema(const char *name, const json_t *given, const opc_operator_t *op, opc_package_lack_t *out) {
  size_t i;
  json_t *argument;
  opc_text_t text = {0};
  json_array_foreach(given, i, argument) {
    const char *word = json_string_value(argument);
    if (!word || opc_operator_argument(op, word) >= 0) continue;
    opc_text_addf(&text, "it gives %s an argument \"%s\" that the operator registered here does not have (%s)", name,
                  word, op->schema);
    break;
  }
  for (size_t a = 0; !text.length && a < op->argument_count; a++) {
    bool there = op->arguments[a].has_default || op->arguments[a].type.kind == OPC_TYPE_OPTIONAL;
    json_array_foreach(given, i, argument) there =
        there || strcmp(json_string_value(argument) ? json_string_value(argument) : "", op->arguments[a].name) == 0;
    if (!there)
      opc_text_addf(&text, "it does not give %s the argument \"%s\" that the operator registered here needs (%s)", name,
                    op->arguments[a].name, op->schema);
  }
  if (!text.length) return;
  opc_text_add(&text, ". It was exported with another version of the library: export it again, or use that version");
  set_lack(out, "schema", &text);
}

static void check_operator(const char *path, const opc_package_model_t *model, const char *name, const json_t *given,
                           opc_package_lack_t *out) {
  char space[128];
  const char *rest;
  opc_operator_t op = {0};
  opc_text_t text = {0};
  if (opc_bridge_describe(name, &op, NULL) == OPC_OK && op.schema) {
    check_schema(name, given, &op, out);
  } else {
    package_load_split(name, "::", space, &rest);
    opc_text_addf(
        &text, "a library is missing: the model calls %s, but nothing that was loaded registers this operator", name);
    advise(path, model, space, rest, &text);
    set_lack(out, "missing_operator", &text);
  }
  opc_operator_clear(&op);
}

static void check_class(const char *path, const opc_package_model_t *model, const char *name, opc_package_lack_t *out) {
  char space[128];
  const char *rest;
  opc_text_t text = {0};
  if (opc_bridge_has_class(name)) return;
  package_load_split(name, ".", space, &rest);
  opc_text_addf(
      &text,
      "a library is missing: the model holds an object of class %s, but nothing that was loaded registers this class",
      name);
  advise(path, model, space, rest, &text);
  set_lack(out, "missing_class", &text);
}

/* `path`: the package. The libraries next to it are searched for a candidate. */
static void package_needs_check(const char *path, const opc_package_model_t *model, opc_package_lack_t *out) {
  const char *name;
  json_t *given;
  *out = (opc_package_lack_t){0};
  json_object_foreach(model->calls, name, given) if (!out->kind) check_operator(path, model, name, given, out);
  json_object_foreach(model->classes, name, given) if (!out->kind) check_class(path, model, name, out);
}

/* The loading process sends this through a pipe. */
typedef struct trial {
  bool finished;
  opc_status_t status;
  size_t inputs, outputs;
  char message[OPC_ERROR_MESSAGE_SIZE];
} trial_t;

static bool package_load_fail(opc_package_failure_t *failure, const char *kind, const char *message) {
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

static bool explain_message(const opc_package_model_t *model, const char *message, opc_package_failure_t *failure) {
  char text[OPC_ERROR_MESSAGE_SIZE];
  const char *symbol = strstr(message, "undefined symbol: ");
  if (symbol) {
    snprintf(text, sizeof text,
             "it was compiled for another libtorch than this %s, which does not have %.200s: give that one with "
             "--torch, or export it again with this one",
             opc_bridge_torch_version(), symbol + strlen("undefined symbol: "));
    return package_load_fail(failure, "abi", text);
  }
  if (strstr(message, "cannot open shared object file")) {
    snprintf(text, sizeof text,
             "its compiled code needs a library that the loader does not find: name it with --preload. The loader "
             "says: %.600s",
             message);
    return package_load_fail(failure, "missing_dependency", text);
  }
  snprintf(text, sizeof text, "libtorch %s cannot load its model %s: %.800s", opc_bridge_torch_version(), model->name,
           message);
  return package_load_fail(failure, "package", text);
}

static bool explain_end(int status, opc_package_failure_t *failure) {
  char text[OPC_ERROR_MESSAGE_SIZE];
  int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const char *name = number ? opc_signal_abbreviation(number) : NULL;
  if (number == SIGILL) {
    return package_load_fail(
        failure, "instruction_set",
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
  return package_load_fail(failure, "package_crashed", text);
}

static bool load_model(const char *path, const opc_package_model_t *model, opc_package_failure_t *failure) {
  trial_t trial = {0};
  opc_package_lack_t lack;
  opc_error_t error = {0};
  int ended = 0;
  package_needs_check(path, model, &lack);
  if (lack.kind) return package_load_fail(failure, lack.kind, lack.message);
  if (trial_make(path, model->name, &trial, &ended, &error) != OPC_OK)
    return package_load_fail(failure, "package", error.message);
  if (!trial.finished) return explain_end(ended, failure);
  if (trial.status != OPC_OK) return explain_message(model, trial.message, failure);
  opc_package_operator_t op = {.path = path,
                               .model = model->name,
                               .device = model->device,
                               .inputs = model->inputs ? json_array_size(model->inputs) : trial.inputs,
                               .outputs = model->outputs ? model->outputs : trial.outputs};
  return opc_bridge_package_define(&op, &error) == OPC_OK || package_load_fail(failure, "package", error.message);
}

/* The libraries that its compiled library needs, above all libtorch.so, are loaded first, as for a library of
 * operators. */
static opc_status_t prepare_code(const char *path, const opc_package_model_t *model, const char *file, bool cuda,
                                 opc_error_t *error) {
  OPC_SCOPED(opc_prepared_clear) opc_prepared_t prepared = {0};
  const opc_status_t status = opc_package_unpack_code(path, model->name, file, error);
  if (status == OPC_ERR_NOT_FOUND) return OPC_OK; /* libtorch then compiles the source */
  OPC_RETURN_IF_ERROR(status);
  return opc_bridge_prepare(file, cuda, &prepared, error);
}

static bool prepare_model(const char *path, const opc_package_model_t *model, bool cuda,
                          opc_package_failure_t *failure) {
  char folder[PATH_MAX], file[PATH_MAX + 16];
  opc_error_t error = {0};
  if (opc_child_folder_make(folder, &error) != OPC_OK) return package_load_fail(failure, "package", error.message);
  snprintf(file, sizeof file, "%s/model.so", folder);
  const opc_status_t status = prepare_code(path, model, file, cuda, &error);
  opc_child_folder_remove(folder);
  return status != OPC_OK ? package_load_fail(failure, "package", error.message) : true;
}

bool opc_package_load(const char *path, bool cuda, opc_package_t *out, opc_package_failure_t *failure) {
  opc_error_t error = {0};
  bool good = true;
  *out = (opc_package_t){0};
  if (opc_package_read(path, out, &error) != OPC_OK) return package_load_fail(failure, "package", error.message);
  for (size_t i = 0; good && i < out->count; i++) good = prepare_model(path, &out->models[i], cuda, failure);
  for (size_t i = 0; good && i < out->count; i++) good = load_model(path, &out->models[i], failure);
  if (!good) opc_package_clear(out);
  return good;
}
