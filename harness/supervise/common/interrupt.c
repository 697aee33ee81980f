#include "supervise/common/run_options.h"

#include <signal.h>

static volatile sig_atomic_t interrupted;
static struct sigaction before_int, before_term, before_pipe, before_size;

static void on_signal(int number) {
  (void)number;
  interrupted = 1;
}

bool opc_interrupted(void) { return interrupted != 0; }

void opc_interrupt_begin(void) {
  struct sigaction stop = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
  interrupted = 0;
  sigemptyset(&stop.sa_mask);
  sigemptyset(&ignore.sa_mask);
  sigaction(SIGINT, &stop, &before_int); /* without SA_RESTART: a waiting poll ends */
  sigaction(SIGTERM, &stop, &before_term);
  sigaction(SIGPIPE, &ignore, &before_pipe);
  sigaction(SIGXFSZ, &ignore, &before_size); /* a write beyond the limit then fails with EFBIG */
}

void opc_interrupt_end(void) {
  sigaction(SIGINT, &before_int, NULL);
  sigaction(SIGTERM, &before_term, NULL);
  sigaction(SIGPIPE, &before_pipe, NULL);
  sigaction(SIGXFSZ, &before_size, NULL);
}
