/* How to start a worker for a CUDA device, real or simulated: the wrappers of the CUDA runtime (cuda/log/launch.h) that
 * fit the chosen libtorch, or why there are none. Reads files, loads nothing.
 *
 * Ownership: opc_cuda_plan_clear releases the string. Threads: any. */
#pragma once

#include "supervise/process/worker_find.h"

#define OPC_CUDA_ARCHITECTURE_USUAL "sm_90"
enum { OPC_SIMULATED_DEVICES = 2 };

#define OPC_MODE_CPU "cpu"
#define OPC_MODE_CUDA "cuda"
#define OPC_MODE_SIMULATED "cuda-sim" /* also the simulated device's name */

typedef struct opc_cuda_plan {
  char *wrappers; /* file to preload; NULL: none fits */
  char why[512];  /* why there is no CUDA with this libtorch, and what to do; "": CUDA is available */
  bool usable;    /* CUDA itself works: only the wrappers are missing, which a real device does not need */
  int major;      /* of libtorch's CUDA runtime; 0: unknown */
} opc_cuda_plan_t;

/* A missing file is not an error: `why` describes it. */
opc_status_t opc_cuda_plan(const opc_worker_plan_t *worker, opc_cuda_plan_t *out, opc_error_t *error) OPC_CHECKED;
/* The same for one of the workers that are here, with the libtorch that it is run with. */
opc_status_t opc_cuda_plan_candidate(const opc_worker_candidate_t *worker, opc_cuda_plan_t *out,
                                     opc_error_t *error) OPC_CHECKED;
/* OPC_ERR_USAGE: no device of this architecture ("sm_90") can be simulated; the message lists those that can. */
opc_status_t opc_cuda_architecture_check(const char *name, opc_error_t *error) OPC_CHECKED;
void opc_cuda_plan_clear(opc_cuda_plan_t *plan);
/* The architecture to simulate if the user chose none (--cuda-arch): one that these libraries have GPU code for. A
 * constant name; NULL: the default is as good as any. Ignores libraries without GPU code and unreadable files. */
const char *opc_architecture_choose(const char *const *libraries, size_t count);
