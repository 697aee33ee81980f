/* What every child would do again: the first calls of a process bind libtorch's functions to each other by name and
 * fill in what libtorch makes once. Done before any fork, all children have it in memory that they share.
 *
 * Before any library under test is loaded, so that nothing of it runs here; only operators of libtorch's own, on four
 * elements: no thread is started, no generator and no setting is touched. Threads: before any. Fork: before any. */
#ifndef OPC_WORKER_PROCESS_WARM_UP_H
#define OPC_WORKER_PROCESS_WARM_UP_H

/* What fails here costs time later, no more. */
void opc_warm_up(void);

#endif
