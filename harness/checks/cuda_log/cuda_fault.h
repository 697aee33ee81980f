/* CUDA errors that end a context: an earlier kernel did something that the GPU forbids, and every later call of the
 * process returns the error. The call that reports it is not the one that caused it.
 *
 * Ownership: the caller owns texts. Threads: no shared state. Pure functions. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "cuda/log/cuda_log.h"

/* Meaning of the code: "an access to memory that is not mapped"; NULL: the error does not end the context. */
const char *opc_cuda_fault_meaning(int code);
/* "an access to memory that is not mapped (cudaErrorIllegalAddress, 700); the last launches before it: copy_kernel
 * (grid 1,1,1, block 256,1,1) by libops.so" */
void opc_cuda_fault_describe(int code, const opc_cuda_log_t *log, opc_text_t *out);
/* The last launches in the log, newest first: [{"kernel", "library", "grid", "block", "stream"}…]. New reference. */
json_t *opc_cuda_fault_launches(const opc_cuda_log_t *log);
