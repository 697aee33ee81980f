/* What newer versions of glibc have, for those back to 2.31: a wheel is built with that one, and runs with all later
 * ones.
 *
 * Ownership: static strings. Threads: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

/* "SEGV", and "Segmentation fault" in English; NULL: no such signal. As sigabbrev_np and sigdescr_np of glibc 2.32. */
const char *opc_signal_abbreviation(int number);
const char *opc_signal_description(int number);

/* As pidfd_open and pidfd_send_signal of glibc 2.36. */
int opc_pidfd_open(pid_t pid);
int opc_pidfd_signal(int pidfd, int number);

/* True: this process has a single thread. False: it has several, or glibc is older than 2.32 and does not say. */
bool opc_single_threaded(void);

typedef struct opc_heap_use {
  size_t arenas; /* bytes that malloc has from the kernel, large blocks included */
  size_t used;   /* bytes of them that are allocated */
} opc_heap_use_t;

/* From mallinfo2 of glibc 2.33. Older ones count modulo 4 GiB. */
opc_heap_use_t opc_heap_use(void);

/* Reads a clock in seconds, to measure intervals. Fork: safe. */

/* clock: CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID… */
double opc_clock_of(clockid_t clock);
double opc_clock(void); /* CLOCK_MONOTONIC */

/* A C++ symbol as it is written in C++: "c10::Error::what() const". Every system with a libtorch has libstdc++, which
 * knows how; a name of another kind, a very long one, and any name without libstdc++ stay what they are. The caller
 * frees; NULL: out of memory. */
char *opc_demangle(const char *name);
