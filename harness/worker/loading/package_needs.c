#include "worker/loading/package_needs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "bridge/api/bridge.h"

/* ---- a library that may be the missing one ---- */

static bool file_holds(const char *path, const char *const words[2]) {
  struct stat info;
  bool found = false;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
    size_t size = (size_t)info.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    found = bytes != MAP_FAILED;
    for (int i = 0; found && i < 2; i++) found = memmem(bytes, size, words[i], strlen(words[i])) != NULL;
    if (bytes != MAP_FAILED) munmap(bytes, size);
  }
  if (fd >= 0) close(fd);
  return found;
}

static bool folder_search(const char *folder, const char *const words[2], char out[PATH_MAX]) {
  bool found = false;
  DIR *listing = opendir(folder);
  for (const struct dirent *entry = listing ? readdir(listing) : NULL; entry && !found; entry = readdir(listing)) {
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 3, ".so") != 0) continue;
    int written = snprintf(out, PATH_MAX, "%s/%s", folder, entry->d_name);
    found = written > 0 && written < PATH_MAX && file_holds(out, words);
  }
  if (listing) closedir(listing);
  return found;
}

/* Next to the package, and in the lib folders of a build tree. */
static bool candidate_find(const char *package, const char *space, const char *name, char out[PATH_MAX]) {
  static const char *const places[] = {"", "/lib", "/../lib"};
  char folder[PATH_MAX], plain[PATH_MAX];
  const char *slash = strrchr(package, '/'), *const words[2] = {space, name};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    int written =
        snprintf(folder, sizeof folder, "%.*s%s", slash ? (int)(slash - package) : 1, slash ? package : ".", places[i]);
    if (written > 0 && (size_t)written < sizeof folder && realpath(folder, plain) && folder_search(plain, words, out))
      return true;
  }
  return false;
}

/* The best known advice. */
static void advise(const char *path, const opc_package_model_t *model, const char *space, const char *name,
                   opc_text_t *text) {
  char candidate[PATH_MAX], inner[256];
  snprintf(inner, sizeof inner, "%.*s", (int)strcspn(name, "."), name);
  bool found = candidate_find(path, space, inner, candidate);
  if (model->libraries[0]) opc_text_addf(text, ". The package was exported with %s", model->libraries);
  if (found)
    opc_text_addf(text, "%s: name it with --library %s",
                  model->libraries[0] ? "" : ". A library that holds these names is there", candidate);
  else opc_text_addf(text, ": name the library that registers %s with --library", space);
}

/* ---- operators and classes ---- */

static void set_lack(opc_package_lack_t *out, const char *kind, opc_text_t *text) {
  out->kind = kind;
  snprintf(out->message, sizeof out->message, "%s", opc_text_c(text));
  opc_text_clear(text);
}

static void split(const char *name, const char *separator, char space[128], const char **out_rest) {
  const char *at = strstr(name, separator);
  snprintf(space, 128, "%.*s", at ? (int)(at - name) : (int)strlen(name), name);
  *out_rest = at ? at + strlen(separator) : name;
}

/* An argument that the package passes and the schema lacks, or one that the schema requires and the package does not
 * pass. */
static void check_schema(const char *name, const json_t *given, const opc_operator_t *op, opc_package_lack_t *out) {
  size_t i;
  json_t *argument;
  opc_text_t text = {0};
  json_array_foreach(given, i, argument) {
    const char *word = json_string_value(argument);
    if (!word || opc_operator_argument(op, word) >= 0) continue;
    opc_text_addf(&text, "it gives %s an argument \"%s\" that the operator registered here does not have (%s)", name,
                  word, op->schema);
    break;
  }
  for (size_t a = 0; !text.length && a < op->argument_count; a++) {
    bool there = op->arguments[a].has_default || op->arguments[a].type.kind == OPC_TYPE_OPTIONAL;
    json_array_foreach(given, i, argument) there =
        there || strcmp(json_string_value(argument) ? json_string_value(argument) : "", op->arguments[a].name) == 0;
    if (!there)
      opc_text_addf(&text, "it does not give %s the argument \"%s\" that the operator registered here needs (%s)", name,
                    op->arguments[a].name, op->schema);
  }
  if (!text.length) return;
  opc_text_add(&text, ". It was exported with another version of the library: export it again, or use that version");
  set_lack(out, "schema", &text);
}

static void check_operator(const char *path, const opc_package_model_t *model, const char *name, const json_t *given,
                           opc_package_lack_t *out) {
  char space[128];
  const char *rest;
  opc_operator_t op = {0};
  opc_text_t text = {0};
  if (opc_bridge_describe(name, &op, NULL) == OPC_OK && op.schema) {
    check_schema(name, given, &op, out);
  } else {
    split(name, "::", space, &rest);
    opc_text_addf(
        &text, "a library is missing: the model calls %s, but nothing that was loaded registers this operator", name);
    advise(path, model, space, rest, &text);
    set_lack(out, "missing_operator", &text);
  }
  opc_operator_clear(&op);
}

static void check_class(const char *path, const opc_package_model_t *model, const char *name, opc_package_lack_t *out) {
  char space[128];
  const char *rest;
  opc_text_t text = {0};
  if (opc_bridge_has_class(name)) return;
  split(name, ".", space, &rest);
  opc_text_addf(
      &text,
      "a library is missing: the model holds an object of class %s, but nothing that was loaded registers this class",
      name);
  advise(path, model, space, rest, &text);
  set_lack(out, "missing_class", &text);
}

void opc_package_needs_check(const char *path, const opc_package_model_t *model, opc_package_lack_t *out) {
  const char *name;
  json_t *given;
  *out = (opc_package_lack_t){0};
  json_object_foreach(model->calls, name, given) if (!out->kind) check_operator(path, model, name, given, out);
  json_object_foreach(model->classes, name, given) if (!out->kind) check_class(path, model, name, out);
}
