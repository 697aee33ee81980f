/* Between the two halves of unwrapped.h: what CUPTI is asked for, and what it calls. */
#ifndef OPC_CUDA_CUPTI_UNWRAPPED_CALLS_H
#define OPC_CUDA_CUPTI_UNWRAPPED_CALLS_H

#include <cupti_callbacks.h>

#include "cuda/cupti/unwrapped.h"

CUPTIAPI void opc_unwrapped_callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
/* Callback ids of the driver's functions that are written down. */
const uint32_t *opc_unwrapped_driver_calls(size_t *out_count);
/* A call was seen, and not who made it. */
bool opc_unwrapped_lost(void);

#endif
