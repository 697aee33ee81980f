/* Tensor memory under Valgrind: each allocation lies between red zones that Valgrind forbids, and is undefined until
 * written. Replaces guarded memory, as Valgrind has too few mappings for guard pages.
 *
 * The memory is still poisoned, so that checks which rely on the poison work here too. Freed blocks stay forbidden
 * while Valgrind's own list of them has room. Ownership: release memory from opc_red_zone_allocate with
 * opc_red_zone_release. Threads: any. Use only if opc_valgrind_active() is true. */
#pragma once

#include <stddef.h>

/* Bytes on each side: also catches an index that is wrong by a row. supervise/tools/memcheck_words.c subtracts them
 * again. */
enum { OPC_RED_ZONE = 4096 };

/* 64-byte aligned; NULL: bytes is 0, or out of memory. */
void *opc_red_zone_allocate(size_t bytes, unsigned char poison);
void opc_red_zone_release(void *data);
void opc_red_zone_live(size_t *blocks, size_t *bytes);
/* Limits the total size of live blocks. The address space limit is too wide for tensors, as Valgrind needs several
 * times the operator's memory. */
void opc_red_zone_limit(size_t bytes);
