/* Which GPUs can run a library's GPU code. Architectures are numbers: 86 is compute capability 8.6, sm_86.
 *
 * Ownership: the caller's. Threads, fork: no shared state. Source: CUDA programming guide, "Application compatibility"
 * and "Feature availability". Machine code runs on the same or a later minor version of its major version; with suffix
 * 'a' only on exactly its own, with 'f' within its family. PTX can be compiled for the same or a later version; PTX
 * with a suffix has the limits of such machine code. */
#pragma once

#include "base/text.h"
#include "inspect/fatbin.h"

bool opc_gpu_codes_serve(const opc_gpu_codes_t *codes, unsigned architecture);
/* PTX without suffix, which can also be compiled for later GPUs. */
bool opc_gpu_codes_have_lasting_ptx(const opc_gpu_codes_t *codes);
unsigned opc_gpu_codes_newest(const opc_gpu_codes_t *codes); /* newest architecture with machine code; 0: none */

/* "sm_80, sm_90a and PTX compute_90" */
void opc_gpu_codes_words(const opc_gpu_codes_t *codes, opc_text_t *out);
/* Lists the architectures for which `wanted` has machine code and which `codes` does not serve: "sm_75 and sm_80".
 * Returns their number. out may be NULL. */
size_t opc_gpu_codes_missing(const opc_gpu_codes_t *codes, const opc_gpu_codes_t *wanted, opc_text_t *out);
