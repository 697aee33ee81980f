/* How much of the machine this process holds now: for counting what calls leave behind.
 *
 * Ownership: nothing. Threads: any; what other threads do meanwhile is counted too. Fork: counts the child's own. */
#ifndef OPC_BASE_PROCESS_USE_H
#define OPC_BASE_PROCESS_USE_H

#include <stddef.h>

#include "base/status.h"

typedef struct opc_process_use {
  size_t allocated_bytes; /* by malloc, in all arenas; what malloc keeps for the next call does not count */
  size_t mapped_bytes;    /* address space that malloc knows nothing of: mappings, libraries, stacks */
  size_t descriptors;
  size_t threads;
} opc_process_use_t;

/* About 15 us. OPC_ERR_SYSTEM: /proc cannot be read; errno says why (EMFILE: no descriptor is left). */
opc_status_t opc_process_use_read(opc_process_use_t *use, opc_error_t *error) OPC_CHECKED;

#endif
