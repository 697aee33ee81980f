#include "bridge/load_error.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 256 };

/* The library in "libfoo.so.1: cannot open shared object file: …". */
static bool missing_library(const char *words, char out[NAME_SIZE]) {
  const char *end = strstr(words, ": cannot open shared object file");
  if (end == NULL || end - words >= NAME_SIZE) return false;
  (void)snprintf(out, NAME_SIZE, "%.*s", (int)(end - words), words);
  return true;
}

/* The symbol in "/path/lib.so: undefined symbol: NAME" or "…: undefined symbol: NAME, version V". */
static bool missing_symbol(const char *words, char out[NAME_SIZE]) {
  static const char mark[] = "undefined symbol: ";
  const char *start = strstr(words, mark);
  if (start == NULL) return false;
  start += sizeof mark - 1;
  (void)snprintf(out, NAME_SIZE, "%.*s", (int)strcspn(start, ", \n("), start);
  return true;
}

static bool contains(const char *text, const char *part) { return strstr(text, part) != NULL; }

static void explain_library(const char *name, char *out, size_t size) {
  if (strncmp(name, "libcudart", 9) == 0 || strncmp(name, "libcublas", 9) == 0 || strncmp(name, "libnv", 5) == 0) {
    (void)snprintf(out, size, "it was built for another CUDA than this libtorch, or CUDA's libraries are not installed: %s is missing",
                   name);
  } else if (strncmp(name, "libtorch", 8) == 0 || strncmp(name, "libc10", 6) == 0) {
    (void)snprintf(out, size, "it needs %s, which is not part of this libtorch", name);
  } else {
    (void)snprintf(out, size, "it needs %s, found neither beside it nor in the search path (--preload loads it first)", name);
  }
}

static bool explain_symbol(const char *name, const char *torch_version, char *out, size_t size) {
  /* Ss is std::string of the string ABI that libtorch left in 2.6. */
  const bool of_torch = contains(name, "c10") || contains(name, "5torch") || contains(name, "2at") || contains(name, "torch_");
  if (of_torch && (contains(name, "RKSs") || contains(name, "ESs") || contains(name, "vSs") || contains(name, "EvSs"))) {
    (void)snprintf(out, size, "it was built with the string ABI of libtorch before 2.6 (_GLIBCXX_USE_CXX11_ABI=0)");
  } else if (contains(name, "10headeronly")) {
    (void)snprintf(out, size, "it was built for libtorch 2.12 or newer, and this is %s", torch_version);
  } else if (strncmp(name, "Py", 2) == 0 || strncmp(name, "_Py", 3) == 0 || contains(name, "THP") || contains(name, "pybind11")) {
    (void)snprintf(out, size, "it uses Python: not loadable without an interpreter");
  } else if (of_torch) {
    (void)snprintf(out, size, "it was built for another libtorch than this %s", torch_version);
  } else {
    return false;
  }
  return true;
}

opc_status_t opc_load_error_explain(const char *path, const char *words, const char *torch_version, opc_error_t *error) {
  char name[NAME_SIZE], cause[2 * NAME_SIZE] = "";
  bool known = false;
  if (missing_library(words, name)) {
    known = strcmp(name, path) != 0; /* the library itself is missing: the loader says it well */
    if (known) explain_library(name, cause, sizeof cause);
  } else if (missing_symbol(words, name)) {
    known = explain_symbol(name, torch_version, cause, sizeof cause);
  }
  if (!known) return opc_error_set(error, OPC_ERR_LIBRARY, "%s", words);
  return opc_error_set(error, OPC_ERR_LIBRARY, "%s (%s)", cause, words);
}
