/* A memory region whose first access, read or write, is reported to a function: in the accessing thread, at the
 * instruction, which runs again when the function returns.
 *
 * Beside it, pages whose first write is reported. One of each at a time, and one report of each. Ownership: the
 * caller's memory, whole pages of it. Threads: any thread may arm and disarm, but only
 * one at a time; one report. A system call on such memory fails with EFAULT and is not reported. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: the system refuses. `touched` runs in a signal handler and must be async-signal-safe. */
bool opc_trap_arm(void *pages, size_t bytes, void (*touched)(void));

enum { OPC_TRAP_PAGES_MAX = 16 };
typedef struct opc_trap_pages {
  void *start;
  size_t bytes;
} opc_trap_pages_t;
/* Beside the other one, a trap for the first write to any of these pages, which can be read meanwhile. They are open
 * again when `written` is called, so that other threads can go on while it runs. `touched` may call this. Those beyond
 * OPC_TRAP_PAGES_MAX are ignored. */
void opc_trap_arm_writes(const opc_trap_pages_t *pages, size_t count, void (*written)(void));

/* Makes the memory of both accessible, whether or not it was accessed. */
void opc_trap_disarm(void);
/* For a SIGSEGV handler. False: the address is not in the trap. */
bool opc_trap_fault(uint64_t address);
