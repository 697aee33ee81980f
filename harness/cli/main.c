/* opcheck-c: finds the subcommand and runs it. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

const char *argp_program_version = "opcheck-c " OPC_VERSION;

static const struct command {
  const char *name, *summary;
  opc_command_main_t *main;
} commands[] = {
#define OPC_COMMAND(name, summary) {#name, summary, opc_command_##name},
#include "cli/commands.def"
#undef OPC_COMMAND
};
static const size_t command_count = sizeof commands / sizeof commands[0];

static void print_help(void) {
  puts(
      "Usage: opcheck-c COMMAND [OPTION...] [ARGUMENT...]\n"
      "Test harness for PyTorch custom operators in shared libraries.\n");
  for (size_t i = 0; i < command_count; i++) printf("  %-9s %s\n", commands[i].name, commands[i].summary);
  puts(
      "\nopcheck-c COMMAND --help describes a command and its options; opcheck-c --version prints the version,\n"
      "--completion bash|zsh a script that completes commands and options, --man-page the manual page.\n\n"
      "Examples:\n"
      "  opcheck-c list libmy_ops.so\n"
      "  opcheck-c run --junit report.xml libmy_ops.so\n"
      "  opcheck-c run --case 'ID' libmy_ops.so      run one case of a report again\n"
      "  opcheck-c explain stride.wrong_result");
}

static int unknown_command(const char *name) {
  opc_nearest_t nearest = {.word = name};
  OPC_SCOPED(opc_text_clear) opc_text_t known = {0};
  for (size_t i = 0; i < command_count; i++) {
    opc_nearest_try(&nearest, commands[i].name);
    opc_text_addf(&known, "%s%s", i ? ", " : "", commands[i].name);
  }
  if (nearest.best)
    opc_complain("no command is called \"%s\"; did you mean %s? There are: %s", name, nearest.best, opc_text_c(&known));
  else opc_complain("no command is called \"%s\"; there are: %s", name, opc_text_c(&known));
  return OPC_EXIT_USAGE;
}

static bool is_command(const char *name) {
  for (size_t i = 0; i < command_count; i++)
    if (strcmp(commands[i].name, name) == 0) return true;
  return false;
}

static int dispatch(int argc, char **argv, bool pipe_ignored, bool limit_ignored) {
  const char *name = argc > 1 ? argv[1] : NULL;
  if (!name) {
    opc_complain("give a command: opcheck-c --help lists them");
    return OPC_EXIT_USAGE;
  }
  if (strcmp(name, "help") == 0 && argc > 2 && is_command(argv[2])) { /* help run: run --help */
    static char help[] = "--help";
    argv[1] = argv[2];
    argv[2] = help;
    name = argv[1];
    argc = 3;
  }
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
    print_help();
    return OPC_EXIT_OK;
  }
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
    puts(argp_program_version);
    return OPC_EXIT_OK;
  }
  if (strcmp(name, "--completion") == 0) return opc_completion_print(argc > 2 ? argv[2] : "");
  if (strcmp(name, "--man-page") == 0) return opc_man_page_print();
  for (size_t i = 0; i < command_count; i++) {
    if (strcmp(commands[i].name, name) != 0) continue;
    OPC_SCOPED(opc_strings_clear) opc_strings_t full = {0};
    opc_error_t error;
    for (int a = 0; a < argc; a++) {
      if (opc_strings_add(&full, argv[a], &error) == OPC_OK) continue;
      opc_complain("%s", error.message);
      return OPC_EXIT_HARNESS;
    }
    char usage_name[64];
    snprintf(usage_name, sizeof usage_name, "opcheck-c %s", name);
    argv[1] = usage_name;
    return commands[i].main(&(opc_arguments_t){.argc = argc - 1,
                                               .argv = argv + 1,
                                               .full_argc = argc,
                                               .full_argv = full.items,
                                               .pipe_ignored = pipe_ignored,
                                               .limit_ignored = limit_ignored});
  }
  return unknown_command(name);
}

int main(int argc, char **argv) {
  bool limit_ignored = signal(SIGXFSZ, SIG_IGN) == SIG_IGN; /* exceeding a file-size limit is reported as an error, not
                                                               a fatal signal; workers get the default action back */
  bool pipe_ignored =
      signal(SIGPIPE, SIG_IGN) == SIG_IGN; /* "opcheck-c list LIB | head" must still remove its temporary journal */
  int code = dispatch(argc, argv, pipe_ignored, limit_ignored);
  if (fflush(stdout) != 0 || ferror(stdout)) {
    struct pollfd reader = {.fd = STDOUT_FILENO};
    bool gone =
        poll(&reader, 1, 0) == 1 && reader.revents & POLLERR; /* on purpose: no error if the reader closed the pipe */
    if (!gone) opc_complain("cannot write to standard output");
    if (code == OPC_EXIT_OK) code = OPC_EXIT_HARNESS;
  }
  return code;
}
