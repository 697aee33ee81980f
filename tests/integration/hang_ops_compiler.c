/* Stands for a compiler within the process: its library has such a name. It takes three seconds, unless an earlier call
 * has left its result in a file. */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void hang_ops_compile(void);

static double used(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void hang_ops_compile(void) {
  const char *file = getenv("HANG_OPS_COMPILED");
  if (!file || access(file, F_OK) == 0) return;
  const double began = used();
  for (volatile unsigned work = 0; (work & 0xfffff) != 0 || used() - began < 3;) work = work + 1;
  close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}
