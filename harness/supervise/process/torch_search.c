#include "supervise/process/worker_find.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/owned.h"

/* Version 2.8 moved the numbers from the API header to headeronly. A small root may have only the Python file. */
static const char *const version_files[] = {"include/torch/headeronly/version.h",
                                            "include/torch/csrc/api/include/torch/version.h", "version.py"};

void opc_torch_version_read(const char *root, char out[16]) {
  out[0] = '\0';
  for (size_t i = 0; i < sizeof version_files / sizeof version_files[0] && out[0] == '\0'; i++) {
    char path[PATH_MAX], line[512];
    int major = -1, minor = -1;
    snprintf(path, sizeof path, "%s/%s", root, version_files[i]);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    while ((major < 0 || minor < 0) && fgets(line, sizeof line, file)) {
      (void)sscanf(line, "#define TORCH_VERSION_MAJOR %d", &major);
      (void)sscanf(line, "#define TORCH_VERSION_MINOR %d", &minor);
      (void)sscanf(line, "__version__ = '%d.%d", &major, &minor);
    }
    fclose(file);
    if (major >= 0 && minor >= 0) snprintf(out, 16, "%d.%d", major % 1000, minor % 1000);
  }
}

void opc_torch_version_of_lib(const char *folder, char out[16]) {
  char root[PATH_MAX + 4];
  snprintf(root, sizeof root, "%s/..", folder);
  if (folder[0] != '\0') opc_torch_version_read(root, out);
  else out[0] = '\0';
}

void opc_program_folder(char out[PATH_MAX]) {
  const ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
  out[length > 0 ? length : 0] = '\0';
  if (length > 0) *strrchr(out, '/') = '\0';
}

static void torch_search_add(opc_torches_t *torches, const char *root, const char *how) {
  char probe[PATH_MAX + 32];
  OPC_SCOPED(opc_scope_free) char *real = realpath(root, NULL);
  snprintf(probe, sizeof probe, "%s/lib/libtorch_cpu.so", root);
  bool wanted = real && strlen(real) < PATH_MAX && torches->count < OPC_TORCHES && access(probe, R_OK) == 0;
  for (size_t i = 0; wanted && i < torches->count; i++) wanted = strcmp(torches->items[i].root, real) != 0;
  if (wanted) {
    opc_torch_t *torch = &torches->items[torches->count++];
    snprintf(torch->root, sizeof torch->root, "%s", real);
    snprintf(torch->how, sizeof torch->how, "%s", how);
    opc_torch_version_read(torch->root, torch->version);
  }
}

static void add_matches(opc_torches_t *torches, const char *how, const char *folder, const char *pattern) {
  char whole[PATH_MAX + 64];
  glob_t found = {0};
  snprintf(whole, sizeof whole, "%s/%s", folder, pattern);
  if (glob(whole, GLOB_ONLYDIR, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; i++) torch_search_add(torches, found.gl_pathv[i], how);
  }
  globfree(&found);
}

/* prefix: what Python calls sys.prefix. Debian's own packages are in dist-packages. */
static void add_prefix(opc_torches_t *torches, const char *prefix, const char *how) {
  add_matches(torches, how, prefix, "lib/python3*/site-packages/torch");
  add_matches(torches, how, prefix, "lib/python3*/dist-packages/torch");
  add_matches(torches, how, prefix, "local/lib/python3*/dist-packages/torch");
}

/* SITE/opcheck_c/bin/opcheck-c: torch is in SITE too. */
static void add_beside_program(opc_torches_t *torches) {
  static const char *const names[] = {"/site-packages/", "/dist-packages/"};
  char self[PATH_MAX], root[PATH_MAX + 8];
  opc_program_folder(self);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *at = strstr(self, names[i]);
    if (!at) continue;
    snprintf(root, sizeof root, "%.*storch", (int)(at - self + (ptrdiff_t)strlen(names[i])), self);
    torch_search_add(torches, root, "beside opcheck-c");
  }
}

static void add_environment(opc_torches_t *torches, const char *variable) {
  const char *prefix = getenv(variable);
  char how[64];
  if (!prefix || prefix[0] == '\0') return;
  snprintf(how, sizeof how, "in %s", variable);
  add_prefix(torches, prefix, how);
}

/* A link to another Python has that one's packages, unless it belongs to a virtual environment. */
static void add_python(opc_torches_t *torches, const char *folder) {
  char path[PATH_MAX + 16], prefix[PATH_MAX + 16], probe[PATH_MAX + 64], how[PATH_MAX + 32];
  snprintf(path, sizeof path, "%s/python3", folder);
  if (access(path, X_OK) != 0) return;
  snprintf(how, sizeof how, "of %s", path);
  snprintf(prefix, sizeof prefix, "%s/..", folder);
  add_prefix(torches, prefix, how);
  snprintf(probe, sizeof probe, "%s/pyvenv.cfg", prefix);
  char *real = access(probe, F_OK) != 0 ? realpath(path, NULL) : NULL, *slash = real ? strrchr(real, '/') : NULL;
  if (slash) {
    snprintf(prefix, sizeof prefix, "%.*s/..", (int)(slash - real), real);
    add_prefix(torches, prefix, how);
  }
  free(real);
}

static void add_path(opc_torches_t *torches) {
  for (const char *list = getenv("PATH"); list && *list != '\0';) {
    char folder[PATH_MAX];
    const size_t length = strcspn(list, ":");
    if (length > 0 && length < sizeof folder) {
      snprintf(folder, sizeof folder, "%.*s", (int)length, list);
      add_python(torches, folder);
    }
    list += length + (list[length] == ':');
  }
}

static void add_user(opc_torches_t *torches) {
  const char *home = getenv("HOME");
  if (home && home[0] == '/')
    add_matches(torches, "in the user's packages", home, ".local/lib/python3*/site-packages/torch");
}

void opc_torches_find(opc_torches_t *out) {
  out->count = 0;
  add_beside_program(out);
  add_environment(out, "VIRTUAL_ENV");
  add_environment(out, "CONDA_PREFIX");
  add_path(out);
  add_user(out);
}
