/* Chooses the simulated architecture if the user did not (--cuda-arch): one that the libraries have GPU code for. Reads
 * their files, loads nothing.
 *
 * Threads: any. */
#pragma once

#include <stddef.h>

/* A constant name; NULL: the default is as good as any. Ignores libraries without GPU code and unreadable files. */
const char *opc_architecture_choose(const char *const *libraries, size_t count);
