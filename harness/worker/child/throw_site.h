/* Where an exception came from: return addresses of the throw, inside the operator's own library.
 *
 * A kernel refuses with the same words at many places; the place tells how far a call got. Offsets from the library's
 * load address, so that they are the same in every process. Threads: the last throw of any thread. Cost: 10-30 us a
 * throw while it is watched, nothing otherwise. */
#ifndef OPC_WORKER_CHILD_THROW_SITE_H
#define OPC_WORKER_CHILD_THROW_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forgets the last throw, and notes each one until false is said. */
void opc_throw_watch(bool on);
/* The two innermost frames of the last throw that lie in the library: "1a2b.3c4d", hexadecimal. "" where there is none.
 * library: a path as the loader knows it, or as it was given; one that is not loaded (libtorch's own operators):
 * libtorch_cpu. */
void opc_throw_site(const char *library, char *out, size_t size);
/* The loaded file that an address lies in, and where: "libname.so+1a2b". "" where it lies in none. */
void opc_address_place(uint64_t address, char *out, size_t size);

#endif
