#include <errno.h>
#include <string.h>

#include "cli/cli.h"

enum { PROSE_WIDTH = 100 };

typedef struct explain_command {
  opc_error_t *error;
  opc_strings_t names;
} explain_command_t;

static error_t explain_parse(int key, char *value, struct argp_state *state) {
  explain_command_t *command = state->input;
  opc_status_t status = OPC_OK;
  if (key == ARGP_KEY_ARG) status = opc_strings_add(&command->names, value, command->error);
  else if (key == ARGP_KEY_END && command->names.count == 0)
    status = opc_error_set(command->error, OPC_ERR_USAGE,
                           "name a rule or a check (opcheck-c checks lists them), or samples, or problems");
  else if (key != ARGP_KEY_END) return ARGP_ERR_UNKNOWN;
  return status != OPC_OK ? EINVAL : 0;
}

static const struct argp explain_argp = {
    NULL,
    explain_parse,
    "RULE...",
    "Explains rules: what was seen, why it matters, what a finding does not prove, and how to "
    "fix it. The name of a check explains all of its rules, \"problems\" how findings are merged, \"samples\" how a "
    "sample file is written."
    "\vExamples:\n"
    "  opcheck-c explain mutation.undeclared\n"
    "  opcheck-c explain signal.SIGSEGV\n"
    "  opcheck-c explain stride\n"
    "  opcheck-c explain problems\n"
    "  opcheck-c explain samples\n",
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

static void explain_show_rule(const opc_screen_t *screen, const opc_rule_t *rule) {
  bool warning = rule->severity == OPC_SEVERITY_WARNING;
  opc_screen_text(screen, OPC_TONE_BOLD, rule->name);
  fprintf(screen->stream, ": %s%s\n", rule->title, warning ? " (a warning)" : "");
  opc_screen_field(screen, "seen", rule->seen);
  opc_screen_field(screen, "why", rule->why);
  opc_screen_field(screen, "limits", rule->limits);
  opc_screen_field(screen, "fix", rule->fix);
  opc_screen_field(screen, "source", rule->source);
}

static void show_check(const opc_screen_t *screen, size_t check) {
  opc_screen_text(screen, OPC_TONE_BOLD, opc_check_infos[check].name);
  fprintf(screen->stream, ": %s\n", opc_check_infos[check].summary);
  for (size_t r = 1; r < opc_rule_count; r++) {
    if (opc_rule_check(&opc_rules[r]) != (int)check) continue;
    fputc('\n', screen->stream);
    explain_show_rule(screen, &opc_rules[r]);
  }
}

/* How findings are merged into problems (reports/problems/problem_merge.c, reports/problems/problems.c). */
static void explain_show_problems(const opc_screen_t *screen) {
  static const char *const paragraphs[][2] = {
      {"what",
       "A finding is a case that failed. A problem is all findings with one cause. The terminal, JUnit and the "
       "JSON report's \"problems\" show problems; run --verbose also lists the findings of each operator, and the "
       "JSON report's \"results\" have all of them."},
      {"the sample",
       "A rule that a sample breaks as it is, in any dtype, is one problem. All variants that break "
       "the same rule belong to it."},
      {"the layout",
       "What only other layouts of the same values show is one problem of the operator: it depends on "
       "the layout. Its arguments are listed."},
      {"the rest",
       "Other findings about a call are one problem for each kind of change: empty tensors, other sizes, special "
       "values, other dtypes, the same tensor twice. Findings about the Meta kernel, symbolic sizes, derivatives, "
       "determinism and leaks are one problem for each of these; empty.shape goes with meta.shape. Every other rule "
       "is a problem of its own."},
      {"the place",
       "Findings of one operator at the same line of its library (or the same offset, where there are no "
       "lines) are one problem. The same rule at the same place in several operators is one problem "
       "that names them all, and so is one rule about the registration of several operators of a library."},
      {"an out",
       "An argument that is written and then returned, and of which the schema says neither, is one problem: "
       "mutation.undeclared, with alias.input_returned as a symptom."},
      {"on a GPU",
       "There work that nobody waits for gives other values each time, and what is kept on the device has a record in "
       "host memory. Such findings are symptoms of the operator's stream.* or device_memory.* problem, and do not "
       "name it."},
      {"standing",
       "\"tried\" says who vouches for the input, and what the variant changed; reports write it as SOURCE/CHANGE. "
       "declared: a sample file; recorded: a program; recipe: a recipe; searched: nobody, opcheck-c found it. "
       "same_values: at most the layout; related: sizes or values, and what is known to belong together still does; "
       "alone: one argument against the others. On searched or alone input a crash, a hang or an access out of bounds "
       "is memory.unchecked_arguments, a warning."},
      {"arguments",
       "memory.unchecked_arguments is one problem for each argument. It counts the inputs with which the "
       "operator writes or reads out of bounds, crashes or never returns, the worst first."},
      {"symptoms",
       "The rules of a problem are its symptoms, the strongest first: writes out of bounds, reads, crashes, "
       "then the others. The strongest names the problem. The case that stands for it has the best "
       "standing, then the fewest changes."},
      {"the order",
       "Errors come before warnings; declared, recorded and recipe inputs before searched ones; accesses out of "
       "bounds, "
       "crashes and hangs before the rest; what more operators show before what fewer do. On a terminal, more than "
       "eight problems are shown by rule: one entry for all operators with problems of that rule, except that each "
       "line of code that crashes or leaves its memory keeps an entry of its own."},
      {"the id",
       "A hash of the library's name, the rule, and the operator, argument and kind of change; of several "
       "operators, the function instead. It stays the same from run to run."},
  };
  opc_screen_text(screen, OPC_TONE_BOLD, "problems");
  fputs(": findings with one cause\n", screen->stream);
  for (size_t i = 0; i < sizeof paragraphs / sizeof paragraphs[0]; i++)
    opc_screen_field(screen, paragraphs[i][0], paragraphs[i][1]);
}

/* How a sample file is written (model/sample/sample.h). */
static void show_samples(const opc_screen_t *screen) {
  static const char *const paragraphs[][2] = {
      {"file", "libmy_ops.samples.json beside libmy_ops.so is found by itself; --samples names others."},
      {"values",
       "In \"args\" by position, in \"kwargs\" by name: numbers, true, false, null, strings and lists as in JSON. What "
       "is "
       "left out gets the schema's default. Also {\"dtype\": \"float16\"}, {\"complex\": [1.0, -2.0]}, and objects, "
       "{\"object\": {\"class\": \"my_ops.Scale\", \"init\": [2.5]}}."},
      {"tensors",
       "\"shape\"; \"dtype\", float32 if it is left out; \"fill\": \"normal\" (the default), \"uniform\", \"arange\", "
       "\"zeros\", \"ones\", {\"full\": 2}, {\"range\": [0, 10]} for integers, {\"values\": [3, 1, 2]}, or "
       "{\"file\": \"x.npy\"}; \"strides\" and \"storage_offset\" for other layouts; \"requires_grad\"."},
      {"how many",
       "One plain call for each operator is enough: its neighbours are tried too, with other layouts, sizes, dtypes, "
       "flags, modes and numbers."},
      {"to begin",
       "run --save-samples FILE writes the inputs that the search finds; record -- PROGRAM writes the calls of a "
       "program. A mistake is reported with its line, column and field."},
      {"more",
       "Relations between arguments, words of string arguments, references, promises of bits, recipes: "
       "fixtures/README.md."},
  };
  opc_screen_text(screen, OPC_TONE_BOLD, "samples");
  fputs(
      ": calls that you write down\n\n"
      "  { \"format\": \"opcheck-c/samples/1\",\n"
      "    \"samples\": [\n"
      "      { \"operator\": \"my_ops::pool\", \"name\": \"small\",\n"
      "        \"args\": [{\"tensor\": {\"shape\": [2, 3]}},\n"
      "                 {\"tensor\": {\"shape\": [2], \"dtype\": \"int64\", \"fill\": {\"values\": [0, 1]}}},\n"
      "                 2.5],\n"
      "        \"kwargs\": {\"mode\": \"mean\"} }] }\n\n",
      screen->stream);
  for (size_t i = 0; i < sizeof paragraphs / sizeof paragraphs[0]; i++)
    opc_screen_field(screen, paragraphs[i][0], paragraphs[i][1]);
}

static opc_status_t explain_name(const opc_screen_t *screen, const char *name, opc_error_t *error) {
  const opc_rule_id_t rule = opc_rule_id(name);
  int check = opc_check_info_find(name);
  if (rule) {
    explain_show_rule(screen, opc_rule_of(rule));
  } else if (strcmp(name, "problems") == 0) {
    explain_show_problems(screen);
  } else if (strcmp(name, "samples") == 0) {
    show_samples(screen);
  } else if (check >= 0) {
    show_check(screen, (size_t)check);
  } else {
    opc_nearest_t nearest = {.word = name};
    for (size_t r = 1; r < opc_rule_count; r++) opc_nearest_try(&nearest, opc_rules[r].name);
    for (size_t c = 0; c < opc_check_info_count; c++) opc_nearest_try(&nearest, opc_check_infos[c].name);
    if (nearest.best)
      return opc_error_set(error, OPC_ERR_USAGE, "no rule or check is called \"%.100s\"; did you mean %s?", name,
                           nearest.best);
    return opc_error_set(error, OPC_ERR_USAGE, "no rule or check is called \"%.100s\"; opcheck-c checks lists them",
                         name);
  }
  return OPC_OK;
}

static opc_status_t explain_all(const opc_arguments_t *arguments, explain_command_t *command) {
  OPC_RETURN_IF_ERROR(opc_arguments_parse(arguments, &explain_argp, command, command->error));
  opc_screen_t screen = opc_screen_of(stdout);
  if (screen.width == 0 || screen.width > PROSE_WIDTH) screen.width = PROSE_WIDTH;
  for (size_t i = 0; i < command->names.count; i++) {
    if (i) fputc('\n', stdout);
    OPC_RETURN_IF_ERROR(explain_name(&screen, command->names.items[i], command->error));
  }
  return OPC_OK;
}

int opc_command_explain(const opc_arguments_t *arguments) {
  opc_error_t error;
  explain_command_t command = {.error = &error};
  int code = explain_all(arguments, &command) != OPC_OK ? opc_arguments_failed(arguments, &error) : OPC_EXIT_OK;
  opc_strings_clear(&command.names);
  return code;
}
