#include <errno.h>
#include <string.h>

#include "cli/cli.h"
#include "model/json/json_write.h"
#include "reports/ci/ci.h"
#include "reports/compare/comparison.h"
#include "reports/merge/merge.h"
#include "reports/terminal/terminal.h"

enum {
  KEY_FIRST_REPORT = 256,
  OPTIONS_MAX = 8,
  KEY_JUNIT_CASES = 512,
  KEY_VERBOSE,
  KEY_COVERAGE,
  KEY_STRICT,
  KEY_SOURCE_ROOT
};

typedef enum report_action { REPORT_RENDER = 0, REPORT_MERGE, REPORT_COMPARE, REPORT_ACTIONS } report_action_t;
static const char *const action_names[REPORT_ACTIONS] = {"render", "merge", "compare"};

typedef struct report_command {
  opc_error_t *error;
  opc_strings_t words; /* the action may be among them */
  report_action_t action;
  const char *const *inputs;
  size_t input_count;
  json_t *argv;
  const char *files[OPTIONS_MAX]; /* indexed by report */
  opc_junit_cases_t junit_cases;
  const char *source_root;
  bool verbose, coverage, strict;
} report_command_t;

/* The report of a comparison that an option names; NULL: it has none. */
static const opc_report_t *comparison_report(const char *name) {
  static const opc_report_t *const reports[] = {&opc_report_compare_json, &opc_report_compare_html};
  for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
    if (strcmp(reports[i]->name, name) == 0) return reports[i];
  return NULL;
}

/* compare OLD NEW, with fewer options than the others. */
static opc_status_t check_comparison(const report_command_t *command) {
  if (command->input_count != 2)
    return opc_error_set(command->error, OPC_ERR_USAGE,
                         "give two journals or JSON reports, the older one first: opcheck-c report compare OLD NEW");
  for (size_t i = 0; i < opc_report_count && i < OPTIONS_MAX; i++)
    if (command->files[i] && !comparison_report(opc_reports[i]->name))
      return opc_error_set(command->error, OPC_ERR_USAGE,
                           "report compare writes no --%s: it has --html FILE and --json FILE", opc_reports[i]->name);
  if (command->coverage || command->strict || command->source_root)
    return opc_error_set(command->error, OPC_ERR_USAGE, "report compare has no --%s: leave it out",
                         command->coverage ? "coverage"
                         : command->strict ? "strict"
                                           : "source-root");
  return OPC_OK;
}

static opc_status_t unknown_action(const report_command_t *command) {
  opc_nearest_t nearest = {.word = command->words.items[0]};
  for (int i = 0; i < REPORT_ACTIONS; i++) opc_nearest_try(&nearest, action_names[i]);
  return opc_error_set(command->error, OPC_ERR_USAGE, "report knows no action called \"%.60s\"; %s %s%s",
                       command->words.items[0], nearest.best ? "did you mean" : "there are",
                       nearest.best ? nearest.best : "render, merge and compare", nearest.best ? "?" : "");
}

/* A journal alone is rendered. */
static opc_status_t report_take_words(report_command_t *command) {
  const opc_strings_t *words = &command->words;
  bool named = false;
  for (int i = 0; i < REPORT_ACTIONS && words->count > 0 && !named; i++) {
    named = strcmp(words->items[0], action_names[i]) == 0;
    if (named) command->action = (report_action_t)i;
  }
  command->input_count = words->count - named;
  command->inputs = words->items + named;
  if (command->action == REPORT_COMPARE) return check_comparison(command);
  if (!named && words->count > 1) return unknown_action(command);
  if (command->action == REPORT_MERGE && command->input_count < 1)
    return opc_error_set(command->error, OPC_ERR_USAGE,
                         "give the reports of all parts: opcheck-c report merge --json OUT PART…");
  if (command->input_count < 1)
    return opc_error_set(command->error, OPC_ERR_USAGE, "give a journal: opcheck-c report JOURNAL");
  if (command->action == REPORT_RENDER && command->input_count > 1)
    return opc_error_set(command->error, OPC_ERR_USAGE, "report render takes one journal; %.200s is too many",
                         command->inputs[1]);
  return OPC_OK;
}

static error_t report_parse(int key, char *value, struct argp_state *state) {
  report_command_t *command = state->input;
  opc_status_t status = OPC_OK;
  if (key >= KEY_FIRST_REPORT && key < KEY_FIRST_REPORT + OPTIONS_MAX) {
    command->files[key - KEY_FIRST_REPORT] = value ? value : "";
    if (value && strcmp(value, "-") == 0)
      status = opc_error_set(command->error, OPC_ERR_USAGE, "--%s -: name a file; /dev/stdout is the standard output",
                             opc_reports[key - KEY_FIRST_REPORT]->name);
  } else if (key == KEY_JUNIT_CASES) {
    status = opc_value_junit_cases(value, &command->junit_cases, command->error);
  } else if (key == KEY_VERBOSE) {
    command->verbose = true;
  } else if (key == KEY_COVERAGE) {
    command->coverage = true;
  } else if (key == KEY_STRICT) {
    command->strict = true;
  } else if (key == KEY_SOURCE_ROOT) {
    status = opc_value_folder("--source-root", value, command->error);
    command->source_root = value;
  } else if (key == ARGP_KEY_ARG) {
    status = opc_strings_add(&command->words, value, command->error);
  } else if (key == ARGP_KEY_END) {
    status = report_take_words(command);
  } else {
    return ARGP_ERR_UNKNOWN;
  }
  return status != OPC_OK ? EINVAL : 0;
}

static const char doc[] =
    "Makes reports from an earlier run: from its journal (run --journal FILE, or the file that a broken run named) or "
    "its JSON report, compressed or not. Without an option that names a format, the report is shown here. merge makes "
    "one run of the parts that were run with --shard, or on different libraries; its exit status is that of the whole "
    "run, and 3 if a part is missing. compare says what differs between two runs of a library; its exit status is 1 if "
    "a problem is new or worse, and its formats are --html and --json."
    "\vExamples:\n"
    "  opcheck-c report run.jsonl\n"
    "  opcheck-c report render --junit report.xml run.jsonl\n"
    "  opcheck-c report merge --html page.html part1.json part2.json\n"
    "  opcheck-c report compare --html page.html old.json.zst new.json.zst\n";

static opc_status_t report_show(const report_command_t *command, const opc_report_source_t *source, int code,
                                opc_error_t *error) {
  const opc_problems_t *problems = source->problems;
  opc_screen_t screen = opc_screen_of(stdout);
  const opc_terminal_view_t view = {.exit_code = code,
                                    .verbose = command->verbose,
                                    .coverage = command->coverage,
                                    .whole = command->action == REPORT_RENDER ? command->inputs[0] : NULL};
  OPC_RETURN_IF_ERROR(opc_terminal_report(problems, &screen, &view, error));
  opc_terminal_end(problems, &screen, &view);
  return OPC_OK;
}

/* *code: that of the run; afterwards as known problems have it. */
static opc_status_t report_journal(const report_command_t *command, opc_journal_reader_t *journal, int *code,
                                   opc_error_t *error) {
  OPC_SCOPED(opc_problems_clear) opc_problems_t problems = {0};
  bool written = false;
  OPC_RETURN_IF_ERROR(opc_problems_make(journal, &problems, error));
  const opc_report_source_t source = {.journal = journal,
                                      .problems = &problems,
                                      .junit_cases = command->junit_cases,
                                      .source_root = command->source_root,
                                      .strict = command->strict};
  *code = opc_ci_exit_code(&source, *code);
  for (size_t i = 0; i < opc_report_count && i < OPTIONS_MAX; i++) {
    if (!command->files[i]) continue;
    OPC_RETURN_IF_ERROR(opc_report_finish(opc_reports[i], &source, command->files[i], error));
    written = true;
  }
  return written ? OPC_OK : report_show(command, &source, *code, error);
}

static opc_status_t render_journal(const report_command_t *command, opc_error_t *error) {
  OPC_SCOPED(opc_scope_journal_reader) opc_journal_reader_t *journal = NULL;
  json_auto_t *run = NULL;
  opc_journal_summary_t summary;
  OPC_RETURN_IF_ERROR(opc_journal_reader_open(command->inputs[0], &journal, error));
  OPC_RETURN_IF_ERROR(opc_journal_reader_first(journal, "run", &run, error));
  if (!run)
    return opc_error_set(error, OPC_ERR_INPUT,
                         "%s holds no run: it is empty, or no journal (run --journal FILE writes one)",
                         command->inputs[0]);
  opc_journal_reader_summary(journal, &summary);
  return report_journal(command, journal, &summary.exit_code, error);
}

/* A line each. */
static void tell_missing(const char *lines) {
  while (*lines) {
    const size_t length = strcspn(lines, "\n");
    opc_complain("%.*s", (int)length, lines);
    lines += length + (lines[length] == '\n');
  }
}

/* A JSON report is a run in one part. */
static opc_status_t report_merge(const report_command_t *command, int *out_code, opc_error_t *error) {
  OPC_SCOPED(opc_merged_clear) opc_merged_t merged = {0};
  const json_t *argv = command->action == REPORT_MERGE ? command->argv : NULL;
  OPC_RETURN_IF_ERROR(opc_merge(command->inputs, command->input_count, argv, &merged, error));
  OPC_RETURN_IF_ERROR(report_journal(command, merged.journal, &merged.exit_code, error));
  *out_code = command->action == REPORT_RENDER ? OPC_EXIT_OK : merged.exit_code;
  if (command->action == REPORT_MERGE) tell_missing(opc_text_c(&merged.missing));
  return OPC_OK;
}

static opc_status_t render(const report_command_t *command, opc_error_t *error) {
  bool journal = false;
  int code;
  OPC_RETURN_IF_ERROR(opc_run_file_is_journal(command->inputs[0], &journal, error));
  return journal ? render_journal(command, error) : report_merge(command, &code, error);
}

static opc_status_t report_compare(const report_command_t *command, int *out_code, opc_error_t *error) {
  OPC_SCOPED(opc_compare_run_clear) opc_compare_run_t before = {0}, now = {0};
  OPC_SCOPED(opc_comparison_clear) opc_comparison_t comparison = {0};
  const opc_screen_t screen = opc_screen_of(stdout);
  OPC_RETURN_IF_ERROR(opc_compare_run_read(command->inputs[0], NULL, &before, error));
  OPC_RETURN_IF_ERROR(opc_compare_run_read(command->inputs[1], &before, &now, error));
  OPC_RETURN_IF_ERROR(opc_comparison_make(&before, &now, &comparison, error));
  const opc_report_source_t source = {.comparison = &comparison};
  for (size_t i = 0; i < opc_report_count && i < OPTIONS_MAX; i++)
    if (command->files[i])
      OPC_RETURN_IF_ERROR(
          opc_report_finish(comparison_report(opc_reports[i]->name), &source, command->files[i], error));
  opc_compare_show(&comparison, &screen, command->verbose);
  *out_code = opc_comparison_is_worse(&comparison) ? OPC_EXIT_BROKEN : OPC_EXIT_OK;
  return OPC_OK;
}

static void report_command_clear(report_command_t *command) {
  opc_strings_clear(&command->words);
  json_decref(command->argv);
}

int opc_command_report(const opc_arguments_t *arguments) {
  opc_error_t error;
  OPC_SCOPED(report_command_clear) report_command_t command = {.error = &error, .argv = json_array()};
  struct argp_option options[OPTIONS_MAX + 6] = {0};
  for (size_t i = 0; i < opc_report_count && i < OPTIONS_MAX; i++)
    options[i] = (struct argp_option){opc_reports[i]->name,
                                      KEY_FIRST_REPORT + (int)i,
                                      opc_reports[i]->on_stdout ? NULL : "FILE",
                                      0,
                                      opc_reports[i]->summary,
                                      0};
  size_t count = opc_report_count < OPTIONS_MAX ? opc_report_count : OPTIONS_MAX;
  options[count] = (struct argp_option){"junit-cases",
                                        KEY_JUNIT_CASES,
                                        "operator|case",
                                        0,
                                        "A JUnit test case is an operator and check (default), or each case by its id",
                                        0};
  options[count + 1] =
      (struct argp_option){"verbose", KEY_VERBOSE, NULL, 0, "Show every problem with its cases, and every operator", 0};
  options[count + 2] = (struct argp_option){
      "coverage", KEY_COVERAGE, NULL, 0, "Show for each operator which inputs were tried, and what was not", 0};
  options[count + 3] = (struct argp_option){
      "strict", KEY_STRICT, NULL, 0, "Show warnings as errors in --sarif, --gitlab, --tap and --github", 0};
  options[count + 4] = (struct argp_option){"source-root",
                                            KEY_SOURCE_ROOT,
                                            "DIR",
                                            0,
                                            "Write paths in --sarif, --gitlab and --github relative to this folder "
                                            "(default: the repository of the current folder)",
                                            0};
  const struct argp argp = {options, report_parse, "[render] JOURNAL\nmerge PART...\ncompare OLD NEW", doc, NULL,
                            NULL,    NULL};
  opc_status_t status = opc_arguments_parse(arguments, &argp, &command, &error);
  if (status != OPC_OK) return opc_arguments_failed(arguments, &error);
  int code = OPC_EXIT_OK;
  for (int i = 0; i < arguments->full_argc; i++)
    opc_json_append(&command.argv, opc_json_string(arguments->full_argv[i]));
  switch (command.action) {
    case REPORT_MERGE:
      status = report_merge(&command, &code, &error);
      break;
    case REPORT_COMPARE:
      status = report_compare(&command, &code, &error);
      break;
    default:
      status = render(&command, &error);
  }
  if (status != OPC_OK) opc_complain("%s", error.message);
  return status != OPC_OK ? opc_exit_code(status) : code;
}
