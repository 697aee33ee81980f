/* Resources that this process uses now; shows what calls leave behind.
 *
 * Ownership: nothing. Threads: any; includes the use by other threads. Fork: counts the child's own. */
#pragma once

#include <stddef.h>

#include "base/status.h"

typedef struct opc_process_use {
  size_t allocated_bytes; /* by malloc, in all arenas, without what malloc caches */
  size_t mapped_bytes;    /* address space outside malloc: mappings, libraries, stacks */
  size_t descriptors;
  size_t threads;
} opc_process_use_t;

/* About 15 us. OPC_ERR_SYSTEM: /proc is unreadable; see errno (EMFILE: no descriptor is left). */
opc_status_t opc_process_use_read(opc_process_use_t *use, opc_error_t *error) OPC_CHECKED;
