/* On which GPUs the GPU code of a library runs. Architectures are numbers: 86 is compute capability 8.6, sm_86.
 *
 * Ownership: the caller's. Threads, fork: no shared state.
 * Source: CUDA programming guide, "Application compatibility" and "Feature availability": machine code runs within its
 * major version on the same or a later minor one; with suffix 'a' on exactly its own, with 'f' within its family; PTX
 * is compiled for what is the same or later, with a suffix for no other than machine code. */
#ifndef OPC_INSPECT_GPU_COVER_H
#define OPC_INSPECT_GPU_COVER_H

#include "base/text.h"
#include "inspect/fatbin.h"

#ifdef __cplusplus
extern "C" {
#endif

bool opc_gpu_codes_serve(const opc_gpu_codes_t *codes, unsigned architecture);
/* PTX without suffix, which later GPUs can be given. */
bool opc_gpu_codes_have_lasting_ptx(const opc_gpu_codes_t *codes);
unsigned opc_gpu_codes_newest(const opc_gpu_codes_t *codes); /* of its machine code; 0: none */

/* "sm_80, sm_90a and PTX compute_90" */
void opc_gpu_codes_words(const opc_gpu_codes_t *codes, opc_text_t *out);
/* The architectures that `wanted` has machine code for and `codes` does not serve, "sm_75 and sm_80"; how many. out may
 * be NULL. */
size_t opc_gpu_codes_missing(const opc_gpu_codes_t *codes, const opc_gpu_codes_t *wanted, opc_text_t *out);

#ifdef __cplusplus
}
#endif
#endif
