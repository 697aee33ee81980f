/* What a process asked of the CUDA runtime, call by call: made by the wrappers (launch.h), read by the checks of CUDA,
 * kept as files for the tests of those.
 *
 * Plain data without a word of CUDA's own headers, so that whoever judges a log needs none. Codes are cudaError_t,
 * devices are ordinals as the process sees them, sizes are in bytes, coordinates are x, y, z. Addresses of device
 * memory are numbers, never to be followed. Ownership: a log's strings live as long as the process, or as the log that
 * was read from a file. */
#ifndef OPC_CUDA_LOG_CUDA_LOG_H
#define OPC_CUDA_LOG_CUDA_LOG_H

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
  OPC_CUDA_STREAM_UNKNOWN     /* no stream that is alive */
} opc_cuda_stream_kind_t;

/* Where an address lies. */
typedef enum opc_cuda_place {
  OPC_CUDA_NOWHERE = 0, /* null, or no memory that is known */
  OPC_CUDA_DEVICE,
  OPC_CUDA_MANAGED,
  OPC_CUDA_PINNED,   /* allocated or registered by the runtime */
  OPC_CUDA_PAGEABLE, /* any other memory of the process: heap, stack, a library's data */
  OPC_CUDA_FREED     /* device memory that was freed and is not allocated again */
} opc_cuda_place_t;

typedef struct opc_cuda_address {
  uint64_t value;
  opc_cuda_place_t place;
  int device;          /* of device memory, else -1 */
  uint64_t allocation; /* first byte of the allocation that it lies in; 0: unknown. libtorch's caching allocator has
                          many tensors in one */
} opc_cuda_address_t;

enum { OPC_CUDA_POINTERS = 12 };

typedef struct opc_cuda_call {
  opc_cuda_kind_t kind;
  const char *function; /* "cudaLaunchKernel" */
  uint64_t caller;      /* return address into the code that made the call */
  const char *library;  /* file of the object that `caller` lies in, as the loader knows it; "" where there is none */
  uint32_t thread;      /* 0: the one that began the log, the others in order of their first call */
  int device;           /* current in that thread when the call began */
  int code; /* what the call came to. Of a launch by <<<…>>>: what the generated stub threw away; the thread's last
               error has it */
  bool injected;  /* the code is a failure that was asked for (opc_launch_api_t.fail_launch) */
  bool unwrapped; /* of the driver, or of a runtime that is linked statically into `library`: seen by CUPTI
                     (opc_launch_api_t.watch_unwrapped). That runtime has a last error of its own, and no failure can be
                     asked for */

  /* Of what goes into a stream, and of STREAM_… kinds. */
  uint64_t stream;
  opc_cuda_stream_kind_t stream_kind;
  int stream_device; /* the device that the stream belongs to; of the legacy and per-thread streams the current one; -1:
                        unknown */
  bool captured; /* the stream is being captured, so that the work is a part of a graph and is not done; said from the
                    first cudaStreamBeginCapture of the process on */

  /* LAUNCH; a LIBRARY_WORK has none of it */
  const char *kernel;         /* as registered (mangled); "" where unknown */
  const char *kernel_library; /* the object whose kernel it is; "" where unknown */
  uint32_t grid[3], block[3];
  uint64_t shared; /* dynamic shared memory */
  bool cooperative;
  opc_cuda_address_t pointers[OPC_CUDA_POINTERS]; /* words of the kernel's parameters that are addresses of memory, in
                                                     order; sizes of parameters come from the kernel's image */
  bool alone[OPC_CUDA_POINTERS]; /* of each: it is a parameter of 8 bytes by itself; else a word inside a structure,
                                    which may be padding or a part that nobody uses */
  size_t pointer_count;
  bool parameters_known; /* false: the sizes could not be read, and nothing was looked at */

  /* COPY, FILL (to only), ALLOCATE, FREE, HOST_… (to) */
  opc_cuda_address_t to, from;
  uint64_t bytes;
  bool synchronous; /* the host waits by the function's own contract: cudaMemcpy, cudaMemset of pageable memory,
                       cudaMalloc, cudaFree… */

  /* EVENT_…, STREAM_WAIT, QUERY of an event */
  uint64_t event;

  /* SET_DEVICE: the new one. HOST_ACCESS: 1 for a write. CAPTURE that begins one: cudaStreamCaptureMode. */
  int value;
} opc_cuda_call_t;

typedef struct opc_cuda_log {
  const opc_cuda_call_t *calls;
  size_t count;
  size_t dropped; /* calls beyond what a log holds; a judgement by absence is not possible then */
} opc_cuda_log_t;

const char *opc_cuda_kind_word(opc_cuda_kind_t kind); /* "launch" */
const char *opc_cuda_error_name(
    int code); /* "cudaErrorInvalidConfiguration"; "cudaError 1234" for one that is not known */

#ifdef __cplusplus
}
#endif
#endif
