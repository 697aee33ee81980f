/* Merges what the processes of a program left in a recording's folder: one sample file, and a table of the observed
 * calls.
 *
 * Ownership: opc_recordings_clear. Threads: one. */
#pragma once

#include "base/text.h"
#include "recording/reasons.h"
#include "recording/record_settings.h"

typedef struct opc_recordings_operator {
  char *name;
  uint64_t seen;    /* calls; 0 if a process could not count */
  uint64_t written; /* samples in the file */
  uint64_t left_out[OPC_REASON_COUNT];
} opc_recordings_operator_t;

typedef struct opc_recordings_merge {
  opc_recordings_operator_t *operators; /* sorted by name */
  size_t operator_count;
  uint64_t processes; /* processes that loaded libtorch */
  uint64_t samples;
  uint64_t damaged;    /* incomplete lines */
  opc_text_t troubles; /* why processes with libtorch could not be observed: one line each, no duplicates */
} opc_recordings_t;

/* Reads the folder, and writes `output` if there is a sample for it: to a temporary file next to it, which is then
 * renamed. The .npy files go to a separate folder next to it. Removes what an earlier recording left there. */
opc_status_t opc_recordings_merge(const char *folder, const char *output, const opc_record_settings_t *settings,
                                  opc_recordings_t *out, opc_error_t *error) OPC_CHECKED;
void opc_recordings_clear(opc_recordings_t *recordings);
/* Removes the folder and its contents. */
void opc_record_folder_remove(const char *folder);
/* Prints the table of operators: what was left out and why. */
void opc_recordings_report(const opc_recordings_t *recordings, const char *output, FILE *to);

/* Removes .npy files that an earlier recording left next to the same output: those that the earlier sample file names
 * and the new one does not. Other files in that folder stay.
 *
 * Ownership: opc_stale_values_clear. */

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
