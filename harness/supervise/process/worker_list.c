#include "supervise/process/worker_list.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "inspect/elf_file.h"
#include "inspect/library_search.h"

static void describe(opc_worker_candidate_t *worker) {
  static const char name[] = "/opcheck-worker-";
  opc_elf_file_t *file = NULL;
  opc_error_t ignored;
  opc_library_place_t torch;
  const char *version = strstr(strrchr(worker->real, '/'), name);
  if (version != NULL) snprintf(worker->version, sizeof worker->version, "%s", version + sizeof name - 1);
  if (opc_elf_open(worker->real, &file, &ignored) != OPC_OK) return; /* starting this worker will report the error */
  opc_library_find(file, "libtorch_cpu.so", NULL, &torch);
  if (torch.how != OPC_FOUND_NOWHERE)
    snprintf(worker->torch_folder, sizeof worker->torch_folder, "%.*s", (int)(strrchr(torch.path, '/') - torch.path),
             torch.path);
  opc_elf_close(file);
}

static opc_status_t add_worker(opc_workers_t *workers, const char *path, opc_error_t *error) {
  char *real = realpath(path, NULL);
  if (real == NULL) return OPC_OK; /* a link to a tree that is gone */
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
  if (worker->program == NULL) return opc_out_of_memory(error);
  describe(worker);
  return OPC_OK;
}

opc_status_t opc_workers_find(const char *folder, opc_workers_t *out, opc_error_t *error) {
  static const char *const patterns[] = {"opcheck-worker", "opcheck-worker-*"};
  opc_status_t status = OPC_OK;
  memset(out, 0, sizeof *out);
  for (size_t p = 0; status == OPC_OK && p < sizeof patterns / sizeof *patterns; p++) {
    char pattern[PATH_MAX];
    glob_t found = {0};
    snprintf(pattern, sizeof pattern, "%s/%s", folder, patterns[p]);
    if (glob(pattern, 0, NULL, &found) == 0) {
      for (size_t i = 0; status == OPC_OK && i < found.gl_pathc; i++)
        status = add_worker(out, found.gl_pathv[i], error);
    }
    globfree(&found);
  }
  if (status != OPC_OK) opc_workers_clear(out);
  return status;
}

void opc_workers_clear(opc_workers_t *workers) {
  for (size_t i = 0; i < workers->count; i++) {
    free(workers->items[i].program);
    free(workers->items[i].real);
  }
  memset(workers, 0, sizeof *workers);
}
