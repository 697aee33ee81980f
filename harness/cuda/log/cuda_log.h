/* A log of the CUDA calls of a process: written by the wrappers (launch.h), read by the CUDA checks, stored as files
 * for their tests.
 *
 * Plain data without CUDA's own headers, so that the analysis of a log does not need them. Codes are cudaError_t,
 * devices are ordinals as the process sees them, sizes are in bytes, coordinates are x, y, z. Addresses of device
 * memory are numbers and must not be dereferenced. Ownership: a log's strings live as long as the process, or as the
 * log that was read from a file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_cuda_kind {
#define OPC_CUDA_KIND(name, word, what) OPC_CUDA_##name,
#include "cuda/log/cuda_call.def"
  OPC_CUDA_KIND_COUNT
} opc_cuda_kind_t;

typedef enum opc_cuda_stream_kind {
  OPC_CUDA_STREAM_LEGACY = 0, /* handle 0, or cudaStreamLegacy: waits for all others, cannot be captured */
  OPC_CUDA_STREAM_PER_THREAD, /* cudaStreamPerThread */
  OPC_CUDA_STREAM_CREATED,    /* by cudaStreamCreate…, libtorch's pool among them */
  OPC_CUDA_STREAM_UNKNOWN     /* not a live stream */
} opc_cuda_stream_kind_t;

/* Where an address lies. */
typedef enum opc_cuda_place {
  OPC_CUDA_NOWHERE = 0, /* null, or not known memory */
  OPC_CUDA_DEVICE,
  OPC_CUDA_MANAGED,
  OPC_CUDA_PINNED,   /* allocated or registered by the runtime */
  OPC_CUDA_PAGEABLE, /* any other memory of the process: heap, stack, a library's data */
  OPC_CUDA_FREED     /* device memory that was freed and not allocated again */
} opc_cuda_place_t;

typedef struct opc_cuda_address {
  uint64_t value;
  opc_cuda_place_t place;
  int device;          /* for device memory, otherwise -1 */
  uint64_t allocation; /* first byte of its allocation; 0: unknown. One allocation of libtorch's caching allocator holds
                          many tensors */
} opc_cuda_address_t;

/* What became of a kernel on the simulated device. */
typedef enum opc_cuda_ran {
  OPC_CUDA_RECORDED = 0, /* it did not run: nothing was computed. On a GPU this says nothing */
  OPC_CUDA_RAN_EXACT,
  OPC_CUDA_RAN_BOUNDED, /* with instructions that approximate: other bits than a GPU's */
  OPC_CUDA_REPLACED /* a kernel of libtorch's, which did not run: the CPU has computed the operator that launched it */
} opc_cuda_ran_t;

typedef enum opc_device_fault_kind {
  OPC_FAULT_OUTSIDE = 0, /* an access outside every live allocation, or outside shared or local memory */
  OPC_FAULT_MISALIGNED,
  OPC_FAULT_TRAP,     /* the instruction trap, or a failed assertion of device code */
  OPC_FAULT_DEADLOCK, /* threads of a block wait for each other */
  /* Inside their memory; only while opc_launch_api_t.watch asks for them. */
  OPC_FAULT_RACE,                  /* two threads use the same bytes, one of them writes, and nothing orders them */
  OPC_FAULT_RACE_OF_EQUALS,        /* the same, but both write what is there already */
  OPC_FAULT_RACE_IN_WARP,          /* the same, of two instructions of one warp */
  OPC_FAULT_UNINITIALISED,         /* a value that nothing has written is used */
  OPC_FAULT_UNINITIALISED_SCRATCH, /* the same, and only stored in memory that the caller of the operator does not see
                                    */
  OPC_FAULT_BARRIER,               /* lanes of a warp wait at different instructions of one barrier */
  OPC_FAULT_UNFINISHED_COPY        /* cp.async has not finished what is read or written */
} opc_device_fault_kind_t;

/* What else takes part in a fault: of a race who was there before, of a value who read it, of an unfinished copy who
 * began it. */
typedef struct opc_device_side {
  bool known;
  const char *file; /* as in opc_device_fault_t */
  uint32_t line;
  uint32_t block[3], thread[3];
  bool write;
} opc_device_side_t;

/* What a kernel did wrong while it ran on the simulated device: the first of its kind at an instruction. */
typedef struct opc_device_fault {
  opc_device_fault_kind_t kind;
  const char *kernel, *kernel_library; /* as in opc_cuda_call_t */
  const char *file;                    /* of the source; "": unknown, the kernel was compiled without -lineinfo */
  uint32_t line;
  uint32_t block[3], thread[3];
  bool write;        /* or an atomic operation */
  const char *space; /* "global", "shared"… */
  uint64_t address;  /* in that space */
  uint32_t bytes;
  opc_cuda_place_t place;          /* of a global address: FREED, or NOWHERE if no allocation holds it */
  uint64_t nearest, nearest_bytes; /* the allocation that holds it, or else the one below it; 0: none */
  uint64_t times;
  const char *text; /* of a failed assertion, what is waited for, or what a value is used for; "": nothing */
  opc_device_side_t other;
  uint64_t blocks_run, blocks; /* of a launch of which only some blocks ran, and how many it has; 0: all ran */
  uint64_t stored_in; /* of UNINITIALISED: the allocation in which the value is stored; 0: it is used otherwise */
} opc_device_fault_t;

/* A kernel's parameter of 4 bytes. */
typedef struct opc_cuda_number {
  uint32_t value;
  uint32_t parameter; /* its position, from 0 */
} opc_cuda_number_t;

enum { OPC_CUDA_POINTERS = 12, OPC_CUDA_NUMBERS = 16 };

typedef struct opc_cuda_call {
  opc_cuda_kind_t kind;
  const char *function; /* "cudaLaunchKernel" */
  uint64_t caller;      /* return address into the code that made the call */
  const char *library;  /* file of the object that contains `caller`, as the loader names it; "": none */
  uint32_t thread;      /* 0: the thread that began the log; others are numbered in order of their first call */
  int device;           /* current device of that thread when the call began */
  int code; /* result of the call; for a launch by <<<…>>> the code that the generated stub discards; it stays in the
               thread's last error */
  bool injected;  /* the code is a requested failure (opc_launch_api_t.fail_launch) */
  bool unwrapped; /* the call is of the driver, or of a runtime linked statically into `library`, and seen by CUPTI
                     (opc_launch_api_t.watch_untracked). That runtime has its own last error, and no failure can be
                     requested */

  /* For work that goes into a stream, and for STREAM_… kinds. */
  uint64_t stream;
  opc_cuda_stream_kind_t stream_kind;
  int stream_device; /* the stream's device; for the legacy and per-thread streams the current one; -1: unknown */
  bool captured; /* the stream is being captured: the work becomes part of a graph and does not run. Set only after the
                    first cudaStreamBeginCapture of the process */

  /* LAUNCH; unset for LIBRARY_WORK */
  const char *kernel;         /* as registered (mangled); "": unknown */
  const char *kernel_library; /* the object that contains the kernel; "": unknown */
  uint32_t grid[3], block[3];
  uint64_t shared; /* dynamic shared memory */
  bool cooperative;
  opc_cuda_ran_t ran;
  const char *not_run; /* why it did not run; "": it ran, or the device is real */
  bool by_stub; /* cudaLaunchKernel was called by the stub of a <<<…>>>, as in CUDA 12; in CUDA 13 stubs have a function
                   of their own, __cudaLaunchKernel */
  opc_cuda_address_t pointers[OPC_CUDA_POINTERS]; /* words of the kernel's parameters that are addresses of memory, in
                                                     order; the parameters' sizes come from the kernel's image */
  bool alone[OPC_CUDA_POINTERS]; /* per pointer: true: a separate parameter of 8 bytes; false: a word inside a
                                    structure, which may be padding or unused */
  size_t pointer_count;
  opc_cuda_number_t numbers[OPC_CUDA_NUMBERS]; /* separate parameters of 4 bytes, in order */
  size_t number_count;
  uint32_t parameter_count; /* of all sizes */
  bool parameters_known;    /* false: the sizes could not be read, so no pointer or number was recorded */

  /* COPY, FILL (to only), ALLOCATE, FREE, HOST_… (to) */
  opc_cuda_address_t to, from;
  uint64_t bytes;
  bool synchronous; /* the function's contract is that the host waits: cudaMemcpy, cudaMemset of pageable memory,
                       cudaMalloc, cudaFree… */

  /* EVENT_…, STREAM_WAIT, QUERY of an event */
  uint64_t event;

  /* SET_DEVICE: the new device. HOST_ACCESS: 1 for a write. CAPTURE that begins one: cudaStreamCaptureMode. */
  int value;
} opc_cuda_call_t;

typedef struct opc_cuda_log {
  const opc_cuda_call_t *calls;
  size_t count;
  size_t dropped; /* number of calls beyond the log's capacity; if not 0, the absence of a call proves nothing */
} opc_cuda_log_t;

const char *opc_cuda_kind_word(opc_cuda_kind_t kind); /* "launch" */
const char *opc_cuda_error_name(int code); /* "cudaErrorInvalidConfiguration"; "cudaError 1234" for an unknown code */
/* The code of the error that libtorch threw with this text ("CUDA error: unspecified launch failure" and more lines);
 * 0: none. */
int opc_cuda_error_thrown(const char *text);

#ifdef __cplusplus
}
#endif
