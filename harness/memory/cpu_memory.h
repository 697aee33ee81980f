/* The CPU memory of a child that runs operators: poisoned, and guarded while somebody asks for it.
 *
 * The two functions go under libtorch's CPU allocator (opc_bridge_set_allocator) for the life of the process; what was allocated in one mode may be
 * released in the other. Threads: allocate and release any; the mode is set while no operator runs. */
#ifndef OPC_MEMORY_CPU_MEMORY_H
#define OPC_MEMORY_CPU_MEMORY_H

#include "memory/guard.h"

void *opc_cpu_memory_allocate(size_t bytes, void *context);
void opc_cpu_memory_release(void *data, void *context);
/* New storage is guarded from now on, with opc_poison_pattern's byte. Where the system gives no more mappings, poisoned memory is given. */
void opc_cpu_memory_guard(opc_guard_side_t side);
void opc_cpu_memory_plain(void); /* only poisoned again */
/* Of guarded storage from now on. The default is that of libtorch's own allocator, which an operator may expect of memory that it asks for; of an
 * argument it may expect no more than an element's. Returns what it was. */
size_t opc_cpu_memory_align(size_t alignment);

/* What malloc and the stack hand out is no allocation of libtorch: fills it with `byte`, as far as can be reached from here. Undone by
 * opc_scratch_memory_plain. */
void opc_scratch_memory_fill(unsigned char byte);
void opc_scratch_memory_plain(void);
/* Until it is undone malloc gives small blocks at other addresses than it would have: what follows an address shows. */
void opc_scratch_memory_shift(bool on);

#endif
