/* The CUDA runtime's functions, wrapped. libopcheck-cudart.so.13 (one for each major version of the runtime) exports
 * them under the runtime's own version, and is preloaded into a worker that is for a CUDA device, so that libc10_cuda,
 * libtorch_cuda and an operator's library with a shared runtime all call it, from their first initialiser on. A worker
 * for the CPU never sees it. The environment says what it is to be:
 *
 *   OPC_CUDA_MODE=simulated        two devices of the simulated architecture; kernels are recorded and not run; the
 * real runtime is not called OPC_CUDA_MODE=through          each call goes to the real runtime and is recorded
 *   OPC_CUDA_ARCHITECTURE=sm_90    of the simulated devices: sm_75 to sm_120 (architectures.def)
 *
 * The worker finds the table below by dlsym(RTLD_DEFAULT, OPC_LAUNCH_API_SYMBOL); where there is none, nothing is
 * wrapped. The simulated device keeps what host code copies to it, and gives it back: a copy there and back, cudaMemset
 * and copies on the device work; only kernels do nothing. Its memory costs nothing until it is copied to or from, so
 * that tensors of many gigabytes can be made. Host code that follows a device address faults (SIGSEGV).
 *
 * Threads: calls of the runtime may come from any; the table's functions from one at a time. Fork: safe in simulated
 * mode at any time, in through mode before the first call that makes a context. */
#ifndef OPC_CUDA_LOG_LAUNCH_H
#define OPC_CUDA_LOG_LAUNCH_H

#include "cuda/log/cuda_log.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPC_LAUNCH_API_SYMBOL "opc_launch_api"
enum { OPC_LAUNCH_API_VERSION = 2 };

typedef enum opc_launch_mode { OPC_LAUNCH_SIMULATED = 1, OPC_LAUNCH_THROUGH } opc_launch_mode_t;

/* Limits of a device, from CUDA's programming guide, table "Technical specifications per compute capability". */
typedef struct opc_cuda_limits {
  char architecture[16]; /* "sm_90" */
  int major, minor;
  uint32_t grid[3], block[3];
  uint32_t threads;              /* a block */
  uint32_t shared, shared_optin; /* a block, bytes: without and with cudaFuncAttributeMaxDynamicSharedMemorySize */
} opc_cuda_limits_t;

/* An allocation that is alive. */
typedef struct opc_cuda_allocation {
  opc_cuda_address_t at;
  uint64_t bytes;
  const char *library; /* that made it, as opc_cuda_call_t.library */
} opc_cuda_allocation_t;

typedef struct opc_launch_api {
  uint32_t version; /* OPC_LAUNCH_API_VERSION */
  opc_launch_mode_t mode;
  int runtime_version; /* of the headers that it was built with: 13000 */

  /* Empties the log and begins to record; calls between two logs are not recorded. */
  void (*log_begin)(void);
  /* Ends it. The calls are the library's, until the next log_begin. */
  opc_cuda_log_t (*log_end)(void);

  /* The nth LAUNCH from now on (the first is 1) does not run and comes to this code, which stays the thread's last
   * error until it is asked for; 0: none does. One use: afterwards launches work again. */
  void (*fail_launch)(uint64_t nth, int code);
  bool (*launch_failed)(void); /* the failure that was asked for has happened */

  int (*last_error)(void); /* cudaGetLastError of this thread, and not in the log */
  int (*synchronize)(
      void); /* cudaDeviceSynchronize of the current device, not in the log; gives asynchronous errors. Simulated: 0 */
  int (*current_device)(void);
  int (*device_count)(void);
  bool (*limits)(int device, opc_cuda_limits_t *out);
  /* Allocations that are alive, made by anybody; returns how many there are, and fills in the first `room`. */
  size_t (*allocations)(opc_cuda_allocation_t *out, size_t room);
  /* Whether the address is one of the simulated device's memory, freed memory among it. */
  bool (*locate)(uint64_t address, opc_cuda_address_t *out);
  /* For a fault handler (async-signal-safe): where the address is device memory of the simulated device, notes a
   * HOST_ACCESS at the program counter, opens the page so that the access can be made, and says true. */
  bool (*host_access)(uint64_t address, uint64_t program_counter, bool write);
  /* What dlsym(RTLD_DEFAULT, …) gives for a runtime function of this name would be the wrapper: this is the real one;
   * NULL in simulated mode. */
  void *(*real)(const char *function);
  /* From now on calls that do not come through the wrappers are in the log too: of the driver, and of runtimes that are
   * linked statically. Through mode, by CUPTI; to be asked for before the first call that matters, in the process that
   * makes it, as often as one likes. "": they are; else why they are not, in words. is_own: whose kernels are looked at
   * for what their parameters are, which takes its time; any thread may ask. */
  const char *(*watch_untracked)(bool (*is_own)(const char *library));
} opc_launch_api_t;

/* The table of this process; NULL: nothing is wrapped, as in every worker for the CPU. */
const opc_launch_api_t *opc_launch(void);
/* The CUDA devices of this process are simulated. */
bool opc_cuda_simulated(void);

#ifdef __cplusplus
}
#endif
#endif
