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

#include "worker/loading/loading.h"
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

/* Caches of what was compiled: they are made to be shared by processes, and whoever finds none compiles for minutes.
 * The user's variable says where one is; else it is in the home folder. A missing one is made in the scratch folder. */
static const struct cache {
  const char *variable, *in_home;
} caches[] = {{"XDG_CACHE_HOME", ".cache"},  {"TRITON_CACHE_DIR", ".triton"}, {"TRITON_HOME", NULL},
              {"CUDA_CACHE_PATH", ".nv"},    {"TORCH_EXTENSIONS_DIR", NULL},  {"TORCHINDUCTOR_CACHE_DIR", NULL},
              {"NUMBA_CACHE_DIR", NULL},     {"WARP_CACHE_PATH", NULL},       {"CUPY_CACHE_DIR", NULL},
              {"PYTHONPYCACHEPREFIX", NULL}, {"MPLCONFIGDIR", NULL},          {"CCACHE_DIR", ".ccache"},
              {"TILELANG_CACHE_DIR", NULL},  {"CUTE_DSL_CACHE_DIR", NULL},    {"FLASHINFER_WORKSPACE_BASE", NULL}};

static void cache_find(const struct cache *cache, const char *scratch) {
  struct stat status;
  const char *set = getenv(cache->variable), *home = getenv("HOME");
  OPC_SCOPED(opc_scope_free) char *folder = NULL;
  if (set && set[0] == '/') {
    places_add(set, OPC_PLACE_FREE);
    return;
  }
  if (!cache->in_home) return;
  if (home && home[0] == '/') folder = opc_string_format("%s/%s", home, cache->in_home);
  if (folder && stat(folder, &status) == 0) {
    places_add(folder, OPC_PLACE_FREE);
    return;
  }
  OPC_SCOPED(opc_scope_free) char *own = opc_string_format("%s/cache%s", scratch, cache->in_home);
  if (own && !set) opc_interpreter_setenv(cache->variable, own);
}

void opc_places_find(const char *scratch) {
  static const char *const devices[] = {"/dev/null",    "/dev/zero", "/dev/full",      "/dev/random",
                                        "/dev/urandom", "/dev/tty",  "/dev/ptmx",      "/dev/pts",
                                        "/dev/dri",     "/dev/kfd",  "/dev/infiniband"};
  static const char *const temporary[] = {"/tmp", "/var/tmp", "/dev/shm"};
  places_add(scratch, OPC_PLACE_FREE);
  places_add("/proc", OPC_PLACE_FREE);
  for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) places_add(devices[i], OPC_PLACE_FREE);
  places_matching("/dev/nvidia*");
  places_matching("/tmp/torchinductor_*");
  for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) cache_find(&caches[i], scratch);
  for (size_t i = 0; i < sizeof temporary / sizeof *temporary; i++) places_add(temporary[i], OPC_PLACE_SHARED);
  if (getenv("TMPDIR")) places_add(getenv("TMPDIR"), OPC_PLACE_SHARED);
}

opc_place_t opc_place_of(const char *path, size_t *out_entry) {
  const struct place *best = NULL;
  size_t longest = 0;
  for (size_t i = 0; i < place_count; i++) {
    const size_t length = strlen(places[i].path);
    if (length <= longest || strncmp(path, places[i].path, length) != 0) continue;
    if (path[length] != '/' && path[length] != '\0') continue;
    best = &places[i];
    longest = length;
  }
  *out_entry = 0;
  if (!best) return OPC_PLACE_OUTSIDE;
  if (path[longest] == '/') *out_entry = longest + 1 + strcspn(path + longest + 1, "/");
  return best->kind;
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
