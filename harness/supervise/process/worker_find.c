#include "supervise/process/worker_find.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "inspect/elf_file.h"
#include "supervise/process/torch_root.h"
#include "supervise/process/worker_choice.h"

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
  if (before != NULL && before[0] != '\0') opc_text_addf(&path, ":%s", before);
  return opc_text_take(&path);
}

/* The worker of a folder for libtorch `wanted` ("": the first); new string. A worker without a known version also
 * counts. NULL: none. */
static opc_status_t take_worker(const char *folder, const char *wanted, opc_text_t *there, char **out,
                                opc_error_t *error) {
  opc_workers_t workers;
  opc_status_t status = opc_workers_find(folder, &workers, error);
  if (status != OPC_OK) return status;
  const opc_worker_candidate_t *silent = NULL, *found = NULL;
  for (size_t i = 0; found == NULL && i < workers.count; i++) {
    const char *version = workers.items[i].version;
    if (wanted[0] == '\0' || strcmp(version, wanted) == 0) found = &workers.items[i];
    if (version[0] == '\0') silent = &workers.items[i];
    else opc_text_addf(there, "%s%s", there->length > 0 ? ", " : "", version);
  }
  if (found == NULL) found = silent;
  if (found != NULL && (*out = opc_string_copy(found->program)) == NULL) status = opc_out_of_memory(error);
  opc_workers_clear(&workers);
  return status;
}

/* Looks beside the program first, then in libexec. */
static opc_status_t find_worker(const char *wanted, opc_worker_plan_t *out, opc_error_t *error) {
  static const char *const folders[] = {"", "/../libexec/opcheck-c"};
  char self[PATH_MAX], folder[PATH_MAX + 32];
  OPC_SCOPED(opc_text_clear) opc_text_t where = {0}, there = {0};
  opc_status_t status = OPC_OK;
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(self, '/');
  if (slash != NULL) *slash = '\0';
  for (size_t i = 0; status == OPC_OK && out->program == NULL && i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(folder, sizeof folder, "%s%s", self, folders[i]);
    opc_text_addf(&where, "%s%s", i > 0 ? " and " : "", folder);
    status = take_worker(folder, wanted, &there, &out->program, error);
  }
  if (status == OPC_OK && out->program == NULL) {
    status = opc_error_set(error, OPC_ERR_NOT_FOUND,
                           "no opcheck-worker%s%s in %s%s%s%s: to get one, run scripts/setup --torch=VERSION in "
                           "opcheck-c's sources and build "
                           "again, or build with CMake's OPC_MORE_TORCH_ROOTS",
                           wanted[0] != '\0' ? " for libtorch " : "", wanted, opc_text_c(&where),
                           there.length > 0 ? " (there are workers for " : "", opc_text_c(&there),
                           there.length > 0 ? ")" : "");
  }
  return status;
}

opc_status_t opc_worker_plan(const char *worker, const char *torch_root, opc_worker_plan_t *out, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  memset(out, 0, sizeof *out);
  if (torch_root != NULL) {
    char probe[PATH_MAX];
    snprintf(probe, sizeof probe, "%s/lib/libtorch_cpu.so", torch_root);
    if (access(probe, R_OK) != 0) {
      return opc_error_set(error, OPC_ERR_USAGE,
                           "--torch %s: no libtorch there (%s: %s); give the folder that has libtorch's lib/, such as "
                           "site-packages/torch",
                           torch_root, probe, strerror(errno));
    }
    opc_torch_version_read(torch_root, out->wanted);
    out->library_path = library_path(torch_root);
    if (out->library_path == NULL) status = opc_out_of_memory(error);
  }
  if (status == OPC_OK && worker != NULL) {
    out->program = opc_string_copy(worker);
    if (out->program == NULL) status = opc_out_of_memory(error);
    else if (access(worker, X_OK) != 0)
      status = opc_error_set(error, OPC_ERR_NOT_FOUND, "%s cannot be executed: %s", worker, strerror(errno));
  } else if (status == OPC_OK) {
    status = find_worker(out->wanted, out, error);
  }
  if (status != OPC_OK) opc_worker_plan_clear(out);
  return status;
}

opc_status_t opc_worker_plan_choose(opc_worker_plan_t *plan, const char *const *libraries, size_t count,
                                    opc_library_error_t *errors, opc_error_t *error) {
  opc_workers_t workers = {0};
  size_t index = 0;
  char *folder = opc_string_format("%.*s", (int)(strrchr(plan->program, '/') - plan->program), plan->program),
       *chosen = NULL;
  opc_status_t status = folder != NULL ? opc_workers_find(folder, &workers, error) : opc_out_of_memory(error);
  if (status == OPC_OK && workers.count == 0)
    status = opc_error_set(error, OPC_ERR_NOT_FOUND, "%s is gone: build it again", plan->program);
  if (status == OPC_OK) status = opc_worker_choose(&workers, libraries, count, &index, errors, error);
  if (status == OPC_OK) {
    chosen = opc_string_copy(workers.items[index].program);
    if (chosen == NULL) status = opc_out_of_memory(error);
  }
  if (status == OPC_OK) {
    free(plan->program);
    plan->program = chosen;
  }
  opc_workers_clear(&workers);
  free(folder);
  return status;
}

opc_status_t opc_worker_plan_check(const opc_worker_plan_t *plan, const char *torch_version, opc_error_t *error) {
  size_t length = strlen(plan->wanted);
  if (length == 0 || (strncmp(torch_version, plan->wanted, length) == 0 && torch_version[length] == '.')) return OPC_OK;
  return opc_error_set(error, OPC_ERR_NOT_FOUND,
                       "--torch names libtorch %s, and %s is built for libtorch %s: build opcheck-worker for %s (as "
                       "opcheck-worker-%s beside it)",
                       plan->wanted, plan->program, torch_version, plan->wanted, plan->wanted);
}

static bool has_torch(const char *folder) {
  char probe[PATH_MAX];
  return snprintf(probe, sizeof probe, "%s/libtorch_cpu.so", folder) < (int)sizeof probe && access(probe, R_OK) == 0;
}

void opc_worker_torch(const opc_worker_plan_t *plan, const char *torch_root, char folder[PATH_MAX], char version[16]) {
  opc_elf_file_t *worker = NULL;
  opc_error_t ignored;
  folder[0] = version[0] = '\0';
  if (torch_root != NULL) {
    snprintf(folder, PATH_MAX, "%s/lib", torch_root);
  } else if (opc_elf_open(plan->program, &worker, &ignored) == OPC_OK) {
    for (const char *list = worker->runpath; list != NULL && *list != '\0' && !has_torch(folder);) {
      size_t length = strcspn(list, ":");
      snprintf(folder, PATH_MAX, "%.*s", (int)length, list);
      list += length + (list[length] == ':');
    }
  }
  opc_elf_close(worker);
  if (!has_torch(folder)) {
    folder[0] = '\0';
    return;
  }
  char root[PATH_MAX];
  snprintf(root, sizeof root, "%s/..", folder);
  opc_torch_version_read(root, version);
}

void opc_worker_plan_clear(opc_worker_plan_t *plan) {
  free(plan->program);
  free(plan->library_path);
  memset(plan, 0, sizeof *plan);
}
