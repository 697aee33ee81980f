/* A memory protection key (pkeys(7)): write-protects the pages that have it, and opens them again, without a system
 * call and without the TLB flush of mprotect. Two mprotect calls cost 3 us and slow the operator by 4 us more; two of
 * these cost 0.1 us (measured).
 *
 * A key applies to its thread, and to threads that it starts while the key is closed; other threads can still write. So
 * use it only in a process that has one thread, now and when the key is allocated: ask each time, and use mprotect if
 * the key is refused. A signal handler runs with every key closed, for reads too: it must remove the key from pages
 * before it accesses them. Threads: one. Fork: the child has the key in the same state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* False: the processor, the kernel or libc has no keys, or there were other threads before the first call. */
bool opc_write_key_present(void);
/* Adds the key to the pages, which are open to read and write. */
bool opc_write_key_give(void *pages, size_t bytes);
/* Removes the key from the pages and gives them this protection (PROT_...). Async-signal-safe. */
bool opc_write_key_take(void *pages, size_t bytes, int protection);
/* Write-protects all pages with the key. False: nothing is protected, because the process has other threads. */
bool opc_write_key_close(void);
void opc_write_key_open(void);
