/* What loading a library would come to, found out without loading it: the libraries that it needs, directly or through
 * its own parts, and the symbols that none of them defines. It follows bridge/api/prepare.h: what is replaced there
 * counts as found here.
 *
 * Ownership: opc_symbol_search_clear; strings belong to the files inside. Threads, fork: no shared state. */
#ifndef OPC_INSPECT_SYMBOL_SEARCH_H
#define OPC_INSPECT_SYMBOL_SEARCH_H

#include "inspect/library_search.h"
#include "inspect/symbol_set.h"

typedef struct opc_need {
  const char *name;
  const opc_elf_file_t *by; /* the library itself, or a part of it */
  opc_library_place_t place;
  bool replaced; /* an stub library stands in for it */
} opc_need_t;

typedef struct opc_symbol_search {
  opc_need_t *needs; /* those of the library first */
  size_t need_count;
  opc_elf_file_t **files; /* the library, its parts, and what defines symbols for them */
  size_t file_count;
  opc_symbol_set_t symbols;    /* what the library and its parts leave undefined */
  const char *lacking_version; /* "GLIBC_2.38": that a needed library does not have; NULL */
  const char *lacking_in;      /* "libc.so.6" */
} opc_symbol_search_t;

/* file: stays the caller's. torch_folder: libtorch's lib/; NULL: unknown. */
opc_status_t opc_symbol_search_run(opc_elf_file_t *file, const char *torch_folder, opc_symbol_search_t *out,
                                   opc_error_t *error) OPC_CHECKED;
/* Of the symbols that nothing defines the one that tells most about why; NULL: each is defined. */
const char *opc_symbol_search_telling(const opc_symbol_search_t *search);
void opc_symbol_search_clear(opc_symbol_search_t *search);

#endif
