/* Reads a shared library's file without loading it: its dependencies, symbols and sections.
 *
 * Ownership: opc_elf_close releases the file; every string belongs to it. Threads, fork: no shared state. The file can
 * contain anything: an unreadable file is an error, damaged parts count as absent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OPC_LIBTORCH "libtorch" /* what stands for the file of libtorch's own operators */

typedef struct opc_elf_file {
  char *path;
  const char **needed; /* DT_NEEDED, in file order */
  size_t needed_count;
  const char *soname, *rpath, *runpath; /* NULL: none */
  uint64_t size;                        /* file size in bytes */
  struct opc_elf_inside *inside;
} opc_elf_file_t;

typedef struct opc_elf_symbol {
  const char *name;
  const char
      *library; /* the library whose version an undefined symbol requires ("libcudart.so.13"); NULL: no version */
  const char *version; /* "libcudart.so.13", "GLIBC_2.34"; NULL: none */
  uint64_t size;
  unsigned char type, binding; /* STT_…, STB_… */
  bool defined;
  bool called; /* undefined, and reached through the procedure linkage table: a function */
} opc_elf_symbol_t;

/* OPC_ERR_IO: unreadable. OPC_ERR_LIBRARY: not a shared library in ELF format. */
opc_status_t opc_elf_open(const char *path, opc_elf_file_t **out, opc_error_t *error) OPC_CHECKED;
void opc_elf_close(opc_elf_file_t *file); /* accepts NULL */
void opc_scope_elf_file(opc_elf_file_t **file);

bool opc_elf_needs(const opc_elf_file_t *file, const char *name);
/* Visits the dynamic symbols in order until visit returns false. */
void opc_elf_each_symbol(const opc_elf_file_t *file, bool (*visit)(const opc_elf_symbol_t *symbol, void *context),
                         void *context);
/* A version that the file needs of another library: the loader asks for it, whether or not a symbol has it. */
typedef struct opc_elf_wanted {
  const char *library, *version; /* "libc.so.6", "GLIBC_2.34" */
  unsigned number;               /* of the version, in the file */
  bool optional;                 /* the loader goes on without it */
} opc_elf_wanted_t;
/* Visits them in file order until visit returns false. */
void opc_elf_each_wanted(const opc_elf_file_t *file, bool (*visit)(const opc_elf_wanted_t *wanted, void *context),
                         void *context);
/* False: the file defines versions, but not this one. */
bool opc_elf_has_version(const opc_elf_file_t *file, const char *version);
/* Bytes of the first section with this name; NULL: no such section, or it has no bytes in the file. */
const unsigned char *opc_elf_section(const opc_elf_file_t *file, const char *name, size_t *out_size);
/* True if a section's name begins with prefix. */
bool opc_elf_has_section(const opc_elf_file_t *file, const char *prefix);

#ifdef __cplusplus
}
#endif
