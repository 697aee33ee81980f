/* opc_fill_logical with a cache. Every check creates a sample's arguments again, some dozens of times, and a random
 * number costs as much as ten copies. Logical values depend only on spec, stream and seed, so that a previous result
 * can be copied.
 *
 * Ownership: the cache is shared by a process and all its children, forked after opc_fills_share or the first fill. It
 * has at most OPC_FILLS_KEPT_BYTES, outside the heap that operators use and between inaccessible pages. So a crashed
 * child leaves its fills to the next one. Threads: one. Fork: any time, also while another process fills. */
#pragma once

#include "model/value/value.h"

#define OPC_FILLS_KEPT_BYTES ((size_t)16 << 20)

/* Call before any fork. If memory runs out, each process fills for itself. */
void opc_fills_share(void);
/* Same result as opc_fill_logical, to the bit. */
opc_status_t opc_fill_kept(const opc_tensor_spec_t *spec, const char *path, uint64_t seed, void *out,
                           opc_error_t *error) OPC_CHECKED;
