/* Memory that is no allocation of libtorch: what malloc, new and the stack hand out. As it is, a block of malloc holds
 * what was freed there before, or zeros: both look sensible, and come and go with what else ran. In a child it always
 * holds one byte: what an operator makes of it is the same in every call.
 *
 * Threads: the filling is set while no operator runs; it then holds for malloc on all threads, and for the stack of the
 * one that calls the operator. calloc stays zero, and what realloc adds to a block in its place is not filled. */
#ifndef OPC_MEMORY_SCRATCH_MEMORY_H
#define OPC_MEMORY_SCRATCH_MEMORY_H

#include <stdbool.h>

/* For GLIBC_TUNABLES of a process before it starts. glibc hands freed small blocks out again without filling them while
 * it keeps them in a cache of its own, and that can be switched off in no other way. It costs an operator's call 1 us
 * (measured). */
#define OPC_SCRATCH_MEMORY_TUNABLE "glibc.malloc.tcache_count=0"

/* New blocks of malloc, and the stack below the operator, hold `byte` from now on; freed blocks hold its complement.
 * With 0xff malloc is left as it is: it cannot be told to. */
void opc_scratch_memory_fill(unsigned char byte);
/* The stack alone has another byte. */
void opc_scratch_memory_fill_stack(unsigned char byte);
/* As usual again: both hold zeros, as memory that is fresh from the system does. A child starts with it. */
enum { OPC_SCRATCH_MEMORY_USUAL = 0x00 };
void opc_scratch_memory_plain(void);
/* Right before an operator is called, as deep in the stack as can be (opc_bridge_before_call): whatever else runs
 * leaves its own there. */
void opc_scratch_memory_before_call(void);

/* Until it is undone malloc gives small blocks at other addresses than it would have: what follows an address shows. */
void opc_scratch_memory_shift(bool on);

#endif
