/* Traps conversions of floating-point numbers to integers that do not fit, in the code of the libraries under test
 * (opc_heap_guard_note_loaded). On x86-64 only.
 *
 * While it is armed, the exception "invalid operation" is unmasked in the thread that armed it, and in threads that
 * this one starts. It reaches the process's SIGFPE handler, which calls opc_conversion_fault: that records the
 * conversion, and lets the processor execute the instruction once with the exception masked. SIGTRAP follows, which
 * goes there too, and unmasks it. So the operator computes what it always does. After many other invalid operations
 * (NaN compared, 0/0) in a call it stays masked, because each costs two signals.
 *
 * Threads: arm, disarm and read in one thread, while no operator runs in others. Fork: the child has a copy. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "base/conversion.h"

enum { OPC_CONVERSION_FRAMES = 24, OPC_CONVERSION_SITES = 16 };

/* An instruction that converted numbers that do not fit. */
typedef struct opc_conversion_site {
  uint64_t address;
  opc_conversion_t conversion;
  double number;  /* the first that did not fit; NaN too */
  uint64_t times; /* how often it was trapped */
  uint64_t other; /* what opc_conversion_replace put in place of the first */
  uint32_t frame_count;
  uint64_t frames[OPC_CONVERSION_FRAMES]; /* the first is `address`, the others are return addresses */
} opc_conversion_site_t;

/* NULL: it can be armed. Otherwise why it cannot, as text. */
const char *opc_conversion_trap_missing(void);
/* Forgets the recorded sites. replaced: 0, or the address of an instruction; the integers that it makes of numbers that
 * do not fit become opc_conversion_other, in this thread. */
void opc_conversion_trap_arm(uint64_t replaced);
/* Restores the thread's floating-point control. */
void opc_conversion_trap_disarm(void);
/* The sites recorded since it was armed. *out is valid until it is armed again. */
size_t opc_conversion_sites(const opc_conversion_site_t **out);

/* For a handler of SIGFPE and SIGTRAP; async-signal-safe. False: the signal is not the trap's. *out_site, unless it is
 * NULL: a new site, whose frames the caller fills in. */
bool opc_conversion_fault(int signal_number, const siginfo_t *info, ucontext_t *context,
                          opc_conversion_site_t **out_site);
