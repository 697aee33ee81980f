#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker/child/child_folder.h"
#include "worker/process/confine.h"

/* Names of linux/landlock.h, for systems whose headers are older. The numbers are the same on all architectures. */
enum { LANDLOCK_CREATE_RULESET = 444, LANDLOCK_ADD_RULE = 445, LANDLOCK_RESTRICT_SELF = 446 };
enum { LANDLOCK_VERSION = 1, LANDLOCK_PATH_BENEATH = 1, WITH_REFER = 2, WITH_TRUNCATE = 3 };
enum { MAY_WRITE = 1 << 1, MAY_REMOVE_AND_MAKE = 0x1ff << 4, MAY_REFER = 1 << 13, MAY_TRUNCATE = 1 << 14 };
typedef struct landlock_ruleset {
  uint64_t files;
} landlock_ruleset_t;
typedef struct __attribute__((packed)) landlock_beneath {
  uint64_t allowed;
  int32_t folder;
} landlock_beneath_t;

enum { PLACES_MAX = 96 };
static struct place {
  char path[PATH_MAX];
  opc_place_t kind;
} * places;
static size_t place_count;

static void places_add(const char *path, opc_place_t kind) {
  if (!places) places = calloc(PLACES_MAX, sizeof *places);
  if (!places || place_count == PLACES_MAX || !realpath(path, places[place_count].path)) return;
  if (strcmp(places[place_count].path, "/") == 0) return;
  places[place_count++].kind = kind;
}

static void places_matching(const char *pattern) {
  glob_t found = {0};
  if (glob(pattern, GLOB_NOSORT, NULL, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; i++) places_add(found.gl_pathv[i], OPC_PLACE_FREE);
  globfree(&found);
}

/* Caches of what was compiled: they are made to be shared by processes and by runs, and whoever finds none compiles for
 * minutes. The user's variable says where one is; else it is in the home folder. */
static const struct cache {
  const char *variable, *below, *in_home;
  bool made; /* by compilers that Python's operators call */
} caches[] = {{"XDG_CACHE_HOME", "", ".cache", true},
              {"TRITON_CACHE_DIR", "", ".triton", true},
              {"TRITON_HOME", "/.triton", NULL, true},
              {"TORCH_EXTENSIONS_DIR", "", NULL, true},
              {"TORCHINDUCTOR_CACHE_DIR", "", NULL, true},
              {"CUDA_CACHE_PATH", "", ".nv", false},
              {"NUMBA_CACHE_DIR", "", NULL, true},
              {"WARP_CACHE_PATH", "", NULL, true},
              {"CUPY_CACHE_DIR", "", ".cupy", false},
              {"PYTHONPYCACHEPREFIX", "", NULL, true},
              {"MPLCONFIGDIR", "", NULL, true},
              {"CCACHE_DIR", "", ".ccache", false},
              {"TILELANG_CACHE_DIR", "", ".tilelang", false},
              {"CUTE_DSL_CACHE_DIR", "", NULL, true},
              {"FLASHINFER_WORKSPACE_BASE", "/.cache", NULL, true}};

static void folder_make(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(path, 0777); /* what it cannot make is no place */
    *slash = '/';
  }
  (void)mkdir(path, 0777);
}

static void cache_find(const struct cache *cache) {
  const char *set = getenv(cache->variable), *home = getenv("HOME");
  OPC_SCOPED(opc_scope_free) char *folder = NULL;
  if (set && set[0] == '/') folder = opc_string_format("%s%s", set, cache->below);
  else if (cache->in_home && home && home[0] == '/') folder = opc_string_format("%s/%s", home, cache->in_home);
  if (!folder) return;
  if (cache->made && opc_interpreter_hosts()) folder_make(folder);
  places_add(folder, OPC_PLACE_FREE);
}

void opc_places_find(const opc_loading_t *loading) {
  static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full",      "/dev/random",
                                        "/dev/urandom", "/dev/tty",  "/dev/ptmx",      "/dev/pts",
                                        "/dev/dri",     "/dev/kfd",  "/dev/infiniband"};
  static const char *const temporary[] = {"/tmp", "/var/tmp", "/dev/shm"};
  char folder[PATH_MAX];
  places_add(opc_child_folder_root(), OPC_PLACE_FREE);
  places_add("/proc", OPC_PLACE_FREE);
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) places_add(devices[i], OPC_PLACE_FREE);
  places_matching("/dev/nvidia*");
  for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) cache_find(&caches[i]);
  for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++) places_add(temporary[i], OPC_PLACE_TEMPORARY);
  if (getenv("TMPDIR")) places_add(getenv("TMPDIR"), OPC_PLACE_TEMPORARY);
  for (size_t i = 0; i < loading->module_count; i++)
    if (opc_interpreter_folder(loading->modules[i], folder)) places_add(folder, OPC_PLACE_OF_MODULE);
}

/* Python tries to keep the code of each module that it compiles, and does without where Landlock refuses it. Numba
 * keeps its own beside it, and needs it. */
static bool is_bytecode(const char *path, opc_place_t kind) {
  const char *inside = strstr(path, "/__pycache__");
  return inside && (kind == OPC_PLACE_OF_MODULE || !strchr(inside + 1, '/') || strstr(inside, ".pyc"));
}

opc_place_t opc_place_of(const char *path) {
  const struct place *best = NULL;
  size_t longest = 0;
  for (size_t i = 0; i < place_count; i++) {
    const size_t length = strlen(places[i].path);
    if (length <= longest || strncmp(path, places[i].path, length) != 0) continue;
    if (path[length] != '/' && path[length] != '\0') continue;
    best = &places[i];
    longest = length;
  }
  const opc_place_t kind = best ? best->kind : OPC_PLACE_OUTSIDE;
  /* Of torch.compile. It need not exist yet. */
  if (kind == OPC_PLACE_TEMPORARY && opc_string_begins(path + longest, "/torchinductor_")) return OPC_PLACE_FREE;
  return is_bytecode(path, kind) ? OPC_PLACE_FREE : kind;
}

void opc_places_visit(void (*visit)(const char *path, opc_place_t place, void *context), void *context) {
  for (size_t i = 0; i < place_count; i++) visit(places[i].path, places[i].kind, context);
}

/* ---- Landlock ---- */

typedef struct opening {
  int ruleset;
  uint64_t allowed;
} opening_t;

static void rule_add(const char *path, opc_place_t place, void *context) {
  (void)place;
  const opening_t *opening = context;
  struct stat status;
  OPC_SCOPED(opc_scope_close) int file = open(path, O_PATH | O_CLOEXEC);
  if (file < 0 || fstat(file, &status) != 0) return;
  const uint64_t allowed = S_ISDIR(status.st_mode) ? opening->allowed : opening->allowed & (MAY_WRITE | MAY_TRUNCATE);
  const landlock_beneath_t beneath = {.allowed = allowed, .folder = file};
  (void)syscall(LANDLOCK_ADD_RULE, opening->ruleset, LANDLOCK_PATH_BENEATH, &beneath, 0);
}

int opc_landlock_open(void) {
  const long version = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION);
  if (version < 1) return -1;
  landlock_ruleset_t ruleset = {.files = MAY_WRITE | MAY_REMOVE_AND_MAKE};
  if (version >= WITH_REFER) ruleset.files |= MAY_REFER;
  if (version >= WITH_TRUNCATE) ruleset.files |= MAY_TRUNCATE;
  opening_t opening = {.ruleset = (int)syscall(LANDLOCK_CREATE_RULESET, &ruleset, sizeof ruleset, 0),
                       .allowed = ruleset.files};
  if (opening.ruleset < 0) return -1;
  opc_places_visit(rule_add, &opening);
  return opening.ruleset;
}

bool opc_landlock_enter(int ruleset) { return syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0; }
