/* Interface between the shim and an observer: a library that the shim loads once libtorch is loaded. */
#pragma once

#include <stddef.h>

#define OPC_OBSERVER_START "opc_observer_start"
#define OPC_OBSERVER_TORCH "opc_observer_torch" /* char[]: the libtorch version that it was built for, "2.11" */

/* Starts recording according to the folder's settings; does not throw. words: why it cannot record, otherwise
 * unchanged. */
typedef void opc_observer_start_t(const char *folder, char *words, size_t size);
