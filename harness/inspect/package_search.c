#include "inspect/package_search.h"

#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
  for (int level = 0; level < LEVELS && end != NULL && end != path; level++) {
    *end = '\0';
    char *above = strrchr(path, '/');
    if (above == NULL || above == path) return false;
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

static int see(const char *path, const struct stat *about, int kind, struct FTW *where) {
  (void)about;
  if (++searching->entries > ENTRIES_MAX) return 1;
  if (kind != FTW_F || strcmp(path + where->base, searching->name) != 0) return 0;
  if (snprintf(searching->out, PATH_MAX, "%s", path) < PATH_MAX) searching->hits++;
  return searching->hits > 1;
}

bool opc_package_search(const char *library, const char *name, char out[PATH_MAX]) {
  char folder[PATH_MAX], *real = realpath(library, NULL);
  search_t search = {.name = name, .out = out};
  bool found = real != NULL && snprintf(folder, sizeof folder, "%s", real) < (int)sizeof folder && package_of(folder);
  free(real);
  if (!found) return false;
  searching = &search;
  found = nftw(folder, see, OPEN_FOLDERS, FTW_PHYS) == 0 && search.hits == 1;
  searching = NULL;
  return found;
}
