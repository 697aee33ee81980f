/* Generated from cudart.def: the functions of the real runtime and of the simulated device. */
#pragma once

#include "cuda/state/call_log.h"
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
