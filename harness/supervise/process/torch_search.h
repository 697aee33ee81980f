/* The libtorches that are installed on this machine, as Python's packages: beside opcheck-c itself (it was installed
 * with pip), in the active environment (VIRTUAL_ENV, CONDA_PREFIX), for each python3 on the PATH, and in the user's own
 * folder. No Python is started.
 *
 * Ownership: plain structs. Threads, fork: no shared state; reads the environment. */
#pragma once

#include <limits.h>
#include <stddef.h>

enum { OPC_TORCHES = 16 }; /* any more are left out */

typedef struct opc_torch {
  char root[PATH_MAX];     /* the folder with lib/ */
  char version[16];        /* "2.11"; "": unknown */
  char how[PATH_MAX + 32]; /* how it was found: "in VIRTUAL_ENV" */
} opc_torch_t;

typedef struct opc_torches {
  opc_torch_t items[OPC_TORCHES]; /* in the order of the list above, without duplicates */
  size_t count;
} opc_torches_t;

void opc_torches_find(opc_torches_t *out);
/* "2.11" for the libtorch in a folder with include/ or version.py; "": unknown. */
void opc_torch_version_read(const char *root, char out[16]);
/* The same for ROOT/lib; "": unknown. */
void opc_torch_version_of_lib(const char *folder, char out[16]);
/* The folder of this program; "": unknown. */
void opc_program_folder(char out[PATH_MAX]);
