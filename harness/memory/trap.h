/* A stretch of memory whose first touch, a read or a write, is reported to a function: in the thread that touches it,
 * at the instruction, which goes on when the function returns.
 *
 * One at a time. Ownership: the memory is the caller's, and whole pages of it. Threads: armed and disarmed by any
 * thread while nobody else does; reported once. A system call on such memory fails with EFAULT and is not reported. */
#ifndef OPC_MEMORY_TRAP_H
#define OPC_MEMORY_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: the system refuses. `touched` runs in a signal handler: only what is async-signal-safe. */
bool opc_trap_arm(void *pages, size_t bytes, void (*touched)(void));
/* The memory is open, touched or not. */
void opc_trap_disarm(void);
/* For a SIGSEGV handler. False: the address is in no trap. */
bool opc_trap_fault(uint64_t address);

#endif
