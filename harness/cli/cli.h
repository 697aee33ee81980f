/* Shared code of opcheck-c's subcommands: errors on stderr, option parsing, exit codes.
 *
 * Ownership: strings from argv outlive everything here. Threads: one. */
#pragma once

#include <argp.h>

#include "reports/reports.h"
#include "reports/text/screen.h"

/* Exit codes; users' scripts depend on them. */
enum {
  OPC_EXIT_OK = 0,
  OPC_EXIT_BROKEN = 1,
  OPC_EXIT_USAGE = 2,
  OPC_EXIT_HARNESS = 3,
  OPC_EXIT_LOAD = 4,
  OPC_EXIT_NOTHING = 5
};
int opc_exit_code(opc_status_t status);

/* Arguments of a subcommand. argv[0] is "opcheck-c NAME", for usage lines. full_argv is the whole command line, for the
 * journal. */
typedef struct opc_arguments {
  int argc;
  char **argv;
  int full_argc;
  const char *const *full_argv;
  void (*describe)(const struct argp *argp, void *context); /* NULL: run. Else the command only passes its options */
  void *describe_context;
  bool pipe_ignored, limit_ignored; /* SIGPIPE and SIGXFSZ were ignored when opcheck-c started; programs that it runs
                                       unmodified inherit that */
} opc_arguments_t;
typedef int opc_command_main_t(const opc_arguments_t *arguments);
#define OPC_COMMAND(name, summary) opc_command_main_t opc_command_##name;
#include "cli/commands.def"
#undef OPC_COMMAND

/* "opcheck-c: MESSAGE" on stderr. */
void opc_complain(const char *format, ...) OPC_PRINTF(1, 2);

/* Runs argp over the arguments. Misspelt option names are detected first, so that one line reports them with the
 * nearest option. Parsers report errors through the opc_error_t at the start of their input (see opc_parse_t) and
 * return EINVAL. --help and --version print and exit. */
opc_status_t opc_arguments_parse(const opc_arguments_t *arguments, const struct argp *argp, void *input,
                                 opc_error_t *error) OPC_CHECKED;
/* Reports a failed parse and points to the help; returns the exit code. Silent and 0 after `describe`. */
int opc_arguments_failed(const opc_arguments_t *arguments, const opc_error_t *error);

/* `opcheck-c --completion bash|zsh` and `--man-page`, on standard output, made from the options of all commands.
 * Returns the exit code. completion.c, man_page.c */
int opc_completion_print(const char *shell);
int opc_man_page_print(void);
/* Calls describe for each command. */
typedef void opc_describe_t(const char *command, const char *summary, const struct argp *argp, void *context);
void opc_commands_describe(opc_describe_t *describe, void *context);

/* Parse option values. The error names the option and the values that it accepts. */
opc_status_t opc_value_integer(const char *option, const char *text, int64_t lowest, int64_t highest, int64_t *out,
                               opc_error_t *error) OPC_CHECKED;
opc_status_t opc_value_seconds(const char *option, const char *text, double *out, opc_error_t *error) OPC_CHECKED;
/* A folder that exists. */
opc_status_t opc_value_folder(const char *option, const char *text, opc_error_t *error) OPC_CHECKED;

/* Value of --junit-cases: "operator" or "case". */
opc_status_t opc_value_junit_cases(const char *text, opc_junit_cases_t *out, opc_error_t *error) OPC_CHECKED;

/* A growing list of strings. The list owns the array, and only those strings that came from opc_strings_split. */
typedef struct opc_strings {
  const char **items;
  size_t count;
  char **owned;
  size_t owned_count;
} opc_strings_t;
opc_status_t opc_strings_add(opc_strings_t *list, const char *item, opc_error_t *error) OPC_CHECKED;
opc_status_t opc_strings_split(opc_strings_t *list, const char *text,
                               opc_error_t *error) OPC_CHECKED; /* at commas; drops empty parts */
void opc_strings_clear(opc_strings_t *list);

/* The candidate nearest to a mistyped word. Feed candidates one by one; best stays NULL if none is near. */
typedef struct opc_nearest {
  const char *word;
  const char *best;
  size_t distance;
} opc_nearest_t;
void opc_nearest_try(opc_nearest_t *nearest, const char *candidate);

/* Validates check names; the error suggests the nearest name. */
opc_status_t opc_check_names_validate(const opc_strings_t *names, opc_error_t *error) OPC_CHECKED;

/* What `inspect` prints of a library, as made by opc_inspection_make. */
void opc_inspect_show(const opc_screen_t *screen, const json_t *library);

/* Index of the check that a rule belongs to; -1: any case can end with this rule. */
struct opc_rule;
int opc_rule_check(const struct opc_rule *rule);
