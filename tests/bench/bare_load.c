/* The yardstick of scripts/bench: loads libtorch's CPU half and the libraries, and leaves. Nothing else a tool could do
 * with a library costs less.
 *     bare_load LIBTORCH_CPU LIB… */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s LIBTORCH_CPU LIB...\n", argv[0]);
    return 2;
  }
  for (int i = 1; i < argc; i++)
    if (!dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL)) {
      fprintf(stderr, "bare_load: %s\n", dlerror());
      return 1;
    }
  /* Destructors of libtorch are nobody's work here: a worker leaves the same way. */
  _exit(0);
}
