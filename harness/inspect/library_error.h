/* Why a library could not be loaded: a kind for reports, and a message that says what to do.
 *
 * Kinds: not_found, unreadable, not_elf, truncated, architecture, undefined_symbol, missing_dependency, abi,
 * initialiser_threw, initialiser_aborted, initialiser_exited, initialiser_hung, duplicate, schema, import, loader (none
 * of the others: the loader's own message). Ownership: plain structs. Threads: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* The package that a library was installed from, and the torch version that it requires: from its metadata in
 * site-packages or in the unpacked wheel.
 *
 * Ownership: the caller's structure. */

typedef struct opc_package_hint {
  char name[128], version[64]; /* "torchvision", "0.26.0" */
  char torch[128];             /* required version: "==2.11.0"; "": the metadata does not mention torch */
} opc_package_hint_t;

/* False: no package found. */
bool opc_package_hint_find(const char *library_path, opc_package_hint_t *out);

/* The folder that says for which libtorch a library was built, such as torch-2.11 in torch-2.11/lib/libmine.so, or
 * torch29-cxx11-cu128-x86_64-linux of the Hugging Face hub: the one that it is in, or the one above that.
 * build_folder.c */
typedef struct opc_build_folder {
  char version[16];  /* "2.11"; "": one for the stable interface that names none */
  bool stable;       /* for the stable interface: for that libtorch and newer ones */
  bool foreign;      /* for another processor or system */
  char backend[16];  /* "cu128", "rocm71", "cpu"; "": it does not say */
  size_t start, end; /* its place in the path */
} opc_build_folder_t;

/* False: the path has no such folder; *out is zeroed. */
bool opc_build_folder_find(const char *library_path, opc_build_folder_t *out);
/* How well a build goes with a libtorch ("2.11") that is built for a CUDA (13; 0: none); 0: not at all. */
int opc_build_folder_rank(const opc_build_folder_t *build, const char *torch, int cuda);

typedef struct opc_library_error {
  char kind[32];
  char message[OPC_ERROR_MESSAGE_SIZE];
} opc_library_error_t;

void opc_library_error_set(opc_library_error_t *out, const char *kind, const char *format, ...) OPC_PRINTF(3, 4);

/* From dlerror's text (or the exception's, if dlopen threw). `torch` is the loaded version, "2.11.0". */
void opc_library_error_from_message(opc_library_error_t *out, const char *message, const char *torch);
/* From the exception of a Python module's import, kind "import". `torch` is the version of its Python's torch. */
void opc_library_error_from_import(opc_library_error_t *out, const char *text, const char *torch);
/* The worker died while the library loaded. terminate_text: why std::terminate was called, "" if it was not; output:
 * what was printed last, may be "". */
void opc_library_error_from_death(opc_library_error_t *out, int wait_status, const char *terminate_text,
                                  const char *output);
void opc_library_error_from_hang(opc_library_error_t *out, double seconds);
/* Adds which torch version the library's package requires, if another version is loaded and that may be the cause. */
void opc_library_error_add_package(opc_library_error_t *error, const opc_package_hint_t *package, const char *torch);

/* Checks the file before any loader does. True: it may be loaded. elf_probe.c */
bool opc_elf_probe(const char *path, opc_library_error_t *out);
