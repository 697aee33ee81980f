/* Load order of libraries that depend on one another: each comes after those that it needs by name, or by a symbol that
 * another one defines. */
#pragma once

#include <stddef.h>

#include "base/status.h"

/* out_order[0] is the index of the first library to load. Libraries keep their order if they are independent, need each
 * other in a cycle, or are unreadable (the loader reports why). */
opc_status_t opc_load_order(const char *const *paths, size_t count, size_t *out_order, opc_error_t *error) OPC_CHECKED;
