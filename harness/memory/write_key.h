/* A protection key of the processor's (pkeys(7)): pages that carry it are closed to writes and opened again without a
 * system call, and without the translations that a call of mprotect makes the processor forget. A pair of mprotect
 * costs 3 us and the operator 4 us more behind it, a pair of these 0.1 us (measured).
 *
 * A key binds a thread, and those that it starts while the key is closed; others write on. So it is only for a process
 * that has one thread, now and when the key is taken from the system: ask each time, and use mprotect where it is
 * refused. A signal handler runs with every key closed, to reads too: it takes the key from pages before it touches
 * them. Threads: one. Fork: the child has the key, as open or closed as it was. */
#ifndef OPC_MEMORY_WRITE_KEY_H
#define OPC_MEMORY_WRITE_KEY_H

#include <stdbool.h>
#include <stddef.h>

/* False: the processor, the kernel or libc has none, or threads were started before the first question. */
bool opc_write_key_present(void);
/* The pages, open to read and write, carry the key from now on. */
bool opc_write_key_give(void *pages, size_t bytes);
/* They carry it no more, and have this protection (PROT_...). Async-signal-safe. */
bool opc_write_key_take(void *pages, size_t bytes, int protection);
/* All pages with the key are closed to writes. False: nothing is closed, for the process has other threads. */
bool opc_write_key_close(void);
void opc_write_key_open(void);

#endif
