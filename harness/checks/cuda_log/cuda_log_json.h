/* Logs of CUDA calls as JSON: evidence of findings, and files for the tests of the judges (fixtures/cuda_logs/README.md
 * has the format).
 *
 * Ownership: a log that was read owns its calls and, through `json`, their strings: opc_cuda_file_clear. Threads: one
 * file, one thread. */
#ifndef OPC_CHECKS_CUDA_LOG_CUDA_LOG_JSON_H
#define OPC_CHECKS_CUDA_LOG_CUDA_LOG_JSON_H

#include <jansson.h>

#include "checks/cuda_log/cuda_analysis.h"
#include "model/json/json_read.h"

#define OPC_CUDA_LOG_FORMAT "opcheck-c/cuda-log/1"
enum { OPC_CUDA_STREAM_KINDS = OPC_CUDA_STREAM_UNKNOWN + 1, OPC_CUDA_PLACES = OPC_CUDA_FREED + 1 };
extern const char *const opc_cuda_stream_words[OPC_CUDA_STREAM_KINDS], *const opc_cuda_place_words[OPC_CUDA_PLACES];

/* One object a call: what is zero or empty is left out. New reference; NULL: out of memory. */
json_t *opc_cuda_call_json(const opc_cuda_call_t *call);
/* The mistake's place is in the reader. Strings are borrowed from the JSON. */
opc_status_t opc_cuda_call_read(opc_json_reader_t *reader, const json_t *json, opc_cuda_call_t *out) OPC_CHECKED;

/* Some calls of an operator and what was logged of them. */
typedef struct opc_cuda_round {
  uint64_t operator_calls; /* so far */
  uint64_t tensor_bytes;   /* libtorch's allocator holds them afterwards */
  opc_cuda_call_t *calls;
  size_t count, dropped;
} opc_cuda_round_t;

typedef struct opc_cuda_file {
  json_t *json;
  const char *origin;       /* "synthetic", "simulated", "gpu" */
  const json_t *rules;      /* what all judges together are to find; NULL: not said */
  opc_cuda_facts_t facts;   /* of the only round, or of each; owner looks the library up in "own" */
  uint64_t *lasting;        /* the facts' */
  opc_cuda_round_t *rounds; /* one, or several for device_memory */
  size_t round_count;
} opc_cuda_file_t;

/* OPC_ERR_IO, OPC_ERR_INPUT with file and field. To be cleared also after a failure. */
opc_status_t opc_cuda_file_read(const char *path, opc_cuda_file_t *out, opc_error_t *error) OPC_CHECKED;
void opc_cuda_file_clear(opc_cuda_file_t *file);

/* A file of one round, to be kept: facts, calls, and the libraries among them that are own. NULL: out of memory. */
json_t *opc_cuda_file_json(const opc_cuda_facts_t *facts, const char *origin, const json_t *versions);

#endif
