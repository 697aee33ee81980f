#include "inspect/library_search.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds a library needed by another one of the same installed package, in any folder of that package. Python loads such
 * a library first, by path, so no file says where it is.
 *
 * Ownership: the caller's buffer. Threads: one; fork: no shared state. */
enum { LEVELS = 8, OPEN_FOLDERS = 32, ENTRIES_MAX = 50000 };

/* Folders with installed packages or an unpacked wheel contain the packages' metadata (*.dist-info). */
static bool holds_packages(const char *folder) {
  char pattern[PATH_MAX];
  glob_t found = {0};
  bool holds = snprintf(pattern, sizeof pattern, "%s/*.dist-info", folder) < (int)sizeof pattern &&
               glob(pattern, GLOB_ONLYDIR, NULL, &found) == 0;
  globfree(&found);
  return holds;
}

/* Replaces the path of a file by the topmost folder of its package. */
static bool package_of(char path[PATH_MAX]) {
  char *end = strrchr(path, '/');
  for (int level = 0; level < LEVELS && end && end != path; level++) {
    *end = '\0';
    char *above = strrchr(path, '/');
    if (!above || above == path) return false;
    *above = '\0';
    const bool found = holds_packages(path);
    *above = '/';
    if (found) return true;
    end = above;
  }
  return false;
}

typedef struct search {
  const char *name;
  char *out;
  int hits, entries;
} search_t;
static search_t *searching; /* nftw passes no context */

static int library_search_see(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  if (++searching->entries > ENTRIES_MAX) return 1;
  if (kind != FTW_F || strcmp(path + where->base, searching->name) != 0) return 0;
  if (snprintf(searching->out, PATH_MAX, "%s", path) < PATH_MAX) searching->hits++;
  return searching->hits > 1;
}

/* library: a library of the package. False: it belongs to no package, or the package has no file of that name, or
 * several. */
static bool package_search(const char *library, const char *name, char out[PATH_MAX]) {
  char folder[PATH_MAX], *real = realpath(library, NULL);
  search_t search = {.name = name, .out = out};
  bool found = real && snprintf(folder, sizeof folder, "%s", real) < (int)sizeof folder && package_of(folder);
  free(real);
  if (!found) return false;
  searching = &search;
  found = nftw(folder, library_search_see, OPEN_FOLDERS, FTW_PHYS) == 0 && search.hits == 1;
  searching = NULL;
  return found;
}

static bool is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static bool try_path(opc_library_place_t *out, opc_library_how_t how, const char *folder, const char *name) {
  if (snprintf(out->path, sizeof out->path, "%s/%s", folder, name) < (int)sizeof out->path && is_file(out->path)) {
    out->how = how;
    return true;
  }
  *out = (opc_library_place_t){0};
  return false;
}

static void folder_of(const char *path, char out[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  if (!slash) (void)snprintf(out, PATH_MAX, ".");
  else (void)snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

/* One part of a search path, with both spellings of $ORIGIN expanded. */
static void expand(const char *part, size_t length, const char *origin, char out[PATH_MAX]) {
  size_t used = 0;
  for (size_t i = 0; i < length && used + 1 < PATH_MAX;) {
    static const char *const words[] = {"${ORIGIN}", "$ORIGIN"};
    size_t skip = 0;
    for (size_t w = 0; skip == 0 && w < sizeof words / sizeof *words; w++) {
      const size_t size = strlen(words[w]);
      if (length - i >= size && strncmp(part + i, words[w], size) == 0) skip = size;
    }
    if (skip == 0) {
      out[used++] = part[i++];
      continue;
    }
    const int added = snprintf(out + used, PATH_MAX - used, "%s", origin);
    used += added > 0 && (size_t)added < PATH_MAX - used ? (size_t)added : 0;
    i += skip;
  }
  out[used] = '\0';
}

static bool try_list(opc_library_place_t *out, opc_library_how_t how, const char *list, const char *origin,
                     const char *name) {
  while (list && *list != '\0') {
    char folder[PATH_MAX];
    const size_t length = strcspn(list, ":");
    expand(list, length, origin, folder);
    if (try_path(out, how, *folder != '\0' ? folder : ".", name)) return true;
    list += length + (list[length] == ':');
  }
  return false;
}

/* ---- the system's folders ---- */

/* /etc/ld.so.cache, in ldconfig's format since glibc 2.2. */
typedef struct cache_header {
  char magic[20];
  uint32_t entries, strings_size, reserved[5];
} cache_header_t;
typedef struct cache_entry {
  int32_t flags;
  uint32_t name, path, os_version;
  uint64_t hardware;
} cache_entry_t;
_Static_assert(sizeof(cache_header_t) == 48 && sizeof(cache_entry_t) == 24, "as they lie in the file");

static const char *cache_string(const char *cache, size_t size, uint32_t offset) {
  return offset < size && memchr(cache + offset, '\0', size - offset) ? cache + offset : NULL;
}

static bool search_cache(const char *cache, size_t size, const char *name, opc_library_place_t *out) {
  static const char magic[] = "glibc-ld.so.cache1.1";
  cache_header_t header;
  if (size < sizeof header) return false;
  memcpy(&header, cache, sizeof header);
  if (memcmp(header.magic, magic, sizeof header.magic) != 0 ||
      header.entries > (size - sizeof header) / sizeof(cache_entry_t))
    return false;
  for (size_t i = 0; i < header.entries; i++) {
    cache_entry_t entry;
    memcpy(&entry, cache + sizeof header + i * sizeof entry, sizeof entry);
    const char *own = cache_string(cache, size, entry.name), *path = cache_string(cache, size, entry.path);
    if (!own || !path || strcmp(own, name) != 0 || !is_file(path)) continue;
    out->how = OPC_FOUND_SYSTEM;
    (void)snprintf(out->path, sizeof out->path, "%s", path);
    return true;
  }
  return false;
}

static bool try_cache(const char *name, opc_library_place_t *out) {
  struct stat about;
  bool found = false;
  const int fd = open("/etc/ld.so.cache", O_RDONLY | O_CLOEXEC);
  if (fd >= 0 && fstat(fd, &about) == 0 && about.st_size > 0) {
    void *cache = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (cache != MAP_FAILED) {
      found = search_cache(cache, (size_t)about.st_size, name, out);
      (void)munmap(cache, (size_t)about.st_size);
    }
  }
  if (fd >= 0) (void)close(fd);
  return found;
}

static bool try_system(const char *name, opc_library_place_t *out) {
  static const char *const folders[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
  if (try_cache(name, out)) return true;
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    if (try_path(out, OPC_FOUND_SYSTEM, folders[i], name)) return true;
  }
  return false;
}

/* Wheels install CUDA's libraries in site-packages/nvidia/PART/lib. */
static bool try_cuda(const char *torch_folder, const char *name, opc_library_place_t *out) {
  char pattern[PATH_MAX];
  glob_t found = {0};
  bool hit = false;
  if (snprintf(pattern, sizeof pattern, "%s/../../nvidia/*/lib", torch_folder) < (int)sizeof pattern &&
      glob(pattern, GLOB_ONLYDIR, NULL, &found) == 0) {
    for (size_t i = 0; !hit && i < found.gl_pathc; i++) hit = try_path(out, OPC_FOUND_CUDA, found.gl_pathv[i], name);
  }
  globfree(&found);
  return hit;
}

/* In the loader's order: RPATH counts only without a RUNPATH. */
void opc_library_find(const opc_elf_file_t *needing, const char *name, const char *torch_folder,
                      opc_library_place_t *out) {
  char origin[PATH_MAX];
  *out = (opc_library_place_t){0};
  folder_of(needing->path, origin);
  if (strchr(name, '/')) {
    if (is_file(name)) {
      out->how = OPC_FOUND_SYSTEM;
      (void)snprintf(out->path, sizeof out->path, "%s", name);
    }
    return;
  }
  if (!needing->runpath && try_list(out, OPC_FOUND_RPATH, needing->rpath, origin, name)) return;
  if (try_list(out, OPC_FOUND_LIBRARY_PATH, getenv("LD_LIBRARY_PATH"), origin, name)) return;
  if (try_list(out, OPC_FOUND_RUNPATH, needing->runpath, origin, name)) return;
  if (try_system(name, out)) return;
  if (try_path(out, OPC_FOUND_BESIDE, origin, name)) return;
  if (torch_folder && (try_path(out, OPC_FOUND_TORCH, torch_folder, name) || try_cuda(torch_folder, name, out))) return;
  const bool elsewhere = opc_library_is_accelerator(name) || opc_library_is_python(name) || opc_library_is_torch(name);
  if (!elsewhere && package_search(needing->path, name, out->path)) out->how = OPC_FOUND_PACKAGE;
  else *out = (opc_library_place_t){0};
}

void opc_library_find_by_own_path(const opc_elf_file_t *needing, const char *name, opc_library_place_t *out) {
  char origin[PATH_MAX];
  *out = (opc_library_place_t){0};
  folder_of(needing->path, origin);
  if (needing->runpath) (void)try_list(out, OPC_FOUND_RUNPATH, needing->runpath, origin, name);
  else (void)try_list(out, OPC_FOUND_RPATH, needing->rpath, origin, name);
}

const char *opc_found_words(opc_library_how_t how) {
  static const char *const words[] = {[OPC_FOUND_NOWHERE] = "not found",
                                      [OPC_FOUND_RPATH] = "by its RPATH",
                                      [OPC_FOUND_LIBRARY_PATH] = "by LD_LIBRARY_PATH",
                                      [OPC_FOUND_RUNPATH] = "by its RUNPATH",
                                      [OPC_FOUND_SYSTEM] = "in the system",
                                      [OPC_FOUND_BESIDE] = "beside it",
                                      [OPC_FOUND_PACKAGE] = "in its package",
                                      [OPC_FOUND_TORCH] = "in libtorch",
                                      [OPC_FOUND_CUDA] = "beside libtorch"};
  return words[how];
}

static bool begins_with_one_of(const char *name, const char *const *prefixes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) return true;
  }
  return false;
}

bool opc_library_is_accelerator(const char *name) {
  static const char *const prefixes[] = {
      "libtorch_cuda",  "libc10_cuda", "libtorch_nvshmem", "libcaffe2_nvrtc", "libcuda.",  "libcudart",
      "libcublas",      "libcudnn",    "libcufft",         "libcufile",       "libcurand", "libcusolver",
      "libcusparse",    "libcupti",    "libcutensor",      "libcudss",        "libnccl",   "libnv",
      "libnpp",         "libcvcuda",   "libtorch_hip",     "libc10_hip",      "libamdhip", "libamdcomgr",
      "libhsa-runtime", "libhip",      "libroc",           "librccl",         "libMIOpen", "libmiopen",
      "libtorch_xpu",   "libc10_xpu",  "libsycl",          "libze_loader",    "libccl."};
  return begins_with_one_of(name, prefixes, sizeof prefixes / sizeof *prefixes);
}

bool opc_library_is_python(const char *name) {
  static const char *const prefixes[] = {"libtorch_python.", "libpython2", "libpython3"};
  return begins_with_one_of(name, prefixes, sizeof prefixes / sizeof *prefixes);
}

bool opc_library_is_heavy(const char *name) {
  static const char *const prefixes[] = {"libtorch.so", "libtorch_cuda", "libtorch_hip", "libtorch_xpu"};
  return begins_with_one_of(name, prefixes, sizeof prefixes / sizeof *prefixes);
}

/* By full name: libtorchvision and libtorch_my_ops belong to others. */
bool opc_library_is_torch(const char *name) {
  static const char *const names[] = {"libtorch.so",         "libtorch_cpu.so",
                                      "libtorch_cuda.so",    "libtorch_cuda_linalg.so",
                                      "libtorch_python.so",  "libtorch_global_deps.so",
                                      "libtorch_nvshmem.so", "libtorch_hip.so",
                                      "libtorch_xpu.so",     "libc10.so",
                                      "libc10_cuda.so",      "libc10_hip.so",
                                      "libc10_xpu.so",       "libshm.so",
                                      "libcaffe2_nvrtc.so"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(name, names[i]) == 0) return true;
  }
  return false;
}
