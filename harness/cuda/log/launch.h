/* Wrappers of the CUDA runtime's functions. libopcheck-cudart.so.13 (one library per major version of the runtime)
 * exports them under the runtime's own symbol version. It is preloaded into workers for a CUDA device, so libc10_cuda,
 * libtorch_cuda and an operator's library with a shared runtime all call it, from their first initialiser on. A worker
 * for the CPU does not load it. The environment selects its mode:
 *
 *   OPC_CUDA_MODE=simulated      two devices of the simulated architecture; the real runtime is not called
 *   OPC_CUDA_MODE=through        each call goes to the real runtime and is recorded
 *   OPC_CUDA_ARCHITECTURE=sm_90  architecture of the simulated devices: sm_75 to sm_120 (architectures.def)
 *
 * The worker finds the table below with dlsym(RTLD_DEFAULT, OPC_LAUNCH_API_SYMBOL); without it, nothing is wrapped. The
 * simulated device stores data that host code copies to it, and returns it: copies in both directions, copies on the
 * device and cudaMemset work; kernels run if they have PTX that cuda/ptx can run, each when it is launched. Its memory
 * costs nothing until it is used in a copy, so tensors of many gigabytes can be made. Host code that dereferences a
 * device address faults (SIGSEGV).
 *
 * Threads: any thread may call the runtime; the table's functions are called by one at a time. Fork: safe in simulated
 * mode at any time, in through mode before the first call that creates a context. */
#pragma once

#include "cuda/log/cuda_log.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPC_LAUNCH_API_SYMBOL "opc_launch_api"
enum { OPC_LAUNCH_API_VERSION = 8 };

typedef enum opc_launch_mode { OPC_LAUNCH_SIMULATED = 1, OPC_LAUNCH_THROUGH } opc_launch_mode_t;

/* Limits of a device, from CUDA's programming guide, table "Technical specifications per compute capability". */
typedef struct opc_cuda_limits {
  char architecture[16]; /* "sm_90" */
  int major, minor;
  uint32_t grid[3], block[3];
  uint32_t threads;              /* per block */
  uint32_t shared, shared_optin; /* per block, bytes: without and with cudaFuncAttributeMaxDynamicSharedMemorySize */
} opc_cuda_limits_t;

/* A live allocation. */
typedef struct opc_cuda_allocation {
  opc_cuda_address_t at;
  uint64_t bytes;
  const char *library; /* that allocated it, as opc_cuda_call_t.library */
} opc_cuda_allocation_t;

/* Of this process so far, on the simulated device. */
typedef struct opc_kernel_counts {
  uint64_t exact, bounded; /* launches that computed values */
  uint64_t replaced;       /* calls of libtorch's operators whose values the CPU has computed */
  uint64_t recorded;       /* launches, and work of cuBLAS and cuFFT, that computed nothing */
  uint64_t sampled;        /* of these, launches of which some blocks ran, to see which memory they access */
  const char *not_run;     /* why, of the last of them; "": none */
  bool over_budget;        /* of the last of them: it would have run too long */
} opc_kernel_counts_t;

/* SEEDED: another order of warps each time, and turns of different lengths. The same seed gives the same order. */
typedef enum opc_schedule { OPC_SCHEDULE_ASCENDING = 0, OPC_SCHEDULE_DESCENDING, OPC_SCHEDULE_SEEDED } opc_schedule_t;

typedef struct opc_launch_api {
  uint32_t version; /* OPC_LAUNCH_API_VERSION */
  opc_launch_mode_t mode;
  int runtime_version; /* of the headers it was built with: 13000 */

  /* Clears the log and starts recording; calls between two logs are not recorded. */
  void (*log_begin)(void);
  /* Stops recording. The library owns the calls; they are valid until the next log_begin. */
  opc_cuda_log_t (*log_end)(void);

  /* The nth LAUNCH from now on (the first is 1) does not run and fails with this code, which stays the thread's last
   * error until that is queried. nth 0: no launch fails. Works once: later launches work again. */
  void (*fail_launch)(uint64_t nth, int code);
  bool (*launch_failed)(void); /* the requested failure has happened */

  int (*last_error)(void); /* cudaGetLastError of this thread; not logged */
  int (*synchronize)(
      void); /* cudaDeviceSynchronize of the current device; not logged; returns asynchronous errors. Simulated: 0 */
  int (*current_device)(void);
  int (*device_count)(void);
  bool (*limits)(int device, opc_cuda_limits_t *out);
  /* Live allocations of all callers; returns their number, and fills in the first `room`. */
  size_t (*allocations)(opc_cuda_allocation_t *out, size_t room);
  /* True: the address is in a device's memory, including freed memory; on a GPU, in memory that was allocated through
   * the wrappers. Async-signal-safe. */
  bool (*locate)(uint64_t address, opc_cuda_address_t *out);
  /* For a fault handler (async-signal-safe): if the address is memory of the simulated device, records a HOST_ACCESS at
   * the program counter, makes the page accessible so that the access succeeds, and returns true. */
  bool (*host_access)(uint64_t address, uint64_t program_counter, bool write);
  /* The real runtime function of this name, because dlsym(RTLD_DEFAULT, …) would give the wrapper; NULL in simulated
   * mode. */
  void *(*real)(const char *function);
  /* From now on, also logs calls that bypass the wrappers: calls of the driver and of statically linked runtimes. Only
   * in through mode, with CUPTI. Call it in the process that makes these calls, before the first one of interest; it
   * may be called repeatedly. "": they are logged; otherwise why not. is_own: selects the libraries whose kernels'
   * parameters are read, which takes time; it may be called from any thread. */
  const char *(*watch_untracked)(bool (*is_own)(const char *library));

  /* ---- kernels that run on the simulated device (cuda/ptx) ---- */

  void (*kernel_counts)(opc_kernel_counts_t *out);
  /* Kernels from now on may run so many instructions of a thread in all; what they go beyond is not run. */
  void (*kernel_budget)(uint64_t instructions);
  /* What kernels did wrong since the last faults_forget; valid until then. */
  size_t (*faults)(const opc_device_fault_t **out);
  void (*faults_forget)(void);
  /* Of the allocation at `base` kernels may access only these bytes. */
  void (*bound)(const void *base, const void *data, size_t bytes);
  /* From now on kernels are watched for races, for values that nothing has written, for barriers in divergent code and
   * for copies that are not finished; off: not any more. Memory that exists now counts as written. */
  void (*watch)(bool on);
  /* Device memory was written in a way that the wrappers do not see. */
  void (*written)(const void *data, size_t bytes);
  /* The order in which the blocks of a kernel and the warps of a block run from now on. */
  void (*schedule)(opc_schedule_t schedule, uint64_t seed);

  /* ---- calls of libtorch's operators, whose kernels have no PTX (bridge/replaced) ---- */

  /* This thread calls one. Until call_end its launches that do not run are left open, and with `replaceable` a copy of
   * what they should have written to the host fails. False: values are missing already, and nothing was begun. */
  bool (*call_begin)(bool replaceable);
  /* True: what its launches that did not run should have written must still be computed. *out_refused: a copy failed
   * for it. *out_lacks: it called something that the device lacks. Either may be why it has thrown. */
  bool (*call_open)(bool *out_refused, bool *out_lacks);
  /* not_run: NULL: its values were computed; otherwise why not, and its launches that did not run count as recorded. */
  void (*call_end)(const char *not_run, bool over_budget);
  /* Computing it costs so much of the budget. False: that is not left, and nothing was taken. */
  bool (*call_afford)(uint64_t instructions);
  /* Copies between any two places, unlogged. The caller has checked both ranges. */
  void (*copy)(uint64_t to, uint64_t from, uint64_t bytes);
} opc_launch_api_t;

/* The table of this process; NULL: nothing is wrapped, as in every worker for the CPU. */
const opc_launch_api_t *opc_launch(void);
/* The CUDA devices of this process are simulated. */
bool opc_cuda_simulated(void);

#ifdef __cplusplus
}
#endif
