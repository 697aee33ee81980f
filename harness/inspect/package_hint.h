/* The package that a library was installed from, and the torch version that it requires: from its metadata in
 * site-packages or in the unpacked wheel.
 *
 * Ownership: the caller's structure. Threads, fork: no shared state. */
#ifndef OPC_INSPECT_PACKAGE_HINT_H
#define OPC_INSPECT_PACKAGE_HINT_H

#include <stdbool.h>

typedef struct opc_package_hint {
  char name[128], version[64]; /* "torchvision", "0.26.0" */
  char torch[128];             /* required version: "==2.11.0"; "": the metadata does not mention torch */
} opc_package_hint_t;

/* False: no package found. */
bool opc_package_hint_find(const char *library_path, opc_package_hint_t *out);

#endif
