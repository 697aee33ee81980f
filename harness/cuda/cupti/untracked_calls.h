/* Between the two halves of untracked.h: the CUPTI subscription, and the callback. */
#pragma once

#include <cupti_callbacks.h>

#include "cuda/cupti/untracked.h"

CUPTIAPI void opc_untracked_callback(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
/* Callback ids of the driver functions that are recorded. */
const uint32_t *opc_untracked_driver_calls(size_t *out_count);
/* True: some call was seen whose caller could not be found. */
bool opc_untracked_lost(void);
