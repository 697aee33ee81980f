/* Generated from cudart.def: the functions of the real runtime and of the simulated device. */
#pragma once

#include "cuda/state/cudart.h"

typedef struct opc_real {
#define OPC_CUDART_ONE(name) __typeof__(name) *name;
#define OPC_CUDART_PTSZ(name) __typeof__(name) *name, *name##_second;
#define OPC_CUDART_PTDS(name) __typeof__(name) *name, *name##_second;
#define OPC_CUDART(when, kind, variant, name, parameters, arguments, note, track) OPC_CUDART_##variant(name)
#include "cuda/state/cudart.def"
#undef OPC_CUDART_ONE
#undef OPC_CUDART_PTSZ
#undef OPC_CUDART_PTDS
} opc_real_t;
extern opc_real_t opc_real;
void opc_real_fill(void);

/* For the functions without an entry in cudart.def (cudart_special.c). */
typedef struct opc_real_errors {
  __typeof__(cudaGetLastError) *last;
  __typeof__(cudaPeekAtLastError) *peek;
  __typeof__(cudaGetErrorName) *name;
  __typeof__(cudaGetErrorString) *text;
} opc_real_errors_t;
typedef struct opc_real_registry {
  __typeof__(__cudaPushCallConfiguration) *push;
  __typeof__(__cudaRegisterFatBinary) *binary;
  __typeof__(__cudaRegisterFatBinaryEnd) *end;
  __typeof__(__cudaUnregisterFatBinary) *unregister;
  __typeof__(__cudaRegisterFunction) *function;
  __typeof__(__cudaRegisterVar) *variable;
  __typeof__(__cudaRegisterManagedVar) *managed;
  __typeof__(__cudaInitModule) *init;
} opc_real_registry_t;
extern const char opc_unknown_error[]; /* the runtime's text for a code that it does not know */
extern opc_real_errors_t opc_real_errors;
extern opc_real_registry_t opc_real_registry;
void opc_real_special_fill(void);
cudaError_t opc_last_error_take(void);

#define OPC_CUDART_QUIET(name) __typeof__(name) opc_sim_##name;
#define OPC_CUDART_BEFORE(name) __typeof__(name) opc_sim_##name;
#define OPC_CUDART_AFTER(name) __typeof__(name) opc_sim_##name;
#define OPC_CUDART_REAL(name)
#define OPC_CUDART(when, kind, variant, name, parameters, arguments, note, track) OPC_CUDART_##when(name)
#include "cuda/state/cudart.def"
#undef OPC_CUDART_QUIET
#undef OPC_CUDART_BEFORE
#undef OPC_CUDART_AFTER
#undef OPC_CUDART_REAL

/* The log of calls: the worker begins and ends it; any thread appends without locks or allocations. */

extern atomic_bool opc_log_open;

void opc_log_forked(void);

/* Number of the open or last log; different for each log. */
unsigned opc_log_number(void);
void opc_log_begin(void);
opc_cuda_log_t opc_log_end(void);
/* Returns a copy that lives as long as the process. */
const char *opc_log_intern(const char *text);
/* File of the object that contains this address; "": none. Not async-signal-safe. */
const char *opc_log_library(uint64_t address);

/* Fills in the fields common to all calls. False: no log is open. */
bool opc_call_begin(opc_cuda_call_t *call, opc_cuda_kind_t kind, const char *function, void *caller);
void opc_call_end(const opc_cuda_call_t *call, int code);
/* The number of calls in the log; and what became of this thread's open launches from the nth on. not_run: permanent.
 */
size_t opc_log_count(void);
void opc_log_settle(size_t first, opc_cuda_ran_t ran, const char *not_run);

/* Details of a call; `per_thread` depends on the function that was called. */
void opc_note_stream(opc_cuda_call_t *call, cudaStream_t stream, bool per_thread);
void opc_note_copy(opc_cuda_call_t *call, const void *to, const void *from, size_t bytes, cudaStream_t stream,
                   bool per_thread, bool waits);
void opc_note_fill(opc_cuda_call_t *call, const void *to, size_t bytes, cudaStream_t stream, bool per_thread,
                   bool waits);
void opc_note_memory(opc_cuda_call_t *call, const void *at, size_t bytes, bool waits);
/* nvcc's generated stub has no source line: sets the caller to the place of the <<<…>>>. */
void opc_note_stub(opc_cuda_call_t *call);
void opc_note_stub_of_12(opc_cuda_call_t *call); /* if this call is a stub's */
void opc_note_launch(opc_cuda_call_t *call, const void *key, dim3 grid, dim3 block, void **arguments, size_t shared,
                     cudaStream_t stream, bool per_thread, bool cooperative);
void opc_note_launch_config(opc_cuda_call_t *call, const cudaLaunchConfig_t *config, const void *key, void **arguments,
                            bool per_thread);
void opc_note_copy_3d(opc_cuda_call_t *call, const struct cudaMemcpy3DParms *copy, cudaStream_t stream, bool per_thread,
                      bool waits);
/* After opc_note_copy: the source or destination is a variable in device code. */
void opc_note_symbol(opc_cuda_call_t *call, const void *symbol, size_t offset, bool to_symbol);
void opc_note_event(opc_cuda_call_t *call, cudaEvent_t event);
