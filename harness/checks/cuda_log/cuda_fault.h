/* CUDA errors that end a context: an earlier kernel did something that the GPU forbids, and every later call of the
 * process returns the error. The call that reports it is not the one that caused it.
 *
 * Ownership: the caller owns texts. Threads: no shared state. Pure functions, except opc_cuda_case_begin and
 * opc_cuda_case_end. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "cuda/log/cuda_log.h"

/* Meaning of the code: "an access to memory that is not mapped"; NULL: the error does not end the context. */
const char *opc_cuda_fault_words(int code);
/* "an access to memory that is not mapped (cudaErrorIllegalAddress, 700); the last launches before it: copy_kernel
 * (grid 1,1,1, block 256,1,1) by libops.so" */
void opc_cuda_fault_say(int code, const opc_cuda_log_t *log, opc_text_t *out);
/* The last launches in the log, newest first: [{"kernel", "library", "grid", "block", "stream"}…]. New reference. */
json_t *opc_cuda_fault_launches(const opc_cuda_log_t *log);

struct opc_case_context;
struct opc_finding;
/* Called before and after each case. On a real CUDA device, the end synchronises and queries the error. True: it is a
 * fault that ends the context. It becomes the case's finding, the check's own finding goes to evidence.also as a
 * possible consequence, and the process must be replaced. Defined in cuda_case.c. */
void opc_cuda_case_begin(const struct opc_case_context *context);
bool opc_cuda_case_end(const struct opc_case_context *context, struct opc_finding *finding);
