#include <errno.h>
#include <string.h>

#include "cli/execution.h"
#include "reports/terminal/terminal.h"

enum { KEY_FORMAT = OPC_KEY_OWN, KEY_NAMESPACE, KEY_OP };

typedef struct list_command {
  opc_error_t *error;
  opc_execution_t execution;
  opc_strings_t namespaces, globs;
  bool json;
} list_command_t;

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "text|json", 0, "text (default) or json: the JSON report with empty results", 0},
    {"op", KEY_OP, "GLOB", 0, "List only operators whose name matches GLOB (repeatable)", 0},
    {"namespace", KEY_NAMESPACE, "NS", 0, "List only operators of this namespace (repeatable). aten: libtorch's own",
     0},
    {"preload", OPC_KEY_PRELOAD, "LIB", 0, "Load this library first, without listing it", 0},
    {"samples", OPC_KEY_SAMPLES, "FILE", 0,
     "Sample file (repeatable): list which operators it has samples for, and the relations between their arguments", 0},
    {"torch", OPC_KEY_TORCH, "ROOT", 0,
     "The libtorch to use: the folder with its lib/ (default: the one that LIB needs). all: each that is installed and "
     "that LIB can be loaded into, and which operators differ",
     0},
    {"python", OPC_KEY_PYTHON, "MODULE", 0,
     "List what this Python module registers (repeatable): my_package.ops, or a file.py", 0},
    {"python-executable", OPC_KEY_PYTHON_EXECUTABLE, "PATH", 0,
     "The Python that imports it (default: PYTHON of the environment, else python3)", 0},
    {0}};

static error_t list_parse(int key, char *value, struct argp_state *state) {
  list_command_t *list = state->input;
  opc_status_t status = OPC_OK;
  switch (key) {
    case KEY_FORMAT:
      list->json = strcmp(value, "json") == 0;
      if (!list->json && strcmp(value, "text") != 0)
        status = opc_error_set(list->error, OPC_ERR_USAGE, "--format %s: give text or json", value);
      break;
    case KEY_NAMESPACE:
      status = opc_strings_add(&list->namespaces, value, list->error);
      break;
    case KEY_OP:
      status = opc_strings_add(&list->globs, value, list->error);
      break;
    case ARGP_KEY_ARG:
      status = opc_libraries_add(&list->execution.libraries, value, list->error);
      break;
    case ARGP_KEY_END:
      if (list->execution.libraries.count == 0 && list->execution.modules.count == 0)
        status =
            opc_error_set(list->error, OPC_ERR_USAGE, "name at least one library to list, or a module with --python");
      else if (opc_execution_is_for_every_torch(&list->execution) && (list->json || list->execution.modules.count > 0))
        status = opc_error_set(list->error, OPC_ERR_USAGE, "--torch all cannot be combined with --%s: leave one out",
                               list->json ? "format json" : "python, whose torch is the libtorch");
      break;
    default:
      if (!opc_execution_option(&list->execution, key, value, &status, list->error)) return ARGP_ERR_UNKNOWN;
  }
  return status != OPC_OK ? EINVAL : 0;
}

static const struct argp list_argp = {
    options,
    list_parse,
    "[LIB...]",
    "Loads libraries and lists what they register: operators with schema, tags, where they were registered, "
    "kernels by dispatch key; kernels put on others' operators; custom classes with their methods. LIB may be a wheel "
    "or a folder: "
    "the libraries in it that register operators, or a path into a wheel, x.whl/pkg/_C.so."
    "\vExamples:\n"
    "  opcheck-c list libmy_ops.so\n"
    "  opcheck-c list --format json libmy_ops.so | jq '.operators[].name'\n",
    NULL,
    NULL,
    NULL};

static opc_status_t list_show(const opc_problems_t *problems, int exit_code, void *context, opc_error_t *error) {
  const list_command_t *list = context;
  (void)exit_code;
  const opc_report_source_t source = {.journal = problems->journal, .problems = problems};
  if (list->json) return opc_report_json.write(&source, stdout, error);
  opc_screen_t screen = opc_screen_of(stdout);
  return opc_terminal_list(problems->journal, &screen, error);
}

int opc_command_list(const opc_arguments_t *arguments) {
  opc_error_t error;
  list_command_t list = {.error = &error};
  opc_run_options_default(&list.execution.options);
  int code;
  if (opc_arguments_parse(arguments, &list_argp, &list, &error) != OPC_OK) {
    code = opc_arguments_failed(arguments, &error);
  } else {
    opc_run_options_t *run = &list.execution.options;
    run->list_only = true;
    opc_execution_options(&list.execution, arguments);
    run->namespaces = list.namespaces.items;
    run->namespace_count = list.namespaces.count;
    run->op_globs = list.globs.items;
    run->op_glob_count = list.globs.count;
    list.execution.show = list_show;
    list.execution.context = &list;
    code = opc_execution_run(&list.execution);
  }
  opc_execution_clear(&list.execution);
  opc_strings_clear(&list.namespaces);
  opc_strings_clear(&list.globs);
  return code;
}
