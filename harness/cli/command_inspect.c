#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/execution.h"
#include "inspect/package.h"

enum { KEY_FORMAT = 256, KEY_TORCH, KEY_REQUIRE };

typedef struct inspect_command {
  opc_error_t *error;
  opc_strings_t libraries, requirements;
  opc_requirements_t required;
  const char *torch_root;
  bool json;
} inspect_command_t;

static const struct argp_option options[] = {
    {"format", KEY_FORMAT, "text|json", 0, "text (default) or json", 0},
    {"torch", KEY_TORCH, "ROOT", 0, "The libtorch that the library would be loaded with: the folder with its lib/", 0},
    {"require", KEY_REQUIRE, "LIST", 0,
     "Exit with 1 if a library does not meet one of these, separated by commas: stable-abi or stable-abi=2.9 (nothing "
     "of libtorch but its stable C interface, as libtorch 2.9 and all newer ones have it), cuda=13 (no library of "
     "another CUDA), glibc=2.28 (nothing of a newer glibc), cxx11abi (no std::string of before C++11)",
     0},
    {0}};

static opc_status_t add_requirement(inspect_command_t *inspect, const char *text) {
  const char *value = strchr(text, '=');
  OPC_SCOPED(opc_scope_free) char *name = strndup(text, strcspn(text, "="));
  if (!name) return opc_out_of_memory(inspect->error);
  opc_nearest_t nearest = {.word = name};
  OPC_SCOPED(opc_text_clear) opc_text_t known = {0};
  for (size_t i = 0; i < OPC_REQUIREMENTS; i++) {
    const opc_requirement_info_t *info = &opc_requirement_infos[i];
    if (strcmp(name, info->name) == 0)
      return opc_requirement_add(&inspect->required, (opc_requirement_kind_t)i, value ? value + 1 : NULL,
                                 inspect->error);
    opc_nearest_try(&nearest, info->name);
    opc_text_addf(&known, "%s%s", i > 0 ? ", " : "", info->example);
  }
  if (nearest.best)
    return opc_error_set(inspect->error, OPC_ERR_USAGE,
                         "--require: nothing is called \"%.40s\"; did you mean %s? There are: %s", name, nearest.best,
                         opc_text_c(&known));
  return opc_error_set(inspect->error, OPC_ERR_USAGE, "--require: nothing is called \"%.40s\"; there are: %s", name,
                       opc_text_c(&known));
}

static opc_status_t add_requirements(inspect_command_t *inspect, const char *list) {
  const size_t before = inspect->requirements.count;
  OPC_RETURN_IF_ERROR(opc_strings_split(&inspect->requirements, list, inspect->error));
  if (inspect->requirements.count == before)
    return opc_error_set(inspect->error, OPC_ERR_USAGE, "--require: name a requirement, such as stable-abi=2.9");
  for (size_t i = before; i < inspect->requirements.count; i++)
    OPC_RETURN_IF_ERROR(add_requirement(inspect, inspect->requirements.items[i]));
  return OPC_OK;
}

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
    case KEY_REQUIRE:
      status = add_requirements(inspect, value);
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
    "a folder: the libraries in it that register operators. Ends with 4 if one of them would not load. With --require "
    "it shows only what was asked for; whether the libraries would load here does not matter then."
    "\vExamples:\n"
    "  opcheck-c inspect libmy_ops.so\n"
    "  opcheck-c inspect --format json libmy_ops.so | jq '.libraries[].gpu'\n"
    "  opcheck-c inspect --require stable-abi=2.9,cuda=13,glibc=2.28 my_ops.whl\n",
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
  OPC_RETURN_IF_ERROR(opc_inspection_make(path, name, &place, &inspect->required, out, error));
  if (json_is_null(json_object_get(*out, "error")) &&
      json_object_set_new(*out, "worker", worker_json(&plan, version, choice.why, why)) != 0)
    return opc_out_of_memory(error);
  return OPC_OK;
}

static opc_status_t inspect_write_json(json_t *libraries, opc_error_t *error) {
  json_auto_t *report = json_pack("{s:s, s:O}", "format", "opcheck-c/inspect/1", "libraries", libraries);
  const bool written = report && json_dumpf(report, stdout, JSON_INDENT(2)) == 0;
  fputc('\n', stdout);
  return written ? OPC_OK : opc_error_set(error, OPC_ERR_IO, "cannot write to standard output");
}

/* How many libraries break a requirement, or cannot be read. */
static size_t count_broken(const json_t *libraries) {
  size_t i, r, broken = 0;
  json_t *library, *result;
  json_array_foreach(libraries, i, library) {
    bool met = json_is_null(json_object_get(library, "error"));
    json_array_foreach(json_object_get(library, "require"), r, result) met &=
        json_is_true(json_object_get(result, "met"));
    broken += !met;
  }
  return broken;
}

static opc_status_t inspect_show(const inspect_command_t *inspect, json_t *libraries, opc_error_t *error) {
  size_t i;
  json_t *library;
  if (inspect->json) return inspect_write_json(libraries, error);
  const opc_screen_t screen = opc_screen_of(stdout);
  json_array_foreach(libraries, i, library) opc_inspect_show(&screen, library);
  if (opc_requirements_any(&inspect->required))
    printf("libraries that do not meet --require: %zu of %zu\n", count_broken(libraries), json_array_size(libraries));
  return OPC_OK;
}

/* Without a libtorch nobody knows. --require does not ask. */
static bool would_load(const inspect_command_t *inspect, const json_t *library) {
  const char *loads = json_string_value(json_object_get(library, "loads"));
  if (!json_is_null(json_object_get(library, "error"))) return false;
  return opc_requirements_any(&inspect->required) || !loads || strcmp(loads, "no") != 0;
}

static opc_status_t inspect_all(const inspect_command_t *inspect, json_t *libraries, bool *out_failed,
                                opc_error_t *error) {
  *out_failed = false;
  for (size_t i = 0; i < inspect->libraries.count; i++) {
    json_auto_t *library = NULL;
    OPC_RETURN_IF_ERROR(inspect_one(inspect, inspect->libraries.items[i], &library, error));
    *out_failed |= library && !would_load(inspect, library);
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
  if (status != OPC_OK) {
    opc_complain("%s", inspect->error->message);
    return opc_exit_code(status);
  }
  if (failed) return OPC_EXIT_LOAD;
  return count_broken(libraries) > 0 ? OPC_EXIT_BROKEN : OPC_EXIT_OK;
}

int opc_command_inspect(const opc_arguments_t *arguments) {
  opc_error_t error;
  inspect_command_t inspect = {.error = &error};
  const int code = inspect_run(arguments, &inspect);
  opc_strings_clear(&inspect.libraries);
  opc_strings_clear(&inspect.requirements);
  return code;
}
