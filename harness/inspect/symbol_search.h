/* Predicts the result of loading a library without loading it: which libraries it needs, directly or through its own
 * parts, and which symbols none of them defines. Follows bridge/api/prepare.h: whatever that replaces counts as found.
 *
 * Ownership: opc_symbol_search_clear; strings belong to the files inside. Threads, fork: no shared state. */
#pragma once

#include "inspect/library_search.h"
#include "inspect/symbol_set.h"

typedef struct opc_need {
  const char *name;
  const opc_elf_file_t *by; /* the library itself, or a part of it */
  opc_library_place_t place;
  bool replaced; /* a stub library replaces it */
} opc_need_t;

typedef struct opc_symbol_search {
  opc_need_t *needs; /* the library's own come first */
  size_t need_count;
  opc_elf_file_t **files; /* the library, its parts, and libraries that define symbols for them */
  size_t file_count;
  opc_symbol_set_t symbols;    /* symbols that the library and its parts leave undefined */
  const char *lacking_version; /* "GLIBC_2.38": a version missing from a needed library; NULL: none */
  const char *lacking_in;      /* "libc.so.6" */
} opc_symbol_search_t;

/* file: remains the caller's. torch_folder: libtorch's lib/; NULL: unknown. */
opc_status_t opc_symbol_search_run(opc_elf_file_t *file, const char *torch_folder, opc_symbol_search_t *out,
                                   opc_error_t *error) OPC_CHECKED;
/* The undefined symbol that says most about the cause; NULL: every symbol is defined. */
const char *opc_symbol_search_example(const opc_symbol_search_t *search);
void opc_symbol_search_clear(opc_symbol_search_t *search);
