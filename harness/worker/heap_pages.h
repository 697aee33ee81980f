/* The heap in pages of 2 MiB: what loading left there (libtorch's registry: tens of MiB) is copied page by page into the page tables of each child,
 * and freed from them again. With large pages a fork costs a fraction of that, and a child that writes to one gets small pages there, as before. */
#ifndef OPC_WORKER_HEAP_PAGES_H
#define OPC_WORKER_HEAP_PAGES_H

/* For a process that will fork often: it copies the heap, which takes as long as some six forks (13 ms, measured). Where the system cannot do it all stays as it is. */
void opc_heap_pages_join(void);

#endif
