#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/catalogue/rules.h"
#include "cli/cli.h"
#include "reports/screen.h"

enum { PROSE_WIDTH = 100 };

typedef struct explain_command {
  opc_error_t *error;
  opc_strings_t names;
} explain_command_t;

static error_t parse(int key, char *value, struct argp_state *state) {
  explain_command_t *command = state->input;
  opc_status_t status = OPC_OK;
  if (key == ARGP_KEY_ARG) status = opc_strings_add(&command->names, value, command->error);
  else if (key == ARGP_KEY_END && command->names.count == 0)
    status = opc_error_set(command->error, OPC_ERR_USAGE, "name a rule or a check; opcheck-c checks lists them");
  else if (key != ARGP_KEY_END) return ARGP_ERR_UNKNOWN;
  return status == OPC_OK ? 0 : EINVAL;
}

static const struct argp explain_argp = {
    NULL,
    parse,
    "RULE...",
    "Explains rules: what is wrong, why it matters, what a finding proves and what it cannot, and how to "
    "mend it. The name of a check explains all of its rules."
    "\vExamples:\n"
    "  opcheck-c explain mutation.undeclared\n"
    "  opcheck-c explain signal.SIGSEGV\n"
    "  opcheck-c explain stride\n",
    NULL,
    NULL,
    NULL};

int opc_rule_check(const opc_rule_t *rule) {
  for (size_t c = 0; c < opc_check_info_count; c++) {
    size_t length = strlen(opc_check_infos[c].name);
    if (strncmp(rule->name, opc_check_infos[c].name, length) == 0 && rule->name[length] == '.') return (int)c;
  }
  return -1;
}

static void show_rule(const opc_screen_t *screen, const opc_rule_t *rule) {
  bool warning = rule->severity == OPC_SEVERITY_WARNING;
  opc_screen_text(screen, OPC_TONE_BOLD, rule->name);
  fprintf(screen->stream, ": %s%s\n", rule->title, warning ? " (a warning)" : "");
  opc_screen_field(screen, "why", rule->why);
  opc_screen_field(screen, "proves", rule->proves);
  opc_screen_field(screen, "to mend it", rule->fix);
  opc_screen_field(screen, "source", rule->source);
}

static void show_check(const opc_screen_t *screen, size_t check) {
  opc_screen_text(screen, OPC_TONE_BOLD, opc_check_infos[check].name);
  fprintf(screen->stream, ": %s\n", opc_check_infos[check].summary);
  for (size_t r = 0; r < opc_rule_count; r++) {
    if (opc_rule_check(&opc_rules[r]) != (int)check) continue;
    fputc('\n', screen->stream);
    show_rule(screen, &opc_rules[r]);
  }
}

static opc_status_t explain(const opc_screen_t *screen, const char *name, opc_error_t *error) {
  const opc_rule_t *rule = opc_rule_find(name);
  int check = opc_check_info_find(name);
  if (rule) {
    show_rule(screen, rule);
  } else if (check >= 0) {
    show_check(screen, (size_t)check);
  } else {
    opc_nearest_t nearest = {.word = name};
    for (size_t r = 0; r < opc_rule_count; r++) opc_nearest_try(&nearest, opc_rules[r].name);
    for (size_t c = 0; c < opc_check_info_count; c++) opc_nearest_try(&nearest, opc_check_infos[c].name);
    if (nearest.best)
      return opc_error_set(error, OPC_ERR_USAGE, "no rule or check is called \"%.100s\"; did you mean %s?", name,
                           nearest.best);
    return opc_error_set(error, OPC_ERR_USAGE, "no rule or check is called \"%.100s\"; opcheck-c checks lists them",
                         name);
  }
  return OPC_OK;
}

int opc_command_explain(const opc_arguments_t *arguments) {
  opc_error_t error;
  explain_command_t command = {.error = &error};
  opc_status_t status = opc_arguments_parse(arguments, &explain_argp, &command, &error);
  opc_screen_t screen = opc_screen_of(stdout);
  if (screen.width == 0 || screen.width > PROSE_WIDTH) screen.width = PROSE_WIDTH;
  for (size_t i = 0; status == OPC_OK && i < command.names.count; i++) {
    if (i) fputc('\n', stdout);
    status = explain(&screen, command.names.items[i], &error);
  }
  int code = status == OPC_OK ? OPC_EXIT_OK : opc_arguments_failed(arguments, &error);
  opc_strings_clear(&command.names);
  return code;
}
