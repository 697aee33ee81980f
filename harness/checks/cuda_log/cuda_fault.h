/* Errors of CUDA that end a context: a kernel that was launched before did something that the GPU refuses, and every
 * later call of the process gives the error. The call that reports it is not the one that caused it.
 *
 * Ownership: texts are the caller's. Threads: no shared state. Pure, but for opc_cuda_case_end. */
#ifndef OPC_CHECKS_CUDA_LOG_CUDA_FAULT_H
#define OPC_CHECKS_CUDA_LOG_CUDA_FAULT_H

#include <jansson.h>

#include "base/text.h"
#include "cuda/log/cuda_log.h"

/* What the code stands for: "an access of memory that is not there"; NULL: it leaves the context as it is. */
const char *opc_cuda_fault_words(int code);
/* "an access of memory that is not there (cudaErrorIllegalAddress, 700); the last launches before it: copy_kernel (grid
 * 1,1,1, block 256,1,1) by libops.so" */
void opc_cuda_fault_say(int code, const opc_cuda_log_t *log, opc_text_t *out);
/* The last launches of the log, the newest first: [{"kernel", "library", "grid", "block", "stream"}…]. New reference.
 */
json_t *opc_cuda_fault_launches(const opc_cuda_log_t *log);

struct opc_case_context;
struct opc_finding;
/* Around a case. On a real CUDA device the end waits for the device and asks for its error: where that is a fault, it
 * is the case's finding (what the check found is in evidence.also, for it may follow from that), and the process cannot
 * go on: true. cuda_case.c */
void opc_cuda_case_begin(const struct opc_case_context *context);
bool opc_cuda_case_end(const struct opc_case_context *context, struct opc_finding *finding);

#endif
