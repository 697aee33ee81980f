/* The package that a library was installed from, and the torch version that it requires: from its metadata in
 * site-packages or in the unpacked wheel.
 *
 * Ownership: the caller's structure. Threads, fork: no shared state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct opc_package_hint {
  char name[128], version[64]; /* "torchvision", "0.26.0" */
  char torch[128];             /* required version: "==2.11.0"; "": the metadata does not mention torch */
} opc_package_hint_t;

/* False: no package found. */
bool opc_package_hint_find(const char *library_path, opc_package_hint_t *out);

/* The folder that says for which libtorch a library was built, such as torch-2.11 in torch-2.11/lib/libmine.so:
 * the one that it is in, or the one above that. */
typedef struct opc_build_folder {
  char version[16];  /* "2.11" */
  size_t start, end; /* its place in the path */
} opc_build_folder_t;

/* False: the path has no such folder; *out is zeroed. */
bool opc_build_folder_find(const char *library_path, opc_build_folder_t *out);
