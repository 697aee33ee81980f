#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/execution.h"
#include "inspect/package.h"

enum { KEY_FORMAT = 256, KEY_TORCH };

typedef struct inspect_command {
  opc_error_t *error;
  opc_strings_t libraries;
  const char *torch_root;
  bool json;
} inspect_command_t;

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "FORMAT", 0, "text (default) or json", 0},
    {"torch", KEY_TORCH, "ROOT", 0, "The libtorch that the library would be loaded with: the folder with its lib/", 0},
    {0}};

static error_t inspect_parse(int key, char *value, struct argp_state *state) {
  inspect_command_t *inspect = state->input;
  opc_status_t status = OPC_OK;
  switch (key) {
    case KEY_FORMAT:
      inspect->json = strcmp(value, "json") == 0;
      if (!inspect->json && strcmp(value, "text") != 0)
        status = opc_error_set(inspect->error, OPC_ERR_USAGE, "--format %s: give text or json", value);
      break;
    case KEY_TORCH:
      inspect->torch_root = value;
      break;
    case ARGP_KEY_ARG:
      status = opc_libraries_add(&inspect->libraries, value, inspect->error);
      break;
    case ARGP_KEY_END:
      if (inspect->libraries.count == 0)
        status = opc_error_set(inspect->error, OPC_ERR_USAGE, "name at least one library to inspect");
      break;
    default:
      return ARGP_ERR_UNKNOWN;
  }
  return status != OPC_OK ? EINVAL : 0;
}

static const struct argp inspect_argp = {
    options,
    inspect_parse,
    "LIB...",
    "Shows what libraries are, and whether they would load here, without loading "
    "them: what each needs and where that is found, what it was "
    "built against, which worker checks it and why, how it registers operators, what it uses of Python, its GPU "
    "code by architecture, its debug information. LIB may be a wheel or "
    "a folder: the libraries in it that register operators."
    "\vExamples:\n"
    "  opcheck-c inspect libmy_ops.so\n"
    "  opcheck-c inspect --format json libmy_ops.so | jq '.libraries[].gpu'\n",
    NULL,
    NULL,
    NULL};

/* {"program", "torch", "torch_folder", "torch_found", "because", "error"} of the worker that a run would use for the
 * library. error: why it gets none; NULL otherwise. */
static json_t *worker_json(const opc_worker_plan_t *plan, const char *version, const char *because, const char *why) {
  OPC_SCOPED(opc_scope_free) char *real = plan->program ? realpath(plan->program, NULL) : NULL;
  const char *name = real ? strrchr(real, '/') : NULL;
  return json_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?}", "program", !why && name ? name + 1 : NULL, "torch",
                   version[0] != '\0' ? version : NULL, "torch_folder",
                   plan->torch_folder[0] != '\0' ? plan->torch_folder : NULL, "torch_found",
                   plan->torch_how[0] != '\0' ? plan->torch_how : NULL, "because", !why ? because : NULL, "error", why);
}

/* Without libtorch or a worker, what depends on it remains unknown. */
static opc_status_t inspect_plan_worker(const inspect_command_t *inspect, const char *path, opc_worker_plan_t *plan,
                                        opc_worker_choice_t *choice, opc_library_error_t *unfit, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_worker_plan(NULL, inspect->torch_root, plan, error));
  return inspect->torch_root ? OPC_OK : opc_worker_plan_choose(plan, &path, 1, choice, unfit, error);
}

static opc_status_t inspect_one(const inspect_command_t *inspect, const char *name, json_t **out, opc_error_t *error) {
  OPC_SCOPED(opc_worker_plan_clear) opc_worker_plan_t plan = {0};
  opc_worker_choice_t choice = {.why = "--torch names its libtorch"};
  opc_library_error_t unfit = {0};
  opc_error_t none;
  const char *path = opc_package_file(name);
  char version[16];
  const opc_status_t status = inspect_plan_worker(inspect, path, &plan, &choice, &unfit, &none);
  if (status != OPC_OK && status != OPC_ERR_NOT_FOUND) return opc_error_set(error, status, "%s", none.message);
  opc_worker_torch_version(&plan, version);
  const opc_inspection_place_t place = {.folder = plan.torch_folder[0] != '\0' ? plan.torch_folder : NULL,
                                        .version = version};
  const char *why = status != OPC_OK ? none.message : unfit.kind[0] != '\0' ? unfit.message : NULL;
  OPC_RETURN_IF_ERROR(opc_inspection_make(path, name, &place, out, error));
  if (json_is_null(json_object_get(*out, "error")) &&
      json_object_set_new(*out, "worker", worker_json(&plan, version, choice.why, why)) != 0)
    return opc_out_of_memory(error);
  return OPC_OK;
}

static opc_status_t inspect_show(const inspect_command_t *inspect, json_t *libraries, opc_error_t *error) {
  size_t i;
  json_t *library;
  if (inspect->json) {
    json_auto_t *report = json_pack("{s:s, s:O}", "format", "opcheck-c/inspect/1", "libraries", libraries);
    const bool written = report && json_dumpf(report, stdout, JSON_INDENT(2)) == 0;
    fputc('\n', stdout);
    return written ? OPC_OK : opc_error_set(error, OPC_ERR_IO, "cannot write to standard output");
  }
  const opc_screen_t screen = opc_screen_of(stdout);
  json_array_foreach(libraries, i, library) opc_inspect_show(&screen, library);
  return OPC_OK;
}

static opc_status_t inspect_all(const inspect_command_t *inspect, json_t *libraries, bool *out_failed,
                                opc_error_t *error) {
  *out_failed = false;
  for (size_t i = 0; i < inspect->libraries.count; i++) {
    json_auto_t *library = NULL;
    OPC_RETURN_IF_ERROR(inspect_one(inspect, inspect->libraries.items[i], &library, error));
    *out_failed |= library && !json_is_null(json_object_get(library, "error"));
    if (library) (void)json_array_append(libraries, library);
  }
  return inspect_show(inspect, libraries, error);
}

static int inspect_run(const opc_arguments_t *arguments, inspect_command_t *inspect) {
  json_auto_t *libraries = json_array();
  bool failed = false;
  if (opc_arguments_parse(arguments, &inspect_argp, inspect, inspect->error) != OPC_OK)
    return opc_arguments_failed(arguments, inspect->error);
  const opc_status_t status = inspect_all(inspect, libraries, &failed, inspect->error);
  if (status != OPC_OK) opc_complain("%s", inspect->error->message);
  return status != OPC_OK ? opc_exit_code(status) : failed ? OPC_EXIT_LOAD : OPC_EXIT_OK;
}

int opc_command_inspect(const opc_arguments_t *arguments) {
  opc_error_t error;
  inspect_command_t inspect = {.error = &error};
  const int code = inspect_run(arguments, &inspect);
  opc_strings_clear(&inspect.libraries);
  return code;
}
