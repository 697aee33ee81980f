/* Brackets the observer's work inside a program that must not notice it. Between begin and end, numbers are written
 * with a point, and a write beyond a limit is an error instead of a signal. end restores errno, this thread's locale,
 * cancellation and SIGXFSZ.
 *
 * Threads: any, one opc_quiet_t each. Not for hot paths: half a dozen system calls. */
#pragma once

#include <locale.h>
#include <signal.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_quiet {
  int error, cancel;
  bool limit_pending; /* a SIGXFSZ of the program was already pending */
  sigset_t mask;
  locale_t locale;
} opc_quiet_t;

void opc_quiet_begin(opc_quiet_t *quiet);
void opc_quiet_end(const opc_quiet_t *quiet);

#ifdef __cplusplus
}
#endif
