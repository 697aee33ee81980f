#include "recording/torch_found.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A wheel has the first, an archive for C++ has the second; either may lack the headers. */
static const char *const version_files[] = {"version.py", "build-version", "include/torch/headeronly/version.h",
                                            "include/torch/csrc/api/include/torch/version.h"};

void opc_torch_version_of(const char *torch_cpu_file, char out[16]) {
  const char *lib = strstr(torch_cpu_file, "/lib/libtorch_cpu.so");
  out[0] = '\0';
  for (size_t i = 0; lib && out[0] == '\0' && i < sizeof version_files / sizeof version_files[0]; i++) {
    char path[PATH_MAX], line[512];
    int major = -1, minor = -1;
    snprintf(path, sizeof path, "%.*s/%s", (int)(lib - torch_cpu_file), torch_cpu_file, version_files[i]);
    FILE *file = fopen(path, "re");
    if (!file) continue;
    while ((major < 0 || minor < 0) && fgets(line, sizeof line, file)) {
      (void)sscanf(line, "#define TORCH_VERSION_MAJOR %d", &major);
      (void)sscanf(line, "#define TORCH_VERSION_MINOR %d", &minor);
      if (sscanf(line, "__version__ = '%d.%d", &major, &minor) != 2 && i == 1)
        (void)sscanf(line, "%d.%d", &major, &minor);
    }
    fclose(file);
    if (major >= 0 && minor >= 0) snprintf(out, 16, "%d.%d", major % 1000, minor % 1000);
  }
}
