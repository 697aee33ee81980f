/* CPU memory of a child that runs operators: poisoned, counted, and guarded on request.
 *
 * The two functions are installed as libtorch's CPU allocator (opc_bridge_set_allocator) for the life of the process.
 * Memory allocated in one mode may be released in the other. Threads: any may allocate and release; set the mode only
 * while no operator runs. */
#pragma once

#include "memory/guard.h"
#include "memory/scratch_memory.h"

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
