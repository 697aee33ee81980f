/* Removes .npy files that an earlier recording left next to the same output: those that the earlier sample file names
 * and the new one does not. Other files in that folder stay.
 *
 * Ownership: opc_stale_values_clear. Threads: one. */
#pragma once

#include <stddef.h>

typedef struct opc_stale_values {
  char **names; /* sorted */
  size_t count;
} opc_stale_values_t;

/* The .npy files that the sample file names, if named as in a recording (side_file.c); none if it is unreadable. */
opc_stale_values_t opc_stale_values_of(const char *samples);
/* Removes the files of `before` that are not in `after` from OUTPUT.values, and the folder once it is empty. Files that
 * cannot be removed stay. */
void opc_stale_values_remove(const opc_stale_values_t *before, const opc_stale_values_t *after, const char *output);
void opc_stale_values_clear(opc_stale_values_t *values);
