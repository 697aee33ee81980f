/* The manual page in the language of man(7), from the commands' own help, and the list of all commands that both this
 * and the completions are made from. */
#include <string.h>

#include "cli/cli.h"

/* ---- all commands ---- */

typedef struct described {
  opc_describe_t *describe;
  const char *command, *summary;
  void *context;
} described_t;

static void pass_on(const struct argp *argp, void *context) {
  const described_t *described = context;
  described->describe(described->command, described->summary, argp, described->context);
}

static void describe_command(opc_command_main_t *command, described_t *described) {
  char name[64];
  char *argv[] = {name, NULL};
  const char *const full[] = {"opcheck-c", NULL};
  snprintf(name, sizeof name, "opcheck-c %s", described->command);
  const opc_arguments_t arguments = {
      .argc = 1, .argv = argv, .full_argc = 1, .full_argv = full, .describe = pass_on, .describe_context = described};
  (void)command(&arguments);
}

void opc_commands_describe(opc_describe_t *describe, void *context) {
#define OPC_COMMAND(name, summary) \
  describe_command(opc_command_##name, &(described_t){describe, #name, summary, context});
#include "cli/commands.def"
#undef OPC_COMMAND
}

/* ---- the page ---- */

/* A line must not begin with a dot or an apostrophe, and a hyphen is one to copy. */
static void put_roff(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    const bool begins = i == 0 || text[i - 1] == '\n';
    if (begins && (text[i] == '.' || text[i] == '\'')) fputs("\\&", stdout);
    if (text[i] == '\\') fputs("\\e", stdout);
    else if (text[i] == '-') fputs("\\-", stdout);
    else putchar(text[i]);
  }
}

static void put_roff_text(const char *text) { put_roff(text, strlen(text)); }

/* Lines that begin with a space are examples. */
static void put_paragraphs(const char *text) {
  bool example = false;
  while (*text) {
    const char *end = strchrnul(text, '\n');
    const bool indented = *text == ' ';
    if (indented != example) fputs(indented ? ".PP\n.nf\n" : ".fi\n", stdout);
    example = indented;
    if (end == text) puts(".PP");
    else {
      put_roff(text, (size_t)(end - text));
      putchar('\n');
    }
    text = *end ? end + 1 : end;
  }
  if (example) puts(".fi");
}

static void put_option(const struct argp_option *option) {
  if (!option->name) { /* the head of a group */
    if (!option->doc) return;
    fputs(".PP\n.I ", stdout);
    put_roff_text(option->doc);
    putchar('\n');
    return;
  }
  fputs(".TP\n\\fB\\-\\-", stdout);
  put_roff_text(option->name);
  fputs("\\fR", stdout);
  if (option->arg) {
    fputs("=\\fI", stdout);
    put_roff_text(option->arg);
    fputs("\\fR", stdout);
  }
  putchar('\n');
  put_roff_text(option->doc ? option->doc : "");
  putchar('\n');
}

static void put_command(const char *command, const char *summary, const struct argp *argp, void *context) {
  const char *doc = argp->doc ? argp->doc : "", *after = strchr(doc, '\v');
  (void)summary;
  (void)context;
  fputs(".SS opcheck\\-c ", stdout);
  put_roff_text(command);
  fputs(argp->options ? " [OPTION...] " : " ", stdout);
  for (const char *at = argp->args_doc ? argp->args_doc : ""; *at; at++) {
    if (*at == '\n') fputs(" | ", stdout);
    else put_roff(at, 1);
  }
  putchar('\n');
  OPC_SCOPED(opc_text_clear) opc_text_t before = {0};
  opc_text_add_bytes(&before, doc, after ? (size_t)(after - doc) : strlen(doc));
  put_paragraphs(opc_text_c(&before));
  for (const struct argp_option *option = argp->options; option && (option->name || option->key || option->doc);
       option++)
    put_option(option);
  if (!after) return;
  puts(".PP");
  put_paragraphs(after + 1);
}

static void put_summary_line(const char *command, const char *summary, const struct argp *argp, void *context) {
  (void)argp;
  (void)context;
  printf(".TP\n.B %s\n", command);
  put_roff_text(summary);
  putchar('\n');
}

int opc_man_page_print(void) {
  puts(".TH OPCHECK\\-C 1 \"\" \"opcheck\\-c " OPC_VERSION
       "\" \"User Commands\"\n"
       ".SH NAME\nopcheck\\-c \\- test harness for PyTorch custom operators in shared libraries\n"
       ".SH SYNOPSIS\n.B opcheck\\-c\n.I COMMAND\n[\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
       ".SH DESCRIPTION\nChecks the operators of libraries against the contract of a custom operator. The commands "
       "are:");
  opc_commands_describe(put_summary_line, NULL);
  puts(".SH COMMANDS");
  opc_commands_describe(put_command, NULL);
  puts(
      ".SH FILES\n.TP\n.I .opcheck\\-c.json\nSettings of a project for \\fBrun\\fR, in the current folder or the "
      "nearest "
      "one above that has it: samples, recipes, xfail, baseline, checks, severities.\n"
      ".SH ENVIRONMENT\n.TP\n.BR NO_COLOR ,\\~ CLICOLOR ,\\~ CLICOLOR_FORCE\n"
      "No colours if NO_COLOR is set, or if CLICOLOR is 0; colours without a terminal if CLICOLOR_FORCE is set, and "
      "not "
      "0.\n"
      ".TP\n.B COLUMNS\nThe width of lines.\n"
      ".TP\n.B TMPDIR\nThe folder for the journal of a run without \\-\\-journal.\n"
      ".TP\n.B PYTHON\nThe Python of \\-\\-python.\n"
      ".TP\n.B GITHUB_STEP_SUMMARY\nThe file that \\-\\-github appends its summary to.");
  return OPC_EXIT_OK;
}
