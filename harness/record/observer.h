/* What the shim asks of an observer, a library that is loaded when libtorch is there. */
#ifndef OPC_RECORD_OBSERVER_H
#define OPC_RECORD_OBSERVER_H

#include <stddef.h>

#define OPC_OBSERVER_START "opc_observer_start"
#define OPC_OBSERVER_TORCH "opc_observer_torch" /* char[]: the libtorch that it was built for, "2.11" */

/* Records from now on what the folder's settings say; throws nothing. words: why it cannot, else left alone. */
typedef void opc_observer_start_t(const char *folder, char *words, size_t size);

#endif
