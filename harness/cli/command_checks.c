#include <errno.h>
#include <string.h>

#include "cli/cli.h"

typedef struct checks_command {
  opc_error_t *error;
} checks_command_t;

static error_t checks_parse(int key, char *value, struct argp_state *state) {
  checks_command_t *command = state->input;
  if (key != ARGP_KEY_ARG) return ARGP_ERR_UNKNOWN;
  (void)opc_error_set(command->error, OPC_ERR_USAGE, "checks takes no arguments; opcheck-c explain %.60s describes one",
                      value);
  return EINVAL;
}

static const struct argp checks_argp = {NULL,
                                        checks_parse,
                                        "",
                                        "Lists the checks, in the order they run, and their rules."
                                        "\vExamples:\n"
                                        "  opcheck-c checks\n"
                                        "  opcheck-c explain stride          the rules of one check, in full\n"
                                        "  opcheck-c run --check stride,meta libmy_ops.so\n",
                                        NULL,
                                        NULL,
                                        NULL};

static void checks_show_rule(const opc_screen_t *screen, const opc_rule_t *rule) {
  bool warning = rule->severity == OPC_SEVERITY_WARNING;
  fprintf(screen->stream, "  %-34s %s%s\n", rule->name, rule->title, warning ? " (warning)" : "");
}

int opc_command_checks(const opc_arguments_t *arguments) {
  opc_error_t error;
  checks_command_t command = {&error};
  if (opc_arguments_parse(arguments, &checks_argp, &command, &error) != OPC_OK)
    return opc_arguments_failed(arguments, &error);
  opc_screen_t screen = opc_screen_of(stdout);
  for (size_t c = 0; c < opc_check_info_count; c++) {
    const opc_check_info_t *check = &opc_check_infos[c];
    opc_screen_text(&screen, OPC_TONE_BOLD, check->name);
    printf(": %s%s\n", check->summary, check->calls ? "" : " (calls nothing)");
    for (size_t r = 1; r < opc_rule_count; r++)
      if (opc_rule_check(&opc_rules[r]) == (int)c) checks_show_rule(&screen, &opc_rules[r]);
    fputc('\n', stdout);
  }
  opc_screen_text(&screen, OPC_TONE_BOLD, "any check");
  puts(": how a case can end besides");
  for (size_t r = 1; r < opc_rule_count; r++)
    if (opc_rule_check(&opc_rules[r]) < 0) checks_show_rule(&screen, &opc_rules[r]);
  return OPC_EXIT_OK;
}
