/* Which host memory that copies of a captured call use is there afterwards too: a graph reads it again at each replay.
 *
 * Memory stays that is data of a library, an argument's or an output's own, or that the operator used for a copy in an
 * earlier call as well, at another call's addresses of malloc (opc_scratch_memory_shift). What lies on the stack below
 * the caller, or cannot be read any more, has gone. Ownership: none. Threads: one. */
#ifndef OPC_CHECKS_CUDA_CUDA_HOST_LIFETIME_H
#define OPC_CHECKS_CUDA_CUDA_HOST_LIFETIME_H

#include "checks/call/call.h"
#include "cuda/log/cuda_log.h"

enum { OPC_CUDA_HOST_LIFETIME_MAX = 64 };

typedef struct opc_cuda_host_lifetime {
  uint64_t used[OPC_CUDA_HOST_LIFETIME_MAX]; /* by copies of the earlier call */
  size_t used_count;
  uint64_t found[OPC_CUDA_HOST_LIFETIME_MAX];
  size_t found_count;
} opc_cuda_host_lifetime_t;

/* The log of an earlier call. */
void opc_cuda_host_lifetime_see(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log);
/* The log of the captured call, which has returned; *call still has its arguments. Fills in `found`. */
void opc_cuda_host_lifetime_find(opc_cuda_host_lifetime_t *lasting, const opc_cuda_log_t *log, const opc_call_t *call);

#endif
