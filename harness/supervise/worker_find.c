#include "supervise/worker_find.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "inspect/elf_file.h"

/* The numbers moved from the API header to headeronly in 2.8; a small root may have the Python file only. */
static const char *const version_files[] = {"include/torch/headeronly/version.h", "include/torch/csrc/api/include/torch/version.h", "version.py"};

static void read_version(const char *root, char out[16]) {
  out[0] = '\0';
  for (size_t i = 0; i < sizeof version_files / sizeof version_files[0] && out[0] == '\0'; i++) {
    char path[PATH_MAX], line[512];
    int major = -1, minor = -1;
    snprintf(path, sizeof path, "%s/%s", root, version_files[i]);
    FILE *file = fopen(path, "re");
    if (file == NULL) continue;
    while ((major < 0 || minor < 0) && fgets(line, sizeof line, file) != NULL) {
      (void)sscanf(line, "#define TORCH_VERSION_MAJOR %d", &major);
      (void)sscanf(line, "#define TORCH_VERSION_MINOR %d", &minor);
      (void)sscanf(line, "__version__ = '%d.%d", &major, &minor);
    }
    fclose(file);
    if (major >= 0 && minor >= 0) snprintf(out, 16, "%d.%d", major % 1000, minor % 1000);
  }
}

/* ROOT/lib, and what wheels put beside torch: site-packages/nvidia/PART/lib. */
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

/* "opcheck-worker-2.12" in front of "opcheck-worker", beside the program in front of libexec. NULL: none; *where gets the folders that were looked at. */
static char *find_worker(const char *wanted, opc_text_t *where) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return NULL;
  self[length] = '\0';
  char *slash = strrchr(self, '/');
  if (slash != NULL) *slash = '\0';
  static const char *const folders[] = {"", "/../libexec/opcheck-c"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    for (int exact = wanted[0] != '\0' ? 1 : 0; exact >= 0; exact--) {
      char *path = opc_string_format("%s%s/opcheck-worker%s%s", self, folders[i], exact ? "-" : "", exact ? wanted : "");
      if (path == NULL || access(path, X_OK) == 0) return path;
      free(path);
    }
    opc_text_addf(where, "%s%s%s", i > 0 ? " and " : "", self, folders[i]);
  }
  return NULL;
}

opc_status_t opc_worker_plan(const char *worker, const char *torch_root, opc_worker_plan_t *out, opc_error_t *error) {
  opc_status_t status = OPC_OK;
  opc_text_t where = {0};
  memset(out, 0, sizeof *out);
  if (torch_root != NULL) {
    char probe[PATH_MAX];
    snprintf(probe, sizeof probe, "%s/lib/libtorch_cpu.so", torch_root);
    if (access(probe, R_OK) != 0) {
      return opc_error_set(error, OPC_ERR_USAGE, "--torch %s: no libtorch there (%s: %s); give the folder that has libtorch's lib/, such as site-packages/torch",
                           torch_root, probe, strerror(errno));
    }
    read_version(torch_root, out->wanted);
    out->library_path = library_path(torch_root);
    if (out->library_path == NULL) status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
  }
  if (status == OPC_OK) {
    out->program = worker != NULL ? opc_string_copy(worker) : find_worker(out->wanted, &where);
    if (out->program == NULL || access(out->program, X_OK) != 0) {
      status = opc_error_set(error, OPC_ERR_NOT_FOUND, "no opcheck-worker%s%s in %s: build it for the libtorch that is wanted",
                             out->wanted[0] != '\0' ? " for libtorch " : "", out->wanted, worker != NULL ? worker : opc_text_c(&where));
    }
  }
  opc_text_clear(&where);
  if (status != OPC_OK) opc_worker_plan_clear(out);
  return status;
}

opc_status_t opc_worker_plan_check(const opc_worker_plan_t *plan, const char *torch_version, opc_error_t *error) {
  size_t length = strlen(plan->wanted);
  if (length == 0 || (strncmp(torch_version, plan->wanted, length) == 0 && torch_version[length] == '.')) return OPC_OK;
  return opc_error_set(error, OPC_ERR_NOT_FOUND, "--torch names libtorch %s, and %s is built for libtorch %s: build opcheck-worker for %s (as opcheck-worker-%s beside it)",
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
  read_version(root, version);
}

void opc_worker_plan_clear(opc_worker_plan_t *plan) {
  free(plan->program);
  free(plan->library_path);
  memset(plan, 0, sizeof *plan);
}
