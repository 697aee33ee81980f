/* Which objects of this process are under test: the libraries loaded to be checked, and the siblings loaded with them.
 * Not libtorch, CUDA or the --preload libraries. Libraries that Triton makes for a kernel are under test.
 *
 * Ownership: names are copied. Threads: set by one while loading, read afterwards by any. */
#pragma once

#include <stdbool.h>

/* Called by the code that loads a library under test. */
void opc_library_note_own(const char *file);
/* file: the loader's path of the object (dladdr, opc_cuda_call_t.library). */
bool opc_library_is_own(const char *file);
/* The file of the library under test with this name ("libkernels.so"), as in another library's DT_NEEDED; NULL:
 * none. */
const char *opc_library_own_named(const char *name);
