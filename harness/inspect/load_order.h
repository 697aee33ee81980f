/* In which order libraries that depend on one another are loaded: each behind those that it needs by name, or by a
 * symbol that another one defines. */
#ifndef OPC_INSPECT_LOAD_ORDER_H
#define OPC_INSPECT_LOAD_ORDER_H

#include <stddef.h>

#include "base/status.h"

/* out_order[0] is the index of the first to load. Libraries that do not depend on each other, need each other in a
 * circle, or cannot be read (the loader says why) keep their order. */
opc_status_t opc_load_order(const char *const *paths, size_t count, size_t *out_order, opc_error_t *error) OPC_CHECKED;

#endif
