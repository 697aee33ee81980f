/* Which symbols a stub library must define: those that are undefined in libraries, defined nowhere, and belong to
 * Python or to a missing library. A symbol that belongs to neither stays undefined: that is an error to report, not to
 * hide.
 *
 * Ownership: names belong to the ELF files, which outlive the set. Threads: one. */
#pragma once

#include "bridge/stub/stub_library.h"
#include "inspect/elf_file.h"

/* A library that is replaced. */
typedef struct opc_stub_source {
  char *soname;
  opc_elf_file_t *real; /* its file, if there is one that does not load here: it shows which symbols belong to the
                           library; may be NULL */
  bool made;            /* a stub library of that name is loaded already */
  bool wanted_real;     /* it is replaced because it is missing, which must be reported */
} opc_stub_source_t;

/* `files`: the library and everything loaded with it; `others` also define symbols, and the loader loads them. For each
 * stub i, fills lists[i] with counts[i] symbols (the caller frees *out); symbols of Python's own interface go to index
 * stub_count. torch_folder: where to look for the dependencies of a replaced part of libtorch; may be NULL. */
typedef struct opc_wanted_symbols {
  opc_stub_symbol_t **lists;
  size_t *counts;
} opc_wanted_symbols_t;

opc_status_t opc_stub_symbols(opc_elf_file_t *const *files, size_t file_count, opc_elf_file_t *const *others,
                              size_t other_count, const opc_stub_source_t *stubs, size_t stub_count,
                              const char *torch_folder, opc_wanted_symbols_t *out, opc_error_t *error) OPC_CHECKED;
void opc_wanted_symbols_clear(opc_wanted_symbols_t *wanted, size_t stub_count);
