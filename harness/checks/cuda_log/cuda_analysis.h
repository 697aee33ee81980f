/* What a log of CUDA calls says about the operator that made them: pure functions of a log and a few facts, so that
 * they are tested where neither a GPU nor CUDA is (fixtures/cuda_logs). The checks launch, stream, device_guard, sync,
 * device_memory and capture make the log, ask here, and report.
 *
 * Only calls of libraries under test are judged; what libtorch does for the operator is libtorch's business, and counts
 * where it helps (an error check, an event). Ownership: the log and the facts are the caller's, and what is found
 * refers to the log's calls by index. Threads: no shared state. */
#ifndef OPC_CHECKS_CUDA_LOG_CUDA_ANALYSIS_H
#define OPC_CHECKS_CUDA_LOG_CUDA_ANALYSIS_H

#include "base/status.h"
#include "cuda/log/launch.h"

typedef enum opc_cuda_owner {
  OPC_CUDA_OF_OTHERS = 0, /* NVIDIA's libraries, the program */
  OPC_CUDA_OF_TORCH,      /* libtorch_cuda, libc10_cuda… */
  OPC_CUDA_OF_OWN         /* a library under test, or a sibling of it */
} opc_cuda_owner_t;

/* By the name of an object that is none of the libraries under test. */
opc_cuda_owner_t opc_cuda_owner_of_file(const char *file);

typedef struct opc_cuda_facts {
  opc_cuda_log_t log;              /* of one call of the operator */
  opc_cuda_limits_t limits;        /* of the device that the tensors are on; zero: not known */
  int device;                      /* that the tensors are on */
  uint64_t stream;                 /* its current stream, when the call began */
  int device_before, device_after; /* the thread's current device */
  int last_error;                  /* cudaGetLastError of the thread after the call; there was none before it */
  bool returned;                   /* false: it threw */
  bool empty;                      /* a tensor argument has no elements */
  bool large;                      /* a dimension was made large by the harness, and all values zero */
  bool simulated;                  /* kernels did not run: what is read back from the device says nothing */
  bool cut; /* the simulated device could not go on: the log ends there, and what the call would have done next is not
               known */
  const uint64_t *lasting; /* addresses of pageable memory in the log that stays after the call: data of a library, an
                              argument's own */
  size_t lasting_count;
  opc_cuda_owner_t (*owner)(const char *library, const void *context);
  const void *context;
} opc_cuda_facts_t;

enum { OPC_CUDA_FOUND_MAX = 16, OPC_CUDA_FOUND_CALLS = 2 };
#define OPC_CUDA_NO_CALL SIZE_MAX

/* One mistake. The same rule at the same place in the code is found once. */
typedef struct opc_cuda_found {
  const char *rule;
  char message[512];
  size_t calls[OPC_CUDA_FOUND_CALLS]; /* of the log: first the one that is blamed, then the one that shows it */
  size_t call_count;
  size_t more; /* further calls from the same place with the same mistake */
} opc_cuda_found_t;

typedef struct opc_cuda_founds {
  opc_cuda_found_t items[OPC_CUDA_FOUND_MAX]; /* what comes after is not kept */
  size_t count;
} opc_cuda_founds_t;

/* Each adds to `out`, errors before warnings. */
void opc_cuda_analyse_launches(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
void opc_cuda_analyse_pointers(const opc_cuda_facts_t *facts,
                               opc_cuda_founds_t *out); /* what kernels and host code are given to follow */
void opc_cuda_analyse_streams(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
void opc_cuda_analyse_devices(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
void opc_cuda_analyse_waits(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
/* Of a call between cudaStreamBeginCapture and cudaStreamEndCapture, which are in the log. Nothing else is asked about
 * such a log. */
void opc_cuda_analyse_capture(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
/* The log is of that kind: where the call begins and ends in it, and what the end came to. */
typedef struct opc_cuda_capture {
  size_t begin, end; /* the calls that begin and end it; end may be the log's */
  int code;
} opc_cuda_capture_t;
bool opc_cuda_capture_find(const opc_cuda_log_t *log, opc_cuda_capture_t *out);
/* Work of anybody that went into the graph. */
size_t opc_cuda_captured_work(const opc_cuda_log_t *log);
/* Of a call in which one launch was made to fail (opc_launch_api_t.fail_launch). Nothing else is asked about such a
 * log. */
void opc_cuda_analyse_injected(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);

/* Ends the log before the first call of something that the simulated device does not have: whatever follows, the call's
 * end too, follows from that. Returns the function's name; "": there is none, and nothing is cut. */
const char *opc_cuda_facts_cut(opc_cuda_facts_t *facts);

/* How many calls of the kind the owner's objects made. */
size_t opc_cuda_count(const opc_cuda_facts_t *facts, opc_cuda_kind_t kind, opc_cuda_owner_t owner);
/* How often libtorch made the host wait for the device. */
size_t opc_cuda_waits_of_torch(const opc_cuda_facts_t *facts);

/* ---- for the judges ---- */

bool opc_cuda_is_own(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call);
/* LAUNCH, LIBRARY_WORK, COPY, FILL: what goes into a stream and uses memory. */
bool opc_cuda_is_work(const opc_cuda_call_t *call);
/* The first two: what it uses, and how, is the kernel's business. */
bool opc_cuda_is_kernel(const opc_cuda_call_t *call);
/* blamed: OPC_CUDA_NO_CALL where no call is. shown: the call that shows it; the same as `blamed` where there is none.
 */
void opc_cuda_found_add(opc_cuda_founds_t *out, const opc_cuda_log_t *log, const char *rule, size_t blamed,
                        size_t shown, const char *format, ...) OPC_PRINTF(6, 7);
/* "kernel copy_kernel", "cudaMemcpyAsync". Returns out. */
const char *opc_cuda_call_name(const opc_cuda_call_t *call, char *out, size_t size);
/* "the legacy default stream of device 0", "stream 0x55d0 of device 0". Returns out. */
const char *opc_cuda_stream_name(const opc_cuda_call_t *call, char *out, size_t size);
/* The kernel's own name out of a mangled one: "copy_kernel"; the whole where it cannot be taken apart. Returns out. */
const char *opc_cuda_kernel_name(const char *mangled, char *out, size_t size);
/* "cudaErrorInvalidConfiguration (9)". Returns out. */
const char *opc_cuda_code_name(int code, char *out, size_t size);

#endif
