#include "inspect/package.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "inspect/facts.h"
#include "inspect/library_search.h"

static const uint64_t largest_total = UINT64_C(16)
                                      << 30; /* unpacked size: anything larger is a mistake or malicious, not a wheel */

static bool is_zip(const char *path) {
  struct stat about;
  char start[4] = "";
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool zip = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                   read(fd, start, sizeof start) == (ssize_t)sizeof start && memcmp(start, "PK\3\4", sizeof start) == 0;
  if (fd >= 0) (void)close(fd);
  return zip;
}

/* Whether it stays inside the target folder. */
static bool is_safe(const char *name) {
  if (*name == '\0' || *name == '/') return false;
  for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL) {
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
  }
  return true;
}

/* "x.so", "x.so.1.2", the samples and recipes next to them, and the files that library_error.h reads. */
static bool is_wanted(const char *name) {
  const char *base = opc_base_name(name), *so = strstr(base, ".so");
  const bool library = so && (so[3] == '\0' || (so[3] == '.' && strspn(so + 3, ".0123456789") == strlen(so + 3)));
  const bool inputs = strstr(name, ".samples.json") || strstr(name, ".recipes.json");
  return library || inputs || strstr(name, ".dist-info/METADATA") || strstr(name, ".dist-info/RECORD");
}

static opc_status_t make_folders(char *path, size_t from, opc_error_t *error) {
  for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
    if (!made) (void)opc_error_set(error, OPC_ERR_IO, "cannot make the folder %s: %s", path, strerror(errno));
    *slash = '/';
    if (!made) return OPC_ERR_IO;
  }
  return OPC_OK;
}

static opc_status_t copy_out(zip_file_t *entry, FILE *file, const char *name, uint64_t *left, opc_error_t *error) {
  char block[1 << 16];
  zip_int64_t got;
  while ((got = zip_fread(entry, block, sizeof block)) > 0) {
    if ((uint64_t)got > *left)
      return opc_error_set(error, OPC_ERR_IO, "it unpacks to more than %llu GiB",
                           (unsigned long long)(largest_total >> 30));
    *left -= (uint64_t)got;
    if (fwrite(block, 1, (size_t)got, file) != (size_t)got)
      return opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", name, strerror(errno));
  }
  return got == 0 ? OPC_OK
                  : opc_error_set(error, OPC_ERR_IO, "%s in it is damaged: %s", name, zip_file_strerror(entry));
}

static void scope_zip(zip_t **archive) { zip_discard(*archive); }

static void scope_zip_file(zip_file_t **entry) {
  if (*entry) (void)zip_fclose(*entry);
}

static opc_status_t unpack_entry(zip_t *archive, zip_uint64_t index, const char *name, const char *folder,
                                 uint64_t *left, opc_error_t *error) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return opc_error_set(error, OPC_ERR_IO, "the name %.100s… is too long", name);
  OPC_RETURN_IF_ERROR(make_folders(path, strlen(folder) + 1, error));
  OPC_SCOPED(scope_zip_file) zip_file_t *entry = zip_fopen_index(archive, index, 0);
  OPC_SCOPED(opc_scope_fclose)
  FILE *file = fopen(path, "wxe"); /* x: a duplicate name must not overwrite an existing file */
  if (!entry) return opc_error_set(error, OPC_ERR_IO, "%s in it cannot be read: %s", name, zip_strerror(archive));
  if (!file) return opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  OPC_RETURN_IF_ERROR(copy_out(entry, file, name, left, error));
  FILE *whole = file;
  file = NULL;
  return fclose(whole) == 0 ? OPC_OK : opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", path, strerror(errno));
}

/* Unpacks a wheel's shared libraries and metadata into folder, which must exist. */
static opc_status_t unpack(const char *path, const char *folder, opc_error_t *error) {
  int code = 0;
  uint64_t left = largest_total;
  OPC_SCOPED(scope_zip) zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
  if (!archive) {
    zip_error_t why;
    zip_error_init_with_code(&why, code);
    (void)opc_error_set(error, OPC_ERR_IO, "it cannot be unpacked: %s", zip_error_strerror(&why));
    zip_error_fini(&why);
    return OPC_ERR_IO;
  }
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; i++) {
    const char *name = zip_get_name(archive, (zip_uint64_t)i, 0);
    if (!name || !is_safe(name) || !is_wanted(name)) continue;
    OPC_RETURN_IF_ERROR(unpack_entry(archive, (zip_uint64_t)i, name, folder, &left, error));
  }
  return OPC_OK;
}

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

static int package_remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  (void)kind;
  (void)where;
  return remove(path);
}

static void remove_all(void) {
  for (unpacked_t *at = unpacked_all; at && getpid() == owner; at = at->next)
    (void)nftw(at->folder, package_remove_one, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
  while (unpacked_all) {
    unpacked_t *next = unpacked_all->next;
    free(unpacked_all->folder);
    free(unpacked_all);
    unpacked_all = next;
  }
  while (kept_names) {
    kept_name_t *next = kept_names->next;
    free(kept_names);
    kept_names = next;
  }
}

static const char *package_keep(const char *text) {
  kept_name_t *name = malloc(sizeof *name + strlen(text) + 1);
  if (!name) return NULL;
  strcpy(name->text, text);
  name->next = kept_names;
  kept_names = name;
  return name->text;
}

static opc_status_t unpack_once(const char *package, const unpacked_t **out, opc_error_t *error) {
  for (*out = unpacked_all; *out; *out = (*out)->next) {
    if (strcmp((*out)->package, package) == 0) return OPC_OK;
  }
  const char *place = getenv("TMPDIR");
  OPC_SCOPED(opc_scope_free) unpacked_t *made = malloc(sizeof *made + strlen(package) + 1);
  OPC_SCOPED(opc_scope_free)
  char *folder = opc_string_format("%s/opcheck-c-wheel-XXXXXX", place && *place != '\0' ? place : "/tmp");
  if (!made || !folder) return opc_out_of_memory(error);
  if (!mkdtemp(folder))
    return opc_error_set(error, OPC_ERR_IO, "cannot make a temporary folder %s: %s; set TMPDIR", folder,
                         strerror(errno));
  if (!unpacked_all) {
    owner = getpid();
    (void)atexit(remove_all);
  }
  /* Recorded before unpacking, so that a partly unpacked package is removed too. */
  strcpy(made->package, package);
  OPC_MOVE(&made->folder, folder);
  made->next = unpacked_all;
  OPC_MOVE(&unpacked_all, made);
  *out = unpacked_all;
  if (unpack(package, unpacked_all->folder, error) != OPC_OK) return opc_error_prefix(error, "%s", package);
  return OPC_OK;
}

const char *opc_package_file(const char *name) {
  char path[PATH_MAX], file[PATH_MAX];
  struct stat about;
  opc_error_t ignored;
  if (stat(name, &about) == 0 || errno != ENOTDIR || snprintf(path, sizeof path, "%s", name) >= (int)sizeof path)
    return name;
  /* A prefix of the path is a file, perhaps a wheel. */
  for (char *slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
    const unpacked_t *unpacked = NULL;
    *slash = '\0';
    if (stat(path, &about) != 0) continue;
    if (!is_zip(path) || unpack_once(path, &unpacked, &ignored) != OPC_OK) return name;
    if (snprintf(file, sizeof file, "%s/%s", unpacked->folder, name + (slash - path) + 1) >= (int)sizeof file)
      return name;
    const char *kept = package_keep(file);
    return kept ? kept : name;
  }
  return name;
}

/* ---- a package's contents ---- */

bool opc_package_is(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && (S_ISDIR(about.st_mode) || (S_ISREG(about.st_mode) && is_zip(path)));
}

typedef struct found {
  char **paths;
  size_t count;
  bool failed; /* out of memory */
} found_t;
static found_t *finding; /* nftw passes no context */

static bool registers_operators(const char *path) {
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  OPC_SCOPED(opc_facts_clear) opc_facts_t facts = {0};
  opc_error_t ignored;
  return opc_elf_open(path, &file, &ignored) == OPC_OK && opc_facts_read(file, &facts, &ignored) == OPC_OK &&
         opc_facts_registers(&facts);
}

static int note_library(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  /* libtorch's own libraries register operators too, but are not to be checked here. */
  if (kind != FTW_F || !strstr(path + where->base, ".so") || opc_library_is_torch(path + where->base) ||
      !registers_operators(path))
    return 0;
  finding->failed |= !OPC_ARRAY_GROW(finding->paths, finding->count);
  if (finding->failed) return 1;
  char *copy = opc_string_copy(path);
  finding->failed |= !copy;
  if (copy) finding->paths[finding->count++] = copy;
  return finding->failed;
}

static int package_compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void found_clear(found_t *found) {
  for (size_t i = 0; i < found->count; i++) free(found->paths[i]);
  free(found->paths);
}

opc_status_t opc_package_each(const char *path,
                              opc_status_t (*visit)(const char *library, void *context, opc_error_t *error),
                              void *context, opc_error_t *error) {
  OPC_SCOPED(found_clear) found_t found = {0};
  const unpacked_t *unpacked = NULL;
  if (is_zip(path)) OPC_RETURN_IF_ERROR(unpack_once(path, &unpacked, error));
  const char *folder = unpacked ? unpacked->folder : path;
  finding = &found;
  (void)nftw(folder, note_library, OPEN_FOLDERS, FTW_PHYS);
  finding = NULL;
  if (found.failed) return opc_out_of_memory(error);
  if (found.count > 0) qsort(found.paths, found.count, sizeof *found.paths, package_compare);
  for (size_t i = 0; i < found.count; i++) {
    const char *rest = found.paths[i] + strlen(folder) + strspn(found.paths[i] + strlen(folder), "/");
    OPC_SCOPED(opc_scope_free)
    char *name = opc_string_format("%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/", rest);
    const char *kept = name ? package_keep(name) : NULL;
    if (!kept) return opc_out_of_memory(error);
    OPC_RETURN_IF_ERROR(visit(kept, context, error));
  }
  return OPC_OK;
}
