/* The CPU memory of a child that runs operators: poisoned, counted, and guarded while somebody asks for it.
 *
 * The two functions go under libtorch's CPU allocator (opc_bridge_set_allocator) for the life of the process; what was
 * allocated in one mode may be released in the other. Threads: allocate and release any; the mode is set while no
 * operator runs. */
#ifndef OPC_MEMORY_CPU_MEMORY_H
#define OPC_MEMORY_CPU_MEMORY_H

#include "memory/guard.h"
#include "memory/scratch_memory.h"

void *opc_cpu_memory_allocate(size_t bytes, void *context);
void opc_cpu_memory_release(void *data, void *context);
/* Calls `given` for each block that this thread gets, before anybody uses it. NULL: no call. */
void opc_cpu_memory_tell(void (*given)(void *data, size_t bytes));
/* New storage is guarded from now on, with opc_poison_pattern's byte. Where the system gives no more mappings, poisoned
 * memory is given. */
void opc_cpu_memory_guard(opc_guard_side_t side);
void opc_cpu_memory_plain(void); /* only poisoned again */
bool opc_cpu_memory_guarded(void);
/* Of guarded storage from now on. The default, 64, is that of libtorch's own allocator, which an operator may expect of
 * memory that it asks for. Returns what it was. */
size_t opc_cpu_memory_align(size_t alignment);
/* The alignment of arguments; 1: they end flush at the guard behind them (elements stay aligned: the size is a multiple
 * of theirs), for an operator may expect no more of them than an element's alignment. The default is 64. Returns what
 * it was. */
size_t opc_cpu_memory_align_arguments(size_t alignment);

/* What storage is asked for from now on. */
typedef enum opc_memory_use {
  OPC_MEMORY_OWN = 0, /* the operator's, and the default */
  OPC_MEMORY_ARGUMENT,
  OPC_MEMORY_READ_ONLY_ARGUMENT /* to be protected while the operator runs */
} opc_memory_use_t;
void opc_cpu_memory_use(opc_memory_use_t use);

/* On: only the data of guarded storage follow opc_poison_pattern's byte from now on, what lies beside them always reads
 * the same. */
void opc_cpu_memory_fix_slack(bool on);

/* What libtorch holds of it now, guarded or not. */
typedef struct opc_cpu_memory_live {
  size_t blocks, bytes;
} opc_cpu_memory_live_t;
opc_cpu_memory_live_t opc_cpu_memory_live(void);

#endif
