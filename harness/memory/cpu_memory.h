/* CPU memory of a child that runs operators: poisoned, counted, and guarded on request.
 *
 * The two functions are installed as libtorch's CPU allocator (opc_bridge_set_allocator) for the life of the process.
 * Memory allocated in one mode may be released in the other. Threads: any may allocate and release; set the mode only
 * while no operator runs. */
#pragma once

#include "memory/guard.h"

void *opc_cpu_memory_allocate(size_t bytes, void *context);
void opc_cpu_memory_release(void *data, void *context);
/* Calls `given` for each block that this thread allocates, before its first use. NULL: no call. */
void opc_cpu_memory_on_allocation(void (*given)(void *data, size_t bytes));
/* Guards new storage from now on, filled with opc_poison_pattern's byte. If the system gives no more mappings, storage
 * is only poisoned. */
void opc_cpu_memory_guard(opc_guard_side_t side);
void opc_cpu_memory_plain(void); /* new storage is only poisoned again */
bool opc_cpu_memory_guarded(void);
/* Alignment of guarded storage from now on. The default is 64, as in libtorch's own allocator; operators may rely on
 * that for memory that they allocate. Returns the previous value. */
size_t opc_cpu_memory_align(size_t alignment);
/* Alignment of arguments; default 64. 1: they end directly at the guard page, as operators may rely only on element
 * alignment. (Elements stay aligned: the size is a multiple of theirs.) Returns the previous value. */
size_t opc_cpu_memory_align_arguments(size_t alignment);

/* What newly allocated storage is for. */
typedef enum opc_memory_use {
  OPC_MEMORY_OWN = 0, /* the operator's own memory; the default */
  OPC_MEMORY_ARGUMENT,
  OPC_MEMORY_READ_ONLY_ARGUMENT /* will be protected while the operator runs */
} opc_memory_use_t;
void opc_cpu_memory_use(opc_memory_use_t use);

/* On: only the data of guarded storage has opc_poison_pattern's byte from now on; the memory around it always reads the
 * same. */
void opc_cpu_memory_fix_slack(bool on);

/* What libtorch has allocated from it now, guarded or not. */
typedef struct opc_cpu_memory_live {
  size_t blocks, bytes;
} opc_cpu_memory_live_t;
opc_cpu_memory_live_t opc_cpu_memory_live(void);

/* Poisoned CPU memory: every new storage is filled with a byte pattern before an operator sees it, so that unwritten
 * elements can be recognised.
 *
 * The pattern is chosen at run time: if two runs of one case with two patterns give different bits, uninitialised
 * memory reached the result. Guarded memory has the same pattern. */

void *opc_poison_allocate(size_t bytes, void *context); /* 64-byte aligned; NULL when out of memory or bytes is 0 */
void opc_poison_release(void *data, void *context);
void opc_poison_pattern(unsigned char byte); /* for new storage from now on; default 0xa5 */
unsigned char opc_poison_byte(void);

/* Memory that libtorch does not allocate: from malloc, new and the stack. Normally a malloc block contains what was
 * freed there before, or zeros: both look plausible, and vary with what else ran. In a child it always contains one
 * byte value, so that an operator that reads it does the same in every call.
 *
 * Threads: set the fill byte only while no operator runs. It applies to malloc on all threads, and to the stack of the
 * thread that calls the operator. calloc still returns zeros; bytes that realloc adds in place are not filled. */

/* For GLIBC_TUNABLES of a process before it starts. glibc reuses freed small blocks from its own cache (tcache) without
 * filling them; nothing else switches that off. It costs 1 us per operator call (measured). */
#define OPC_SCRATCH_MEMORY_TUNABLE "glibc.malloc.tcache_count=0"

/* From now on new malloc blocks and the stack below the operator contain `byte`; freed blocks contain its complement.
 */
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

/* Tensor memory under Valgrind: each allocation lies between red zones that Valgrind forbids, and is undefined until
 * written. Replaces guarded memory, as Valgrind has too few mappings for guard pages.
 *
 * The memory is still poisoned, so that checks which rely on the poison work here too. Freed blocks stay forbidden
 * while Valgrind's own list of them has room. Ownership: release memory from opc_red_zone_allocate with
 * opc_red_zone_release. Threads: any. Use only if opc_valgrind_active() is true. */

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

/* Reads memory that may be unmapped, without a fault. */

/* Copies the bytes of this process at `address`. False: some of them are unreadable; `out` is then undefined. */
bool opc_memory_safe_read(const void *address, void *out, size_t bytes);
