/* A memory region whose first access, read or write, is reported to a function: in the accessing thread, at the
 * instruction, which continues when the function returns.
 *
 * One at a time. Ownership: the caller's memory, whole pages of it. Threads: any thread may arm and disarm, but only
 * one at a time; one report. A system call on such memory fails with EFAULT and is not reported. */
#ifndef OPC_MEMORY_TRAP_H
#define OPC_MEMORY_TRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: the system refuses. `touched` runs in a signal handler and must be async-signal-safe. */
bool opc_trap_arm(void *pages, size_t bytes, void (*touched)(void));
/* Makes the memory accessible, whether or not it was accessed. */
void opc_trap_disarm(void);
/* For a SIGSEGV handler. False: the address is not in the trap. */
bool opc_trap_fault(uint64_t address);

#endif
