/* Shared by the files of libopcheck-cudart. Compiled against the headers of libtorch's CUDA version.
 *
 * Three layers. cudart.def has one entry per function. From it, cudart_wrappers.c makes the exported wrapper, which
 * records the call (cudart_table.h) and forwards it to the simulated device (opc_sim_NAME, simulated_*.c) or to the
 * real runtime (opc_real.NAME). address_table.c, stream_table.c and kernel_table.c keep what both modes must know about
 * memory, streams and kernels. No runtime function calls another by its exported name. Threads: any. Fork: all locks
 * are held during it (runtime_begin.c). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include <cuda_runtime_api.h>

#include "cuda/image/kernel_image.h"
#include "cuda/log/launch.h"

/* The header of CUDA 12 gives the names of older functions to newer ones. Here a name is that of the exported function.
 */
#if OPC_CUDART_MAJOR == 12
#undef cudaGetDeviceProperties
#undef cudaStreamGetCaptureInfo
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id);
#endif

/* Most of these are only called by nvcc's stubs, and no header that is always available declares them. */
cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments, size_t shared,
                               cudaStream_t stream);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **module);
void __cudaUnregisterFatBinary(void **module);
void __cudaRegisterFunction(void **module, const char *host, char *device, const char *name, int thread_limit,
                            uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **module, char *host, char *device, const char *name, int external, size_t size,
                       int constant, int global);
void __cudaRegisterManagedVar(void **module, void **host, char *device, const char *name, int external, size_t size,
                              int constant, int global);
char __cudaInitModule(void **module);

enum { OPC_SIMULATED_DEVICES = 2, OPC_PAGE = 4096 };

/* ---- the process ---- */

typedef struct opc_runtime {
  bool ready, simulated;
  opc_cuda_limits_t limits; /* of the simulated devices */
  uint32_t multiprocessors, shared_multiprocessor, threads_multiprocessor, blocks_multiprocessor, l2_bytes;
} opc_runtime_t;
extern opc_runtime_t opc_runtime;
/* Calls may have to be recorded: a log is open, or the devices are simulated. */
extern atomic_bool opc_watchful;

/* Must come first in every entry point: reads the environment once. */
void opc_runtime_begin(void);
/* Reads only the mode, once, when the library is loaded. */
void opc_runtime_mode(void);
static inline void opc_runtime_ready(void) {
  if (__builtin_expect(!opc_runtime.ready, 0)) opc_runtime_begin();
}
/* The real runtime's function; if missing, a function that returns cudaErrorNotSupported. Never NULL. */
void *opc_real_function(const char *name);
/* Held during fork. */
extern pthread_mutex_t opc_lock_addresses, opc_lock_kernels, opc_lock_copies, opc_lock_streams, opc_lock_jobs,
    opc_lock_texts, opc_lock_captures, opc_lock_runs;

/* Private memory that never moves and costs nothing until it is touched; NULL: the system refuses. */
void *opc_reserve(size_t bytes, int protection);

typedef struct opc_thread {
  cudaError_t last_error; /* simulated; in through mode only an injected one */
  int device;             /* simulated */
  uint32_t epoch, number; /* in the log */
  enum cudaStreamCaptureMode capture_mode;
  bool per_thread;      /* simulated: the current function treats stream 0 as the per-thread stream */
  bool popped;          /* the stub has asked for the launch's configuration, and has not launched yet */
  uint64_t pushed_from; /* where the last launch by <<<…>>> began, until its stub launches */
  unsigned device_flags;
  opc_cuda_ran_t ran;     /* simulated: what became of the launch that is being made */
  const char *not_run;    /* NULL: it ran, or there is none */
  struct opc_torch_call { /* simulated: kernel_runs.c; a call of libtorch's operator that may be computed elsewhere */
    bool begun, replaceable, refused, lacks;
    uint64_t open; /* its launches that did not run */
    size_t first_logged;
  } torch_call;
  unsigned inside; /* greater than 0: CUPTI's callback ignores calls, because they are wrapped or made by the callback
                      itself */
} opc_thread_t;
extern _Thread_local opc_thread_t opc_thread;

/* An error becomes the thread's last error, as in the real runtime. */
static inline cudaError_t opc_error_keep(cudaError_t code) {
  if (code != cudaSuccess) opc_thread.last_error = code;
  return code;
}
int opc_device_now(void); /* current in this thread, in either mode; after opc_runtime_ready */
/* launch.h, fail_launch and launch_failed. */
void opc_injection_set(uint64_t nth, int code);
bool opc_injection_happened(void);
/* Called by each launch. True: this launch must fail, with this code. */
bool opc_injection_takes(cudaError_t *out_code);

/* ---- memory ---- */

typedef struct opc_range {
  uint64_t base, bytes, caller;
  opc_cuda_place_t place; /* for live ranges */
  int device;
  bool live;
  unsigned flags;            /* for pinned memory: flags of cudaHostAlloc */
  uint64_t part, part_bytes; /* (optional) what of it kernels may access, as launch.h, bound */
} opc_range_t;

void opc_range_add(const void *base, uint64_t bytes, opc_cuda_place_t place, int device, uint64_t caller,
                   unsigned flags);
void opc_range_end(const void *base);
void opc_range_bound(const void *base, const void *data, size_t bytes); /* launch.h, bound */
/* The allocation that contains an address, live or freed; lock-free and async-signal-safe. */
bool opc_range_find(uint64_t address, opc_range_t *out);
/* The live allocation that begins there. */
bool opc_range_starts(const void *base, opc_range_t *out);
size_t opc_range_list(opc_cuda_allocation_t *out, size_t room);
uint64_t opc_range_live_bytes(int device); /* device and managed memory */
/* The first free range of this many bytes in [from, to), outside all live allocations; 0: none. */
uint64_t opc_range_gap(uint64_t from, uint64_t to, uint64_t bytes);
opc_cuda_address_t opc_address(uint64_t address); /* classified */
opc_cuda_address_t opc_address_of_range(uint64_t address, const opc_range_t *range);

/* For the simulated devices: reserves whole pages in the device's address space, followed by an inaccessible page; 0:
 * none left. */
uint64_t opc_device_place(opc_cuda_place_t kind, int device, uint64_t bytes);
bool opc_device_contains(uint64_t address); /* anywhere in the simulated address space, allocated or not */
/* Discards the contents and makes the range inaccessible to host code. */
void opc_device_shut(uint64_t base, uint64_t bytes, opc_cuda_place_t place);
/* Copies between any two places. The caller has checked both ranges. */
void opc_device_copy(uint64_t to, uint64_t from, uint64_t bytes);
void opc_device_fill(uint64_t to, unsigned char byte, uint64_t bytes);
/* (optional) Told of every copy and fill, under opc_lock_copies. from: 0: a fill, or contents that stay as they are. */
typedef void opc_device_changed_t(uint64_t to, uint64_t from, uint64_t bytes);
extern _Atomic(opc_device_changed_t *) opc_device_changed;
bool opc_device_touched(uint64_t address, uint64_t program_counter, bool write); /* launch.h, host_access */
void opc_device_close_opened(void);
/* For a kernel that runs: the memory of all devices is accessible from begin to end, and no copy runs meanwhile. False:
 * the system refuses, and nothing was begun. */
bool opc_device_open_all(void);
void opc_device_close_all(void);
/* Called once, first: reserve the address space for the tables and the devices' memory. */
void opc_device_reserve(void);
void opc_range_reserve(void);
void opc_log_reserve(void);
void opc_stream_reserve(void);

/* ---- streams and events ---- */

typedef struct opc_stream {
  uint64_t handle;
  int device;
  bool live;
  unsigned flags;
  int priority;
  unsigned long long id;
} opc_stream_t;

void opc_stream_add(cudaStream_t handle, int device, unsigned flags, int priority);
void opc_stream_end(cudaStream_t handle);
bool opc_stream_find(cudaStream_t handle, opc_stream_t *out); /* a created, live stream */
/* Handle 0 is the per-thread stream for code compiled with --default-stream per-thread. */
static inline cudaStream_t opc_stream_default(cudaStream_t stream, bool per_thread) {
  return per_thread && !stream ? cudaStreamPerThread : stream;
}
/* A stream capture has begun in this process, in either mode: from then on each call checks for captures. */
extern atomic_bool opc_capture_seen;
/* The simulated device's query function; it sets this before the first capture. */
typedef cudaError_t opc_captures_t(cudaStream_t stream, enum cudaStreamCaptureStatus *out);
extern _Atomic(opc_captures_t *) opc_simulated_captures;
/* True: work put into the stream becomes part of a graph. */
bool opc_stream_captures(cudaStream_t stream);
/* True: the stream can take work; for the simulated device. */
bool opc_stream_usable(cudaStream_t stream, int *out_device);

/* ---- kernels ---- */

typedef struct opc_cuda_kernel opc_cuda_kernel_t;
typedef struct opc_module opc_module_t;

struct opc_cuda_kernel {
  const void *host;
  opc_module_t *module;                      /* NULL: its library was unloaded */
  const char *name;                          /* lives as long as the library; permanent once image_read */
  int dynamic_shared[OPC_SIMULATED_DEVICES]; /* cudaFuncAttributeMaxDynamicSharedMemorySize; 0: not set */
  int carveout;
  atomic_bool image_read;
  opc_kernel_image_t *image;
  struct opc_kernel_program *program; /* simulated: kernel_program.c; NULL: not asked for yet */
};

struct opc_module {
  void **handle;       /* the runtime's handle; in through mode the real runtime's */
  const void *wrapper; /* what __cudaRegisterFatBinary was given */
  const char *library; /* "": unknown; set on first use */
  bool looked, runs;   /* whether the simulated device can run its code */
  opc_image_code_t code;
  bool live;
  size_t first_kernel, end_kernel, first_variable, end_variable; /* ranges that contain its own entries */
  struct opc_module_texts *texts; /* simulated: its PTX (kernel_program.c); NULL: not asked for yet */
};

opc_module_t *opc_module_add(const void *wrapper, void **handle);
opc_module_t *opc_module_find(void **handle);
void opc_module_end(opc_module_t *module);
void opc_kernel_add(opc_module_t *module, const void *host, const char *name);
/* Finds a kernel by its host function or by a handle from opc_kernel_handle. NULL: not registered. */
opc_cuda_kernel_t *opc_kernel_find(const void *key);
void opc_kernel_handle(const void *handle, opc_cuda_kernel_t *kernel);
const opc_kernel_image_t *opc_kernel_image(opc_cuda_kernel_t *kernel);
/* NULL for libtorch's kernels: their code is compressed, and libtorch launches them within their limits. */
const opc_kernel_image_t *opc_kernel_resources(opc_cuda_kernel_t *kernel);
/* The code that the simulated device would run; only after opc_kernel_fits returned cudaSuccess. */
opc_image_code_t opc_kernel_code(const opc_cuda_kernel_t *kernel);
const char *opc_kernel_library(opc_cuda_kernel_t *kernel);
cudaError_t opc_kernel_fits(opc_cuda_kernel_t *kernel);

typedef struct opc_variable {
  const void *host; /* what stands for it in host code; of a managed one its memory */
  opc_module_t *module;
  const char *name; /* in device code; lives as long as the library */
  uint64_t bytes;
  uint64_t at[OPC_SIMULATED_DEVICES]; /* 0: not allocated yet */
  bool begun[OPC_SIMULATED_DEVICES];  /* it has its initial values */
} opc_variable_t;
/* NULL: there is no room for it. */
opc_variable_t *opc_variable_add(opc_module_t *module, const void *host, const char *name, uint64_t bytes);
opc_variable_t *opc_variable_of(const void *host); /* NULL: there is no such variable */
/* Those of a module that have memory on the device. */
void opc_variable_visit(const opc_module_t *module, int device,
                        void (*visit)(opc_variable_t *variable, int device, void *context), void *context);
/* Its memory on a device. False: there is no such variable, or no memory. */
bool opc_variable_find(const void *host, int device, uint64_t *out_at, uint64_t *out_bytes);

/* ---- kernels that run on the simulated device (kernel_runs.c) ---- */

/* What became of a launch. not_run: permanent; NULL: it ran. The first reason of a case counts. Between the begin and
 * the end of a call of libtorch's, a launch that did not run is left open. */
void opc_run_note(opc_cuda_ran_t ran, const char *not_run, bool over_budget);
/* Of a launch that did not run whole, some blocks ran. */
void opc_run_note_sampled(void);
/* The host reads device memory; whether it did so after a launch that did not run. */
void opc_run_note_read(void);
bool opc_run_was_read(void);
/* What is left of the budget. */
uint64_t opc_run_budget(void);
void opc_run_used(uint64_t instructions);
/* Keeps a copy, unless one of its kind at its place is there. Its strings are permanent. */
void opc_fault_note(const opc_device_fault_t *fault);
void opc_run_counts(opc_kernel_counts_t *out);
/* A case begins. */
void opc_run_budget_set(uint64_t instructions);
/* Since it began, a kernel did not run: what others read may be missing. */
bool opc_run_is_incomplete(void);
/* launch.h, call_begin, call_open, call_end, call_afford */
bool opc_torch_call_begin(bool replaceable);
bool opc_torch_call_open(bool *out_refused, bool *out_lacks);
void opc_torch_call_end(const char *not_run, bool over_budget);
bool opc_torch_call_afford(uint64_t instructions);
/* True: a copy to the host must fail, because what it reads is not computed yet. */
bool opc_torch_call_refuses(void);
size_t opc_fault_list(const opc_device_fault_t **out);
void opc_fault_forget(void);

/* Functions of cuBLAS and cuFFT; NULL: there is no such function. */
void *opc_library_function(const char *name);
