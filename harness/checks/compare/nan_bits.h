/* The bits of a NaN. Arithmetic on a CPU keeps them, or most of them; a GPU's gives 0x7fffffff for every NaN. So a
 * CUDA kernel and a CPU kernel that compute rarely agree in them (opc_number_is_same compares without them).
 *
 * Threads: any. */
#pragma once

#include "checks/framework/check.h"

/* True: PyTorch itself loses them in this case. It negates or conjugates the argument on the GPU before an operator
 * without kernels for lazily negated tensors sees it. */
bool opc_case_loses_nan_bits(const opc_case_context_t *context);
