/* The working directory of a child: its own, empty but for one small file, and again so for each try of a search. Names
 * of files that a search offers for str arguments are relative to it (search_hints.def), and the samples that it finds
 * are good in every child.
 *
 * Threads: one. */
#ifndef OPC_WORKER_CHILD_TRY_FOLDER_H
#define OPC_WORKER_CHILD_TRY_FOLDER_H

/* Makes the directory what it is at first, and the current one. What fails is left: a try may go without. */
void opc_try_folder_reset(void);

#endif
