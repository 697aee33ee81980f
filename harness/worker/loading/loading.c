#include "worker/loading/loading.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "bridge/api/bridge.h"
#include "bridge/api/prepare.h"
#include "checks/call/own_library.h"
#include "checks/framework/global_state.h"
#include "memory/guard.h"
#include "model/json/json_write.h"
#include "wire/protocol.h"

typedef struct listing {
  json_t *operators, *classes;
} listing_t;

static const opc_loading_t *terminating;

static void loading_on_terminate(const char *text) {
  if (!terminating) return;
  opc_error_t ignored;
  json_auto_t *message = json_pack("{s:s, s:o}", "t", "terminate", "message", opc_json_string(text));
  (void)!opc_channel_send(terminating->control, message, NULL, 0, &ignored);
}

static opc_status_t loading_send(const opc_loading_t *loading, json_t *message, opc_error_t *error) {
  json_auto_t *owned = message;
  if (!owned) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a message");
  return opc_channel_send(loading->control, owned, NULL, 0, error);
}

static void loading_visit_operator(const opc_operator_t *op, void *context) {
  json_array_append_new(((listing_t *)context)->operators, opc_operator_to_json(op));
}

static void loading_visit_class(const opc_class_t *class_, void *context) {
  json_array_append_new(((listing_t *)context)->classes, opc_class_to_json(class_));
}

static opc_status_t send_each(const opc_loading_t *loading, const char *kind, json_t *list, opc_error_t *error) {
  size_t i;
  json_t *entry;
  json_array_foreach(list, i, entry) {
    json_object_set_new(entry, "t", json_string(kind));
    OPC_RETURN_IF_ERROR(loading_send(loading, json_incref(entry), error));
    json_object_del(entry, "t");
  }
  return OPC_OK;
}

/* A class is named after its constructor, unless an operator has that name. */
static void add_class(json_t *all, const json_t *json) {
  OPC_SCOPED(opc_class_clear) opc_class_t class_ = {0};
  OPC_SCOPED(opc_operator_clear) opc_operator_t op = {0};
  if (opc_class_from_json(json, &class_, NULL) == OPC_OK && opc_operator_from_class(&class_, &op, NULL) == OPC_OK &&
      !json_object_get(all, op.name))
    json_object_set_new(all, op.name, opc_operator_to_json(&op));
}

/* A package's operators are its models; their input descriptions come with them. */
static void describe_models(json_t *operators, const opc_package_t *package) {
  static const char prefix[] = OPC_PACKAGE_NAMESPACE "::";
  size_t i;
  json_t *entry;
  json_array_foreach(operators, i, entry) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    if (!name || strncmp(name, prefix, strlen(prefix)) != 0) continue;
    for (size_t m = 0; m < package->count; m++) {
      if (strcmp(name + strlen(prefix), package->models[m].name) != 0) continue;
      json_object_set_new(entry, "kind", json_string("package"));
      json_object_set_new(entry, "package_bytes", json_integer((json_int_t)package->bytes));
      if (package->models[m].inputs) json_object_set(entry, "package_inputs", package->models[m].inputs);
      if (package->models[m].example) json_object_set_new(entry, "package_example", json_true());
    }
  }
}

static void listing_clear(listing_t *listing) {
  json_decref(listing->operators);
  json_decref(listing->classes);
}

/* Only after everything is loaded: a library may register kernels for another library's operators, before or after
 * their definition. */
static opc_status_t list_registered(const opc_loading_t *loading, const opc_package_t *package, json_t *all,
                                    opc_error_t *error) {
  size_t i;
  json_t *entry;
  OPC_SCOPED(listing_clear) listing_t listing = {.operators = json_array(), .classes = json_array()};
  OPC_RETURN_IF_ERROR(opc_bridge_list(loading_visit_operator, loading_visit_class, &listing, error));
  describe_models(listing.operators, package);
  OPC_RETURN_IF_ERROR(send_each(loading, "operator", listing.operators, error));
  OPC_RETURN_IF_ERROR(send_each(loading, "class", listing.classes, error));
  json_array_foreach(listing.operators, i, entry) {
    const char *name = json_string_value(json_object_get(entry, "name"));
    if (name) json_object_set(all, name, entry);
  }
  json_array_foreach(listing.classes, i, entry) add_class(all, entry);
  return OPC_OK;
}

static opc_status_t list_namespace(const opc_loading_t *loading, const char *name, json_t *all, opc_error_t *error) {
  size_t i;
  json_t *entry;
  OPC_SCOPED(listing_clear) listing_t listing = {.operators = json_array()};
  OPC_RETURN_IF_ERROR(opc_bridge_list_namespace(name, loading_visit_operator, &listing, error));
  OPC_RETURN_IF_ERROR(send_each(loading, "operator", listing.operators, error));
  json_array_foreach(listing.operators, i, entry)
      json_object_set(all, json_string_value(json_object_get(entry, "name")), entry);
  return OPC_OK;
}

static opc_status_t loading_load_file(const char *path, const char *for_library, bool preload, opc_error_t *error) {
  if (!preload) opc_library_note_own(path);
  return preload ? opc_bridge_preload(path, error) : opc_bridge_load(path, for_library, error);
}

static opc_status_t load_prepared(const opc_loading_t *loading, const char *path, bool preload,
                                  opc_prepared_t *prepared, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_bridge_prepare(path, loading->cuda, prepared, error));
  for (size_t i = 0; i < prepared->sibling_count; i++)
    OPC_RETURN_IF_ERROR(loading_load_file(prepared->siblings[i], path, preload, error));
  return loading_load_file(path, path, preload, error);
}

static opc_status_t load_watched(const opc_loading_t *loading, const char *path, opc_prepared_t *prepared,
                                 opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_load_state_begin(error));
  OPC_RETURN_IF_ERROR(load_prepared(loading, path, false, prepared, error));
  return opc_load_state_end(path, error);
}

/* An initialiser may have changed the working directory; the next path may be relative. */
static opc_status_t loading_load_from(int directory, const opc_loading_t *loading, const char *path, bool preload,
                                      opc_prepared_t *prepared, opc_error_t *error) {
  const opc_status_t status =
      preload ? load_prepared(loading, path, true, prepared, error) : load_watched(loading, path, prepared, error);
  if (directory >= 0 && fchdir(directory) != 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot go back to the working directory");
  return status;
}

static opc_status_t send_loaded(const opc_loading_t *loading, const char *path, const char *note, opc_error_t *error) {
  return loading_send(loading,
                      json_pack("{s:s, s:o, s:o, s:b}", "t", "loaded", "library", opc_json_string(path), "note",
                                opc_json_string(note), "changed", opc_load_state_of(path) ? 1 : 0),
                      error);
}

static opc_status_t load_one(int directory, const opc_loading_t *loading, const char *path, bool preload,
                             opc_error_t *error) {
  opc_error_t why = {0};
  OPC_SCOPED(opc_prepared_clear) opc_prepared_t prepared = {0};
  OPC_RETURN_IF_ERROR(
      loading_send(loading, json_pack("{s:s, s:o}", "t", "loading", "library", opc_json_string(path)), error));
  if (loading_load_from(directory, loading, path, preload, &prepared, &why) == OPC_OK)
    return send_loaded(loading, path, opc_text_c(&prepared.note), error);
  return loading_send(loading,
                      json_pack("{s:s, s:o, s:o}", "t", "load_failed", "library", opc_json_string(path), "message",
                                opc_json_string(why.message)),
                      error);
}

static opc_status_t import_watched(const char *name, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(opc_load_state_begin(error));
  OPC_RETURN_IF_ERROR(opc_interpreter_import(name, error));
  return opc_load_state_end(name, error);
}

static opc_status_t load_module(const opc_loading_t *loading, const char *name, opc_error_t *error) {
  opc_error_t why = {0};
  OPC_RETURN_IF_ERROR(
      loading_send(loading, json_pack("{s:s, s:o}", "t", "loading", "library", opc_json_string(name)), error));
  opc_library_note_own(name);
  if (import_watched(name, &why) == OPC_OK) return send_loaded(loading, name, "", error);
  return loading_send(loading,
                      json_pack("{s:s, s:o, s:s, s:o}", "t", "load_failed", "library", opc_json_string(name), "kind",
                                "import", "message", opc_json_string(why.message)),
                      error);
}

/* out: without models if it could not be loaded, which is reported. */
static opc_status_t load_package(const opc_loading_t *loading, opc_package_t *out, opc_error_t *error) {
  const char *path = loading->package;
  opc_package_failure_t failure;
  OPC_RETURN_IF_ERROR(
      loading_send(loading, json_pack("{s:s, s:o}", "t", "loading", "library", opc_json_string(path)), error));
  if (!opc_package_load(path, loading->cuda, out, &failure))
    return loading_send(loading,
                        json_pack("{s:s, s:o, s:s, s:o}", "t", "load_failed", "library", opc_json_string(path), "kind",
                                  failure.kind, "message", opc_json_string(failure.message)),
                        error);
  return send_loaded(loading, path, "", error);
}

/* Before any library that registers CUDA kernels. Returns its error message if it does not load; NULL: it was loaded,
 * or is not wanted. */
static const char *load_cuda(const opc_loading_t *loading, opc_error_t *why) {
  char path[PATH_MAX];
  const char *folder = loading->cuda ? opc_bridge_torch_folder() : NULL;
  if (!folder || snprintf(path, sizeof path, "%s/libtorch_cuda.so", folder) >= (int)sizeof path) return NULL;
  return opc_bridge_preload(path, why) == OPC_OK ? NULL : why->message;
}

static int thread_count(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return 1;
  for (const struct dirent *entry = readdir(tasks); entry; entry = readdir(tasks)) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static int working_directory_open(void) {
  int low = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  int high = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, OPC_OWN_FD_AT_LEAST) : -1;
  if (low >= 0) close(low);
  return high;
}

static opc_status_t load_all(const opc_loading_t *loading, json_t *all, opc_error_t *error) {
  OPC_SCOPED(opc_scope_close) int directory = working_directory_open();
  OPC_SCOPED(opc_package_clear) opc_package_t package = {0};
  opc_error_t no_cuda;
  const char *cuda_missing = load_cuda(loading, &no_cuda);
  json_t *missing = cuda_missing ? opc_json_string(cuda_missing) : json_null();
  OPC_RETURN_IF_ERROR(
      loading_send(loading,
                   json_pack("{s:s, s:i, s:s, s:s, s:o}", "t", "hello", "protocol", OPC_PROTOCOL_VERSION, "torch",
                             opc_bridge_torch_version(), "cuda", opc_bridge_cuda_version(), "cuda_missing", missing),
                   error));
  for (size_t i = 0; i < loading->preload_count; i++)
    OPC_RETURN_IF_ERROR(load_one(directory, loading, loading->preloads[i], true, error));
  opc_heap_guard_note_loaded(false);
  for (size_t i = 0; i < loading->library_count; i++)
    OPC_RETURN_IF_ERROR(load_one(directory, loading, loading->libraries[i], false, error));
  opc_heap_guard_note_loaded(true);
  for (size_t i = 0; i < loading->module_count; i++)
    OPC_RETURN_IF_ERROR(load_module(loading, loading->modules[i], error));
  opc_state_forget_first(); /* operators are called in the state that loading left */
  OPC_RETURN_IF_ERROR(opc_interpreter_warm_up(error));
  if (loading->package) OPC_RETURN_IF_ERROR(load_package(loading, &package, error));
  OPC_RETURN_IF_ERROR(list_registered(loading, &package, all, error));
  for (size_t i = 0; i < loading->namespace_count; i++)
    OPC_RETURN_IF_ERROR(list_namespace(loading, loading->namespaces[i], all, error));
  return loading_send(loading,
                      json_pack("{s:s, s:i, s:i, s:b, s:f, s:s}", "t", "ready", "pid", (int)getpid(), "threads",
                                thread_count(), "cuda_initialised", opc_bridge_cuda_initialised(), "cpu_seconds",
                                opc_clock_of(CLOCK_PROCESS_CPUTIME_ID), "sandbox", loading->sandbox_misses),
                      error);
}

opc_status_t opc_loading_run(const opc_loading_t *loading, json_t **out_operators, opc_error_t *error) {
  json_auto_t *all = json_object();
  *out_operators = NULL;
  terminating = loading;
  opc_bridge_on_terminate(loading_on_terminate);
  const opc_status_t status = load_all(loading, all, error);
  terminating = NULL;
  OPC_RETURN_IF_ERROR(status);
  OPC_MOVE(out_operators, all);
  return OPC_OK;
}
