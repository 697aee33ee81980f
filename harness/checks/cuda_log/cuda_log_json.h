/* Logs of CUDA calls as JSON: evidence of findings, and files for the tests of their analysis
 * (fixtures/cuda_logs/README.md has the format; tests/unit/cuda_log_file.h reads it).
 *
 * Threads: any. */
#pragma once

#include <jansson.h>

#include "checks/cuda_log/cuda_analysis.h"

#define OPC_CUDA_LOG_FORMAT "opcheck-c/cuda-log/1"
enum { OPC_CUDA_STREAM_KINDS = OPC_CUDA_STREAM_UNKNOWN + 1, OPC_CUDA_PLACES = OPC_CUDA_FREED + 1 };
extern const char *const opc_cuda_stream_names[OPC_CUDA_STREAM_KINDS], *const opc_cuda_place_names[OPC_CUDA_PLACES];

/* One object per call; fields that are zero or empty are omitted. New reference; NULL: out of memory. */
json_t *opc_cuda_call_json(const opc_cuda_call_t *call);
/* A log file of one round: facts, calls, and which of their libraries are under test. NULL: out of memory. */
json_t *opc_cuda_file_json(const opc_cuda_facts_t *facts, const char *origin, const json_t *versions);
