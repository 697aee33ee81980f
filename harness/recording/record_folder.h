/* Files that `opcheck-c record` and the processes of the recorded program exchange, in a private folder next to the
 * output:
 *
 *   settings            what to record (record_settings.h), written before the program starts
 *   calls.PID.TIME      one JSON line per distinct call, written immediately: {"class": hex, "sample": {…}};
 *                       empty lines between them
 *   counts.PID.TIME     an opc_record_counts_t, mapped shared: it survives SIGKILL; forked children count in their
 *                       parent's
 *   trouble.PID.TIME    why a process with libtorch could not be observed, as text
 *   values/DTYPE-HASH.npy, values/object-HASH.pt    values kept by --values, and pickled objects
 *
 * Threads and fork: processes that share the mapping claim and count rows atomically. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "recording/reasons.h"

#define OPC_RECORD_VARIABLE "OPCHECK_RECORD" /* environment variable that names the folder in every process */
#define OPC_RECORD_SETTINGS "settings"
#define OPC_RECORD_CALLS "calls."
#define OPC_RECORD_COUNTS "counts."
#define OPC_RECORD_TROUBLE "trouble."
#define OPC_RECORD_VALUES "values"
#define OPC_RECORD_OBJECT "object" /* how the names of pickled objects start */
#define OPC_RECORD_SHIM "libopcheck-record.so"
#define OPC_RECORD_OBSERVER "libopcheck-observer" /* + ".so"; for another libtorch than the build's "-2.12.so" */
#define OPC_RECORD_MAGIC "opc-counts-1"

enum { OPC_RECORD_ROWS = 512, OPC_RECORD_NAME = 192 };

typedef struct opc_record_row {
  char operator_name[OPC_RECORD_NAME]; /* "ns::op.overload"; empty while the row is being claimed */
  _Atomic uint64_t seen, distinct, written;
  _Atomic uint64_t left_out[OPC_REASON_COUNT];
} opc_record_row_t;

typedef struct opc_record_counts {
  char magic[16];
  _Atomic uint32_t used; /* rows claimed; if more than OPC_RECORD_ROWS, operators share the last row */
  opc_record_row_t rows[OPC_RECORD_ROWS];
} opc_record_counts_t;
