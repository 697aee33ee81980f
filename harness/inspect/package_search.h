/* Finds a library needed by another one of the same installed package, in any folder of that package. Python loads such
 * a library first, by path, so no file says where it is.
 *
 * Ownership: the caller's buffer. Threads: one; fork: no shared state. */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* library: a library of the package. False: it belongs to no package, or the package has no file of that name, or
 * several. */
bool opc_package_search(const char *library, const char *name, char out[PATH_MAX]);
