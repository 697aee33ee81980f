#include "checks/call/own_library.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

typedef struct own {
  char *given, *real; /* the path as given, and the real path; either may be NULL */
} own_t;

/* Kept until the process ends. */
static own_t *owns;
static size_t own_count;

void opc_library_note_own(const char *file) {
  if (!OPC_ARRAY_GROW(owns, own_count)) return; /* treated as not under test: finds less, but reports nothing wrong */
  owns[own_count++] = (own_t){.given = opc_string_copy(file), .real = realpath(file, NULL)};
}

const char *opc_library_own_named(const char *name) {
  for (size_t i = 0; i < own_count; i++) {
    if (owns[i].given && strcmp(opc_base_name(owns[i].given), name) == 0) return owns[i].given;
  }
  return NULL;
}

/* What Triton compiles into its cache to load and to launch the kernels of operators in Python. */
static bool own_library_is_triton(const char *file) {
  static const char *const names[] = {"__triton_launcher.", "cuda_utils."};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(opc_base_name(file), names[i], strlen(names[i])) == 0) return true;
  return false;
}

bool opc_library_is_own(const char *file) {
  char real[PATH_MAX];
  if (own_library_is_triton(file)) return true;
  for (size_t i = 0; i < own_count; i++)
    if ((owns[i].given && strcmp(owns[i].given, file) == 0) || (owns[i].real && strcmp(owns[i].real, file) == 0))
      return true;
  if (!strchr(file, '/') || !realpath(file, real)) return false;
  for (size_t i = 0; i < own_count; i++)
    if (owns[i].real && strcmp(owns[i].real, real) == 0) return true;
  return false;
}
