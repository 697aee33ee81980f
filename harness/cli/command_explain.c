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
                           "name a rule or a check (opcheck-c checks lists them), or problems, samples or recipes");
  else if (key != ARGP_KEY_END) return ARGP_ERR_UNKNOWN;
  return status != OPC_OK ? EINVAL : 0;
}

static const struct argp explain_argp = {
    NULL,
    explain_parse,
    "RULE...",
    "Explains rules: what was seen, why it matters, what a finding does not prove, and how to "
    "fix it. The name of a check explains all of its rules, \"problems\" how findings are merged, \"samples\" and "
    "\"recipes\" how these files are written."
    "\vExamples:\n"
    "  opcheck-c explain mutation.undeclared\n"
    "  opcheck-c explain signal.SIGSEGV\n"
    "  opcheck-c explain stride\n"
    "  opcheck-c explain problems\n"
    "  opcheck-c explain samples\n"
    "  opcheck-c explain recipes\n",
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

typedef struct topic {
  const char *name, *title, *example; /* example: lines to copy; NULL: none */
  const char *paragraphs[16][2];
} topic_t;

/* problems: reports/problems/problem_merge.c; samples: model/sample/sample.h; recipes: search/recipe/recipe.h */
static const topic_t topics[] = {
    {"problems",
     "findings with one cause",
     NULL,
     {
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
         {"one mistake",
          "What an operator does wrong names the problem, and what follows from it is a symptom: of "
          "mutation.undeclared "
          "the argument that is returned too (alias.input_returned), a refused call that has written it, and what "
          "functionalisation makes of it; of symbolic.backward fake.backward; of meta.shape a size that is hard-coded. "
          "Memory that nobody wrote is one problem, whichever rules show it. An error is no symptom of a warning."},
         {"a habit",
          "Warnings of one rule about several operators of a library are one problem if they say the same but for the "
          "names of the operator and its argument, and for sizes and positions. An argument of one name that one "
          "function does not check is one problem of all operators that call it."},
         {"on a GPU",
          "There work that nobody waits for gives other values each time, and what is kept on the device has a record "
          "in "
          "host memory. Such findings are symptoms of the operator's stream.* or device_memory.* problem, and do not "
          "name it."},
         {"standing",
          "\"tried\" says who vouches for the input, and what the variant changed; reports write it as SOURCE/CHANGE. "
          "declared: a sample file; recorded: a program; recipe: a recipe; searched: nobody, opcheck-c found it. "
          "same_values: at most the layout; related: sizes or values, and what is known to belong together still does; "
          "alone: one argument against the others. On searched or alone input a crash, a hang or an access out of "
          "bounds "
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
     }},
    {"samples",
     "calls that you write down",
     "  { \"format\": \"opcheck-c/samples/1\",\n"
     "    \"samples\": [\n"
     "      { \"operator\": \"my_ops::pool\", \"name\": \"small\",\n"
     "        \"args\": [{\"tensor\": {\"shape\": [2, 3]}},\n"
     "                 {\"tensor\": {\"shape\": [2], \"dtype\": \"int64\", \"fill\": {\"values\": [0, 1]}}},\n"
     "                 2.5],\n"
     "        \"kwargs\": {\"mode\": \"mean\"} }] }\n\n",
     {
         {"file", "libmy_ops.samples.json beside libmy_ops.so is found by itself; --samples names others."},
         {"values",
          "In \"args\" by position, in \"kwargs\" by name: numbers, true, false, null, strings and lists as in JSON. "
          "What "
          "is "
          "left out gets the schema's default. Also {\"dtype\": \"float16\"}, {\"complex\": [1.0, -2.0]}, and objects, "
          "{\"object\": {\"class\": \"my_ops.Scale\", \"init\": [2.5]}}."},
         {"tensors",
          "\"shape\"; \"dtype\", float32 if it is left out; \"fill\": \"normal\" (the default), \"uniform\", "
          "\"arange\", "
          "\"zeros\", \"ones\", {\"full\": 2}, {\"range\": [0, 10]} for integers, {\"values\": [3, 1, 2]}, or "
          "{\"file\": \"x.npy\"}; \"strides\" and \"storage_offset\" for other layouts; \"requires_grad\"."},
         {"how many",
          "One plain call for each operator is enough: its neighbours are tried too, with other layouts, sizes, "
          "dtypes, "
          "flags, modes and numbers. A short search adds inputs with other numbers of dimensions, dtypes and options; "
          "--no-search leaves it out."},
         {"source",
          "Who vouches for the call: \"file\", which is you (the default), \"recorded\" or \"searched\". What goes "
          "wrong "
          "with a searched one is often only a warning: remove the field where the call is a valid one. \"brief\": "
          "true "
          "beside \"searched\" means that only the call itself is tried."},
         {"to begin",
          "run --save-samples FILE writes the inputs that the search finds; record -- PROGRAM writes the calls of a "
          "program. A mistake is reported with its line, column and field."},
         {"objects",
          "Made by the constructor, as above, or returned by an operator: {\"object\": {\"class\": \"my_ops.Packed\", "
          "\"operator\": \"my_ops::prepack\", \"args\": […]}}. Or pickled: {\"class\": \"my_ops.Packed\", \"pickle\": "
          "\"packed.pt\"}, as opcheck-c record "
          "writes it. A sample of the constructor itself has \"operator\": "
          "\"my_ops::Scale\"."},
         {"references",
          "\"expect\": {\"reference\": \"aten::softmax.int\", \"arguments\": {\"self\": \"x\", \"dim\": -1}} beside "
          "\"args\" "
          "names an operator that computes what is right. A string is an argument of the operator, anything else a "
          "value; "
          "without \"arguments\" the reference gets the operator's own in order. \"tolerance\": {\"float16\": 0.01} "
          "allows "
          "more than rounding."},
         {"promises",
          "\"expect\": {\"same_bits\": [[0, \"x\"]]}: output 0 has the bits of x. \"outputs\": […] are the right "
          "results, "
          "written like arguments; \"batch_invariant\": true: the bits of a row do not depend on its batch; "
          "\"rejects\": "
          "true says that the operator must refuse."},
         {"relations",
          "\"relations\": [{\"equal\": [[\"x\", 0], [\"n\"]]}, {\"values\": \"index\", \"below\": [[\"table\", 0]]}, "
          "{\"values\": "
          "\"offsets\", \"ascend\": true}]: variants with other sizes follow them. Without the field they are learned "
          "by "
          "trying. Others: at_most, sum, least, multiple, fixed, unknown."},
         {"words",
          "\"words\": {\"mode\": [\"nearest\", \"up\"]}: the other words that a string argument takes. Those that an "
          "error message lists are found without it."},
     }},
    {"recipes",
     "what valid arguments look like, for the search",
     "  { \"format\": \"opcheck-c/recipes/1\",\n"
     "    \"recipes\": [\n"
     "      { \"operator\": \"my_ops::segment_sum\", \"sizes\": {\"B\": [1, 4]},\n"
     "        \"arguments\": {\n"
     "          \"values\": [\"T\", \"F\"],\n"
     "          \"offsets\": {\"shape\": [\"B + 1\"], \"dtype\": \"int64\", \"fill\": {\"offsets\": \"T\"}} } }] }\n\n",
     {
         {"file", "libmy_ops.recipes.json beside libmy_ops.so is found by itself; --recipes names others."},
         {"sizes",
          "Names that shapes share. A size is [low, high], a number, an expression (\"H - K + 1\"), or {\"one_of\": "
          "[…]}. "
          "Names of int arguments are sizes too; any other name is a size from 1 to 5. \"where\": [\"K < H\"] adds "
          "conditions."},
         {"tensors",
          "A list is the shape. In full: \"shape\" or \"rank\": [low, high]; \"dtype\", one or a list, or the name of "
          "an "
          "earlier tensor argument; \"fill\"."},
         {"fills",
          "Those of a sample file, or {\"range\": [low, high]} with expressions, {\"sorted\": [low, high]}, "
          "{\"offsets\": T} "
          "(ascend from 0 to T), {\"lengths\": T} (sum T), {\"reaching\": T} (from 1, the largest is T), "
          "\"permutation\", "
          "{\"between\": [low, high]} of floats, \"boxes\". They apply to each row, along the last dimension."},
         {"numbers",
          "{\"between\": [low, high]}, {\"one_of\": […]} or {\"is\": …}; a number or an expression is the value."},
         {"lists", "A list is the items; {\"length\": N, \"each\": …} makes N equal ones."},
         {"others", "{\"one_of\": […]} or {\"is\": …}, with values as in a sample file."},
         {"optional", "\"given\": false leaves an argument out, true always gives it."},
         {"errors",
          "A recipe that contradicts the schema or cannot be satisfied is an error before anything runs, with its "
          "line, "
          "column and field."},
     }},
};

static const topic_t *find_topic(const char *name) {
  for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
    if (strcmp(topics[i].name, name) == 0) return &topics[i];
  return NULL;
}

static void show_topic(const opc_screen_t *screen, const topic_t *topic) {
  opc_screen_text(screen, OPC_TONE_BOLD, topic->name);
  fprintf(screen->stream, ": %s\n%s%s", topic->title, topic->example ? "\n" : "", topic->example ? topic->example : "");
  for (size_t i = 0; topic->paragraphs[i][0]; i++)
    opc_screen_field(screen, topic->paragraphs[i][0], topic->paragraphs[i][1]);
}

static opc_status_t explain_name(const opc_screen_t *screen, const char *name, opc_error_t *error) {
  const opc_rule_id_t rule = opc_rule_id(name);
  int check = opc_check_info_find(name);
  if (rule) {
    explain_show_rule(screen, opc_rule_of(rule));
  } else if (find_topic(name)) {
    show_topic(screen, find_topic(name));
  } else if (check >= 0) {
    show_check(screen, (size_t)check);
  } else {
    opc_nearest_t nearest = {.word = name};
    for (size_t r = 1; r < opc_rule_count; r++) opc_nearest_try(&nearest, opc_rules[r].name);
    for (size_t c = 0; c < opc_check_info_count; c++) opc_nearest_try(&nearest, opc_check_infos[c].name);
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++) opc_nearest_try(&nearest, topics[i].name);
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
