/* Where an exception came from: return addresses of the throw, inside the operator's own library.
 *
 * A kernel may refuse with the same message at many places; the place shows how far a call got. Addresses are offsets
 * from the library's load address, so they are the same in every process. Threads: the last throw of any thread. Cost:
 * 10-30 us per throw while watched, otherwise none. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Forgets the last throw. `on`: record each throw, until called with false. */
void opc_throw_watch(bool on);
/* The two innermost frames of the last throw that lie in the library: "1a2b.3c4d", hexadecimal. "": there is none.
 * library: a path as known to the loader, or as given; if it is not loaded (libtorch's own operators), libtorch_cpu is
 * used. */
void opc_throw_site(const char *library, char *out, size_t size);
/* The last throw was in code of a library under test: the innermost frame says so that belongs to neither this program
 * nor what helps to throw (libstdc++, libc10). False: libtorch threw, for instance, or nothing was watched. */
bool opc_throw_is_own(void);
/* The loaded file that contains an address, and the offset: "libname.so+1a2b". "": none. */
void opc_address_place(uint64_t address, char *out, size_t size);
