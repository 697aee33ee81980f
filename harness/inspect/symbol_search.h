/* Predicts the result of loading a library without loading it: which libraries it needs, directly or through its own
 * parts, and which symbols none of them defines. Follows bridge/api/prepare.h: whatever that replaces counts as found.
 *
 * Ownership: opc_symbol_search_clear; strings belong to the files inside. Threads, fork: no shared state. */
#pragma once

#include "inspect/library_search.h"

/* The symbols that libraries leave undefined, and which of them other libraries define.
 *
 * Ownership: opc_symbol_set_clear; names belong to the ELF files, which outlive the set. */

typedef struct opc_wanted_symbol {
  const char *name, *library, *version; /* the version required, and of which library; NULL: any */
  const opc_elf_file_t *by;             /* a file that needs it */
  unsigned char type;                   /* STT_…; most undefined symbols have none */
  bool called;                          /* at least one library calls it: it is a function */
  bool settled;                         /* a definition was found */
} opc_wanted_symbol_t;

typedef struct opc_symbol_set {
  opc_wanted_symbol_t *items; /* after opc_symbol_set_close: sorted by name, without duplicates */
  size_t count, left;         /* left: number not settled */
  bool failed;                /* out of memory */
} opc_symbol_set_t;

/* Adds the symbols that a library leaves undefined and requires: weak symbols are optional. */
void opc_symbol_set_add(opc_symbol_set_t *set, const opc_elf_file_t *file);
/* Sorts the set; call before the functions below. OPC_ERR_MEMORY also if an earlier opc_symbol_set_add failed. */
opc_status_t opc_symbol_set_close(opc_symbol_set_t *set, opc_error_t *error) OPC_CHECKED;
opc_wanted_symbol_t *opc_symbol_set_find(const opc_symbol_set_t *set, const char *name);
void opc_symbol_set_settle(opc_symbol_set_t *set, opc_wanted_symbol_t *symbol);
/* Settles every symbol that the file defines. */
void opc_symbol_set_settle_by(opc_symbol_set_t *set, const opc_elf_file_t *file);
/* True if the file defines one of the symbols for others. Weak definitions do not count: they are templates and inline
 * functions, and each library has its own. */
bool opc_symbol_set_served_by(const opc_symbol_set_t *set, const opc_elf_file_t *file);
void opc_symbol_set_clear(opc_symbol_set_t *set);

typedef struct opc_need {
  const char *name;
  const opc_elf_file_t *by; /* the library itself, or a part of it */
  opc_library_place_t place;
  bool replaced; /* a stub library replaces it */
} opc_need_t;

typedef struct opc_symbol_search {
  opc_need_t *needs; /* the library's own come first */
  size_t need_count;
  opc_elf_file_t **files;        /* the library, its parts, and libraries that define symbols for them */
  size_t file_count, part_count; /* the library and its parts are the first part_count files */
  opc_symbol_set_t symbols;      /* symbols that the library and its parts leave undefined */
  const char *lacking_version;   /* "GLIBC_2.38": a version missing from a needed library; NULL: none */
  const char *lacking_in;        /* "libc.so.6" */
} opc_symbol_search_t;

/* file: remains the caller's. torch_folder: libtorch's lib/; NULL: unknown. */
opc_status_t opc_symbol_search_run(opc_elf_file_t *file, const char *torch_folder, opc_symbol_search_t *out,
                                   opc_error_t *error) OPC_CHECKED;
/* The undefined symbol that says most about the cause; NULL: every symbol is defined. */
const char *opc_symbol_search_example(const opc_symbol_search_t *search);
void opc_symbol_search_clear(opc_symbol_search_t *search);

/* Load order of libraries that depend on one another: each comes after those that it needs by name, or by a symbol
 * that another one defines. */

/* out_order[0] is the index of the first library to load. Libraries keep their order if they are independent, need each
 * other in a cycle, or are unreadable (the loader reports why). */
opc_status_t opc_load_order(const char *const *paths, size_t count, size_t *out_order, opc_error_t *error) OPC_CHECKED;
