/* Reads a log of CUDA calls from a file (fixtures/cuda_logs/README.md has the format).
 *
 * Ownership: the struct owns its calls and, through `json`, their strings; opc_cuda_file_clear frees them. Threads: one
 * file, one thread. */
#ifndef OPC_TESTS_UNIT_CUDA_LOG_FILE_H
#define OPC_TESTS_UNIT_CUDA_LOG_FILE_H

#include "checks/cuda_log/cuda_analysis.h"

/* Some calls of an operator, and the CUDA calls logged for them. */
typedef struct opc_cuda_round {
  uint64_t operator_calls; /* so far */
  uint64_t tensor_bytes;   /* bytes held by libtorch's allocator afterwards */
  opc_cuda_call_t *calls;
  size_t count, dropped;
} opc_cuda_round_t;

typedef struct opc_cuda_file {
  json_t *json;
  const char *origin;       /* "synthetic", "simulated", "gpu" */
  const json_t *rules;      /* rules that the whole analysis must report; NULL: not given */
  opc_cuda_facts_t facts;   /* of the only round, or of each; `owner` looks the library up in "own" */
  uint64_t *lasting;        /* owned: array of facts.lasting */
  opc_cuda_count_t *counts; /* owned: array of facts.counts */
  opc_cuda_round_t *rounds; /* one, or several for device_memory */
  size_t round_count;
} opc_cuda_file_t;

/* OPC_ERR_IO, OPC_ERR_INPUT with file and field. The caller clears *out even after a failure. */
opc_status_t opc_cuda_file_read(const char *path, opc_cuda_file_t *out, opc_error_t *error) OPC_CHECKED;
void opc_cuda_file_clear(opc_cuda_file_t *file);

#endif
