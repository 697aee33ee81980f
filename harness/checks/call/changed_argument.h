/* Whether a call changes an argument that the schema does not declare mutable. Every call of opc_call_run is watched,
 * whichever check makes it, except for those that compare numbers of threads (opc_arguments_watch_pause): bytes of the
 * arguments' storages are copied before the call and compared after it.
 *
 * Small storages are compared as a whole; of a large one, cache lines at equal distances, so that a call costs a few
 * microseconds more. What is not seen: storages on other devices, arguments that share their storage with a declared
 * mutable one, tensors inside of objects, and what calls that throw have changed. Ownership: nothing is kept but one
 * buffer for the life of the process. Threads: one; calls do not nest. */
#pragma once

#include "checks/call/call.h"

/* A declared mutable argument has the same storage. */
bool opc_argument_may_be_written(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg);

/* Around a call. The arguments stay alive in between. */
void opc_arguments_watch(const opc_call_t *call);
void opc_arguments_compare(const opc_call_t *call, bool returned);
/* While paused, calls are not watched: where threads are held at the pages of their arguments, nobody else touches
 * these. */
void opc_arguments_watch_pause(bool pause);

/* The first change since opc_changed_argument_forget. */
typedef struct opc_changed_argument {
  char text[400]; /* "x, first at x[1, 2]"; "": nothing changed */
  bool outside;   /* outside of the argument's elements */
} opc_changed_argument_t;
const opc_changed_argument_t *opc_changed_argument(void);
void opc_changed_argument_forget(void);
