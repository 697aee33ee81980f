#include "inspect/library_error.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/owned.h"

/* Names of packages and their folders may differ in case and in dashes. */
static bool same_name(const char *folder, const char *package, size_t length) {
  for (size_t i = 0; i < length; i++) {
    const int a = folder[i] == '-' || folder[i] == '.' ? '_' : tolower((unsigned char)folder[i]);
    const int b = package[i] == '-' || package[i] == '.' ? '_' : tolower((unsigned char)package[i]);
    if (a != b) return false;
  }
  return folder[length] == '\0';
}

static bool lists_file(const char *info, const char *relative) {
  char path[PATH_MAX], line[PATH_MAX + 256];
  bool found = false;
  if (snprintf(path, sizeof path, "%s/RECORD", info) >= (int)sizeof path) return false;
  FILE *file = fopen(path, "re");
  const size_t length = strlen(relative);
  while (!found && file && fgets(line, sizeof line, file))
    found = strncmp(line, relative, length) == 0 && line[length] == ',';
  if (file) (void)fclose(file);
  return found;
}

static void package_hint_take(char *out, size_t size, const char *text) {
  (void)snprintf(out, size, "%.*s", (int)strcspn(text, "\r\n"), text);
}

static bool read_metadata(const char *info, opc_package_hint_t *out) {
  char path[PATH_MAX], line[1024];
  static const char torch[] = "Requires-Dist: torch";
  if (snprintf(path, sizeof path, "%s/METADATA", info) >= (int)sizeof path) return false;
  FILE *file = fopen(path, "re");
  if (!file) return false;
  *out = (opc_package_hint_t){0};
  while (fgets(line, sizeof line, file) && line[0] != '\n' && line[0] != '\r') {
    if (strncmp(line, "Name: ", 6) == 0) package_hint_take(out->name, sizeof out->name, line + 6);
    if (strncmp(line, "Version: ", 9) == 0) package_hint_take(out->version, sizeof out->version, line + 9);
    if (strncmp(line, torch, sizeof torch - 1) != 0) continue;
    const char *rest = line + sizeof torch - 1 + strspn(line + sizeof torch - 1, " (");
    if (!strchr("=<>!~", *rest) || strchr(rest, ';')) continue; /* another package, or a conditional requirement */
    (void)snprintf(out->torch, sizeof out->torch, "%.*s", (int)strcspn(rest, ")\r\n"), rest);
  }
  (void)fclose(file);
  return out->name[0] != '\0';
}

/* folder: site-packages; relative: the library's path in it. */
static bool package_hint_find_in(const char *folder, const char *relative, opc_package_hint_t *out) {
  char pattern[PATH_MAX], top[256];
  glob_t found = {0};
  bool hit = false;
  (void)snprintf(top, sizeof top, "%.*s", (int)strcspn(relative, "/"), relative);
  if (snprintf(pattern, sizeof pattern, "%s/*.dist-info", folder) >= (int)sizeof pattern) return false;
  if (glob(pattern, GLOB_ONLYDIR, NULL, &found) == 0) {
    /* By name first, because reading all lists of files takes time. */
    for (int by_record = 0; !hit && by_record < 2; by_record++) {
      for (size_t i = 0; !hit && i < found.gl_pathc; i++) {
        const char *base = strrchr(found.gl_pathv[i], '/') + 1, *dash = strchr(base, '-');
        const bool named = dash && same_name(top, base, (size_t)(dash - base));
        hit = (by_record ? !named && lists_file(found.gl_pathv[i], relative) : named) &&
              read_metadata(found.gl_pathv[i], out);
      }
    }
  }
  globfree(&found);
  return hit;
}

bool opc_package_hint_find(const char *library_path, opc_package_hint_t *out) {
  enum { LEVELS = 6 };
  OPC_SCOPED(opc_scope_free) char *real = realpath(library_path, NULL);
  bool found = false;
  size_t end = real ? strlen(real) : 0;
  for (int level = 0; !found && level < LEVELS && end > 0; level++) {
    while (end > 0 && real[end - 1] != '/') end--;
    if (end < 2) break;
    real[end - 1] = '\0';
    found = package_hint_find_in(real, real + end, out);
    real[end - 1] = '/';
    end--;
  }
  return found;
}
