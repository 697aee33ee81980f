/* What of an operator's calls of CUDA nobody sees: the wrappers (cuda/log/launch.h) see those of the shared runtime
 * alone. A library that has a runtime linked into it, or calls the driver, is watched through CUPTI on a real device,
 * where CUPTI can be had; the simulated device takes the place of the shared runtime and of nothing else.
 *
 * Ownership: the words are kept for the process's life. Threads: one. */
#ifndef OPC_CHECKS_CUDA_CUDA_UNTRACKED_H
#define OPC_CHECKS_CUDA_CUDA_UNTRACKED_H

#include "checks/framework/check.h"

/* Why not all calls are seen of the operator's library and of the libraries under test that it needs; "": they are. To
 * be asked before the operator's first call in this process, which CUPTI then sees; and again behind one, which may
 * have shown that CUPTI is of no use. */
const char *opc_cuda_untracked(const opc_operator_t *op);

#endif
