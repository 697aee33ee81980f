/* The heap of a process that forks, in pages of 2 MiB: what loading left there (libtorch's registry: tens of MiB) is
 * copied page by page into the page tables of each child, and freed from them again. With large pages a fork costs a
 * fraction of that, and a child that writes to one gets small pages there, as before. */
#ifndef OPC_MEMORY_HEAP_PAGES_H
#define OPC_MEMORY_HEAP_PAGES_H

#include <stddef.h>

/* For GLIBC_TUNABLES of a process before it starts: its heap grows by large pages (glibc 2.35; older ones know nothing
 * of it). Loading libtorch takes a quarter of the page faults then, and a child and the one that it forks 8 of 40 ms
 * less (measured). */
#define OPC_HEAP_PAGES_TUNABLE "glibc.malloc.hugetlb=1"

/* For a process that will fork often, where its heap has small pages, by itself or again: copies it, which takes as
 * long as some six forks do with small pages (13 ms, measured). Where the system cannot do it all stays as it is. */
void opc_heap_pages_join(void);
/* Of memory that is about to be filled, the whole pages of it: to be given them at once takes a third of the time of a
 * fault each. */
void opc_pages_give(void *data, size_t bytes);
/* In a child: what it allocates anew has small pages, for most of a large one would be cleared in vain. */
void opc_heap_pages_keep_small(void);

#endif
