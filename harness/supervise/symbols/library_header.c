#include <string.h>

#include "supervise/symbols/symbolise.h"

bool opc_is_library_header(const char *file) {
  static const char *const parts[] = {"/ATen/",        "/c10/",    "/torch/csrc/", "/torch/headeronly/",
                                      "/include/c++/", "/lib/gcc/"};
  for (size_t i = 0; file && i < sizeof parts / sizeof *parts; i++)
    if (strstr(file, parts[i])) return true;
  return false;
}
