/* What `inspect --require` asks of a library: to keep to libtorch's stable C interface, to one CUDA, to a glibc that is
 * not too new, to the std::string of C++11. The libraries of its own package that it needs count as parts of it.
 *
 * Ownership: strings belong to the tables here, or to the ELF files. Threads, fork: no shared state. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "inspect/facts.h"
#include "inspect/symbol_search.h"

/* ---- libtorch's stable C interface: stable_symbols.def ---- */

typedef struct opc_stable_symbol {
  const char *name, *first, *last; /* "2.9": the first and the last libtorch that exports it */
} opc_stable_symbol_t;

/* NULL: no libtorch of the table exports it. */
const opc_stable_symbol_t *opc_stable_symbol_find(const char *name);
const char *opc_stable_oldest(void); /* the oldest and the newest libtorch of the table */
const char *opc_stable_newest(void);
/* "2.9" is 2009, to be compared; 0: not of this form. */
unsigned opc_version_number(const char *version);

typedef struct opc_torch_symbol {
  const char *name;
  const opc_elf_file_t *by;         /* the library, or the part of it, that needs it */
  const opc_stable_symbol_t *known; /* NULL: not of the stable interface, or of none in the table */
} opc_torch_symbol_t;

/* What a library and its parts need of libtorch. */
typedef struct opc_torch_use {
  opc_torch_symbol_t *items;    /* sorted by name */
  size_t count, stable, other;  /* stable: by name of the stable interface; other: of C++ or of libtorch_python */
  const char *lowest, *highest; /* the libtorches that have all of the stable interface that is needed; NULL: with none
                                   needed, and where the newest has it all, there is no limit */
} opc_torch_use_t;

opc_status_t opc_torch_use_read(const opc_symbol_search_t *search, opc_torch_use_t *out,
                                opc_error_t *error) OPC_CHECKED;
void opc_torch_use_clear(opc_torch_use_t *use);
/* lowest and highest of a library's file; NULL also where it uses more than the stable interface, or is unreadable. */
void opc_torch_range(const char *path, const char **out_lowest, const char **out_highest);

/* ---- requirements ---- */

typedef enum opc_requirement_kind {
  OPC_REQUIRE_STABLE_ABI,
  OPC_REQUIRE_CUDA,
  OPC_REQUIRE_GLIBC,
  OPC_REQUIRE_CXX11_ABI,
  OPC_REQUIREMENTS
} opc_requirement_kind_t;

typedef struct opc_requirements {
  bool given[OPC_REQUIREMENTS];
  char value[OPC_REQUIREMENTS][16]; /* "2.9"; "": none */
} opc_requirements_t;

typedef struct opc_requirement_info {
  const char *name, *example; /* "stable-abi", "stable-abi=2.9" */
} opc_requirement_info_t;
extern const opc_requirement_info_t opc_requirement_infos[OPC_REQUIREMENTS];

/* value may be NULL. OPC_ERR_USAGE: a value that this requirement cannot have, or that contradicts an earlier one. */
opc_status_t opc_requirement_add(opc_requirements_t *requirements, opc_requirement_kind_t kind, const char *value,
                                 opc_error_t *error) OPC_CHECKED;
bool opc_requirements_any(const opc_requirements_t *requirements);

/* Judges one library. *out: [{"requirement":"stable-abi=2.9", "met":true, "message":TEXT, "symbols":[{"name", "shown",
 * "why", "by"}…]}…], a new reference. shown: demangled; by: the part of the library, null for itself. */
opc_status_t opc_requirements_judge(const opc_requirements_t *requirements, const opc_facts_t *facts,
                                    const opc_symbol_search_t *search, const opc_torch_use_t *use, json_t **out,
                                    opc_error_t *error) OPC_CHECKED;
