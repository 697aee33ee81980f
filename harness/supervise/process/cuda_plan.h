/* What a worker for a CUDA device, real or simulated, is started with: the wrappers of the CUDA runtime
 * (cuda/log/launch.h) that fit the chosen libtorch, or why there are none. Read from files: nothing is loaded.
 *
 * Ownership: opc_cuda_plan_clear releases the string. Threads: any. */
#ifndef OPC_SUPERVISE_PROCESS_CUDA_PLAN_H
#define OPC_SUPERVISE_PROCESS_CUDA_PLAN_H

#include <stdbool.h>

#include "supervise/process/worker_find.h"

#define OPC_CUDA_ARCHITECTURE_USUAL "sm_90"
enum { OPC_SIMULATED_DEVICES = 2 };

#define OPC_MODE_CPU "cpu"
#define OPC_MODE_CUDA "cuda"
#define OPC_MODE_SIMULATED "cuda-sim" /* the simulated device's name as well */

typedef struct opc_cuda_plan {
  char *wrappers; /* file to preload; NULL: none fits */
  char why[512];  /* in words, why there is no CUDA with this libtorch, and what to do; "": there is */
  bool usable;    /* CUDA itself can be used: what is missing are the wrappers, which a real device does without */
  int major;      /* of libtorch's CUDA runtime; 0: unknown */
} opc_cuda_plan_t;

/* torch_root as in opc_worker_torch. What is missing is no error: `why` says it. */
opc_status_t opc_cuda_plan(const opc_worker_plan_t *worker, const char *torch_root, opc_cuda_plan_t *out,
                           opc_error_t *error) OPC_CHECKED;
/* OPC_ERR_USAGE, with those that there are: no device of this architecture ("sm_90") is simulated. */
opc_status_t opc_cuda_architecture_check(const char *name, opc_error_t *error) OPC_CHECKED;
void opc_cuda_plan_clear(opc_cuda_plan_t *plan);

#endif
