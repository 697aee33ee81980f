#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/execution.h"
#include "cli/settings.h"
#include "reports/terminal/terminal.h"
#include "supervise/emit/program.h"
#include "supervise/tools/sanitize.h"

enum {
  KEY_SAVE_SAMPLES = OPC_KEY_OWN,
  KEY_INIT_SAMPLES,
  KEY_NO_SEARCH,
  KEY_SEEDS,
  KEY_RECIPES,
  KEY_REFERENCE,
  KEY_OP,
  KEY_NAMESPACE,
  KEY_CHECK,
  KEY_DEVICE,
  KEY_JOBS,
  KEY_OPERATOR_TIME,
  KEY_BUDGET,
  KEY_SHARD,
  KEY_NEIGHBOURS,
  KEY_CASE,
  KEY_EMIT,
  KEY_LIST_CASES,
  KEY_XFAIL,
  KEY_UPDATE_XFAIL,
  KEY_BASELINE,
  KEY_WRITE_BASELINE,
  KEY_STRICT,
  KEY_UNTRUSTED_INPUT,
  KEY_NO_SANDBOX,
  KEY_REQUIRE_CHECKED,
  KEY_VERBOSE,
  KEY_COVERAGE,
  KEY_JUNIT_CASES,
  KEY_TOOL,
  KEY_SANITIZE,
  KEY_JOURNAL,
  KEY_WATCH,
  KEY_SINCE,
  KEY_SHARD_TIMES
};

typedef struct run_command {
  opc_error_t *error;
  opc_execution_t execution;
  opc_settings_t settings;
  opc_strings_t recipes, references, globs, namespaces, checks, devices;
  opc_progress_t progress;
  bool operator_time_given, neighbours_given, list_cases, verbose, coverage, watch;
} run_command_t;

static const struct argp_option options[] = {
    {0, 0, 0, 0, "What is checked:", 1},
    {"op", KEY_OP, "GLOB", 0, "Check only operators whose name matches GLOB (repeatable)", 1},
    {"namespace", KEY_NAMESPACE, "NS", 0,
     "Check only operators of this namespace (repeatable). aten: libtorch's own; no library is needed then", 1},
    {"check", KEY_CHECK, "NAME[,NAME]", 0, "Run only these checks; opcheck-c checks lists them", 1},
    {"device", KEY_DEVICE, "cpu|cuda|cuda-sim|all", 0,
     "cpu, cuda, cuda-sim or all (default: cpu, and cuda if there is a GPU). cuda-sim simulates two CUDA devices "
     "without a GPU: launches are checked, and kernels that have PTX run",
     1},
    {"cuda-arch", OPC_KEY_CUDA_ARCH, "ARCH", 0,
     "Architecture of the simulated devices (default: " OPC_CUDA_ARCHITECTURE_USUAL
     ", or one that the libraries have code for)",
     1},
    {"case", KEY_CASE, "ID", 0, "Run only this case, as a report names it", 1},
    {"list-cases", KEY_LIST_CASES, NULL, 0,
     "Print each case that would run and why it is tried, and run none. An operator without samples is listed as one "
     "to search; give the file of an earlier --save-samples to list its cases",
     1},
    {"shard", KEY_SHARD, "K/N", 0,
     "Check part K of N of the operators, to spread a run over machines; report merge "
     "puts the reports of all parts together",
     1},
    {"shard-times", KEY_SHARD_TIMES, "REPORT", 0,
     "With --shard: make parts that take as long as each other, by the times of this report of an earlier run", 1},
    {0, 0, 0, 0, "Inputs:", 2},
    {"samples", OPC_KEY_SAMPLES, "FILE", 0,
     "Sample file (repeatable; default: LIB.samples.json beside the library). Inputs of operators without a sample are "
     "searched; with samples, a few inputs of other kinds are",
     2},
    {"no-search", KEY_NO_SEARCH, NULL, 0,
     "Search no inputs: use the sample files only, and skip operators that have no sample", 2},
    {"init-samples", KEY_INIT_SAMPLES, "FILE", 0,
     "Write a sample file to begin with: what the search found, the schemas, and an entry to complete for each "
     "operator "
     "for which nothing was found",
     2},
    {"save-samples", KEY_SAVE_SAMPLES, "FILE", 0,
     "Write the samples of the run: those that it read, and those that the search found", 2},
    {"recipes", KEY_RECIPES, "FILE", 0,
     "Recipe file (repeatable; default: LIB.recipes.json beside the library): describes an operator's arguments for "
     "the search",
     2},
    {"reference", KEY_REFERENCE, "OP=REFERENCE", 0,
     "Another operator that computes what is right (repeatable): my_ops::fast_*=my_ops::slow_*. Both get the same "
     "arguments, and the results are compared. A sample can name its own (opcheck-c explain reference.other_values)",
     2},
    {"neighbours", KEY_NEIGHBOURS, "N", 0,
     "Number of cases with similar calls to try for each sample: another flag, mode, number, size or optional "
     "argument (default: as many as the sample has cases of its own, a quarter if searched, none under a tool)",
     2},
    {"seed", OPC_KEY_SEED, "N", 0, "Seed for all random numbers (default: 0)", 2},
    {"seeds", KEY_SEEDS, "N", 0,
     "Search with N seeds, from that of --seed on, and use all inputs that were found: for nightly runs (default: 1)",
     2},
    {0, 0, 0, 0, "How it runs:", 3},
    {"jobs", KEY_JOBS, "N", 0, "Number of operators to check in parallel (default: number of CPUs)", 3},
    {"timeout", OPC_KEY_TIMEOUT, "SECONDS", 0,
     "Time limit per case (default: 10). For a fast operator it is shorter: a thousand times its call, at least 1. "
     "A call that waits for a compiler gets five minutes",
     3},
    {"operator-time", KEY_OPERATOR_TIME, "SECONDS", 0,
     "Time limit for all cases of one operator (default: 300); the remaining cases are skipped", 3},
    {"budget", KEY_BUDGET, "SECONDS", 0,
     "Time for the whole run: the samples of every operator come first, then the variants that show the most. A search "
     "for operators without samples gets half of the time that is left by then. Cases for which no time is left are "
     "skipped, and the last line counts them",
     3},
    {"memory", OPC_KEY_MEMORY, "MIB", 0, "Memory limit per child process (default: 4096)", 3},
    {"tool", KEY_TOOL, "TOOL", 0,
     "memcheck: run the operators under Valgrind and report what it finds; about fifty times slower", 3},
    {"sanitize", KEY_SANITIZE, "memcheck|racecheck|initcheck|synccheck", 0,
     "memcheck, racecheck, initcheck or synccheck: run the operators' kernels under NVIDIA's compute-sanitizer and "
     "report what it finds. Needs --device cuda; --check is memory by default then",
     3},
    {"no-sandbox", KEY_NO_SANDBOX, NULL, 0, "Let operators write anywhere and use the network", 3},
    {"preload", OPC_KEY_PRELOAD, "LIB", 0, "Load this library first, without checking it", 3},
    {"torch", OPC_KEY_TORCH, "ROOT", 0,
     "The libtorch to use: the folder that contains lib/ (default: the one that LIB needs). all: one run with each "
     "that is installed and that LIB can be loaded into; what differs is an error",
     3},
    {"python", OPC_KEY_PYTHON, "MODULE", 0,
     "Check the operators that this Python module registers (repeatable): my_package.ops, or a file.py. Those of other "
     "packages that it imports are left out, unless --namespace or --op names them",
     3},
    {"python-executable", OPC_KEY_PYTHON_EXECUTABLE, "PATH", 0,
     "The Python that imports it (default: PYTHON of the environment, else python3)", 3},
    {"since", KEY_SINCE, "REPORT", 0,
     "Check only operators whose libraries have changed since the run that wrote this JSON report or journal, and take "
     "over the results of the others. Where they cannot be compared, everything is checked, and a note says why",
     3},
    {"watch", KEY_WATCH, NULL, 0,
     "Run again after each rebuild of a library, and show what differs from the run before; Ctrl-C ends", 3},
    {0, 0, 0, 0, "Results:", 4},
    {"strict", KEY_STRICT, NULL, 0,
     "Exit with 1 for warnings too, and for lines of --xfail and --baseline that match nothing in a whole run", 4},
    {"xfail", KEY_XFAIL, "FILE", 0,
     "File of expected failures, one a line: case id or glob, [rule=NAME], [expires=YYYY-MM-DD], reason; or "
     "problem=ID, "
     "reason",
     4},
    {"update-xfail", KEY_UPDATE_XFAIL, NULL, 0,
     "Remove the lines of --xfail that nothing needs any more: their cases pass, or their operator is gone", 4},
    {"baseline", KEY_BASELINE, "FILE", 0, "Exit with 1 only for problems that this file does not list", 4},
    {"write-baseline", KEY_WRITE_BASELINE, "FILE", 0,
     "Write the problems to this file, as known from now on. With --baseline: only drop those that no longer occur", 4},
    {"untrusted-input", KEY_UNTRUSTED_INPUT, NULL, 0,
     "Report an argument that the operator does not check as an error, not a warning: for operators that receive "
     "tensors from strangers",
     4},
    {"require-checked", KEY_REQUIRE_CHECKED, "PERCENT", 0,
     "Exit with 1 if fewer operators and classes than this were checked (default: no minimum)", 4},
    {"verbose", KEY_VERBOSE, NULL, 0, "Show every problem with its cases, and every operator", 4},
    {"coverage", KEY_COVERAGE, NULL, 0, "Show for each operator which inputs were tried, and what was not", 4},
    {"json", OPC_KEY_JSON, "FILE", 0,
     "Write the whole result as JSON, compressed if FILE ends with .zst or .gz. Inputs that the search found go to "
     "report.found-samples.json for report.json, and the lines that reproduce a finding name it",
     4},
    {"junit", OPC_KEY_JUNIT, "FILE", 0, "Write the result as JUnit XML", 4},
    {"html", OPC_KEY_HTML, "FILE", 0, "Write the result as a page for a browser: one file that needs no network", 4},
    {"junit-cases", KEY_JUNIT_CASES, "operator|case", 0,
     "What a JUnit test case is: an operator and check (default), or a case", 4},
    {"sarif", OPC_KEY_SARIF, "FILE", 0, "Write the problems as SARIF 2.1.0, for GitHub's code scanning", 4},
    {"gitlab", OPC_KEY_GITLAB, "FILE", 0, "Write the problems as GitLab's code quality report", 4},
    {"tap", OPC_KEY_TAP, "FILE", 0, "Write operators and checks as TAP (version 13)", 4},
    {"github", OPC_KEY_GITHUB, NULL, 0,
     "Print the problems as annotations of a GitHub workflow, and write them to the summary of its step", 4},
    {"source-root", OPC_KEY_SOURCE_ROOT, "DIR", 0,
     "Write paths in --sarif, --gitlab and --github relative to this folder (default: the repository of the current "
     "folder, else the current folder)",
     4},
    {"emit", KEY_EMIT, "cpp|python FILE", 0,
     "With --case: minimise the case, and write a program to FILE that shows the failure without opcheck-c. It exits "
     "with 1 if the operator fails, with 0 if it does not",
     4},
    {"journal", KEY_JOURNAL, "FILE", 0, "Keep the run's journal here", 4},
    {0}};

static const char doc[] =
    "Checks the operators of libraries against the contract of a custom operator, each operator in a process of its "
    "own, and reports problems. LIB may be a wheel or a folder: the libraries in it that register operators are "
    "checked. "
    "opcheck-c explain problems says how findings are merged, opcheck-c explain samples how a sample file is written. "
    "Settings are read from the file .opcheck-c.json of the current folder, or of the nearest folder above that has "
    "one."
    "\vExit status: 0: no errors; 1: an operator broke its contract or crashed, or too few were checked; 2: wrong "
    "usage, or a mistake in a "
    "sample file; 3: internal error; 4: a library could not be loaded; 5: nothing ran.\n\n"
    "Examples:\n"
    "  opcheck-c run libmy_ops.so\n"
    "  opcheck-c run --samples my.samples.json --junit report.xml libmy_ops.so\n"
    "  opcheck-c run --op 'my_ops::conv*' --check stride,meta --strict libmy_ops.so\n"
    "  opcheck-c run --namespace aten --shard 1/8 --json aten1.json\n";

static opc_status_t add_devices(run_command_t *run, const char *value) {
  static const char *const known[] = {"cpu", "cuda", "cuda-sim", "all"};
  size_t before = run->devices.count;
  OPC_RETURN_IF_ERROR(opc_strings_split(&run->devices, value, run->error));
  if (run->devices.count == before)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--device: give cpu, cuda, cuda-sim or all");
  for (size_t i = before; i < run->devices.count; i++) {
    bool found = false;
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) found |= strcmp(known[k], run->devices.items[i]) == 0;
    if (!found)
      return opc_error_set(run->error, OPC_ERR_USAGE, "--device %.40s: give cpu, cuda, cuda-sim or all",
                           run->devices.items[i]);
  }
  return OPC_OK;
}

static opc_status_t add_checks(run_command_t *run, const char *value) {
  size_t before = run->checks.count;
  OPC_RETURN_IF_ERROR(opc_strings_split(&run->checks, value, run->error));
  if (run->checks.count == before)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--check: name a check; opcheck-c checks lists them");
  return opc_check_names_validate(&run->checks, run->error);
}

static opc_status_t set_tool(run_command_t *run, const char *value) {
  if (strcmp(value, "memcheck") != 0)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--tool %.40s: there is one tool, memcheck (Valgrind)", value);
  run->execution.options.memcheck = true;
  return OPC_OK;
}

static opc_status_t set_sanitize(run_command_t *run, const char *value) {
  for (size_t i = 0; opc_sanitize_tools[i]; i++) {
    if (strcmp(value, opc_sanitize_tools[i]) == 0) run->execution.options.sanitize = opc_sanitize_tools[i];
  }
  if (run->execution.options.sanitize) return OPC_OK;
  return opc_error_set(run->error, OPC_ERR_USAGE, "--sanitize %.40s: give memcheck, racecheck, initcheck or synccheck",
                       value);
}

static opc_status_t check_watch(const run_command_t *run) {
  if (!run->watch) return OPC_OK;
  if (run->execution.libraries.count == 0)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--watch: name the library that is built again");
  const char *other = run->list_cases                                     ? "list-cases"
                      : run->execution.journal                            ? "journal"
                      : run->execution.options.init_samples               ? "init-samples"
                      : opc_execution_is_for_every_torch(&run->execution) ? "torch all"
                                                                          : NULL;
  if (other)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--watch cannot be combined with --%s: leave one out", other);
  return OPC_OK;
}

static opc_status_t check_update(const run_command_t *run) {
  const opc_run_options_t *to = &run->execution.options;
  const bool write = run->execution.write_baseline;
  if (run->list_cases && (write || to->update_xfail))
    return opc_error_set(run->error, OPC_ERR_USAGE, "--list-cases runs nothing: leave --%s out",
                         write ? "write-baseline" : "update-xfail");
  if (to->update_xfail && opc_execution_is_for_every_torch(&run->execution))
    return opc_error_set(run->error, OPC_ERR_USAGE,
                         "--update-xfail cannot be combined with --torch all: leave one out");
  if (to->update_xfail && to->budget > 0)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--update-xfail needs a run of all cases: leave --budget out");
  return OPC_OK;
}

/* With the settings: what is known can be updated if everything was looked at. */
static opc_status_t check_known(const run_command_t *run) {
  const opc_run_options_t *to = &run->execution.options;
  if (opc_execution_is_same_file(run->execution.write_baseline, to->xfail_file))
    return opc_error_set(run->error, OPC_ERR_USAGE,
                         "--write-baseline %s: this is the file of --xfail, which has lines of another form: name "
                         "another",
                         run->execution.write_baseline);
  if (to->update_xfail && !to->xfail_file)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--update-xfail: give the file, --xfail FILE");
  if (!to->update_xfail ||
      (!run->globs.count && !run->namespaces.count && !run->checks.count && !to->case_id && to->shard_count <= 1))
    return OPC_OK;
  return opc_error_set(run->error, OPC_ERR_USAGE,
                       "--update-xfail needs a run of all operators and checks: leave --op, --namespace, --check, "
                       "--case and --shard out%s",
                       run->settings.checks.count ? ", and \"checks\" of " OPC_SETTINGS_FILE : "");
}

static opc_status_t check_budget(const run_command_t *run) {
  const opc_run_options_t *to = &run->execution.options;
  const char *other = to->case_id                                         ? "case"
                      : run->list_cases                                   ? "list-cases"
                      : to->sanitize                                      ? "sanitize"
                      : to->memcheck                                      ? "tool memcheck"
                      : opc_execution_is_for_every_torch(&run->execution) ? "torch all"
                                                                          : NULL;
  if (to->budget <= 0 || !other) return OPC_OK;
  return opc_error_set(run->error, OPC_ERR_USAGE, "--budget cannot be combined with --%s: leave one out", other);
}

static opc_status_t set_since(run_command_t *run, const char *value) {
  run->execution.since = value;
  if (access(value, R_OK) == 0) return OPC_OK;
  return opc_error_set(run->error, OPC_ERR_USAGE,
                       "--since %s: %s; leave it out of the first run, and write the report with --json FILE", value,
                       strerror(errno));
}

static opc_status_t check_since(const run_command_t *run) {
  const opc_run_options_t *to = &run->execution.options;
  const char *other = to->case_id                                         ? "case"
                      : run->list_cases                                   ? "list-cases"
                      : to->save_samples                                  ? "save-samples"
                      : to->init_samples                                  ? "init-samples"
                      : opc_execution_is_for_every_torch(&run->execution) ? "torch all"
                                                                          : NULL;
  if (!run->execution.since || !other) return OPC_OK;
  return opc_error_set(run->error, OPC_ERR_USAGE, "--since cannot be combined with --%s: leave one out", other);
}

/* Where the operators come from, and what cannot be combined. */
static opc_status_t check_sources(const run_command_t *run) {
  const opc_run_options_t *to = &run->execution.options;
  const bool python = run->execution.modules.count > 0;
  if (run->execution.libraries.count == 0 && run->namespaces.count == 0 && !python)
    return opc_error_set(run->error, OPC_ERR_USAGE,
                         "name at least one library to check, a Python module with --python, or --namespace aten for "
                         "libtorch's own operators");
  if (to->no_search && (to->save_samples || to->init_samples || run->recipes.count > 0 || to->seeds > 0))
    return opc_error_set(run->error, OPC_ERR_USAGE, "--no-search searches no inputs: leave --%s out",
                         to->save_samples         ? "save-samples"
                         : to->init_samples       ? "init-samples"
                         : run->recipes.count > 0 ? "recipes"
                                                  : "seeds");
  if (run->list_cases && to->seeds > 0)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--list-cases runs nothing: leave --seeds out");
  OPC_RETURN_IF_ERROR(check_update(run));
  OPC_RETURN_IF_ERROR(check_budget(run));
  OPC_RETURN_IF_ERROR(check_since(run));
  if (run->execution.shard_times && to->shard_count <= 1)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--shard-times: give --shard K/N with it, or leave it out");
  if (run->coverage && to->case_id)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--coverage is about all cases of an operator: leave --case out");
  if (opc_execution_is_for_every_torch(&run->execution) && (python || run->list_cases))
    return opc_error_set(run->error, OPC_ERR_USAGE, "--torch all cannot be combined with --%s: leave one out",
                         python ? "python, whose torch is the libtorch" : "list-cases");
  if (python && (to->memcheck || to->sanitize))
    return opc_error_set(run->error, OPC_ERR_USAGE, "--python cannot be combined with --%s yet: leave it out",
                         to->memcheck ? "tool memcheck" : "sanitize");
  for (size_t i = 0; python && i < run->devices.count; i++) {
    if (strcmp(run->devices.items[i], OPC_MODE_CPU) != 0 && strcmp(run->devices.items[i], OPC_MODE_SIMULATED) != 0)
      return opc_error_set(run->error, OPC_ERR_USAGE, "--python cannot be combined with --device %s yet: leave it out",
                           run->devices.items[i]);
  }
  return check_watch(run);
}

static opc_status_t add_reference(run_command_t *run, const char *value) {
  OPC_RETURN_IF_ERROR(opc_reference_pair_check(value, run->error));
  return opc_strings_add(&run->references, value, run->error);
}

/* Options about what the run reports. False: another option. */
static bool take_report_option(run_command_t *run, int key, const char *value, opc_status_t *out_status) {
  int64_t number = 0;
  switch (key) {
    case KEY_STRICT:
      run->execution.options.strict = true;
      break;
    case KEY_REQUIRE_CHECKED:
      *out_status = opc_value_integer("--require-checked", value, 0, 100, &number, run->error);
      run->execution.required = (int)number;
      break;
    case KEY_BASELINE:
      *out_status = opc_execution_readable("--baseline", value, run->error);
      run->execution.baseline = value;
      break;
    case KEY_WRITE_BASELINE:
      *out_status = opc_execution_claim(&run->execution, "--write-baseline", value, run->error);
      run->execution.write_baseline = value;
      break;
    case KEY_VERBOSE:
      run->verbose = true;
      break;
    case KEY_COVERAGE:
      run->coverage = true;
      break;
    case KEY_JUNIT_CASES:
      *out_status = opc_value_junit_cases(value, &run->execution.junit_cases, run->error);
      break;
    case KEY_SAVE_SAMPLES:
      *out_status = opc_execution_claim(&run->execution, "--save-samples", value, run->error);
      run->execution.options.save_samples = value;
      break;
    case KEY_INIT_SAMPLES:
      *out_status = opc_execution_claim(&run->execution, "--init-samples", value, run->error);
      run->execution.options.init_samples = value;
      break;
    case KEY_JOURNAL:
      *out_status = opc_execution_claim(&run->execution, "--journal", value, run->error);
      run->execution.journal = value;
      break;
    default:
      return false;
  }
  return true;
}

/* --emit LANGUAGE FILE: argp gives an option one value, so the second one is taken from the arguments. */
static opc_status_t set_emit(run_command_t *run, const char *language, struct argp_state *state) {
  opc_run_options_t *to = &run->execution.options;
  const char *file = state->next < state->argc ? state->argv[state->next] : NULL;
  if (!opc_language_find(language))
    return opc_error_set(run->error, OPC_ERR_USAGE, "--emit %.40s: give cpp or python, and then the file to write",
                         language);
  if (!file || file[0] == '-')
    return opc_error_set(run->error, OPC_ERR_USAGE, "--emit %s: name the file to write after it", language);
  if (to->emit_file) return opc_error_set(run->error, OPC_ERR_USAGE, "--emit: one program at a time");
  state->next++;
  OPC_RETURN_IF_ERROR(opc_execution_claim(&run->execution, "--emit", file, run->error));
  to->emit_language = language;
  to->emit_file = file;
  return OPC_OK;
}

/* What no program can show is said before anything is loaded. */
static opc_status_t check_emit(const run_command_t *run) {
  const opc_run_options_t *to = &run->execution.options;
  opc_case_id_t id;
  OPC_SCOPED(opc_text_clear) opc_text_t why = {0};
  if (!to->emit_file) return OPC_OK;
  if (!to->case_id)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--emit: name the case with --case ID, as a report names it");
  if (to->memcheck || to->sanitize || run->list_cases || opc_execution_is_for_every_torch(&run->execution))
    return opc_error_set(
        run->error, OPC_ERR_USAGE,
        "--emit cannot be combined with --tool, --sanitize, --list-cases or --torch all: leave it out");
  OPC_RETURN_IF_ERROR(opc_case_id_parse(to->case_id, &id, run->error));
  if (id.device[0] != '\0' && strcmp(id.device, OPC_MODE_CPU) != 0)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--emit: the case runs on %s, and programs are only for the CPU",
                         id.device);
  if (opc_check_info_find(id.check) < 0)
    return opc_error_set(run->error, OPC_ERR_USAGE, "--case %s: no check is called \"%s\"; opcheck-c checks lists them",
                         to->case_id, id.check);
  if (!opc_program_check_is_possible(id.check, opc_language_find(to->emit_language), &why))
    return opc_error_set(run->error, OPC_ERR_USAGE, "--emit: %s", opc_text_c(&why));
  return OPC_OK;
}

static error_t run_parse(int key, char *value, struct argp_state *state) {
  run_command_t *run = state->input;
  opc_run_options_t *to = &run->execution.options;
  opc_case_id_t id;
  int64_t number = 0;
  opc_status_t status = OPC_OK;
  switch (key) {
    case KEY_RECIPES:
      status = opc_execution_add_input("--recipes", value, &run->recipes, run->error);
      break;
    case KEY_REFERENCE:
      status = add_reference(run, value);
      break;
    case KEY_OP:
      status = opc_strings_add(&run->globs, value, run->error);
      break;
    case KEY_NAMESPACE:
      status = opc_strings_add(&run->namespaces, value, run->error);
      break;
    case KEY_CHECK:
      status = add_checks(run, value);
      break;
    case KEY_DEVICE:
      status = add_devices(run, value);
      break;
    case KEY_SHARD:
      status = opc_shard_parse(value, &run->execution.options, run->error);
      break;
    case KEY_NEIGHBOURS:
      status = opc_value_integer("--neighbours", value, 0, 1000000, &number, run->error);
      to->neighbours = number;
      run->neighbours_given = true;
      break;
    case KEY_JOBS:
      status = opc_value_integer("--jobs", value, 1, 1024, &number, run->error);
      to->jobs = (int)number;
      break;
    case KEY_OPERATOR_TIME:
      status = opc_value_seconds("--operator-time", value, &to->operator_time, run->error);
      run->operator_time_given = true;
      break;
    case KEY_BUDGET:
      status = opc_value_seconds("--budget", value, &to->budget, run->error);
      break;
    case KEY_CASE:
      status = opc_case_id_parse(value, &id, run->error);
      to->case_id = value;
      break;
    case KEY_EMIT:
      status = set_emit(run, value, state);
      break;
    case KEY_LIST_CASES:
      run->list_cases = true;
      break;
    case KEY_XFAIL:
      status = opc_execution_readable("--xfail", value, run->error);
      to->xfail_file = value;
      break;
    case KEY_UPDATE_XFAIL:
      to->update_xfail = true;
      break;
    case KEY_TOOL:
      status = set_tool(run, value);
      break;
    case KEY_SANITIZE:
      status = set_sanitize(run, value);
      break;
    case KEY_SHARD_TIMES:
      status = opc_shard_times_read(value, &run->execution.shard_times, run->error);
      break;
    case KEY_SINCE:
      status = set_since(run, value);
      break;
    case KEY_WATCH:
      run->watch = true;
      break;
    case KEY_UNTRUSTED_INPUT:
      to->untrusted_input = true;
      break;
    case KEY_NO_SANDBOX:
      to->no_sandbox = true;
      break;
    case KEY_NO_SEARCH:
      to->no_search = true;
      break;
    case KEY_SEEDS:
      status = opc_value_integer("--seeds", value, 1, 1000, &number, run->error);
      to->seeds = (int)number;
      break;
    case ARGP_KEY_ARG:
      status = opc_libraries_add(&run->execution.libraries, value, run->error);
      break;
    case ARGP_KEY_END:
      if (run->list_cases && (run->execution.target_count > 0 || run->coverage))
        status = opc_error_set(run->error, OPC_ERR_USAGE, "--list-cases runs nothing: there is no result to report");
      else if (run->list_cases && run->execution.required > 0)
        status = opc_error_set(run->error, OPC_ERR_USAGE, "--list-cases runs nothing: leave --require-checked out");
      else status = check_sources(run);
      if (!status) status = check_emit(run);
      break;
    default:
      if (!take_report_option(run, key, value, &status) &&
          !opc_execution_option(&run->execution, key, value, &status, run->error))
        return ARGP_ERR_UNKNOWN;
  }
  return status != OPC_OK ? EINVAL : 0;
}

static const struct argp run_argp = {options, run_parse, "[LIB...]", doc, NULL, NULL, NULL};

/* One line per case, with a tab before the reason. */
static void print_planned(const char *name, bool skip, const char *why, void *context) {
  (void)context;
  printf("%s\t%s%s\n", name, skip ? "skip: " : "", why);
}

static opc_status_t run_show(const opc_problems_t *problems, int exit_code, void *context, opc_error_t *error) {
  run_command_t *run = context;
  if (run->list_cases && exit_code == OPC_EXIT_OK) return OPC_OK;
  opc_screen_t screen = opc_screen_of(stdout);
  const opc_terminal_view_t view = {.exit_code = exit_code,
                                    .verbose = run->verbose,
                                    .coverage = run->coverage,
                                    .required = run->execution.required,
                                    .whole = opc_execution_whole(&run->execution)};
  const opc_execution_t *execution = &run->execution;
  const char *journal = execution->options.journal;
  /* A run that stopped early, or had other libraries, is no comparison. */
  if (!execution->before || opc_watch_show(execution, journal, &screen, run->verbose, error) != OPC_OK)
    OPC_RETURN_IF_ERROR(opc_terminal_report(problems, &screen, &view, error));
  opc_execution_list_reports(&run->execution, &screen);
  opc_known_list(&run->execution, problems, &screen);
  opc_terminal_end(problems, &screen, &view);
  return OPC_OK;
}

/* Everything takes longer under a tool: too long for neighbours that nobody asked for. */
static void adapt_to_tool(run_command_t *run) {
  opc_run_options_t *to = &run->execution.options;
  if (!run->neighbours_given && (to->memcheck || to->sanitize)) to->neighbours = 0;
  if (!run->execution.timeout_given) to->timeout *= opc_run_pace(to);
  if (!run->operator_time_given) to->operator_time *= opc_run_pace(to);
}

/* Printed in advance: users who expect a run of a second would think that it hangs. */
static void prepare_memcheck(run_command_t *run) {
  opc_run_options_t *to = &run->execution.options;
  if (!to->memcheck) return;
  opc_complain(
      "memcheck: under Valgrind libtorch takes about half a minute to load, an operator one to ten seconds; a case "
      "may "
      "take %g s. --op and --check narrow "
      "the run",
      to->timeout);
}

static opc_status_t run_take_list(opc_strings_t *given, const opc_strings_t *settings, opc_error_t *error) {
  for (size_t i = 0, count = given->count ? 0 : settings->count; i < count; i++)
    OPC_RETURN_IF_ERROR(opc_strings_add(given, settings->items[i], error));
  return OPC_OK;
}

/* What the command line does not say. */
static opc_status_t run_take_settings(run_command_t *run) {
  opc_run_options_t *to = &run->execution.options;
  opc_settings_t *settings = &run->settings;
  OPC_RETURN_IF_ERROR(opc_settings_read(settings, run->error));
  OPC_RETURN_IF_ERROR(run_take_list(&run->execution.samples, &settings->samples, run->error));
  OPC_RETURN_IF_ERROR(run_take_list(&run->recipes, &settings->recipes, run->error));
  OPC_RETURN_IF_ERROR(run_take_list(&run->checks, &settings->checks, run->error));
  if (!to->xfail_file) to->xfail_file = settings->xfail;
  /* --write-baseline alone writes all that was found. */
  if (!run->execution.baseline && !run->execution.write_baseline) run->execution.baseline = settings->baseline;
  to->choices = settings->choices;
  to->settings_file = settings->file;
  to->settings = settings->text;
  return OPC_OK;
}

static void run_fill_in(run_command_t *run, const opc_arguments_t *arguments) {
  opc_run_options_t *to = &run->execution.options;
  adapt_to_tool(run);
  prepare_memcheck(run);
  opc_execution_options(&run->execution, arguments);
  to->shard_times = run->execution.shard_times;
  to->recipe_files = run->recipes.items;
  to->recipe_file_count = run->recipes.count;
  to->references = run->references.items;
  to->reference_count = run->references.count;
  to->op_globs = run->globs.items;
  to->op_glob_count = run->globs.count;
  to->namespaces = run->namespaces.items;
  to->namespace_count = run->namespaces.count;
  to->checks = run->checks.items;
  to->check_count = run->checks.count;
  to->devices = run->devices.items;
  to->device_count = run->devices.count;
  if (run->list_cases) to->planned = print_planned;
  run->execution.show = run_show;
  run->execution.context = run;
  if (!run->list_cases) run->execution.progress = &run->progress;
}

int opc_command_run(const opc_arguments_t *arguments) {
  opc_error_t error;
  run_command_t run = {.error = &error, .progress = opc_progress_start()};
  opc_run_options_default(&run.execution.options);
  int code;
  if (opc_arguments_parse(arguments, &run_argp, &run, &error) != OPC_OK) {
    code = opc_arguments_failed(arguments, &error);
  } else if (run_take_settings(&run) != OPC_OK || check_known(&run) != OPC_OK) {
    opc_complain("%s", error.message);
    code = opc_exit_code(error.code);
  } else {
    run_fill_in(&run, arguments);
    code = run.watch ? opc_watch_run(&run.execution) : opc_execution_run(&run.execution);
  }
  opc_strings_t *const lists[] = {&run.recipes,    &run.references, &run.globs,
                                  &run.namespaces, &run.checks,     &run.devices};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) opc_strings_clear(lists[i]);
  opc_settings_clear(&run.settings);
  opc_execution_clear(&run.execution);
  return code;
}
