/* The CPU memory of a child that runs operators: poisoned, counted, and guarded while somebody asks for it.
 *
 * The two functions go under libtorch's CPU allocator (opc_bridge_set_allocator) for the life of the process; what was allocated in one mode may be
 * released in the other. Threads: allocate and release any; the mode is set while no operator runs. */
#ifndef OPC_MEMORY_CPU_MEMORY_H
#define OPC_MEMORY_CPU_MEMORY_H

#include "memory/guard.h"
#include "memory/scratch_memory.h"

void *opc_cpu_memory_allocate(size_t bytes, void *context);
void opc_cpu_memory_release(void *data, void *context);
/* Is told of each block that this thread is given, before anybody uses it. NULL: nobody is. */
void opc_cpu_memory_tell(void (*given)(void *data, size_t bytes));
/* New storage is guarded from now on, with opc_poison_pattern's byte. Where the system gives no more mappings, poisoned memory is given. */
void opc_cpu_memory_guard(opc_guard_side_t side);
void opc_cpu_memory_plain(void); /* only poisoned again */
bool opc_cpu_memory_guarded(void);
/* Of guarded storage from now on. The default, 64, is that of libtorch's own allocator, which an operator may expect of memory that it asks for. Returns what
 * it was. */
size_t opc_cpu_memory_align(size_t alignment);
/* The alignment that arguments are made with; 1: they end flush at the guard behind them, for an operator may expect no more of them than an element's
 * alignment. The default is 64. Returns what it was. */
size_t opc_cpu_memory_align_arguments(size_t alignment);
size_t opc_cpu_memory_argument_alignment(void);

/* On: only the data of guarded storage follow opc_poison_pattern's byte from now on, what lies beside them always reads the same. */
void opc_cpu_memory_fix_slack(bool on);

/* What libtorch holds of it now, guarded or not. */
typedef struct opc_cpu_memory_live {
  size_t blocks, bytes;
} opc_cpu_memory_live_t;
opc_cpu_memory_live_t opc_cpu_memory_live(void);

#endif
