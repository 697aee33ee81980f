/* Which architecture is simulated where nobody said which (--cuda-arch): one that the libraries have GPU code for. Read
 * from their files: nothing is loaded.
 *
 * Threads: any. */
#ifndef OPC_SUPERVISE_PROCESS_ARCHITECTURE_CHOICE_H
#define OPC_SUPERVISE_PROCESS_ARCHITECTURE_CHOICE_H

#include <stddef.h>

/* A constant name; NULL: the usual one does as well as any other. Libraries without GPU code, and files that cannot be
 * read, have no say. */
const char *opc_architecture_choose(const char *const *libraries, size_t count);

#endif
