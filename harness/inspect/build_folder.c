#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "inspect/library_error.h"
#include "inspect/requirement.h"

#if defined(__x86_64__)
static const char here[] = "x86_64";
#elif defined(__aarch64__)
static const char here[] = "aarch64";
#endif

/* "torch-2.11", "torch-2.9.1": its length; 0: another name. */
static size_t build_folder_plain(const char *at, opc_build_folder_t *out) {
  int major = 0, minor = 0, patch = 0, length = 0;
  if (sscanf(at, "torch-%3d.%3d%n", &major, &minor, &length) != 2 || length == 0) return 0;
  if (at[length] == '.' && isdigit((unsigned char)at[length + 1])) {
    int more = 0;
    (void)sscanf(at + length, ".%3d%n", &patch, &more);
    length += more;
  }
  if (at[length] != '/') return 0;
  snprintf(out->version, sizeof out->version, "%d.%d", major, minor);
  return (size_t)length;
}

/* After the version: "-cxx11-cu128-x86_64-linux", where "-cxx11" may be missing. */
static bool read_platform(char *rest, opc_build_folder_t *out) {
  enum { PARTS = 3 };
  char *parts[PARTS], *part;
  size_t count = 0;
  if (opc_string_begins(rest, "-cxx")) rest += 1 + strcspn(rest + 1, "-");
  if (*rest++ != '-') return false;
  while ((part = strsep(&rest, "-"))) {
    if (count == PARTS || *part == '\0') return false;
    parts[count++] = part;
  }
  if (count != PARTS) return false;
  opc_string_put(out->backend, sizeof out->backend, parts[0]);
  out->foreign = strcmp(parts[1], here) != 0 || strcmp(parts[2], "linux") != 0;
  return true;
}

/* "torch29-cxx11-cu128-x86_64-linux", "torch-stable-abi210-cu128-x86_64-linux": a kernel of the Hugging Face hub. */
static size_t build_folder_hub(const char *at, opc_build_folder_t *out) {
  static const char torch[] = "torch", stable[] = "-stable-abi";
  char name[96];
  const size_t length = strcspn(at, "/");
  if (length >= sizeof name || at[length] == '\0' || !opc_string_begins(at, torch)) return 0;
  snprintf(name, sizeof name, "%.*s", (int)length, at);
  char *rest = name + strlen(torch);
  out->stable = opc_string_begins(rest, stable);
  if (out->stable) rest += strlen(stable);
  const size_t digits = strspn(rest, "0123456789");
  if (digits > 4 || digits == 1 || (digits == 0 && !out->stable) || !read_platform(rest + digits, out)) return 0;
  if (digits > 0) snprintf(out->version, sizeof out->version, "%c.%.*s", rest[0], (int)digits - 1, rest + 1);
  return length;
}

/* rest: "/lib/libmine.so". A folder further up belongs to something else, such as a build tree. */
static bool is_near(const char *rest) {
  const char *folder = strchr(rest + 1, '/');
  return !folder || !strchr(folder + 1, '/');
}

bool opc_build_folder_find(const char *library_path, opc_build_folder_t *out) {
  *out = (opc_build_folder_t){0};
  for (const char *at = library_path; at; at = strchr(at, '/')) {
    opc_build_folder_t found = {0};
    at += *at == '/';
    size_t length = build_folder_plain(at, &found);
    if (length == 0) length = build_folder_hub(at, &found);
    if (length == 0 || !is_near(at + length)) continue;
    *out = found;
    out->start = (size_t)(at - library_path);
    out->end = out->start + length;
  }
  return out->end > 0;
}

/* The build for the same CUDA comes first, then one that needs no GPU. */
static int rank_backend(const char *backend, int cuda) {
  const bool of_cuda = opc_string_begins(backend, "cu") && strlen(backend) > 4;
  if (of_cuda) return (backend[2] - '0') * 10 + (backend[3] - '0') == cuda ? 3 : 1;
  return strcmp(backend, "cpu") == 0 ? 2 : 0;
}

int opc_build_folder_rank(const opc_build_folder_t *build, const char *torch, int cuda) {
  const bool exact = strcmp(build->version, torch) == 0;
  const bool later = build->stable && opc_version_number(build->version) <= opc_version_number(torch);
  if (build->foreign || (!exact && !later)) return 0;
  return (exact ? 8 : 4) + rank_backend(build->backend, cuda);
}
