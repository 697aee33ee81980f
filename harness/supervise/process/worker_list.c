#include "supervise/process/worker_find.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "inspect/library_search.h"

/* path: of a libtorch_cpu.so. One of another version, on LD_LIBRARY_PATH say, is of no use. */
static void take_torch(opc_worker_candidate_t *worker, const char *path, const char *how) {
  char folder[PATH_MAX], version[16];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  opc_torch_version_of_lib(folder, version);
  if (version[0] != '\0' && worker->version[0] != '\0' && strcmp(version, worker->version) != 0) return;
  memcpy(worker->torch_folder, folder, sizeof folder);
  snprintf(worker->torch_how, sizeof worker->torch_how, "%s", how);
}

static void worker_list_describe(opc_worker_candidate_t *worker) {
  static const char name[] = "/opcheck-worker-";
  opc_elf_file_t *file = NULL;
  opc_error_t ignored;
  opc_library_place_t torch;
  const char *version = strstr(strrchr(worker->real, '/'), name);
  if (version) snprintf(worker->version, sizeof worker->version, "%s", version + sizeof name - 1);
  if (opc_elf_open(worker->real, &file, &ignored) != OPC_OK) return; /* starting this worker will report the error */
  opc_library_find(file, "libtorch_cpu.so", NULL, &torch);
  if (torch.how != OPC_FOUND_NOWHERE) take_torch(worker, torch.path, opc_found_words(torch.how));
  if (torch.how == OPC_FOUND_LIBRARY_PATH && worker->torch_folder[0] == '\0') {
    opc_library_find_by_own_path(file, "libtorch_cpu.so", &torch);
    if (torch.how != OPC_FOUND_NOWHERE) take_torch(worker, torch.path, opc_found_words(torch.how));
    worker->torch_offered = worker->torch_folder[0] != '\0'; /* before what LD_LIBRARY_PATH has */
  }
  opc_elf_close(file);
}

void opc_workers_offer(opc_workers_t *workers, const char *root, const char *version, const char *how, size_t rank) {
  for (size_t i = 0; i < workers->count; i++) {
    opc_worker_candidate_t *worker = &workers->items[i];
    char folder[PATH_MAX];
    if (worker->torch_folder[0] != '\0' || version[0] == '\0') continue;
    if (worker->version[0] != '\0' && strcmp(worker->version, version) != 0) continue;
    if (snprintf(folder, sizeof folder, "%s/lib", root) >= (int)sizeof folder) continue;
    memcpy(worker->torch_folder, folder, sizeof folder);
    snprintf(worker->torch_how, sizeof worker->torch_how, "%s", how);
    worker->torch_offered = true;
    worker->torch_rank = rank;
  }
}

void opc_workers_offer_installed(opc_workers_t *workers, const opc_torches_t *torches) {
  for (size_t i = 0; i < torches->count; i++) {
    const opc_torch_t *torch = &torches->items[i];
    opc_workers_offer(workers, torch->root, torch->version, torch->how, i + 1);
  }
}

opc_status_t opc_workers_add(opc_workers_t *workers, const char *path, opc_error_t *error) {
  char *real = realpath(path, NULL);
  if (!real) return OPC_OK; /* a link to a tree that is gone */
  for (size_t i = 0; i < workers->count; i++) {
    if (strcmp(workers->items[i].real, real) == 0) {
      free(real);
      return OPC_OK;
    }
  }
  if (workers->count == OPC_WORKERS) {
    free(real);
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "more than %d workers, %s among them", OPC_WORKERS, path);
  }
  opc_worker_candidate_t *worker = &workers->items[workers->count++];
  worker->real = real;
  worker->program = opc_string_copy(path);
  if (!worker->program) return opc_out_of_memory(error);
  worker_list_describe(worker);
  return OPC_OK;
}

static int by_version(const void *a, const void *b) { return strverscmp(*(char *const *)a, *(char *const *)b); }

static opc_status_t add_matching(const char *folder, const char *name, opc_workers_t *out, opc_error_t *error) {
  char pattern[PATH_MAX];
  OPC_SCOPED(globfree) glob_t found = {0};
  snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
  if (glob(pattern, 0, NULL, &found) != 0) return OPC_OK;
  qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_version); /* 2.6 before 2.10 */
  for (size_t i = 0; i < found.gl_pathc; i++) OPC_RETURN_IF_ERROR(opc_workers_add(out, found.gl_pathv[i], error));
  return OPC_OK;
}

opc_status_t opc_workers_find(const char *folder, opc_workers_t *out, opc_error_t *error) {
  memset(out, 0, sizeof *out);
  opc_status_t status = add_matching(folder, "opcheck-worker", out, error);
  if (status != OPC_OK || (status = add_matching(folder, "opcheck-worker-*", out, error)) != OPC_OK)
    opc_workers_clear(out);
  return status;
}

void opc_workers_clear(opc_workers_t *workers) {
  for (size_t i = 0; i < workers->count; i++) {
    free(workers->items[i].program);
    free(workers->items[i].real);
  }
  memset(workers, 0, sizeof *workers);
}
