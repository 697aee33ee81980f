/* Tensor memory under Valgrind: an allocation between zones that Valgrind forbids, undefined until it is written. What
 * guarded memory does with pages, which Valgrind has too few mappings for.
 *
 * It holds the poison all the same, so that what the checks find by it they find here too. Freed blocks stay forbidden
 * while Valgrind's own list of them has room. Ownership: what opc_red_zone_allocate gave goes to opc_red_zone_release.
 * Threads: any. Only where opc_valgrind_active() is true. */
#ifndef OPC_MEMORY_RED_ZONE_H
#define OPC_MEMORY_RED_ZONE_H

#include <stddef.h>

/* Bytes on each side: an index that is wrong by a row falls in, too. supervise/tools/memcheck_words.c takes them off
 * again.
 */
enum { OPC_RED_ZONE = 4096 };

/* 64-byte aligned; NULL: bytes is 0, or there is no more memory. */
void *opc_red_zone_allocate(size_t bytes, unsigned char poison);
void opc_red_zone_release(void *data);
void opc_red_zone_live(size_t *blocks, size_t *bytes);
/* For all that is live at a time. The limit of the address space is too wide for tensors, as Valgrind needs several
 * times what the operator does. */
void opc_red_zone_limit(size_t bytes);

#endif
