/* The symbols that libraries leave undefined, and which of them others define.
 *
 * Ownership: opc_symbol_set_clear; names belong to the ELF files, which outlive the set. Threads, fork: no shared
 * state. */
#ifndef OPC_INSPECT_SYMBOL_SET_H
#define OPC_INSPECT_SYMBOL_SET_H

#include "inspect/elf_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_wanted_symbol {
  const char *name, *library, *version; /* of which library it wants which version; NULL: any */
  unsigned char type;                   /* STT_…; most undefined symbols have none */
  bool called;                          /* by one of the libraries at least: it is a function */
  bool settled;                         /* something defines it */
} opc_wanted_symbol_t;

typedef struct opc_symbol_set {
  opc_wanted_symbol_t *items; /* in order of name, each once, after opc_symbol_set_close */
  size_t count, left;         /* left: not settled */
  bool failed;                /* out of memory */
} opc_symbol_set_t;

/* Adds what a library leaves undefined and must have: weak symbols may be missing. */
void opc_symbol_set_add(opc_symbol_set_t *set, const opc_elf_file_t *file);
/* Puts it in order; before the functions below. OPC_ERR_MEMORY also for what went wrong in adding. */
opc_status_t opc_symbol_set_close(opc_symbol_set_t *set, opc_error_t *error) OPC_CHECKED;
opc_wanted_symbol_t *opc_symbol_set_find(const opc_symbol_set_t *set, const char *name);
void opc_symbol_set_settle(opc_symbol_set_t *set, opc_wanted_symbol_t *symbol);
/* Settles what the file defines. */
void opc_symbol_set_settle_by(opc_symbol_set_t *set, const opc_elf_file_t *file);
/* Whether the file defines one of them for others; weak definitions are templates and inline functions, of which each
 * library has its own. */
bool opc_symbol_set_served_by(const opc_symbol_set_t *set, const opc_elf_file_t *file);
void opc_symbol_set_clear(opc_symbol_set_t *set);

#ifdef __cplusplus
}
#endif
#endif
