/* Puts the heap of a forking process on 2 MiB pages. The page tables for what loading left there (libtorch's registry:
 * tens of MiB) are copied to each child page by page, and freed again. With large pages a fork costs a fraction of
 * that. A child that writes to a large page gets small pages there, as before. */
#pragma once

#include <stddef.h>

/* For GLIBC_TUNABLES of a process before it starts: its heap grows in large pages (glibc 2.35; older versions ignore
 * this). Loading libtorch then has a quarter of the page faults; a child and its own child take 8 of 40 ms less
 * (measured). */
#define OPC_HEAP_PAGES_TUNABLE "glibc.malloc.hugetlb=1"

/* For a process that will fork often and whose heap, or other large memory, has small pages, still or again: copies
 * them to large pages. For the heap that takes as long as about six forks with small pages (13 ms, measured); the 84
 * MiB that CUDA's libraries fill when an interpreter loads them, as long as about thirty. Does nothing if the system
 * does not support it. */
void opc_heap_pages_join(void);
/* Populates the whole pages of memory that is about to be filled: one call takes a third of the time of one fault per
 * page. */
void opc_pages_give(void *data, size_t bytes);
/* In a child: new allocations use small pages, as clearing most of a large page would be wasted. */
void opc_heap_pages_keep_small(void);
