/* A library that another one of the same installed package needs, in whatever folder of the package it lies: Python
 * loads it first, by its path, and so nothing in the file says where it is.
 *
 * Ownership: the caller's buffer. Threads: one; fork: no shared state. */
#ifndef OPC_INSPECT_PACKAGE_SEARCH_H
#define OPC_INSPECT_PACKAGE_SEARCH_H

#include <limits.h>
#include <stdbool.h>

/* library: of the package. False: it is of no package, or the package has none of that name, or several. */
bool opc_package_search(const char *library, const char *name, char out[PATH_MAX]);

#endif
