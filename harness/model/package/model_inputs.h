/* The inputs that a compiled model expects, from the source that AOTInductor generated for it: it checks each input's
 * dtype, sizes and strides.
 *
 * Ownership: the array is the caller's. Threads: any. Source: torch/_inductor/codegen/cpp_wrapper_cpu.py,
 * codegen_input_*_asserts. */
#pragma once

#include <jansson.h>
#include <stddef.h>

/* *out_inputs: VALUEs of the sample format, one per input; NULL: the source is incomplete. A dynamic size is set to 3
 * if allowed, so that no dimension is empty or 1. *out_outputs: 0: the source does not say. */
void opc_model_inputs_read(const char *source, json_t **out_inputs, size_t *out_outputs);
