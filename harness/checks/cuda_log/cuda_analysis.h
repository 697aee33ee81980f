/* Analyses the log of an operator's CUDA calls: pure functions of a log and a few facts, so they can be tested without
 * a GPU and without CUDA (fixtures/cuda_logs). The checks launch, stream, device_guard, sync, device_memory and capture
 * make the log, call these functions, and report.
 *
 * Only calls of libraries under test can be wrong. Calls that libtorch makes for the operator only count in its favour
 * (an error check, an event). Ownership: the caller owns the log and the facts; findings refer to the log's calls by
 * index. Threads: no shared state. */
#pragma once

#include "catalogue/rules.h"
#include "cuda/log/launch.h"

typedef enum opc_cuda_owner {
  OPC_CUDA_OF_OTHERS = 0, /* NVIDIA's libraries, the program */
  OPC_CUDA_OF_TORCH,      /* libtorch_cuda, libc10_cuda… */
  OPC_CUDA_OF_OWN         /* a library under test, or a library loaded with it */
} opc_cuda_owner_t;

/* By the file name of an object that is not a library under test. */
opc_cuda_owner_t opc_cuda_owner_of_file(const char *file);

/* A number that a tensor's sizes give and that may not fit into 32 bits. */
typedef struct opc_cuda_count {
  int64_t number;
  char of[160]; /* "x.numel()" */
} opc_cuda_count_t;
enum { OPC_CUDA_COUNTS_MAX = 64 };

typedef struct opc_cuda_facts {
  opc_cuda_log_t log;              /* of one call of the operator */
  opc_cuda_limits_t limits;        /* of the tensors' device; zero: unknown */
  int device;                      /* the tensors' device */
  uint64_t stream;                 /* the device's current stream when the call began */
  int device_before, device_after; /* the thread's current device */
  int last_error;                  /* cudaGetLastError of the thread after the call; before it there was no error */
  bool returned;                   /* false: it threw */
  bool empty;                      /* a tensor argument has no elements */
  bool large;                      /* the harness made a dimension large, and all values are zero */
  bool simulated;                  /* kernels did not run: data read back from the device means nothing */
  bool cut; /* the simulated device could not continue: the log ends there, and the rest of the call is unknown */
  const uint64_t *lasting; /* addresses of pageable memory in the log that stays valid after the call: a library's data,
                              an argument's memory */
  size_t lasting_count;
  const opc_cuda_count_t *counts; /* of arguments and outputs, above INT32_MAX */
  size_t count_count;
  opc_cuda_owner_t (*owner)(const char *library, const void *context);
  const void *context;
} opc_cuda_facts_t;

enum { OPC_CUDA_FOUND_MAX = 16, OPC_CUDA_FOUND_CALLS = 2 };
#define OPC_CUDA_NO_CALL SIZE_MAX

/* One mistake. The same rule at the same place in the code is reported once. */
typedef struct opc_cuda_found {
  opc_rule_id_t rule;
  char message[512];
  size_t calls[OPC_CUDA_FOUND_CALLS]; /* in the log: first the call to blame, then the call that shows the mistake */
  size_t call_count;
  size_t more; /* number of further calls from the same place with the same mistake */
} opc_cuda_found_t;

typedef struct opc_cuda_founds {
  opc_cuda_found_t items[OPC_CUDA_FOUND_MAX]; /* further ones are dropped */
  size_t count;
} opc_cuda_founds_t;

/* Each adds to `out`, errors before warnings. */
void opc_cuda_analyse_launches(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
void opc_cuda_analyse_pointers(const opc_cuda_facts_t *facts,
                               opc_cuda_founds_t *out); /* pointers that kernels and host code receive */
void opc_cuda_analyse_counts(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out); /* counts that were truncated */
void opc_cuda_analyse_streams(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
void opc_cuda_analyse_devices(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
void opc_cuda_analyse_waits(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
/* For a call between cudaStreamBeginCapture and cudaStreamEndCapture, which are in the log. Such a log gets no other
 * analysis. */
void opc_cuda_analyse_capture(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);
/* True: the log contains a capture. *out: where it begins and ends, and the result of its end. */
typedef struct opc_cuda_capture {
  size_t begin, end; /* the calls that begin and end it; end may be the log's */
  int code;
} opc_cuda_capture_t;
bool opc_cuda_capture_find(const opc_cuda_log_t *log, opc_cuda_capture_t *out);
/* Number of pieces of work in the graph, whoever launched them. */
size_t opc_cuda_captured_work(const opc_cuda_log_t *log);
/* For a call in which one launch was made to fail (opc_launch_api_t.fail_launch). Such a log gets no other analysis. */
void opc_cuda_analyse_injected(const opc_cuda_facts_t *facts, opc_cuda_founds_t *out);

/* Ends the log before the first call of a function that the simulated device lacks: everything after it, including the
 * end of the call, may be a consequence. Returns the function's name; "": there is none, and nothing is cut. */
const char *opc_cuda_facts_cut(opc_cuda_facts_t *facts);

/* Number of calls of this kind made by the owner's objects. */
size_t opc_cuda_count(const opc_cuda_facts_t *facts, opc_cuda_kind_t kind, opc_cuda_owner_t owner);
/* How often libtorch made the host wait for the device. */
size_t opc_cuda_waits_of_torch(const opc_cuda_facts_t *facts);

/* ---- for the analysis functions ---- */

bool opc_cuda_is_own(const opc_cuda_facts_t *facts, const opc_cuda_call_t *call);
/* LAUNCH, LIBRARY_WORK, COPY, FILL: work that goes into a stream and uses memory. */
bool opc_cuda_is_work(const opc_cuda_call_t *call);
/* LAUNCH, LIBRARY_WORK: the kernel decides what memory it uses, and how. */
bool opc_cuda_is_kernel(const opc_cuda_call_t *call);
/* blamed: the call to blame, or OPC_CUDA_NO_CALL. shown: the call that shows the mistake; the same as `blamed` if there
 * is none. */
void opc_cuda_found_add(opc_cuda_founds_t *out, const opc_cuda_log_t *log, opc_rule_id_t rule, size_t blamed,
                        size_t shown, const char *format, ...) OPC_PRINTF(6, 7);
/* "kernel copy_kernel", "cudaMemcpyAsync". Returns out. */
const char *opc_cuda_call_name(const opc_cuda_call_t *call, char *out, size_t size);
/* "the legacy default stream of device 0", "stream 0x55d0 of device 0". Returns out. */
const char *opc_cuda_stream_name(const opc_cuda_call_t *call, char *out, size_t size);
/* The kernel's own name from a mangled one: "copy_kernel"; the whole name if it cannot be demangled. Returns out. */
const char *opc_cuda_kernel_name(const char *mangled, char *out, size_t size);
/* "cudaErrorInvalidConfiguration (9)". Returns out. */
const char *opc_cuda_code_name(int code, char *out, size_t size);

/* CUDA errors that end a context: an earlier kernel did something that the GPU forbids, and every later call of the
 * process returns the error. The call that reports it is not the one that caused it.
 *
 * Ownership: the caller owns texts. Threads: no shared state. Pure functions. */

/* Meaning of the code: "an access to memory that is not mapped"; NULL: the error does not end the context. */
const char *opc_cuda_fault_meaning(int code);
/* "an access to memory that is not mapped (cudaErrorIllegalAddress, 700); the last launches before it: copy_kernel
 * (grid 1,1,1, block 256,1,1) by libops.so" */
void opc_cuda_fault_describe(int code, const opc_cuda_log_t *log, opc_text_t *out);
/* The last launches in the log, newest first: [{"kernel", "library", "grid", "block", "stream"}…]. New reference. */
json_t *opc_cuda_fault_launches(const opc_cuda_log_t *log);

/* Logs of CUDA calls as JSON: evidence of findings, and files for the tests of their analysis
 * (fixtures/cuda_logs/README.md has the format; tests/unit/cuda_log_file.h reads it). */

#define OPC_CUDA_LOG_FORMAT "opcheck-c/cuda-log/1"
enum { OPC_CUDA_STREAM_KINDS = OPC_CUDA_STREAM_UNKNOWN + 1, OPC_CUDA_PLACES = OPC_CUDA_FREED + 1 };
extern const char *const opc_cuda_stream_names[OPC_CUDA_STREAM_KINDS], *const opc_cuda_place_names[OPC_CUDA_PLACES];

/* One object per call; fields that are zero or empty are omitted. New reference; NULL: out of memory. */
json_t *opc_cuda_call_json(const opc_cuda_call_t *call);
/* A log file of one round: facts, calls, and which of their libraries are under test. NULL: out of memory. */
json_t *opc_cuda_file_json(const opc_cuda_facts_t *facts, const char *origin, const json_t *versions);
