#include "supervise/process/worker_find.h"

#include <elf.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "inspect/facts.h"
#include "inspect/library_search.h"

/* ---- what the libraries need ---- */

typedef struct need {
  const char *name;
  unsigned defined; /* a bit for each worker whose libtorch defines it */
} need_t;

typedef struct needs {
  need_t *items; /* of all libraries; sorted, without duplicates */
  size_t count;
  size_t worker; /* the worker whose libtorch is being read */
  bool failed;
} needs_t;

static void needs_clear(needs_t *needs) { free(needs->items); }

typedef struct library {
  opc_elf_file_t *file;     /* NULL: unreadable */
  char home[16];            /* version; "": none is known */
  char home_root[PATH_MAX]; /* its folder, or words that say how it is known */
  bool home_here;           /* it is a folder */
  bool cxx;                 /* needs symbols of libtorch's C++ */
  bool decided;             /* and there is a worker for its home */
  unsigned refused;         /* a bit for each worker that lacks a symbol */
  const char *missing[OPC_WORKERS];
} library_t;

static int by_name(const void *a, const void *b) {
  return strcmp(((const need_t *)a)->name, ((const need_t *)b)->name);
}

/* A versioned symbol belongs to another library: libtorch's symbols have no version. Libtorch may still define it:
 * libc10 has inline functions of libstdc++. */
static bool is_needed(const opc_elf_symbol_t *symbol) {
  return !symbol->defined && symbol->binding != STB_WEAK && !symbol->version;
}

static bool note_cxx(const opc_elf_symbol_t *symbol, void *context) {
  library_t *library = context;
  library->cxx = is_needed(symbol) && opc_symbol_is_torch_cpp(symbol->name);
  return !library->cxx;
}

static bool worker_choice_collect(const opc_elf_symbol_t *symbol, void *context) {
  needs_t *needs = context;
  if (!is_needed(symbol)) return true;
  needs->failed = !OPC_ARRAY_GROW(needs->items, needs->count);
  if (needs->failed) return false;
  needs->items[needs->count++] = (need_t){.name = symbol->name};
  return true;
}

static bool mark_defined(const opc_elf_symbol_t *symbol, void *context) {
  needs_t *needs = context;
  const need_t key = {.name = symbol->name};
  need_t *need = symbol->defined ? bsearch(&key, needs->items, needs->count, sizeof key, by_name) : NULL;
  if (need) need->defined |= 1U << needs->worker;
  return true;
}

/* All symbols that the libraries need, and which workers' libtorch define them. A symbol that none defines is no
 * evidence: it comes from elsewhere. */
static opc_status_t read_needs(const opc_workers_t *workers, const library_t *libraries, size_t count, needs_t *needs,
                               opc_error_t *error) {
  for (size_t i = 0; i < count && !needs->failed; i++) {
    if (libraries[i].file && !libraries[i].decided)
      opc_elf_each_symbol(libraries[i].file, worker_choice_collect, needs);
  }
  if (needs->failed) return opc_out_of_memory(error);
  if (needs->count == 0) return OPC_OK;
  qsort(needs->items, needs->count, sizeof *needs->items, by_name);
  size_t kept = 1;
  for (size_t i = 1; i < needs->count; i++) {
    if (by_name(&needs->items[kept - 1], &needs->items[i]) != 0) needs->items[kept++] = needs->items[i];
  }
  needs->count = kept;

  for (needs->worker = 0; needs->worker < workers->count; needs->worker++) {
    static const char *const parts[] = {"libc10.so", "libtorch_cpu.so"};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
      char path[PATH_MAX + 32];
      OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
      opc_error_t ignored;
      snprintf(path, sizeof path, "%s/%s", workers->items[needs->worker].torch_folder, parts[p]);
      if (opc_elf_open(path, &file, &ignored) == OPC_OK) opc_elf_each_symbol(file, mark_defined, needs);
    }
  }
  return OPC_OK;
}

typedef struct judging {
  const opc_workers_t *workers;
  const needs_t *needs;
  library_t *library;
} judging_t;

static bool judge_symbol(const opc_elf_symbol_t *symbol, void *context) {
  judging_t *judging = context;
  const need_t key = {.name = symbol->name};
  const need_t *need =
      is_needed(symbol) ? bsearch(&key, judging->needs->items, judging->needs->count, sizeof key, by_name) : NULL;
  if (!need || need->defined == 0) return true;
  for (size_t w = 0; w < judging->workers->count; w++) {
    if ((need->defined & (1U << w)) != 0 || judging->workers->items[w].torch_folder[0] == '\0' ||
        judging->library->missing[w])
      continue;
    judging->library->refused |= 1U << w;
    judging->library->missing[w] = need->name;
  }
  return true;
}

/* ---- the libtorch of each library ---- */

static bool take_home(library_t *library, const char *root) {
  opc_torch_version_read(root, library->home);
  snprintf(library->home_root, sizeof library->home_root, "%s", root);
  library->home_here = library->home[0] != '\0';
  return library->home_here;
}

static void find_home(library_t *library) {
  static const char *const names[] = {"site-packages", "dist-packages"};
  opc_library_place_t torch;
  char root[PATH_MAX];
  opc_library_find(library->file, "libtorch_cpu.so", NULL, &torch);
  if (opc_found_by_loader(torch.how)) { /* ROOT/lib/libtorch_cpu.so */
    char *real = realpath(torch.path, NULL);
    if (real) {
      for (int up = 0; up < 2 && strrchr(real, '/'); up++) *strrchr(real, '/') = '\0';
      snprintf(root, sizeof root, "%s", real);
      free(real);
      if (take_home(library, root)) return;
    }
  }
  opc_build_folder_t build;
  if (opc_build_folder_find(library->file->path, &build) && !build.stable) {
    snprintf(library->home, sizeof library->home, "%s", build.version);
    snprintf(library->home_root, sizeof library->home_root, "its folder is %.*s", (int)(build.end - build.start),
             library->file->path + build.start);
    return;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *at = strstr(library->file->path, names[i]);
    if (!at) continue;
    if (snprintf(root, sizeof root, "%.*s/torch", (int)(at - library->file->path + (ptrdiff_t)strlen(names[i])),
                 library->file->path) >= (int)sizeof root)
      continue;
    if (take_home(library, root)) return;
  }

  opc_package_hint_t hint;
  int major, minor;
  if (opc_package_hint_find(library->file->path, &hint) && sscanf(hint.torch, "==%d.%d", &major, &minor) == 2) {
    snprintf(library->home, sizeof library->home, "%d.%d", major % 1000, minor % 1000);
    snprintf(library->home_root, sizeof library->home_root, "%s %s needs torch%s", hint.name, hint.version, hint.torch);
  }
}

/* ---- the choice ---- */

static bool is_home(const library_t *library, const opc_worker_candidate_t *worker) {
  return library->home[0] != '\0' && strcmp(library->home, worker->version) == 0;
}

static bool has_torch(const opc_worker_candidate_t *worker) { return worker->torch_folder[0] != '\0'; }

/* A worker without a known version is not refused for that. */
static bool goes_with(const library_t *library, const opc_workers_t *workers, size_t index) {
  const opc_worker_candidate_t *worker = &workers->items[index];
  if (library->decided) return is_home(library, worker);
  if ((library->refused & (1U << index)) != 0) return false;
  return !library->cxx || library->home[0] == '\0' || worker->version[0] == '\0' || is_home(library, worker);
}

static void add_versions(opc_text_t *text, const library_t *library, const opc_workers_t *workers, bool fitting) {
  for (size_t w = 0, added = 0; w < workers->count; w++) {
    if (fitting && !goes_with(library, workers, w)) continue;
    opc_text_addf(text, "%s%s", added++ > 0 ? ", " : "",
                  workers->items[w].version[0] != '\0' ? workers->items[w].version : "unknown");
  }
}

static const opc_worker_candidate_t *worker_of(const opc_workers_t *workers, const char *version) {
  for (size_t w = 0; w < workers->count; w++)
    if (strcmp(workers->items[w].version, version) == 0) return &workers->items[w];
  return NULL;
}

/* What to do about a worker whose libtorch is not installed. */
static void explain_absent(const library_t *library, const opc_worker_candidate_t *chosen, opc_library_error_t *out) {
  opc_library_error_set(
      out, "abi",
      "needs libtorch %s (%s), which is not installed here%s%s: install it (pip install 'torch==%s.*'), or name its "
      "folder with --torch",
      library->home, library->home_root, has_torch(chosen) ? "; there is libtorch " : "",
      has_torch(chosen) ? chosen->version : "", library->home);
}

static void explain(const library_t *library, const opc_workers_t *workers, size_t chosen, opc_library_error_t *out) {
  OPC_SCOPED(opc_text_clear) opc_text_t fitting = {0}, all = {0};
  add_versions(&fitting, library, workers, true);
  add_versions(&all, library, workers, false);
  const char *own = workers->items[chosen].version;
  const opc_worker_candidate_t *home = library->decided ? worker_of(workers, library->home) : NULL;
  if (home && !has_torch(home)) {
    explain_absent(library, &workers->items[chosen], out);
  } else if (fitting.length > 0) {
    opc_library_error_set(out, "abi",
                          "built for libtorch %s, and the other libraries of this command line for %s: a run has one "
                          "libtorch; check it in a run of its own",
                          opc_text_c(&fitting), own);
  } else if (library->home[0] != '\0') {
    opc_library_error_set(out, "abi",
                          "needs libtorch %s (%s), but there are workers for %s: build one for %s (CMake's "
                          "OPC_MORE_TORCH_ROOTS), or name another libtorch "
                          "that fits it with --torch",
                          library->home, library->home_root, opc_text_c(&all), library->home);
  } else {
    opc_library_error_set(out, "abi",
                          "built for another libtorch than %s (%s has no symbol %s): build a worker for it (CMake's "
                          "OPC_MORE_TORCH_ROOTS), or get the library "
                          "for one of these",
                          opc_text_c(&all), own[0] != '\0' ? own : "the first", library->missing[chosen]);
  }
}

/* A worker that can start comes before any that cannot. */
static size_t best_of(const opc_workers_t *workers, const library_t *libraries, size_t count) {
  size_t best = 0, best_score = 0;
  for (size_t w = 0; w < workers->count; w++) {
    size_t score = has_torch(&workers->items[w]) ? 3 * count + 1 : 0;
    for (size_t i = 0; i < count; i++)
      score += goes_with(&libraries[i], workers, w) ? 2U + (is_home(&libraries[i], &workers->items[w]) ? 1U : 0U) : 0;
    if (score > best_score || (score == best_score && workers->items[w].torch_rank < workers->items[best].torch_rank)) {
      best = w;
      best_score = score;
    }
  }
  return best;
}

static void offer_torches(opc_workers_t *workers, const library_t *libraries, size_t count,
                          const opc_torches_t *torches) {
  for (size_t i = 0; i < count; i++)
    if (libraries[i].home_here)
      opc_workers_offer(workers, libraries[i].home_root, libraries[i].home, "the library's own", 0);
  opc_workers_offer_installed(workers, torches);
}

static void say_why(const library_t *library, const opc_workers_t *workers, size_t chosen, char *out, size_t size) {
  const opc_worker_candidate_t *worker = &workers->items[chosen];
  OPC_SCOPED(opc_text_clear) opc_text_t fitting = {0};
  add_versions(&fitting, library, workers, true);
  if (library->home[0] != '\0' && is_home(library, worker))
    snprintf(out, size, "the library belongs to libtorch %s (%s)", library->home, library->home_root);
  else if (!library->cxx)
    snprintf(out, size, "the library uses nothing of libtorch's C++ interface, so that any version fits");
  else if (library->refused != 0)
    snprintf(out, size, "the library's symbols are those of libtorch %s", opc_text_c(&fitting));
  else if (workers->count == 1) snprintf(out, size, "there is no other worker");
  else
    snprintf(
        out, size,
        "nothing in the library says for which version it was built; this is the first worker whose libtorch is here");
}

static opc_status_t worker_choice_choose(opc_workers_t *workers, const opc_torches_t *torches, const char *const *paths,
                                         size_t count, library_t *libraries, opc_worker_choice_t *out,
                                         opc_library_error_t *errors, opc_error_t *error) {
  OPC_SCOPED(needs_clear) needs_t needs = {0};
  for (size_t i = 0; i < count; i++) {
    opc_error_t ignored;
    if (opc_elf_open(paths[i], &libraries[i].file, &ignored) != OPC_OK) continue;
    opc_elf_each_symbol(libraries[i].file, note_cxx, &libraries[i]);
    find_home(&libraries[i]);
    for (size_t w = 0; w < workers->count; w++)
      libraries[i].decided |= libraries[i].cxx && is_home(&libraries[i], &workers->items[w]);
  }
  offer_torches(workers, libraries, count, torches);
  if (workers->count > 1) OPC_RETURN_IF_ERROR(read_needs(workers, libraries, count, &needs, error));
  for (size_t i = 0; i < count; i++) {
    judging_t judging = {.workers = workers, .needs = &needs, .library = &libraries[i]};
    if (libraries[i].file && !libraries[i].decided && needs.count > 0)
      opc_elf_each_symbol(libraries[i].file, judge_symbol, &judging);
  }
  out->index = best_of(workers, libraries, count);
  for (size_t i = 0; i < count; i++) {
    errors[i] = (opc_library_error_t){0};
    if (!goes_with(&libraries[i], workers, out->index)) explain(&libraries[i], workers, out->index, &errors[i]);
  }
  if (count > 0) say_why(&libraries[0], workers, out->index, out->why, sizeof out->why);
  return OPC_OK;
}

opc_status_t opc_worker_choose(opc_workers_t *workers, const opc_torches_t *torches, const char *const *paths,
                               size_t count, opc_worker_choice_t *out, opc_library_error_t *errors,
                               opc_error_t *error) {
  *out = (opc_worker_choice_t){0};
  OPC_SCOPED(opc_scope_free) library_t *libraries = calloc(count + 1, sizeof *libraries);
  if (!libraries) return opc_out_of_memory(error);
  const opc_status_t status = worker_choice_choose(workers, torches, paths, count, libraries, out, errors, error);
  for (size_t i = 0; i < count; i++) opc_elf_close(libraries[i].file);
  return status;
}

/* path: of a libtorch_cpu.so. One of another version, on LD_LIBRARY_PATH say, is of no use. */
static void take_torch(opc_worker_candidate_t *worker, const char *path, const char *how) {
  char folder[PATH_MAX], version[16];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  opc_torch_version_of_lib(folder, version);
  if (version[0] != '\0' && worker->version[0] != '\0' && strcmp(version, worker->version) != 0) return;
  memcpy(worker->torch_folder, folder, sizeof folder);
  snprintf(worker->torch_how, sizeof worker->torch_how, "%s", how);
}

static void worker_list_describe(opc_worker_candidate_t *worker) {
  static const char name[] = "/opcheck-worker-";
  OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
  opc_error_t ignored;
  opc_library_place_t torch;
  const char *version = strstr(strrchr(worker->real, '/'), name);
  if (version) snprintf(worker->version, sizeof worker->version, "%s", version + sizeof name - 1);
  if (opc_elf_open(worker->real, &file, &ignored) != OPC_OK) return; /* starting this worker will report the error */
  opc_library_find(file, "libtorch_cpu.so", NULL, &torch);
  if (torch.how != OPC_FOUND_NOWHERE) take_torch(worker, torch.path, opc_found_words(torch.how));
  if (torch.how == OPC_FOUND_LIBRARY_PATH && worker->torch_folder[0] == '\0') {
    opc_library_find_by_own_path(file, "libtorch_cpu.so", &torch);
    if (torch.how != OPC_FOUND_NOWHERE) take_torch(worker, torch.path, opc_found_words(torch.how));
    worker->torch_offered = worker->torch_folder[0] != '\0'; /* before what LD_LIBRARY_PATH has */
  }
}

void opc_workers_offer(opc_workers_t *workers, const char *root, const char *version, const char *how, size_t rank) {
  for (size_t i = 0; i < workers->count; i++) {
    opc_worker_candidate_t *worker = &workers->items[i];
    char folder[PATH_MAX];
    if (worker->torch_folder[0] != '\0' || version[0] == '\0') continue;
    if (worker->version[0] != '\0' && strcmp(worker->version, version) != 0) continue;
    if (snprintf(folder, sizeof folder, "%s/lib", root) >= (int)sizeof folder) continue;
    memcpy(worker->torch_folder, folder, sizeof folder);
    snprintf(worker->torch_how, sizeof worker->torch_how, "%s", how);
    worker->torch_offered = true;
    worker->torch_rank = rank;
  }
}

void opc_workers_offer_installed(opc_workers_t *workers, const opc_torches_t *torches) {
  for (size_t i = 0; i < torches->count; i++) {
    const opc_torch_t *torch = &torches->items[i];
    opc_workers_offer(workers, torch->root, torch->version, torch->how, i + 1);
  }
}

opc_status_t opc_workers_add(opc_workers_t *workers, const char *path, opc_error_t *error) {
  OPC_SCOPED(opc_scope_free) char *real = realpath(path, NULL);
  if (!real) return OPC_OK; /* a link to a tree that is gone */
  for (size_t i = 0; i < workers->count; i++)
    if (strcmp(workers->items[i].real, real) == 0) return OPC_OK;
  if (workers->count == OPC_WORKERS)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "more than %d workers, %s among them", OPC_WORKERS, path);
  opc_worker_candidate_t *worker = &workers->items[workers->count++];
  OPC_MOVE(&worker->real, real);
  worker->program = opc_string_copy(path);
  if (!worker->program) return opc_out_of_memory(error);
  worker_list_describe(worker);
  return OPC_OK;
}

static int by_version(const void *a, const void *b) { return strverscmp(*(char *const *)a, *(char *const *)b); }

static opc_status_t add_matching(const char *folder, const char *name, opc_workers_t *out, opc_error_t *error) {
  char pattern[PATH_MAX];
  OPC_SCOPED(globfree) glob_t found = {0};
  snprintf(pattern, sizeof pattern, "%s/%s", folder, name);
  if (glob(pattern, 0, NULL, &found) != 0) return OPC_OK;
  qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_version); /* 2.6 before 2.10 */
  for (size_t i = 0; i < found.gl_pathc; i++) OPC_RETURN_IF_ERROR(opc_workers_add(out, found.gl_pathv[i], error));
  return OPC_OK;
}

opc_status_t opc_workers_find(const char *folder, opc_workers_t *out, opc_error_t *error) {
  memset(out, 0, sizeof *out);
  opc_status_t status = add_matching(folder, "opcheck-worker", out, error);
  if (status != OPC_OK || (status = add_matching(folder, "opcheck-worker-*", out, error)) != OPC_OK)
    opc_workers_clear(out);
  return status;
}

void opc_workers_clear(opc_workers_t *workers) {
  for (size_t i = 0; i < workers->count; i++) {
    free(workers->items[i].program);
    free(workers->items[i].real);
  }
  memset(workers, 0, sizeof *workers);
}
