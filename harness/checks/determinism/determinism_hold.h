/* Holds up one thread of a call that uses several, until the others have done their work: data that the threads share
 * then changes at the worst moment. A race that needs two threads within the same few instructions shows in one call,
 * even with one processor.
 *
 * The call's arguments need fixed addresses (checks/call/argument_places.h). Threads: one call at a time. */
#pragma once

#include "checks/call/argument_places.h"

/* Where: at the first access to a third of the largest argument, early in it, because the thread that runs first must
 * be held; or, after such an access, at the next write to memory that the operator allocated, or may write. There the
 * thread has read the old value already: an update by another thread is lost (not of a single instruction, which reads
 * again). In the order of the runs. */
typedef enum opc_hold {
  OPC_HOLD_NOWHERE = 0,
  OPC_HOLD_NOWHERE_AGAIN,
  OPC_HOLD_FIRST,
  OPC_HOLD_SECOND,
  OPC_HOLD_THIRD,
  OPC_HOLD_WRITE_AFTER_FIRST,
  OPC_HOLD_WRITE_AFTER_SECOND,
  OPC_HOLD_WRITE_AFTER_THIRD,
  OPC_HOLD_RUNS
} opc_hold_t;

/* Before the call. until: the thread goes on when the process has used so much processor time
 * (CLOCK_PROCESS_CPUTIME_ID, seconds), or after 40 ms. */
void opc_hold_begin(const opc_call_t *call, const opc_places_t *places, opc_hold_t where, double until);
void opc_hold_end(void);
