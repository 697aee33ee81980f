/* run_package MODEL.pt2 OPERATORS.so [DEVICE]: example of a C program that runs a model which calls custom operators.
 *
 * Loads libtorch.so, which the model's compiled code needs, and the library of operators, both with global symbols;
 * then the package. Runs it on a [1, 3, 224, 224] tensor on the device that it was compiled for (cpu, the default, or
 * cuda) and compares the output with the input, bit for bit: the identity model must return its input. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "package_run.h"

static int load(const char *library) {
  /* RTLD_GLOBAL: code that is loaded later looks up what it registers and links to. */
  if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) != NULL) return 1;
  fprintf(stderr, "run_package: %s\n", dlerror());
  return 0;
}

int main(int argc, char **argv) {
  static const int64_t sizes[] = {1, 3, 224, 224};
  const size_t count = 3 * 224 * 224;
  char message[1024];
  const char *device = argc == 4 ? argv[3] : "cpu";
  int status = 1;
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: run_package MODEL.pt2 OPERATORS.so [DEVICE]\n");
    return 2;
  }
  if (!load("libtorch.so") || !load(argv[2])) return 1;

  float *input = malloc(count * sizeof *input), *output = malloc(count * sizeof *output);
  package_t *package = package_open(argv[1], message, sizeof message);
  if (input == NULL || output == NULL) {
    fprintf(stderr, "run_package: out of memory\n");
  } else if (package == NULL) {
    fprintf(stderr, "run_package: %s: %s\n", argv[1], message);
  } else {
    for (size_t i = 0; i < count; i++) input[i] = (float)i / 7 - 1000;
    if (package_run(package, device, input, sizes, sizeof sizes / sizeof *sizes, output, count, message,
                    sizeof message) != 0) {
      fprintf(stderr, "run_package: %s\n", message);
    } else if (memcmp(input, output, count * sizeof *input) != 0) {
      fprintf(stderr, "run_package: the output's bits differ from the input's\n");
    } else {
      printf("%s: the output's bits equal the input's, all %zu elements\n", argv[1], count);
      status = 0;
    }
  }
  package_close(package);
  free(input);
  free(output);
  return status;
}
