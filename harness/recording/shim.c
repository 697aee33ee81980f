/* Preloaded into every process of a recorded program. It contains no libtorch. When libtorch is there, it loads the
 * observer, which uses libtorch.
 *
 * How it notices libtorch: linked programs have it when this library's constructor runs. For the others this library
 * defines dlopen and dlsym again, before libc's. (An audit library would also see every object. But it is in a
 * namespace of its own, from which it can load nothing into the program's.) libc uses its caller's address to find the
 * RPATH and RUNPATH that apply. So a wrapper that calls it changes what is found. Where that could matter, both
 * functions jump to libc (a call in tail position) and never appear as the caller. Libtorch is then noticed at the next
 * dlsym: no program can use the loaded library without one. Elsewhere dlopen is called, and the check follows at once:
 * a plugin whose initialisers register it with its host needs no dlsym.
 *
 * The program must notice nothing of this: errno and dlerror stay as it expects them. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "recording/record_folder.h"
#include "recording/record_settings.h"
#include "recording/recorder.h"

/* Finds the libtorch version of a libtorch_cpu.so. */
/* A wheel has the first, an archive for C++ has the second; either may lack the headers. */
static const char *const version_files[] = {"version.py", "build-version", "include/torch/headeronly/version.h",
                                            "include/torch/csrc/api/include/torch/version.h"};

/* "2.11" for ROOT/lib/libtorch_cpu.so, from the files around it; "": unknown. */
static void torch_version_of(const char *torch_cpu_file, char out[16]) {
  const char *lib = strstr(torch_cpu_file, "/lib/libtorch_cpu.so");
  out[0] = '\0';
  for (size_t i = 0; lib && out[0] == '\0' && i < sizeof version_files / sizeof version_files[0]; i++) {
    char path[PATH_MAX], line[512];
    int major = -1, minor = -1;
    snprintf(path, sizeof path, "%.*s/%s", (int)(lib - torch_cpu_file), torch_cpu_file, version_files[i]);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    while ((major < 0 || minor < 0) && fgets(line, sizeof line, file)) {
      (void)sscanf(line, "#define TORCH_VERSION_MAJOR %d", &major);
      (void)sscanf(line, "#define TORCH_VERSION_MINOR %d", &minor);
      if (sscanf(line, "__version__ = '%d.%d", &major, &minor) != 2 && i == 1)
        (void)sscanf(line, "%d.%d", &major, &minor);
    }
    fclose(file);
    if (major >= 0 && minor >= 0) snprintf(out, 16, "%d.%d", major % 1000, minor % 1000);
  }
}

/* at::addGlobalCallback(at::RecordFunctionCallback): libtorch_cpu defines it, and the observer needs it. */
#define TORCH_MARK "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"

typedef void *dlopen_function_t(const char *, int);
typedef void *dlsym_function_t(void *restrict, const char *restrict);

static _Atomic(dlopen_function_t *) real_dlopen;
static _Atomic(dlsym_function_t *) real_dlsym;
static atomic_bool done;    /* the observer was loaded, or cannot be */
static atomic_bool pending; /* a dlopen jumped to libc: check at the next dlsym */
static _Thread_local bool busy;

/* dlsym is defined here, and libc gave it a new version in 2.34. */
static dlsym_function_t *libc_dlsym(void) {
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5", "GLIBC_2.27", "GLIBC_2.0"};
  dlsym_function_t *found = atomic_load_explicit(&real_dlsym, memory_order_relaxed);
  for (size_t i = 0; !found && i < sizeof versions / sizeof versions[0]; i++)
    *(void **)&found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
  if (!found) abort(); /* every libc has it */
  atomic_store_explicit(&real_dlsym, found, memory_order_relaxed);
  return found;
}

static dlopen_function_t *libc_dlopen(void) {
  dlopen_function_t *found = atomic_load_explicit(&real_dlopen, memory_order_relaxed);
  if (!found) *(void **)&found = libc_dlsym()(RTLD_NEXT, "dlopen");
  if (!found) abort();
  atomic_store_explicit(&real_dlopen, found, memory_order_relaxed);
  return found;
}

/* ---- loading the observer ---- */

static char recording[PATH_MAX];
static atomic_bool recording_known;

/* The folder to record to; "" for none. Other libraries' initialisers may ask before our own ran. The program may
 * change its environment later. */
static const char *folder(void) {
  if (!atomic_load_explicit(&recording_known, memory_order_acquire)) {
    const char *given = getenv(OPC_RECORD_VARIABLE);
    if (given && strlen(given) < sizeof recording) strcpy(recording, given);
    atomic_store_explicit(&recording_known, true, memory_order_release);
  }
  return recording;
}

static void report_trouble(const char *trouble) {
  char path[PATH_MAX];
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  snprintf(path, sizeof path, "%.*s/" OPC_RECORD_TROUBLE "%ld.%lld%09ld", PATH_MAX - 64, folder(), (long)getpid(),
           (long long)now.tv_sec, now.tv_nsec);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return;
  if (write(fd, trouble, strlen(trouble)) < 0) unlink(path);
  close(fd);
}

static void load_observer(const char *torch_file) {
  char trouble[2048] = "", path[PATH_MAX], version[16];
  opc_record_settings_t settings;
  opc_error_t error;
  if (opc_record_settings_read(folder(), &settings, &error) != OPC_OK)
    return; /* the recording is over: its folder is gone */
  torch_version_of(torch_file, version);
  snprintf(path, sizeof path, "%s/" OPC_RECORD_OBSERVER "-%s.so", settings.observers, version);
  if (version[0] == '\0' || access(path, R_OK) != 0)
    snprintf(path, sizeof path, "%s/" OPC_RECORD_OBSERVER ".so", settings.observers);
  opc_record_settings_clear(&settings);

  /* The libraries that the observer needs must be loaded under these names. Otherwise it would load a second libtorch
   * with them. */
  void *torch = libc_dlopen()("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD),
       *c10 = libc_dlopen()("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
  void *observer = torch && c10 ? libc_dlopen()(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const char *built_for = observer ? libc_dlsym()(observer, OPC_OBSERVER_TORCH) : NULL;
  opc_observer_start_t *start = NULL;
  if (built_for) *(void **)&start = libc_dlsym()(observer, OPC_OBSERVER_START);
  if (!torch || !c10)
    snprintf(trouble, sizeof trouble,
             "libtorch is in %.500s, under another name than libtorch_cpu.so or without a libc10.so", torch_file);
  else if (built_for && version[0] && strcmp(built_for, version) != 0)
    snprintf(trouble, sizeof trouble, "%.500s is libtorch %s, and %.500s is built for %s", torch_file, version, path,
             built_for);
  else if (!start)
    snprintf(trouble, sizeof trouble, "%.500s%s%s does not fit the observer that there is: %.700s", torch_file,
             version[0] ? ", libtorch " : "", version, dlerror());
  else start(folder(), trouble, sizeof trouble);
  if (trouble[0]) report_trouble(trouble);
}

/* handle: of an object whose dlopen has returned, so that its libtorch is initialised. */
static __attribute__((noinline)) void look(void *handle) {
  Dl_info info;
  if (busy || atomic_load(&done) || folder()[0] == '\0') return;
  busy = true;
  opc_quiet_t quiet;
  opc_quiet_begin(&quiet);
  void *mark = libc_dlsym()(handle, TORCH_MARK);
  if (mark && !atomic_exchange(&done, true) && dladdr(mark, &info) && info.dli_fname) load_observer(info.dli_fname);
  if (!mark && atomic_load(&pending)) { /* no libtorch at all: nothing to check until the next dlopen */
    void *torch = libc_dlopen()("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
    if (torch) dlclose(torch);
    else atomic_store(&pending, false);
  }
  (void)dlerror(); /* the program must not see errors from above */
  opc_quiet_end(&quiet);
  busy = false;
}

/* ---- functions that replace libc's ---- */

typedef struct search {
  uintptr_t caller;
  bool first, caller_runpath, any_rpath;
} search_t;

static int note_paths(struct dl_phdr_info *object, size_t size, void *context) {
  search_t *search = context;
  bool is_caller = false, rpath = false, runpath = false;
  const ElfW(Dyn) *dynamic = NULL;
  (void)size;
  for (size_t i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    if (part->p_type == PT_LOAD) is_caller |= search->caller - (object->dlpi_addr + part->p_vaddr) < part->p_memsz;
    if (part->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)(object->dlpi_addr + part->p_vaddr);
  }
  for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
    rpath |= dynamic->d_tag == DT_RPATH;
    runpath |= dynamic->d_tag == DT_RUNPATH;
  }
  if (is_caller) search->caller_runpath = runpath;
  if (!search->first) search->any_rpath |= rpath && !runpath; /* the program's own applies to every caller */
  search->first = false;
  return 0;
}

static __attribute__((noinline)) bool caller_matters(const char *file, const void *caller) {
  search_t search = {.caller = (uintptr_t)caller, .first = true};
  if (!file || strchr(file, '$')) return true; /* $ORIGIN depends on the caller */
  int error = errno;
  dl_iterate_phdr(note_paths, &search);
  errno = error;
  return search.any_rpath || (search.caller_runpath && !strchr(file, '/'));
}

__attribute__((visibility("default"))) void *dlopen(const char *file, int mode) {
  if (atomic_load_explicit(&done, memory_order_relaxed) || folder()[0] == '\0') return libc_dlopen()(file, mode);
  if (caller_matters(file, __builtin_return_address(0))) {
    atomic_store_explicit(&pending, true, memory_order_relaxed);
    return libc_dlopen()(file, mode);
  }
  void *handle = libc_dlopen()(file, mode);
  if (handle) look(handle);
  return handle;
}

__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name) {
  if (atomic_load_explicit(&pending, memory_order_relaxed) && handle != RTLD_DEFAULT && handle != RTLD_NEXT)
    look(handle);
  return libc_dlsym()(handle, name);
}

static __attribute__((constructor)) void shim_begin(void) {
  if (folder()[0] == '\0') return;
  void *program = libc_dlopen()(NULL, RTLD_LAZY);
  if (program) look(program);
}
