#include "recording/recorder.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static locale_t plain_locale;
static pthread_once_t plain_locale_once = PTHREAD_ONCE_INIT;

static void make_plain_locale(void) { plain_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

void opc_quiet_begin(opc_quiet_t *quiet) {
  sigset_t limit, pending;
  quiet->error = errno;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &quiet->cancel);
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &limit, &quiet->mask);
  sigpending(&pending);
  quiet->limit_pending = sigismember(&pending, SIGXFSZ) == 1;
  pthread_once(&plain_locale_once, make_plain_locale);
  quiet->locale = plain_locale ? uselocale(plain_locale) : (locale_t)0;
}

void opc_quiet_end(const opc_quiet_t *quiet) {
  const struct timespec at_once = {0};
  sigset_t limit;
  if (quiet->locale) uselocale(quiet->locale);
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  if (!quiet->limit_pending)
    while (sigtimedwait(&limit, NULL, &at_once) == SIGXFSZ) continue;
  pthread_sigmask(SIG_SETMASK, &quiet->mask, NULL);
  pthread_setcancelstate(quiet->cancel, NULL);
  errno = quiet->error;
}
