/* Guarded memory (guard.h) for blocks that an operator's own code takes from malloc and new: a kernel's vectors,
 * buffers and objects.
 *
 * Blocks are given only while this is on, only to code that was noted, and only as many and as large as is cheap; all
 * others come from glibc. A block that is kept (a static cache) stays guarded until it is freed. Contents are as
 * cpu_memory.h promises: OPC_SCRATCH_MEMORY_USUAL, or the byte that is set here.
 *
 * The program's malloc calls the functions below "for malloc"; if no malloc does (an interpreter has its own), nothing
 * is guarded, and nothing under Valgrind, which watches such blocks itself. Threads: any may allocate and free; note
 * code and switch only while no operator runs. */
#pragma once

#include "memory/guard.h"

/* own: notes the code of the objects that were loaded since the last call (of all, in the first call), false: skips
 * them. */
void opc_heap_guard_note_loaded(bool own);

typedef enum opc_heap_guard_depth {
  OPC_HEAP_DIRECT = 0, /* blocks that the noted code asks for itself */
  OPC_HEAP_THROUGH /* also through a function of another library, as std::vector<float>, of which libtorch has a copy:
                      costs a look at the stack for each block */
} opc_heap_guard_depth_t;
/* Guards such blocks from now on, filled with `byte`, or no new ones. */
void opc_heap_guard(opc_guard_side_t side, unsigned char byte, opc_heap_guard_depth_t depth);
void opc_heap_guard_off(void);

/* ---- for malloc ---- */

enum { OPC_HEAP_ALIGNMENT = 16 }; /* of malloc and new */

/* The program has a malloc that calls these functions, in place of glibc's. */
void opc_heap_guard_present(void);
/* NULL: take the block from glibc. caller: the return address of the call of malloc. */
void *opc_heap_guard_give(size_t bytes, size_t alignment, const void *caller);
/* False: the block is not from opc_heap_guard_give; free it. */
bool opc_heap_guard_take(void *data);
/* Of a block from opc_heap_guard_give; false: it is not. */
bool opc_heap_guard_size(const void *data, size_t *out_bytes);
