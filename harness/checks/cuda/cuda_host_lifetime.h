/* Which host memory used by copies of a captured call still exists after the call: a graph accesses it again at each
 * replay.
 *
 * Memory counts as lasting if it is a library's data, belongs to an argument or output, or was also used for a copy in
 * an earlier call, in which malloc gave other addresses (opc_scratch_memory_shift). Memory on the stack below the
 * caller, or no longer readable, is gone. Ownership: none. Threads: one. */
#pragma once

#include "checks/call/call.h"
#include "cuda/log/cuda_log.h"

enum { OPC_CUDA_HOST_LIFETIME_MAX = 64 };

typedef struct opc_cuda_host_lifetime {
  uint64_t used[OPC_CUDA_HOST_LIFETIME_MAX]; /* addresses used by copies of the earlier call */
  size_t used_count;
  uint64_t found[OPC_CUDA_HOST_LIFETIME_MAX];
  size_t found_count;
} opc_cuda_host_lifetime_t;

/* Adds the addresses from the log of an earlier call. */
void opc_cuda_host_lifetime_see(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log);
/* Fills in `found` from the log of the captured call, which has returned; *call still has its arguments. */
void opc_cuda_host_lifetime_find(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log, const opc_call_t *call);
