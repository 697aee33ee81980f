#include "supervise/process/worker_find.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspect/facts.h"
#include "inspect/library_search.h"

#define RUNTIME "libcudart.so."
#define INSTALL "install CUDA's wheels with scripts/setup --torch=%s --full"

/* The major version of the runtime that a library needs; 0: none. */
static int runtime_major(const char *path) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  opc_error_t ignored;
  int major = 0;
  if (opc_elf_open(path, &file, &ignored) != OPC_OK) return 0;
  for (size_t i = 0; i < file->needed_count && major == 0; i++)
    if (strncmp(file->needed[i], RUNTIME, strlen(RUNTIME)) == 0) major = atoi(file->needed[i] + strlen(RUNTIME));
  return major;
}

/* Finds the first library that libtorch_cuda needs and that is nowhere. The driver may be missing: the loader never
 * asks for it. */
static void find_missing(const char *path, const char *torch_folder, const char *version, opc_cuda_plan_t *out) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  opc_error_t why = {0};
  if (opc_elf_open(path, &file, &why) != OPC_OK) {
    snprintf(out->why, sizeof out->why, "libtorch_cuda cannot be read (%.200s): " INSTALL, why.message, version);
    return;
  }
  for (size_t i = 0; i < file->needed_count && out->why[0] == '\0'; i++) {
    opc_library_place_t place;
    opc_library_find(file, file->needed[i], torch_folder, &place);
    if (place.how == OPC_FOUND_NOWHERE)
      snprintf(out->why, sizeof out->why, "libtorch_cuda needs %.100s, which is not installed: " INSTALL,
               file->needed[i], version);
  }
}

/* Looks in bin/../lib/opcheck-c, as for the library that `opcheck-c record` preloads. */
static opc_status_t find_wrappers(opc_cuda_plan_t *out, opc_error_t *error) {
  char self[PATH_MAX];
  opc_program_folder(self);
  OPC_SCOPED(opc_scope_free)
  char *beside = opc_string_format("%s/../lib/opcheck-c/libopcheck-cudart.so.%d", self, out->major);
  if (!beside) return opc_out_of_memory(error);
  OPC_SCOPED(opc_scope_free) char *real = realpath(beside, NULL);
  if (!real) {
    snprintf(out->why, sizeof out->why, "opcheck-c was built without its wrappers of CUDA %d's runtime (no %.300s): %s",
             out->major, beside,
             out->major == 12
                 ? "scripts/setup fetches the headers that they are built from, if CMake's OPC_CUDA is not "
                   "OFF"
                 : "build it with an nvcc of that version, CMake's OPC_CUDA=ON");
  } else if (strpbrk(real, " :")) {
    snprintf(out->why, sizeof out->why,
             "%.300s cannot be preloaded, because its name has a space or a colon: move opcheck-c elsewhere", real);
  } else {
    out->wrappers = real;
    real = NULL;
  }
  return OPC_OK;
}

static opc_status_t plan_for(const char *program, const char *folder, opc_cuda_plan_t *out, opc_error_t *error) {
  char path[PATH_MAX + 32], version[16];
  *out = (opc_cuda_plan_t){0};
  if (folder[0] == '\0') {
    snprintf(out->why, sizeof out->why, "the libtorch of %.200s is not found: name it with --torch", program);
    return OPC_OK;
  }
  snprintf(path, sizeof path, "%s/libc10_cuda.so", folder);
  out->major = runtime_major(path);
  if (out->major == 0) {
    snprintf(out->why, sizeof out->why,
             "this libtorch is CPU-only (%.300s): name one that is built for CUDA with --torch", folder);
    return OPC_OK;
  }
  snprintf(path, sizeof path, "%s/libtorch_cuda.so", folder);
  opc_torch_version_of_lib(folder, version);
  if (version[0] == '\0') snprintf(version, sizeof version, "VERSION"); /* for messages */
  find_missing(path, folder, version, out);
  out->usable = out->why[0] == '\0';
  return out->usable ? find_wrappers(out, error) : OPC_OK;
}

opc_status_t opc_cuda_plan(const opc_worker_plan_t *worker, opc_cuda_plan_t *out, opc_error_t *error) {
  return plan_for(worker->program, worker->torch_folder, out, error);
}

opc_status_t opc_cuda_plan_candidate(const opc_worker_candidate_t *worker, opc_cuda_plan_t *out, opc_error_t *error) {
  return plan_for(worker->real, worker->torch_folder, out, error);
}

opc_status_t opc_cuda_architecture_check(const char *name, opc_error_t *error) {
  OPC_SCOPED(opc_text_clear) opc_text_t all = {0};
  bool found = false;
  for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++) {
    found |= strcmp(opc_simulated_architectures[i].name, name) == 0;
    opc_text_addf(&all, "%s%s", all.length > 0 ? ", " : "", opc_simulated_architectures[i].name);
  }
  if (!found)
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--cuda-arch %.40s: no device of that architecture is simulated; there are %s", name,
                         opc_text_c(&all));
  return OPC_OK;
}

void opc_cuda_plan_clear(opc_cuda_plan_t *plan) {
  free(plan->wrappers);
  *plan = (opc_cuda_plan_t){0};
}

/* Adds one for each architecture that the library contains code for. */
static void count_served(const char *path, size_t served[OPC_SIMULATED_ARCHITECTURES]) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  OPC_SCOPED(opc_facts_clear) opc_facts_t facts = {0};
  if (opc_elf_open(path, &file, NULL) != OPC_OK) return;
  if (opc_facts_read(file, &facts, NULL) == OPC_OK && !facts.gpu.damaged) {
    for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++)
      served[i] += opc_gpu_codes_serve(&facts.gpu, opc_simulated_architectures[i].number);
  }
}

const char *opc_architecture_choose(const char *const *libraries, size_t count) {
  size_t served[OPC_SIMULATED_ARCHITECTURES] = {0}, usual = 0, best = 0;
  for (size_t i = 0; i < count; i++) count_served(libraries[i], served);
  for (size_t i = 0; i < OPC_SIMULATED_ARCHITECTURES; i++) {
    if (strcmp(opc_simulated_architectures[i].name, OPC_CUDA_ARCHITECTURE_USUAL) == 0) usual = i;
    if (served[i] > served[best]) best = i;
  }
  return served[best] > served[usual] ? opc_simulated_architectures[best].name : NULL;
}
