/* What `opcheck-c record` and the processes of the recorded program leave for one another, in a folder of its own
 * beside the output:
 *
 *   settings            what to record (record_settings.h), written before the program starts
 *   calls.PID.TIME      one line of JSON a distinct call, written at once: {"class": hex, "sample": {…}}, empty lines
 * between them counts.PID.TIME     an opc_record_counts_t, mapped shared: it survives a SIGKILL, and children by fork
 * count in their parent's trouble.PID.TIME    why a process with libtorch could not be observed, in words
 *   values/HASH.npy     what --values keeps
 *
 * Threads and fork: rows are claimed and counted atomically, by all processes that share the mapping. */
#ifndef OPC_RECORD_RECORD_FOLDER_H
#define OPC_RECORD_RECORD_FOLDER_H

#include <stdatomic.h>
#include <stdint.h>

#include "record/reasons.h"

#define OPC_RECORD_VARIABLE "OPCHECK_RECORD" /* names the folder, for every process of the program */
#define OPC_RECORD_SETTINGS "settings"
#define OPC_RECORD_CALLS "calls."
#define OPC_RECORD_COUNTS "counts."
#define OPC_RECORD_TROUBLE "trouble."
#define OPC_RECORD_VALUES "values"
#define OPC_RECORD_SHIM "libopcheck-record.so"
#define OPC_RECORD_OBSERVER "libopcheck-observer" /* "-2.12.so" for another libtorch than the build's, else ".so" */
#define OPC_RECORD_MAGIC "opc-counts-1"

enum { OPC_RECORD_ROWS = 512, OPC_RECORD_NAME = 192 };

typedef struct opc_record_row {
  char operator_name[OPC_RECORD_NAME]; /* "ns::op.overload"; empty while it is being claimed */
  _Atomic uint64_t seen, distinct, written;
  _Atomic uint64_t left_out[OPC_REASON_COUNT];
} opc_record_row_t;

typedef struct opc_record_counts {
  char magic[16];
  _Atomic uint32_t used; /* rows claimed; more than OPC_RECORD_ROWS: the last row is everybody's */
  opc_record_row_t rows[OPC_RECORD_ROWS];
} opc_record_counts_t;

#endif
