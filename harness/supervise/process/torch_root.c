#include "supervise/process/torch_root.h"

#include <limits.h>
#include <stdio.h>

/* Version 2.8 moved the numbers from the API header to headeronly. A small root may have only the Python file. */
static const char *const version_files[] = {"include/torch/headeronly/version.h",
                                            "include/torch/csrc/api/include/torch/version.h", "version.py"};

void opc_torch_version_read(const char *root, char out[16]) {
  out[0] = '\0';
  for (size_t i = 0; i < sizeof version_files / sizeof version_files[0] && out[0] == '\0'; i++) {
    char path[PATH_MAX], line[512];
    int major = -1, minor = -1;
    snprintf(path, sizeof path, "%s/%s", root, version_files[i]);
    FILE *file = fopen(path, "re");
    if (file == NULL) continue;
    while ((major < 0 || minor < 0) && fgets(line, sizeof line, file) != NULL) {
      (void)sscanf(line, "#define TORCH_VERSION_MAJOR %d", &major);
      (void)sscanf(line, "#define TORCH_VERSION_MINOR %d", &minor);
      (void)sscanf(line, "__version__ = '%d.%d", &major, &minor);
    }
    fclose(file);
    if (major >= 0 && minor >= 0) snprintf(out, 16, "%d.%d", major % 1000, minor % 1000);
  }
}
