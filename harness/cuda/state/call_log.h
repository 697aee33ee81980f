/* The log of calls: the worker begins and ends it; any thread appends without locks or allocations. */
#pragma once

#include "cuda/state/cudart.h"

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
