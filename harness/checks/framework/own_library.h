/* Which objects of this process are under test: the libraries that were loaded to be checked, and the siblings that
 * were loaded with them. Not libtorch, not CUDA, not what --preload named.
 *
 * Ownership: names are copied. Threads: noted while loading, asked afterwards by any. */
#ifndef OPC_CHECKS_FRAMEWORK_OWN_LIBRARY_H
#define OPC_CHECKS_FRAMEWORK_OWN_LIBRARY_H

#include <stdbool.h>

/* Whoever loads a library says so. */
void opc_library_note_own(const char *file);
/* file: as the loader knows the object (dladdr, opc_cuda_call_t.library). */
bool opc_library_is_own(const char *file);
/* The file of one of them that has this name ("libkernels.so"), as another's file names what it needs; NULL: none has.
 */
const char *opc_library_own_named(const char *name);

#endif
