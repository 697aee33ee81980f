/* What the processes of a program have left in a recording's folder, as one sample file and a table of what was seen.
 *
 * Ownership: opc_recordings_clear. Threads: one. */
#ifndef OPC_RECORD_MERGE_RECORDINGS_H
#define OPC_RECORD_MERGE_RECORDINGS_H

#include <stdint.h>
#include <stdio.h>

#include "base/status.h"
#include "base/text.h"
#include "record/reasons.h"
#include "record/record_settings.h"

typedef struct opc_recordings_operator {
  char *name;
  uint64_t seen;    /* calls; 0 where a process could not count */
  uint64_t written; /* samples in the file */
  uint64_t left_out[OPC_REASON_COUNT];
} opc_recordings_operator_t;

typedef struct opc_recordings_merge {
  opc_recordings_operator_t *operators; /* by name */
  size_t operator_count;
  uint64_t processes; /* with libtorch in them */
  uint64_t samples;
  uint64_t damaged;    /* lines that were not finished */
  opc_text_t troubles; /* why processes with libtorch could not be observed: a line each, none twice */
} opc_recordings_t;

/* Gathers the folder, and writes `output` where there is a sample for it: beside its target and renamed, its .npy files
 * in a folder of its own beside it. What an earlier recording left there is removed. */
opc_status_t opc_recordings_merge(const char *folder, const char *output, const opc_record_settings_t *settings,
                                  opc_recordings_t *out, opc_error_t *error) OPC_CHECKED;
void opc_recordings_clear(opc_recordings_t *recordings);
/* Removes the folder with what is in it. */
void opc_record_folder_remove(const char *folder);
/* The table of operators, and what was left out and why. */
void opc_recordings_report(const opc_recordings_t *recordings, const char *output, FILE *to);

#endif
