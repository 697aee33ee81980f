/* A package may bring one library in several builds, one for each libtorch, in folders such as torch-2.11 and
 * torch-2.12. A run has one libtorch: it loads the build that fits, and leaves out the others.
 *
 * Ownership: the notes belong to the libraries. Threads: one. */
#pragma once

#include "supervise/load/load.h"

/* Removes the builds for other versions from loaded->libraries, and notes on the ones that stay which they are. The
 * version is that of --torch, else that of the first worker whose libtorch is here and for which there is a build. If
 * there is none, the build for the newest version stays, and its error says what is missing. */
opc_status_t opc_builds_choose(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
