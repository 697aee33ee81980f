#include "supervise/process/worker_find.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* ROOT/lib, and the folders that wheels put beside torch: site-packages/nvidia/PART/lib. */
static char *library_path(const char *root) {
  opc_text_t path = {0};
  char pattern[PATH_MAX];
  glob_t found = {0};
  opc_text_addf(&path, "%s/lib", root);
  snprintf(pattern, sizeof pattern, "%s/../nvidia/*/lib", root);
  if (glob(pattern, GLOB_ONLYDIR, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++) opc_text_addf(&path, ":%s", found.gl_pathv[i]);
  }
  globfree(&found);
  const char *before = getenv("LD_LIBRARY_PATH");
  if (before && before[0] != '\0') opc_text_addf(&path, ":%s", before);
  return opc_text_take(&path);
}

/* The worker of a folder for libtorch `wanted` ("": the first); new string. If none has that version: one whose version
 * is unknown. NULL: none. */
static opc_status_t take_worker(const char *folder, const char *wanted, opc_text_t *there, char **out,
                                opc_error_t *error) {
  opc_workers_t workers;
  opc_status_t status = opc_workers_find(folder, &workers, error);
  if (status != OPC_OK) return status;
  const opc_worker_candidate_t *silent = NULL, *found = NULL;
  for (size_t i = 0; !found && i < workers.count; i++) {
    const char *version = workers.items[i].version;
    if (wanted[0] == '\0' || strcmp(version, wanted) == 0) found = &workers.items[i];
    if (version[0] == '\0') silent = &workers.items[i];
    else opc_text_addf(there, "%s%s", there->length > 0 ? ", " : "", version);
  }
  if (!found) found = silent;
  if (found && !(*out = opc_string_copy(found->program))) status = opc_out_of_memory(error);
  opc_workers_clear(&workers);
  return status;
}

/* Looks beside the program first, then in libexec. */
static opc_status_t find_worker(const char *wanted, opc_worker_plan_t *out, opc_error_t *error) {
  static const char *const folders[] = {"", "/../libexec/opcheck-c"};
  char self[PATH_MAX], folder[PATH_MAX + 32];
  OPC_SCOPED(opc_text_clear) opc_text_t where = {0}, there = {0};
  opc_program_folder(self);
  for (size_t i = 0; !out->program && i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(folder, sizeof folder, "%s%s", self, folders[i]);
    opc_text_addf(&where, "%s%s", i > 0 ? " and " : "", folder);
    OPC_RETURN_IF_ERROR(take_worker(folder, wanted, &there, &out->program, error));
  }
  if (!out->program) {
    return opc_error_set(error, OPC_ERR_NOT_FOUND,
                         "no opcheck-worker%s%s in %s%s%s%s: to get one, run scripts/setup --torch=VERSION in "
                         "opcheck-c's sources and build "
                         "again, or build with CMake's OPC_MORE_TORCH_ROOTS",
                         wanted[0] != '\0' ? " for libtorch " : "", wanted, opc_text_c(&where),
                         there.length > 0 ? " (there are workers for " : "", opc_text_c(&there),
                         there.length > 0 ? ")" : "");
  }
  return OPC_OK;
}

/* The libtorch that the worker is run with. */
static opc_status_t set_torch(opc_worker_plan_t *plan, const opc_worker_candidate_t *worker, opc_error_t *error) {
  char root[PATH_MAX + 4];
  memcpy(plan->torch_folder, worker->torch_folder, sizeof plan->torch_folder);
  memcpy(plan->torch_how, worker->torch_how, sizeof plan->torch_how);
  if (!worker->torch_offered) return OPC_OK;
  snprintf(root, sizeof root, "%.*s", (int)(strrchr(worker->torch_folder, '/') - worker->torch_folder),
           worker->torch_folder);
  free(plan->library_path);
  plan->library_path = library_path(root);
  return plan->library_path ? OPC_OK : opc_out_of_memory(error);
}

static opc_status_t take_named_torch(const char *root, opc_worker_plan_t *out, opc_error_t *error) {
  char probe[PATH_MAX];
  snprintf(probe, sizeof probe, "%s/lib/libtorch_cpu.so", root);
  if (access(probe, R_OK) != 0) {
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--torch %s: no libtorch there (%s: %s); give the folder that has libtorch's lib/, such as "
                         "site-packages/torch",
                         root, probe, strerror(errno));
  }
  opc_torch_version_read(root, out->wanted);
  snprintf(out->torch_folder, sizeof out->torch_folder, "%s/lib", root);
  snprintf(out->torch_how, sizeof out->torch_how, "by --torch");
  out->library_path = library_path(root);
  return out->library_path ? OPC_OK : opc_out_of_memory(error);
}

/* With --torch it has its libtorch already. */
static opc_status_t take_named_worker(const char *path, opc_worker_plan_t *out, opc_error_t *error) {
  OPC_SCOPED(opc_workers_clear) opc_workers_t workers = {0};
  if (access(path, X_OK) != 0)
    return opc_error_set(error, OPC_ERR_NOT_FOUND, "%s cannot be executed: %s", path, strerror(errno));
  out->program = opc_string_copy(path);
  OPC_RETURN_IF_ERROR(out->program ? OPC_OK : opc_out_of_memory(error));
  OPC_RETURN_IF_ERROR(opc_workers_add(&workers, path, error));
  if (out->library_path) return OPC_OK;
  opc_torches_t torches;
  opc_torches_find(&torches);
  opc_workers_offer_installed(&workers, &torches);
  return set_torch(out, &workers.items[0], error);
}

static opc_status_t worker_find_plan_worker(const char *worker, const char *torch_root, opc_worker_plan_t *out,
                                            opc_error_t *error) {
  if (torch_root) OPC_RETURN_IF_ERROR(take_named_torch(torch_root, out, error));
  return worker ? take_named_worker(worker, out, error) : find_worker(out->wanted, out, error);
}

opc_status_t opc_worker_plan(const char *worker, const char *torch_root, opc_worker_plan_t *out, opc_error_t *error) {
  memset(out, 0, sizeof *out);
  const opc_status_t status = worker_find_plan_worker(worker, torch_root, out, error);
  if (status != OPC_OK) opc_worker_plan_clear(out);
  return status;
}

opc_status_t opc_worker_plan_workers(const opc_worker_plan_t *plan, const opc_torches_t *torches, opc_workers_t *out,
                                     opc_error_t *error) {
  *out = (opc_workers_t){0};
  OPC_SCOPED(opc_scope_free)
  char *folder = opc_string_format("%.*s", (int)(strrchr(plan->program, '/') - plan->program), plan->program);
  OPC_RETURN_IF_ERROR(folder ? opc_workers_find(folder, out, error) : opc_out_of_memory(error));
  if (out->count == 0) return opc_error_set(error, OPC_ERR_NOT_FOUND, "%s is gone: build it again", plan->program);
  opc_workers_offer_installed(out, torches);
  return OPC_OK;
}

static opc_status_t no_torch(const opc_workers_t *workers, const opc_torches_t *torches, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t known = {0}, there = {0};
  for (size_t i = 0; i < workers->count; i++)
    opc_text_addf(&known, "%s%s", i > 0 ? ", " : "",
                  workers->items[i].version[0] != '\0' ? workers->items[i].version : "unknown");
  for (size_t i = 0; i < torches->count; i++)
    opc_text_addf(&there, "%s%s in %s (%s)", i > 0 ? ", " : "",
                  torches->items[i].version[0] != '\0' ? torches->items[i].version : "an unknown version",
                  torches->items[i].root, torches->items[i].how);
  if (torches->count == 0)
    return opc_error_set(error, OPC_ERR_NOT_FOUND,
                         "no libtorch is installed here: install torch in the active Python environment (there are "
                         "workers for %s), or name "
                         "its folder with --torch",
                         opc_text_c(&known));
  return opc_error_set(
      error, OPC_ERR_NOT_FOUND,
      "no worker fits the libtorch that is installed here, %s: there are workers for %s. Install one of these, or "
      "build a "
      "worker from opcheck-c's sources (scripts/setup --torch=VERSION, or CMake's OPC_MORE_TORCH_ROOTS)",
      opc_text_c(&there), opc_text_c(&known));
}

opc_status_t opc_worker_plan_choose(opc_worker_plan_t *plan, const char *const *libraries, size_t count,
                                    opc_worker_choice_t *choice, opc_library_error_t *errors, opc_error_t *error) {
  static const opc_torches_t none;
  OPC_SCOPED(opc_workers_clear) opc_workers_t workers = {0};
  opc_worker_choice_t own;
  opc_torches_t torches;
  if (!choice) choice = &own;
  *choice = (opc_worker_choice_t){0};
  opc_torches_find(&torches);
  OPC_RETURN_IF_ERROR(opc_worker_plan_workers(plan, &none, &workers, error));
  OPC_RETURN_IF_ERROR(opc_worker_choose(&workers, &torches, libraries, count, choice, errors, error));
  const opc_worker_candidate_t *chosen = &workers.items[choice->index];
  if (chosen->torch_folder[0] == '\0') return no_torch(&workers, &torches, error);
  char *program = opc_string_copy(chosen->program);
  if (!program) return opc_out_of_memory(error);
  free(plan->program);
  plan->program = program;
  return set_torch(plan, chosen, error);
}

opc_status_t opc_worker_plan_check(const opc_worker_plan_t *plan, const char *torch_version, opc_error_t *error) {
  size_t length = strlen(plan->wanted);
  if (length == 0 || (strncmp(torch_version, plan->wanted, length) == 0 && torch_version[length] == '.')) return OPC_OK;
  return opc_error_set(error, OPC_ERR_NOT_FOUND,
                       "--torch names libtorch %s, and %s is built for libtorch %s: build opcheck-worker for %s (as "
                       "opcheck-worker-%s beside it)",
                       plan->wanted, plan->program, torch_version, plan->wanted, plan->wanted);
}

void opc_worker_torch_version(const opc_worker_plan_t *plan, char version[16]) {
  opc_torch_version_of_lib(plan->torch_folder, version);
}

void opc_worker_plan_clear(opc_worker_plan_t *plan) {
  free(plan->program);
  free(plan->library_path);
  memset(plan, 0, sizeof *plan);
}
