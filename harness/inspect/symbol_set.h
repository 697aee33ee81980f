/* The symbols that libraries leave undefined, and which of them other libraries define.
 *
 * Ownership: opc_symbol_set_clear; names belong to the ELF files, which outlive the set. Threads, fork: no shared
 * state. */
#pragma once

#include "inspect/elf_file.h"

typedef struct opc_wanted_symbol {
  const char *name, *library, *version; /* the version required, and of which library; NULL: any */
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
