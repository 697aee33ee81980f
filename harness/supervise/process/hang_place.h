/* Where calls hang: the loops that processes were in when their time was over. A library's operators often share a
 * loop, and a loop that did not end for one input does not end for the next: that one need not be waited for as long.
 *
 * The instructions are read from outside, by ptrace: a process that does not return cannot say where it is. Where
 * ptrace is not allowed nothing is known, and every hang is waited for.
 *
 * Ownership: opc_hang_places_clear. Threads: one. */
#pragma once

#include "supervise/process/batch_child.h"

/* A part of a library's code, as offsets in its file. */
typedef struct opc_hang_place {
  char *file;
  uint64_t first, last;
} opc_hang_place_t;

typedef struct opc_hang_places {
  opc_hang_place_t *items;
  size_t count;
} opc_hang_places_t;

void opc_hang_places_clear(opc_hang_places_t *places);
/* Adds where the child is, which is about to be killed because its time is over: if that is a loop, and neither one of
 * libtorch nor of the system. */
void opc_hang_note(opc_hang_places_t *places, const opc_child_t *child);
/* True if its main thread is in a compiler's library: an operator that is compiled within its process, as those of Warp
 * and Numba are. Takes some milliseconds. */
bool opc_hang_compiles(const opc_child_t *child);
/* Seconds after which the child's case is worth a look: a tenth of its limit, if it works on an input that nobody
 * vouches for; the limit itself if there is nothing to look for. */
double opc_hang_look_after(const opc_hang_places_t *places, const opc_child_t *child, double seconds);
/* True if the child's case has run for so long, and is in a known place, or could not be stopped for a look. `seconds`
 * is the limit of the case. Looks once for each. */
bool opc_hang_is_known(const opc_hang_places_t *places, opc_child_t *child, double runs, double seconds);
