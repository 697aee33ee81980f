#include "bridge/prepare.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "bridge/elf_needs.h"

static int note_torch_folder(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  char *folder = context;
  const char *slash = strrchr(info->dlpi_name, '/');
  if (slash == NULL || strcmp(slash + 1, "libtorch_cpu.so") != 0) return 0;
  (void)snprintf(folder, PATH_MAX, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
  return 1;
}

const char *opc_bridge_torch_folder(void) {
  static char folder[PATH_MAX];
  if (*folder == '\0') (void)dl_iterate_phdr(note_torch_folder, folder);
  return *folder != '\0' ? folder : NULL;
}

static bool is_python_symbol(const char *name) {
  if (*name == '_') name++;
  return strncmp(name, "Py", 2) == 0;
}

/* Symbols of Python that nothing in the process has; the first few of them by name. A libpython that was loaded with --preload counts. */
static size_t missing_python(const opc_elf_needs_t *needs, opc_text_t *names) {
  enum { NAMED = 3 };
  size_t count = 0;
  for (size_t i = 0; i < needs->symbol_count; i++) {
    const char *symbol = needs->symbols[i];
    if (!is_python_symbol(symbol) || dlsym(RTLD_DEFAULT, symbol) != NULL) continue;
    if (count < NAMED) opc_text_addf(names, "%s%s", count > 0 ? ", " : "", symbol);
    if (count == NAMED) opc_text_add(names, ", …");
    count++;
  }
  return count;
}

static opc_status_t check_python(const opc_elf_needs_t *needs, opc_error_t *error) {
  opc_text_t names = {0};
  const size_t count = missing_python(needs, &names);
  opc_status_t status = OPC_OK;
  if (count > 0) {
    status = opc_error_set(error, OPC_ERR_LIBRARY, "it uses %zu symbol%s of Python (%s): not loadable without an interpreter", count,
                           count > 1 ? "s" : "", opc_text_c(&names));
  }
  opc_text_clear(&names);
  return status;
}

static opc_status_t open_global(const char *folder, const char *name, opc_error_t *error) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
    return opc_error_set(error, OPC_ERR_LIBRARY, "the path of %s is too long", name);
  }
  if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL) return OPC_OK;
  const char *words = dlerror();
  return opc_error_set(error, OPC_ERR_LIBRARY, "it needs %s, which does not load: %s", name, words != NULL ? words : "no reason given");
}

static bool has_file(const char *folder, const char *name) {
  char path[PATH_MAX];
  return folder != NULL && snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && access(path, R_OK) == 0;
}

static bool is_loaded(const char *name) {
  void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
  if (handle != NULL) (void)dlclose(handle);
  return handle != NULL;
}

/* libtorch.so holds nothing: it draws in libtorch_cpu, which is there, and libtorch_cuda, which costs 0.3 s and 350 MB. */
static bool needs_cuda(const opc_elf_needs_t *needs) {
  for (size_t i = 0; i < needs->library_count; i++) {
    if (strstr(needs->libraries[i], "_cuda") != NULL || strncmp(needs->libraries[i], "libcuda", 7) == 0) return true;
  }
  return false;
}

/* Where an empty library of this name does: always for libtorch_python, which would ask for an interpreter; for libtorch.so where
 * nothing of CUDA is wanted; for others only where this libtorch is a small one that lacks them. */
static bool empty_will_do(const opc_elf_needs_t *needs, const char *name) {
  if (strcmp(name, "libtorch_python.so") == 0) return true;
  if (strcmp(name, "libtorch.so") == 0 && !needs_cuda(needs)) return true;
  return !has_file(opc_bridge_torch_folder(), name);
}

static opc_status_t provide(const opc_elf_needs_t *needs, const char *name, const char *stub_folder, opc_error_t *error) {
  if (is_loaded(name)) return OPC_OK;
  const char *torch_folder = opc_bridge_torch_folder();
  const bool of_torch = strncmp(name, "libtorch", 8) == 0 || strncmp(name, "libc10", 6) == 0;
  if (of_torch && empty_will_do(needs, name) && has_file(stub_folder, name)) return open_global(stub_folder, name, error);
  if (has_file(torch_folder, name)) return open_global(torch_folder, name, error);
  if (!of_torch) return OPC_OK; /* the loader finds it, or says that it does not */
  return opc_error_set(error, OPC_ERR_LIBRARY, "it needs %s, which this libtorch (%s) does not have", name,
                       torch_folder != NULL ? torch_folder : "of an unknown folder");
}

/* A library's own parts, which lie beside it, need libtorch as it does. */
static opc_status_t prepare(const char *path, const char *stub_folder, int depth, opc_error_t *error) {
  enum { DEEPEST = 4 }; /* libraries may need each other in a circle */
  opc_elf_needs_t needs = {0};
  const char *slash = strrchr(path, '/');
  char folder[PATH_MAX], part[PATH_MAX];
  (void)snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");

  opc_status_t status = opc_elf_needs_read(path, &needs, error);
  if (status == OPC_OK) status = check_python(&needs, error);
  for (size_t i = 0; status == OPC_OK && i < needs.library_count; i++) {
    const char *name = needs.libraries[i];
    status = provide(&needs, name, stub_folder, error);
    if (status != OPC_OK || depth == DEEPEST || is_loaded(name) || !has_file(folder, name)) continue;
    if (snprintf(part, sizeof part, "%s/%s", folder, name) >= (int)sizeof part) continue;
    status = prepare(part, stub_folder, depth + 1, error);
    if (status != OPC_OK) status = opc_error_prefix(error, "%s, which it needs", name);
  }
  opc_elf_needs_clear(&needs);
  return status;
}

opc_status_t opc_bridge_prepare(const char *library_path, const char *stub_folder, opc_error_t *error) {
  return prepare(library_path, stub_folder, 0, error);
}
