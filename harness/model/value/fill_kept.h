/* opc_fill_logical with a memory: every check makes a sample's arguments anew, some of them dozens of times, and a
 * random number costs what ten copies of it do. Logical values are a function of the spec, the stream and the seed
 * alone, so what was filled once can be copied.
 *
 * Ownership: the memory is a process's and all those that it forked since opc_fills_share, or since the first fill: at
 * most OPC_FILLS_KEPT_BYTES, apart from the heap that operators allocate from and between inaccessible pages. So a
 * child that crashed leaves the next one what it filled. Threads: one. Fork: any, also while another one fills. */
#ifndef OPC_MODEL_VALUE_FILL_KEPT_H
#define OPC_MODEL_VALUE_FILL_KEPT_H

#include "model/value/value.h"

#define OPC_FILLS_KEPT_BYTES ((size_t)16 << 20)

/* Before any fork. Where there is no memory for it, each process fills for itself. */
void opc_fills_share(void);
/* As opc_fill_logical, to the bit. */
opc_status_t opc_fill_kept(const opc_tensor_spec_t *spec, const char *path, uint64_t seed, void *out,
                           opc_error_t *error) OPC_CHECKED;

#endif
