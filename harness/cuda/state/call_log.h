/* The log of calls: begun and ended by the worker, appended to by any thread without a lock or an allocation. */
#ifndef OPC_CUDA_STATE_CALL_LOG_H
#define OPC_CUDA_STATE_CALL_LOG_H

#include "cuda/state/cudart.h"

extern atomic_bool opc_log_open;

void opc_log_forked(void);

/* Of the log that is open or was last: another for each. */
unsigned opc_log_number(void);
void opc_log_begin(void);
opc_cuda_log_t opc_log_end(void);
/* Strings that live as long as the process. */
const char *opc_log_intern(const char *text);
/* File of the object that has this address; "" where there is none. Not from a signal handler. */
const char *opc_log_library(uint64_t address);

/* Fills in what every call has. False: no log is made. */
bool opc_call_begin(opc_cuda_call_t *call, opc_cuda_kind_t kind, const char *function, void *caller);
void opc_call_end(const opc_cuda_call_t *call, int code);

/* What a call is about; `per_thread` is of the function that was called. */
void opc_note_stream(opc_cuda_call_t *call, cudaStream_t stream, bool per_thread);
void opc_note_copy(opc_cuda_call_t *call, const void *to, const void *from, size_t bytes, cudaStream_t stream,
                   bool per_thread, bool waits);
void opc_note_fill(opc_cuda_call_t *call, const void *to, size_t bytes, cudaStream_t stream, bool per_thread,
                   bool waits);
void opc_note_memory(opc_cuda_call_t *call, const void *at, size_t bytes, bool waits);
/* The stub that nvcc writes has no line of its own: the call was made where the launch was begun. */
void opc_note_stub(opc_cuda_call_t *call);
void opc_note_launch(opc_cuda_call_t *call, const void *key, dim3 grid, dim3 block, void **arguments, size_t shared,
                     cudaStream_t stream, bool per_thread, bool cooperative);
void opc_note_launch_config(opc_cuda_call_t *call, const cudaLaunchConfig_t *config, const void *key, void **arguments,
                            bool per_thread);
void opc_note_copy_3d(opc_cuda_call_t *call, const struct cudaMemcpy3DParms *copy, cudaStream_t stream, bool per_thread,
                      bool waits);
/* After opc_note_copy: one end is a variable in device code. */
void opc_note_symbol(opc_cuda_call_t *call, const void *symbol, size_t offset, bool to_symbol);
void opc_note_event(opc_cuda_call_t *call, cudaEvent_t event);

#endif
