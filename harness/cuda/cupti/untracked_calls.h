/* Between the two halves of untracked.h: what CUPTI is asked for, and what it calls. */
#ifndef OPC_CUDA_CUPTI_UNTRACKED_CALLS_H
#define OPC_CUDA_CUPTI_UNTRACKED_CALLS_H

#include <cupti_callbacks.h>

#include "cuda/cupti/untracked.h"

CUPTIAPI void opc_untracked_callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
/* Callback ids of the driver's functions that are written down. */
const uint32_t *opc_untracked_driver_calls(size_t *out_count);
/* A call was seen, and not who made it. */
bool opc_untracked_lost(void);

#endif
