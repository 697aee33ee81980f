/* opcheck-c gdb: one case of a run under gdb, which passes over the processes before the child that runs the case. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "supervise/session/session.h"

/* opcheck-c starts a worker, which forks children: some search for inputs or learn relations, and must not be stopped.
 * gdb detaches from all but the one that runs the case. */
static const char *const steps[] = {"set schedule-multiple on",
                                    "set breakpoint pending on",
                                    "tbreak opc_worker_start",
                                    "run",
                                    "set detach-on-fork off",
                                    "tcatch exec",
                                    "continue",
                                    "set detach-on-fork on",
                                    "tbreak opc_task_tell_samples",
                                    "continue",
                                    "set detach-on-fork off",
                                    "tbreak opc_run_case",
                                    "continue",
                                    "set detach-on-fork on"};
enum { STEPS = sizeof steps / sizeof *steps };

static const char gdb_doc[] =
    "Runs one case of a report under gdb. gdb stops in the process that runs it, before the check calls the operator;\n"
    "the libraries are loaded then. `continue` shows a crash or an access out of bounds, `break FUNCTION` stops in a\n"
    "kernel. The case has an hour; quit ends all processes. --print shows gdb's command line instead.\n\n"
    "Examples:\n"
    "  opcheck-c gdb my_ops::scale/memory/cpu/-/small/plain libmy_ops.so\n"
    "  opcheck-c gdb --print my_ops::scale/stride/cpu/-/small/x.transposed libmy_ops.so\n";

typedef struct gdb_command {
  opc_strings_t words; /* gdb's command line */
  char program[4096];  /* this one */
  bool print, help;
} gdb_command_t;

static opc_status_t add_words(opc_strings_t *to, const char *const *words, size_t count, opc_error_t *error) {
  for (size_t i = 0; i < count; i++) OPC_RETURN_IF_ERROR(opc_strings_add(to, words[i], error));
  return OPC_OK;
}

static opc_status_t gdb_read(const opc_arguments_t *arguments, gdb_command_t *command, opc_error_t *error) {
  const char *const *words = (const char *const *)arguments->argv + 1;
  size_t count = (size_t)arguments->argc - 1;
  opc_case_id_t id;
  command->help =
      count > 0 && (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0 || strcmp(words[0], "-?") == 0);
  if (command->help) return OPC_OK;
  command->print = count > 0 && strcmp(words[0], "--print") == 0;
  if (command->print) words++, count--;
  if (count < 2)
    return opc_error_set(error, OPC_ERR_USAGE, "give the id of a case, as reports show it, and the library");
  if (opc_case_id_parse(words[0], &id, error) != OPC_OK) return OPC_ERR_USAGE;
  const ssize_t length = readlink("/proc/self/exe", command->program, sizeof command->program - 1);
  if (length < 0) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot read /proc/self/exe: %s", strerror(errno));
  OPC_RETURN_IF_ERROR(add_words(&command->words, (const char *const[]){"gdb", "-q"}, 2, error));
  for (size_t i = 0; i < STEPS; i++)
    OPC_RETURN_IF_ERROR(add_words(&command->words, (const char *const[]){"-ex", steps[i]}, 2, error));
  /* The time in gdb counts, and a child that takes longer is killed. */
  const char *const run[] = {"--args", command->program, "run", "--timeout", "3600", "--case", words[0]};
  OPC_RETURN_IF_ERROR(add_words(&command->words, run, sizeof run / sizeof *run, error));
  OPC_RETURN_IF_ERROR(add_words(&command->words, words + 1, count - 1, error));
  return opc_strings_add(&command->words, NULL, error); /* the end, for execvp */
}

static void gdb_print(const opc_strings_t *words) {
  OPC_SCOPED(opc_text_clear) opc_text_t line = {0};
  for (size_t i = 0; i + 1 < words->count; i++) {
    opc_text_add(&line, i > 0 ? " " : "");
    opc_shell_text(&line, words->items[i]);
  }
  puts(opc_text_c(&line));
}

static opc_status_t gdb_start(const opc_arguments_t *arguments, const opc_strings_t *words, opc_error_t *error) {
  if (!arguments->pipe_ignored) signal(SIGPIPE, SIG_DFL);
  if (!arguments->limit_ignored) signal(SIGXFSZ, SIG_DFL);
  execvp("gdb", (char *const *)words->items);
  if (errno == ENOENT)
    return opc_error_set(error, OPC_ERR_NOT_FOUND,
                         "gdb is not on the PATH: install it (apt-get install gdb, dnf install gdb), or see with "
                         "--print what it would be given");
  return opc_error_set(error, OPC_ERR_SYSTEM, "cannot start gdb: %s", strerror(errno));
}

/* Everything but --print is an option of run, so that argp does not read them. */
static const struct argp_option gdb_options[] = {
    {"print", 'p', NULL, 0, "Show the command line of gdb instead of starting it", 0}, {0}};
static const struct argp gdb_argp = {gdb_options, NULL, "[--print] ID [OPTION OF run...] LIB...", gdb_doc, NULL,
                                     NULL,        NULL};

int opc_command_gdb(const opc_arguments_t *arguments) {
  opc_error_t error;
  if (arguments->describe) {
    arguments->describe(&gdb_argp, arguments->describe_context);
    return OPC_EXIT_OK;
  }
  OPC_SCOPED(opc_strings_clear) opc_strings_t words = {0};
  gdb_command_t command = {0};
  opc_status_t status = gdb_read(arguments, &command, &error);
  words = command.words;
  if (status != OPC_OK) return opc_arguments_failed(arguments, &error);
  if (command.help) printf("Usage: opcheck-c gdb %s\n%s", gdb_argp.args_doc, gdb_doc);
  else if (command.print) gdb_print(&words);
  else status = gdb_start(arguments, &words, &error);
  if (status != OPC_OK) opc_complain("%s", error.message);
  return status != OPC_OK ? OPC_EXIT_HARNESS : OPC_EXIT_OK;
}
