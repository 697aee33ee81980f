/* Somebody else's LD_PRELOAD: says that it is there. */
#include <unistd.h>

static __attribute__((constructor)) void say(void) {
  if (write(STDOUT_FILENO, "preloaded\n", 10) != 10) _exit(98);
}
