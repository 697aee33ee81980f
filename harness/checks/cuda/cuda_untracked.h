/* Which CUDA calls of an operator are not tracked: the wrappers (cuda/log/launch.h) only see calls of the shared
 * runtime. On a real device, calls of a statically linked runtime or of the driver are tracked through CUPTI, if
 * available. The simulated device replaces only the shared runtime.
 *
 * Ownership: texts are kept for the process's life. Threads: one. */
#pragma once

#include "checks/framework/check.h"

/* Why some calls of the operator's library, or of the libraries under test that it needs, are not tracked; "": all are.
 * Call it before the operator's first call in this process, so that CUPTI sees that call, and again afterwards: the
 * call may have shown that CUPTI does not work. */
const char *opc_cuda_untracked(const opc_operator_t *op);
