#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/execution.h"
#include "reports/terminal/terminal.h"

enum { KEY_LIBRARY = OPC_KEY_OWN, KEY_DEVICE, KEY_CASE };

typedef struct package_command {
  opc_error_t *error;
  opc_execution_t execution;
  opc_progress_t progress;
  const char *device; /* NULL: as in the package */
  char device_of_case[16];
} package_command_t;

static const struct argp_option options[] = {
    {"library", KEY_LIBRARY, "LIB", 0, "Library of operators that the package needs (repeatable)", 1},
    {"samples", OPC_KEY_SAMPLES, "FILE", 0,
     "Sample file for operator \"package::model\" (repeatable). Default: MODEL.samples.json beside the package, or the "
     "example in the package, or inputs of the shapes and dtypes that it describes",
     1},
    {"device", KEY_DEVICE, "cpu|cuda|cuda-sim", 0,
     "cpu, cuda or cuda-sim (default: the one that the package was compiled for). cuda-sim runs a package for CUDA on "
     "a simulated device, without a GPU: its launches are checked, and no values compared",
     1},
    {"cuda-arch", OPC_KEY_CUDA_ARCH, "ARCH", 0,
     "Architecture of the simulated device (default: the one that the package was compiled for)", 1},
    {"case", KEY_CASE, "ID", 0, "Run only this case, as a report names it", 1},
    {"seed", OPC_KEY_SEED, "N", 0, "Seed for all random numbers (default: 0)", 1},
    {"timeout", OPC_KEY_TIMEOUT, "SECONDS", 0, "Time limit per case (default: 10)", 2},
    {"memory", OPC_KEY_MEMORY, "MIB", 0, "Memory limit per child process (default: 4096)", 2},
    {"preload", OPC_KEY_PRELOAD, "LIB", 0, "Load this library first", 2},
    {"torch", OPC_KEY_TORCH, "ROOT", 0,
     "The libtorch to use: the folder that contains lib/. all: one run with each that is installed; what differs is an "
     "error",
     2},
    {"json", OPC_KEY_JSON, "FILE", 0, "Write the whole result as JSON, compressed if FILE ends with .zst or .gz", 3},
    {"junit", OPC_KEY_JUNIT, "FILE", 0, "Write the result as JUnit XML", 3},
    {"html", OPC_KEY_HTML, "FILE", 0, "Write the result as a page for a browser: one file that needs no network", 3},
    {0}};

static const char doc[] =
    "Loads a package that AOTInductor compiled, and the libraries of operators that it needs, and runs each of its "
    "models "
    "twice in a process of its own. The outputs are compared bit for bit: with each other, with the goldens and "
    "promises "
    "of the samples, and with the inputs."
    "\vIn sample files and case ids a model is the operator package::NAME (by default package::model); its arguments "
    "are "
    "input0, input1…\n\n"
    "On the simulated device no output has values, so none is compared. Each kernel launch of the libraries must "
    "succeed, be checked for an error, and go to the current stream, and another run must make the same requests.\n\n"
    "Exit status: 0: all models ran and every check passed; 1: a model crashed, or a promise is broken; 2: wrong "
    "usage, "
    "or a mistake in a sample file; 3: internal error; 4: the package or a library could not be loaded; 5: nothing "
    "ran.\n\n"
    "Examples:\n"
    "  opcheck-c package model.pt2 --library libmy_ops.so\n"
    "  opcheck-c package model_cuda.pt2 --library libmy_ops.so --device cuda-sim\n"
    "  opcheck-c package model.pt2 --library libmy_ops.so --json report.json\n";

static opc_status_t set_package(package_command_t *package, const char *path) {
  opc_run_options_t *to = &package->execution.options;
  if (to->package)
    return opc_error_set(
        package->error, OPC_ERR_USAGE,
        "%s: one package at a time, and %s was named before; libraries of operators are named with --library", path,
        to->package);
  to->package = path;
  return OPC_OK;
}

static opc_status_t set_device(package_command_t *package, const char *value) {
  static const char *const known[] = {OPC_MODE_CPU, OPC_MODE_CUDA, OPC_MODE_SIMULATED};
  package->device = NULL;
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    if (strcmp(value, known[i]) == 0) package->device = known[i];
  return package->device
             ? OPC_OK
             : opc_error_set(package->error, OPC_ERR_USAGE, "--device %.40s: give cpu, cuda or cuda-sim", value);
}

static opc_status_t set_case(package_command_t *package, const char *value) {
  opc_case_id_t id;
  package->execution.options.case_id = value;
  OPC_RETURN_IF_ERROR(opc_case_id_parse(value, &id, package->error));
  snprintf(package->device_of_case, sizeof package->device_of_case, "%.15s", id.device);
  return OPC_OK;
}

static error_t package_parse(int key, char *value, struct argp_state *state) {
  package_command_t *package = state->input;
  opc_run_options_t *to = &package->execution.options;
  opc_status_t status = OPC_OK;
  switch (key) {
    case KEY_LIBRARY:
      status = opc_libraries_add(&package->execution.libraries, value, package->error);
      break;
    case KEY_DEVICE:
      status = set_device(package, value);
      break;
    case KEY_CASE:
      status = set_case(package, value);
      break;
    case ARGP_KEY_ARG:
      status = set_package(package, value);
      break;
    case ARGP_KEY_END:
      if (!to->package) status = opc_error_set(package->error, OPC_ERR_USAGE, "name the package to run, a .pt2 file");
      break;
    default:
      if (!opc_execution_option(&package->execution, key, value, &status, package->error)) return ARGP_ERR_UNKNOWN;
  }
  return status != OPC_OK ? EINVAL : 0;
}

static const struct argp package_argp = {options, package_parse, "MODEL.pt2", doc, NULL, NULL, NULL};

/* Shows the messages of passes: the user wants to read what the run proved. */
static bool show_pass(const opc_case_result_t *result, void *context) {
  const opc_screen_t *screen = context;
  if (result->verdict != OPC_VERDICT_PASS) return true;
  opc_screen_text(screen, OPC_TONE_BOLD, result->id.operator_name);
  fprintf(screen->stream, " on %s, %s: ", result->id.device, result->id.sample);
  opc_screen_text(screen, OPC_TONE_PLAIN, result->message);
  fputc('\n', screen->stream);
  return true;
}

static opc_status_t package_show(const opc_problems_t *problems, int exit_code, void *context, opc_error_t *error) {
  package_command_t *package = context;
  opc_screen_t screen = opc_screen_of(stdout);
  opc_journal_summary_t summary;
  /* A package has only one or two models, so there is room for all details. */
  const opc_terminal_view_t view = {
      .exit_code = exit_code, .verbose = true, .whole = opc_execution_whole(&package->execution)};
  opc_journal_reader_summary(problems->journal, &summary);
  OPC_RETURN_IF_ERROR(opc_journal_reader_all_results(problems->journal, show_pass, &screen, error));
  if (summary.pass) fputc('\n', stdout);
  OPC_RETURN_IF_ERROR(opc_terminal_report(problems, &screen, &view, error));
  opc_execution_list_reports(&package->execution, &screen);
  opc_terminal_end(problems, &screen, &view);
  return OPC_OK;
}

/* Options that the user did not give come from the case, then from the package. */
static void choose_target(package_command_t *package) {
  opc_run_options_t *to = &package->execution.options;
  opc_package_target_t own = opc_package_target(to->package);
  if (!package->device && strcmp(package->device_of_case, OPC_MODE_SIMULATED) == 0)
    package->device = OPC_MODE_SIMULATED;
  if (!package->device) package->device = own.device;
  bool usual = !own.architecture || strcmp(own.architecture, OPC_CUDA_ARCHITECTURE_USUAL) == 0;
  if (strcmp(package->device, OPC_MODE_SIMULATED) == 0 && !to->cuda_architecture && !usual)
    to->cuda_architecture = own.architecture;
}

static void package_fill_in(package_command_t *package, const opc_arguments_t *arguments) {
  opc_run_options_t *to = &package->execution.options;
  choose_target(package);
  opc_execution_options(&package->execution, arguments);
  to->devices = &package->device;
  to->device_count = 1;
  package->execution.show = package_show;
  package->execution.context = package;
  package->execution.progress = &package->progress;
}

int opc_command_package(const opc_arguments_t *arguments) {
  opc_error_t error;
  package_command_t package = {.error = &error, .progress = opc_progress_start()};
  opc_run_options_default(&package.execution.options);
  int code;
  if (opc_arguments_parse(arguments, &package_argp, &package, &error) != OPC_OK) {
    code = opc_arguments_failed(arguments, &error);
  } else {
    package_fill_in(&package, arguments);
    code = opc_execution_run(&package.execution);
  }
  opc_execution_clear(&package.execution);
  return code;
}
