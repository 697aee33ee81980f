#include "inspect/package.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "inspect/facts.h"
#include "inspect/library_search.h"
#include "inspect/unpack.h"

enum { OPEN_FOLDERS = 32 };

/* ---- unpacked packages ---- */

typedef struct unpacked {
  struct unpacked *next;
  char *folder;
  char package[];
} unpacked_t;
static unpacked_t *unpacked_all;
static pid_t owner; /* process that owns the folders: a child leaves them alone */

typedef struct kept_name {
  struct kept_name *next;
  char text[];
} kept_name_t;
static kept_name_t *kept_names;

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  (void)kind;
  (void)where;
  return remove(path);
}

static void remove_all(void) {
  for (unpacked_t *at = unpacked_all; at != NULL && getpid() == owner; at = at->next)
    (void)nftw(at->folder, remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
  while (unpacked_all != NULL) {
    unpacked_t *next = unpacked_all->next;
    free(unpacked_all->folder);
    free(unpacked_all);
    unpacked_all = next;
  }
  while (kept_names != NULL) {
    kept_name_t *next = kept_names->next;
    free(kept_names);
    kept_names = next;
  }
}

static const char *keep(const char *text) {
  kept_name_t *name = malloc(sizeof *name + strlen(text) + 1);
  if (name == NULL) return NULL;
  strcpy(name->text, text);
  name->next = kept_names;
  kept_names = name;
  return name->text;
}

static opc_status_t unpack_once(const char *package, const unpacked_t **out, opc_error_t *error) {
  for (*out = unpacked_all; *out != NULL; *out = (*out)->next) {
    if (strcmp((*out)->package, package) == 0) return OPC_OK;
  }
  const char *place = getenv("TMPDIR");
  unpacked_t *made = malloc(sizeof *made + strlen(package) + 1);
  char *folder = opc_string_format("%s/opcheck-c-wheel-XXXXXX", place != NULL && *place != '\0' ? place : "/tmp");
  opc_status_t status = made != NULL && folder != NULL ? OPC_OK : opc_out_of_memory(error);
  if (status == OPC_OK && mkdtemp(folder) == NULL) {
    status =
        opc_error_set(error, OPC_ERR_IO, "cannot make a temporary folder %s: %s; set TMPDIR", folder, strerror(errno));
  }
  if (status != OPC_OK) {
    free(made);
    free(folder);
    return status;
  }
  if (unpacked_all == NULL) {
    owner = getpid();
    (void)atexit(remove_all);
  }
  /* Recorded before unpacking, so that a partly unpacked package is removed too. */
  strcpy(made->package, package);
  made->folder = folder;
  made->next = unpacked_all;
  unpacked_all = made;
  *out = made;
  status = opc_unpack(package, folder, error);
  return status == OPC_OK ? OPC_OK : opc_error_prefix(error, "%s", package);
}

const char *opc_package_file(const char *name) {
  char path[PATH_MAX], file[PATH_MAX];
  struct stat about;
  opc_error_t ignored;
  if (stat(name, &about) == 0 || errno != ENOTDIR || snprintf(path, sizeof path, "%s", name) >= (int)sizeof path)
    return name;
  /* A prefix of the path is a file, perhaps a wheel. */
  for (char *slash = strrchr(path, '/'); slash != NULL && slash != path; slash = strrchr(path, '/')) {
    const unpacked_t *unpacked = NULL;
    *slash = '\0';
    if (stat(path, &about) != 0) continue;
    if (!opc_is_zip(path) || unpack_once(path, &unpacked, &ignored) != OPC_OK) return name;
    if (snprintf(file, sizeof file, "%s/%s", unpacked->folder, name + (slash - path) + 1) >= (int)sizeof file)
      return name;
    const char *kept = keep(file);
    return kept != NULL ? kept : name;
  }
  return name;
}

/* ---- a package's contents ---- */

bool opc_package_is(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && (S_ISDIR(about.st_mode) || (S_ISREG(about.st_mode) && opc_is_zip(path)));
}

typedef struct found {
  char **paths;
  size_t count;
  bool failed; /* out of memory */
} found_t;
static found_t *finding; /* nftw passes no context */

static bool registers_operators(const char *path) {
  opc_elf_file_t *file = NULL;
  opc_facts_t facts = {0};
  opc_error_t ignored;
  bool registers = false;
  if (opc_elf_open(path, &file, &ignored) == OPC_OK && opc_facts_read(file, &facts, &ignored) == OPC_OK)
    registers = opc_facts_registers(&facts);
  opc_facts_clear(&facts);
  opc_elf_close(file);
  return registers;
}

static int note_library(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  /* libtorch's own libraries register operators too, but are not to be checked here. */
  if (kind != FTW_F || strstr(path + where->base, ".so") == NULL || opc_library_is_torch(path + where->base) ||
      !registers_operators(path))
    return 0;
  finding->failed |= !OPC_ARRAY_GROW(finding->paths, finding->count);
  if (finding->failed) return 1;
  char *copy = opc_string_copy(path);
  finding->failed |= copy == NULL;
  if (copy != NULL) finding->paths[finding->count++] = copy;
  return finding->failed;
}

static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

opc_status_t opc_package_each(const char *path,
                              opc_status_t (*visit)(const char *library, void *context, opc_error_t *error),
                              void *context, opc_error_t *error) {
  found_t found = {0};
  const unpacked_t *unpacked = NULL;
  opc_status_t status = opc_is_zip(path) ? unpack_once(path, &unpacked, error) : OPC_OK;
  const char *folder = unpacked != NULL ? unpacked->folder : path;
  finding = &found;
  if (status == OPC_OK) (void)nftw(folder, note_library, OPEN_FOLDERS, FTW_PHYS);
  finding = NULL;
  if (found.failed) status = opc_out_of_memory(error);
  if (found.count > 0) qsort(found.paths, found.count, sizeof *found.paths, compare);
  for (size_t i = 0; status == OPC_OK && i < found.count; i++) {
    const char *rest = found.paths[i] + strlen(folder) + strspn(found.paths[i] + strlen(folder), "/");
    char *name = opc_string_format("%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", rest);
    const char *kept = name != NULL ? keep(name) : NULL;
    free(name);
    status = kept != NULL ? visit(kept, context, error) : opc_out_of_memory(error);
  }
  for (size_t i = 0; i < found.count; i++) free(found.paths[i]);
  free(found.paths);
  return status;
}
