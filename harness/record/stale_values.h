/* The .npy files that an earlier recording left beside the same output: those that the earlier file names and the new
 * one does not are removed. Others in that folder stay, whosever they are.
 *
 * Ownership: opc_stale_values_clear. Threads: one. */
#ifndef OPC_RECORD_STALE_VALUES_H
#define OPC_RECORD_STALE_VALUES_H

#include <stddef.h>

typedef struct opc_stale_values {
  char **names; /* sorted */
  size_t count;
} opc_stale_values_t;

/* What the sample file names as a recording does (side_file.c); nothing where it cannot be read. */
opc_stale_values_t opc_stale_values_of(const char *samples);
/* Removes those of `before` that are not in `after` from OUTPUT.values, and the folder when nothing is left in it. What
 * cannot be removed stays. */
void opc_stale_values_remove(const opc_stale_values_t *before, const opc_stale_values_t *after, const char *output);
void opc_stale_values_clear(opc_stale_values_t *values);

#endif
