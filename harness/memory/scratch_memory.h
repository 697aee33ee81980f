/* Memory that libtorch does not allocate: from malloc, new and the stack. Normally a malloc block contains what was
 * freed there before, or zeros: both look plausible, and vary with what else ran. In a child it always contains one
 * byte value, so that an operator that reads it does the same in every call.
 *
 * Threads: set the fill byte only while no operator runs. It applies to malloc on all threads, and to the stack of the
 * thread that calls the operator. calloc still returns zeros; bytes that realloc adds in place are not filled. */
#pragma once

#include <stdbool.h>

/* For GLIBC_TUNABLES of a process before it starts. glibc reuses freed small blocks from its own cache (tcache) without
 * filling them; nothing else switches that off. It costs 1 us per operator call (measured). */
#define OPC_SCRATCH_MEMORY_TUNABLE "glibc.malloc.tcache_count=0"

/* From now on new malloc blocks and the stack below the operator contain `byte`; freed blocks contain its complement.
 * For 0xff malloc does not fill at all: glibc cannot fill with that byte. */
void opc_scratch_memory_fill(unsigned char byte);
/* Another byte for the stack only. */
void opc_scratch_memory_fill_stack(unsigned char byte);
/* Restores the default: both contain zeros, like fresh memory from the system. A child starts with it. */
enum { OPC_SCRATCH_MEMORY_USUAL = 0x00 };
void opc_scratch_memory_plain(void);
/* Call right before an operator, as deep in the stack as possible (opc_bridge_before_call): any other code overwrites
 * the stack. */
void opc_scratch_memory_before_call(void);

/* On: malloc returns other addresses for small blocks until this is switched off: exposes results that depend on an
 * address. */
void opc_scratch_memory_shift(bool on);
