/* run_package MODEL.pt2 OPERATORS.so [DEVICE]: the example of how a C program runs a model that calls custom operators.
 *
 * Loads libtorch.so, which the model's compiled code needs, and the library of operators, for all to see; then the
 * package; runs it on a [1, 3, 224, 224] tensor of the device that it was compiled for (cpu, which is meant where none
 * is named, or cuda) and holds the output against the input, bit for bit: the identity model must return what it was
 * given. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "package_run.h"

static int load(const char *library) {
  /* RTLD_GLOBAL: what it registers and what it links to is looked for by code that is loaded later. */
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
