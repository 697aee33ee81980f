#include "supervise/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "inspect/facts.h"

typedef struct build {
  opc_build_folder_t folder; /* zeroed: the library is not one of several builds */
  const char *path;          /* as given */
} build_t;

static bool in_build_folder(const build_t *build) { return build->folder.end > 0; }

/* The same file in the same folders but for the one of the build. */
static bool same_library(const build_t *a, const build_t *b) {
  const opc_build_folder_t *x = &a->folder, *y = &b->folder;
  return in_build_folder(a) && in_build_folder(b) && x->start == y->start && strncmp(a->path, b->path, x->start) == 0 &&
         strcmp(a->path + x->end, b->path + y->end) == 0;
}

/* An index into builds; count: none goes with this libtorch. */
static size_t build_for(const build_t *builds, size_t count, size_t first, const char *version, const char *folder) {
  const int cuda = opc_cuda_major_of_torch(folder);
  size_t best = count;
  int best_rank = 0;
  for (size_t i = first; i < count; i++) {
    const int rank =
        same_library(&builds[first], &builds[i]) ? opc_build_folder_rank(&builds[i].folder, version, cuda) : 0;
    if (rank <= best_rank) continue;
    best = i;
    best_rank = rank;
  }
  return best;
}

static bool is_newer(const opc_build_folder_t *a, const opc_build_folder_t *b) {
  return a->foreign != b->foreign ? b->foreign : strverscmp(a->version, b->version) > 0;
}

static size_t newest(const build_t *builds, size_t count, size_t first) {
  size_t best = first;
  for (size_t i = first; i < count; i++)
    if (same_library(&builds[first], &builds[i]) && is_newer(&builds[i].folder, &builds[best].folder)) best = i;
  return best;
}

static size_t builds_choose(const opc_worker_plan_t *plan, const opc_workers_t *workers, const build_t *builds,
                            size_t count, size_t first) {
  if (plan->wanted[0] != '\0') {
    const size_t wanted = build_for(builds, count, first, plan->wanted, plan->torch_folder);
    return wanted < count ? wanted : newest(builds, count, first);
  }
  size_t chosen = count, rank = 0;
  for (size_t w = 0; w < workers->count; w++) {
    const opc_worker_candidate_t *worker = &workers->items[w];
    const bool here = worker->torch_folder[0] != '\0';
    const size_t found = here ? build_for(builds, count, first, worker->version, worker->torch_folder) : count;
    if (found == count || (chosen < count && worker->torch_rank >= rank)) continue;
    chosen = found;
    rank = worker->torch_rank;
  }
  return chosen < count ? chosen : newest(builds, count, first);
}

static char *say_which(const build_t *build, size_t others) {
  const opc_build_folder_t *folder = &build->folder;
  return opc_string_format("there are %zu builds of it; this is the one in the folder %.*s, for %s%s%s", others + 1,
                           (int)(folder->end - folder->start), build->path + folder->start,
                           folder->stable ? "the stable interface of libtorch" : "libtorch",
                           folder->version[0] != '\0' ? " " : "", folder->version);
}

/* Marks all but one build of the library `first`. */
static opc_status_t keep_one(opc_loaded_t *loaded, const opc_workers_t *workers, const build_t *builds, size_t first,
                             bool *left_out, opc_error_t *error) {
  const size_t count = loaded->library_count, kept = builds_choose(&loaded->plan, workers, builds, count, first);
  size_t others = 0;
  for (size_t i = first; i < count; i++) {
    left_out[i] |= i != kept && same_library(&builds[first], &builds[i]);
    others += i != kept && same_library(&builds[first], &builds[i]);
  }
  if (others == 0) return OPC_OK;
  loaded->libraries[kept].build_note = say_which(&builds[kept], others);
  return loaded->libraries[kept].build_note ? OPC_OK : opc_out_of_memory(error);
}

opc_status_t opc_builds_choose(opc_loaded_t *loaded, opc_error_t *error) {
  const size_t count = loaded->library_count;
  OPC_SCOPED(opc_scope_free) build_t *builds = calloc(count + 1, sizeof *builds);
  OPC_SCOPED(opc_scope_free) bool *left_out = calloc(count + 1, sizeof *left_out);
  OPC_SCOPED(opc_workers_clear) opc_workers_t workers = {0};
  opc_torches_t torches;
  if (!builds || !left_out) return opc_out_of_memory(error);
  bool any = false;
  for (size_t i = 0; i < count; i++) {
    builds[i].path = loaded->libraries[i].path;
    any |= opc_build_folder_find(builds[i].path, &builds[i].folder);
  }
  if (!any) return OPC_OK;
  opc_torches_find(&torches);
  OPC_RETURN_IF_ERROR(opc_worker_plan_workers(&loaded->plan, &torches, &workers, error));
  for (size_t i = 0; i < count; i++) /* one with a note has been chosen already */
    if (!left_out[i] && in_build_folder(&builds[i]) && !loaded->libraries[i].build_note)
      OPC_RETURN_IF_ERROR(keep_one(loaded, &workers, builds, i, left_out, error));
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    if (left_out[i]) free(loaded->libraries[i].real);
    else loaded->libraries[kept++] = loaded->libraries[i];
  }
  loaded->library_count = kept;
  return OPC_OK;
}
