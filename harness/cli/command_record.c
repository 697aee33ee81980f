#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "recording/merge_recordings.h"
#include "recording/program_launch.h"
#include "recording/record_folder.h"
#include "supervise/process/worker_find.h"

enum { KEY_OUTPUT = 256, KEY_NAMESPACE, KEY_OP, KEY_VALUES, KEY_CALLS, KEY_TOTAL, KEY_SIZE, KEY_ELEMENTS };

typedef struct record_command {
  opc_error_t *error;
  opc_record_settings_t settings;
  opc_strings_t namespaces, globs;
  const char *output;
  bool values;
  char **words; /* the program's command line */
  char *folder, *shim, *observers, *values_folder;
} record_command_t;

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "The sample file to write; an existing one is replaced if something was recorded",
     1},
    {"namespace", KEY_NAMESPACE, "NS", 0,
     "Record only operators of this namespace (repeatable; default: all but libtorch's own)", 1},
    {"op", KEY_OP, "GLOB", 0, "Record only operators whose name matches GLOB (repeatable)", 1},
    {"values", KEY_VALUES, NULL, 0,
     "Keep all values; those of large tensors go to .npy files in FILE.values. CUDA tensors are copied, which waits "
     "for the GPU; not while a CUDA graph is captured",
     1},
    {0, 0, 0, 0, "Limits:", 2},
    {"calls", KEY_CALLS, "N", 0, "Distinct calls per operator (default: 64)", 2},
    {"total", KEY_TOTAL, "N", 0, "Distinct calls in total (default: 4096)", 2},
    {"size", KEY_SIZE, "MIB", 0, "Most that one process writes (default: 256)", 2},
    {"elements", KEY_ELEMENTS, "N", 0,
     "Floating-point tensors up to this size keep their values, integer tensors up to 16 times this size (default: "
     "1024)",
     2},
    {0}};

static const char doc[] =
    "Runs a program that uses libtorch, unchanged, and writes the distinct calls of its operators as samples."
    "\vRecorded of tensors: shape, dtype, strides, storage offset, shared storage, requires_grad. Integers keep their "
    "values, because they are often indices. Of large floating-point tensors only the kind of values is kept (range, "
    "mean, deviation), unless --values is given.\n\n"
    "Exit status: the program's own (or its signal) if that is not 0. Otherwise 0; 2: wrong usage, or the program "
    "cannot "
    "be executed; 3: the recording could not be made or written; 5: nothing was recorded. The summary goes to "
    "stderr.\n\n"
    "Examples:\n"
    "  opcheck-c record --output my.samples.json -- python3 -m pytest tests\n"
    "  opcheck-c record --output my.samples.json --namespace my_ops -- ./server\n"
    "  opcheck-c run --samples my.samples.json libmy_ops.so\n";

static error_t record_parse(int key, char *value, struct argp_state *state) {
  record_command_t *record = state->input;
  opc_record_settings_t *to = &record->settings;
  opc_status_t status = OPC_OK;
  switch (key) {
    case KEY_OUTPUT:
      record->output = value;
      break;
    case KEY_NAMESPACE:
      status = opc_strings_add(&record->namespaces, value, record->error);
      break;
    case KEY_OP:
      status = opc_strings_add(&record->globs, value, record->error);
      break;
    case KEY_VALUES:
      record->values = true;
      break;
    case KEY_CALLS:
      status = opc_value_integer("--calls", value, 1, 1000000, &to->calls, record->error);
      break;
    case KEY_TOTAL:
      status = opc_value_integer("--total", value, 1, 1000000, &to->total, record->error);
      break;
    case KEY_SIZE:
      status = opc_value_integer("--size", value, 1, 1024 * 1024, &to->size_mib, record->error);
      break;
    case KEY_ELEMENTS:
      status = opc_value_integer("--elements", value, 0, 1024 * 1024, &to->elements, record->error);
      break;
    case ARGP_KEY_ARG:
      status = opc_error_set(record->error, OPC_ERR_USAGE, "%s: put -- before the program and its arguments", value);
      break;
    case ARGP_KEY_END:
      if (!record->output || !*record->output)
        status = opc_error_set(record->error, OPC_ERR_USAGE, "--output: name the sample file to write");
      else if (!record->words || !record->words[0])
        status = opc_error_set(record->error, OPC_ERR_USAGE, "give the program to run after --");
      break;
    default:
      return ARGP_ERR_UNKNOWN;
  }
  return status != OPC_OK ? EINVAL : 0;
}

static const struct argp record_argp = {options, record_parse, "-- COMMAND [ARGUMENT...]", doc, NULL, NULL, NULL};

/* ---- where things are ---- */

/* Next to the program in a build, and at the installed path: bin/../lib/opcheck-c. */
static opc_status_t find_libraries(record_command_t *record) {
  char self[PATH_MAX];
  opc_program_folder(self);
  if (self[0] == '\0')
    return opc_error_set(record->error, OPC_ERR_SYSTEM, "cannot read /proc/self/exe: %s", strerror(errno));
  OPC_SCOPED(opc_scope_free) char *beside = opc_string_format("%s/../lib/opcheck-c", self);
  record->observers = beside ? realpath(beside, NULL) : NULL;
  record->shim = record->observers ? opc_string_format("%s/" OPC_RECORD_SHIM, record->observers) : NULL;
  if (!record->shim || access(record->shim, R_OK) != 0)
    return opc_error_set(record->error, OPC_ERR_NOT_FOUND,
                         "no " OPC_RECORD_SHIM " in %s: build or install opcheck-c as a whole", beside ? beside : self);
  else if (strpbrk(record->shim, " :"))
    return opc_error_set(record->error, OPC_ERR_UNSUPPORTED,
                         "%s cannot be preloaded, because its name has a space or a colon: move opcheck-c elsewhere",
                         record->shim);
  return OPC_OK;
}

/* Next to the output, so that large files are moved and not copied; in the temporary folder if the output is a device
 * or a pipe. */
static opc_status_t record_make_folder(record_command_t *record) {
  struct stat there;
  char absolute[PATH_MAX], *slash;
  bool plain = stat(record->output, &there) != 0 || S_ISREG(there.st_mode);
  const char *temporary = getenv("TMPDIR");
  if (plain) {
    OPC_SCOPED(opc_scope_free) char *folder = opc_string_copy(record->output);
    slash = folder ? strrchr(folder, '/') : NULL;
    if (slash) slash[slash == folder] = '\0';
    char *found = folder ? realpath(slash ? folder : ".", absolute) : NULL;
    if (!found) return opc_error_set(record->error, OPC_ERR_IO, "--output %s: %s", record->output, strerror(errno));
  } else {
    snprintf(absolute, sizeof absolute, "%s", temporary && *temporary == '/' ? temporary : "/tmp");
  }
  const char *name = opc_base_name(record->output);
  record->folder = opc_string_format("%s/%s.recording-XXXXXX", absolute, plain ? name : "opcheck-c");
  if (plain) record->values_folder = opc_string_format("%s.values", name);
  if (record->values && !plain)
    return opc_error_set(record->error, OPC_ERR_USAGE,
                         "--values: the values go to files next to the output, which %s has no place for",
                         record->output);
  if (!record->folder || (plain && !record->values_folder)) return opc_out_of_memory(record->error);
  if (!mkdtemp(record->folder)) {
    opc_status_t status = opc_error_set(record->error, OPC_ERR_IO, "--output %s: cannot write there: %s",
                                        record->output, strerror(errno));
    free(record->folder);
    record->folder = NULL;
    return status;
  }
  if (!plain) return OPC_OK;
  OPC_SCOPED(opc_scope_free) char *inside = opc_string_format("%s/" OPC_RECORD_VALUES, record->folder);
  bool made = inside && mkdir(inside, 0700) == 0;
  return made ? OPC_OK
              : opc_error_set(record->error, OPC_ERR_IO, "--output %s: cannot write there: %s", record->output,
                              strerror(errno));
}

static opc_status_t record_prepare(record_command_t *record) {
  OPC_RETURN_IF_ERROR(find_libraries(record));
  OPC_RETURN_IF_ERROR(record_make_folder(record));
  record->settings.observers = record->observers;
  record->settings.values_folder = record->values_folder ? record->values_folder : "";
  record->settings.values = record->values;
  record->settings.namespaces = record->namespaces.items;
  record->settings.namespace_count = record->namespaces.count;
  record->settings.globs = record->globs.items;
  record->settings.glob_count = record->globs.count;
  return opc_record_settings_write(&record->settings, record->folder, record->error);
}

/* ---- the end ---- */

static void explain_nothing(const record_command_t *record, const opc_recordings_t *recordings) {
  const char *kind = opc_program_kind(record->words[0]);
  if (kind) opc_complain("nothing was recorded: %s: %s", record->words[0], kind);
  else if (recordings->troubles.length) opc_complain("nothing was recorded");
  else if (recordings->processes == 0)
    opc_complain("nothing was recorded: no process of the program had libtorch in it");
  else if (recordings->operator_count == 0)
    opc_complain("nothing was recorded: no operator that was asked for was called");
  else opc_complain("nothing was recorded: no call could be");
}

static int record_gather(const record_command_t *record) {
  opc_recordings_t recordings;
  opc_error_t error;
  opc_status_t status = opc_recordings_merge(record->folder, record->output, &record->settings, &recordings, &error);
  int code = status != OPC_OK ? OPC_EXIT_HARNESS : recordings.samples == 0 ? OPC_EXIT_NOTHING : OPC_EXIT_OK;
  if (recordings.troubles.length && code == OPC_EXIT_NOTHING) code = OPC_EXIT_HARNESS;
  if (status != OPC_OK) {
    opc_complain("%s", error.message);
  } else {
    if (code != OPC_EXIT_OK) explain_nothing(record, &recordings);
    opc_recordings_report(&recordings, record->output, stderr);
  }
  for (char *rest = recordings.troubles.data, *line; rest && (line = strsep(&rest, "\n"));)
    if (*line) opc_complain("a process could not be observed: %s", line);
  opc_recordings_clear(&recordings);
  return code;
}

/* The shell or parent process must see the same status as without opcheck-c. */
static int end_as(int status, int own) {
  if (WIFSIGNALED(status)) {
    const struct rlimit no_core = {0};
    sigset_t all;
    fflush(NULL);
    setrlimit(RLIMIT_CORE, &no_core); /* the program has written its own core dump */
    signal(WTERMSIG(status), SIG_DFL);
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status);
  }
  return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : own;
}

static int record_run(record_command_t *record, const opc_arguments_t *arguments) {
  int status = 0, code;
  opc_program_launch_t launch = {.words = record->words,
                                 .shim = record->shim,
                                 .folder = record->folder,
                                 .pipe_ignored = arguments->pipe_ignored,
                                 .limit_ignored = arguments->limit_ignored};
  if (opc_program_run(&launch, &status, record->error) != OPC_OK) {
    opc_complain("%s", record->error->message);
    return opc_exit_code(record->error->code);
  }
  code = record_gather(record);
  opc_record_folder_remove(record->folder);
  return end_as(status, code);
}

/* Options come before "--"; arguments after it belong to the program. */
static opc_arguments_t record_split(const opc_arguments_t *arguments, record_command_t *record) {
  opc_arguments_t own = *arguments;
  for (int i = 1; i < arguments->argc; i++) {
    if (strcmp(arguments->argv[i], "--") != 0) continue;
    own.argc = i;
    record->words = arguments->argv + i + 1;
    break;
  }
  return own;
}

int opc_command_record(const opc_arguments_t *arguments) {
  opc_error_t error;
  record_command_t record = {.error = &error};
  opc_record_settings_default(&record.settings);
  opc_arguments_t own = record_split(arguments, &record);
  int code;
  if (opc_arguments_parse(&own, &record_argp, &record, &error) != OPC_OK || record_prepare(&record) != OPC_OK)
    code = opc_arguments_failed(arguments, &error);
  else code = record_run(&record, arguments);
  if (record.folder) opc_record_folder_remove(record.folder);
  free(record.folder);
  free(record.shim);
  free(record.observers);
  free(record.values_folder);
  opc_strings_clear(&record.namespaces);
  opc_strings_clear(&record.globs);
  return code;
}
