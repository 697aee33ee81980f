#include <dlfcn.h>
#include <string.h>

#include "base/system.h"
#include "base/text.h"

enum { LONGEST = 4096 }; /* names come from files of unknown origin */

typedef char *demangle_t(const char *mangled, char *buffer, size_t *length, int *status);

static demangle_t *demangle_function(void) {
  static bool looked;
  static union {
    void *object;
    demangle_t *function;
  } found;
  if (!looked) {
    looked = true;
    void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library) found.object = dlsym(library, "__cxa_demangle");
  }
  return found.function;
}

char *opc_demangle(const char *name) {
  const bool mangled = strncmp(name, "_Z", 2) == 0 && strnlen(name, LONGEST) < LONGEST;
  demangle_t *function = mangled ? demangle_function() : NULL;
  char *plain = function ? function(name, NULL, NULL, NULL) : NULL;
  return plain ? plain : opc_string_copy(name);
}
