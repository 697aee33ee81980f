/* A shared library's file, read and not loaded: what it needs, its symbols, its sections.
 *
 * Ownership: opc_elf_close releases the file; every string belongs to it. Threads, fork: no shared state.
 * The file may be anything: what cannot be read is an error, what is damaged inside reads as absent. */
#ifndef OPC_INSPECT_ELF_FILE_H
#define OPC_INSPECT_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_elf_file {
  char *path;
  const char **needed; /* DT_NEEDED, in order */
  size_t needed_count;
  const char *soname, *rpath, *runpath; /* NULL: none */
  uint64_t size;                        /* of the file, bytes */
  struct opc_elf_inside *inside;
} opc_elf_file_t;

typedef struct opc_elf_symbol {
  const char *name;
  const char *library; /* whose version an undefined symbol wants ("libcudart.so.13"); NULL: no version */
  const char *version; /* "libcudart.so.13", "GLIBC_2.34"; NULL: none */
  uint64_t size;
  unsigned char type, binding; /* STT_…, STB_… */
  bool defined;
  bool called; /* undefined, and reached by way of the procedure linkage table: a function */
} opc_elf_symbol_t;

/* OPC_ERR_IO: unreadable. OPC_ERR_LIBRARY: no shared library in ELF format. */
opc_status_t opc_elf_open(const char *path, opc_elf_file_t **out, opc_error_t *error) OPC_CHECKED;
void opc_elf_close(opc_elf_file_t *file); /* NULL is fine */

bool opc_elf_needs(const opc_elf_file_t *file, const char *name);
/* Visits the dynamic symbols in order until visit returns false. */
void opc_elf_each_symbol(const opc_elf_file_t *file, bool (*visit)(const opc_elf_symbol_t *symbol, void *context),
                         void *context);
/* False: the file defines versions, and not this one. */
bool opc_elf_has_version(const opc_elf_file_t *file, const char *version);
/* Bytes of the first section of this name; NULL: none, or one without bytes in the file. */
const unsigned char *opc_elf_section(const opc_elf_file_t *file, const char *name, size_t *out_size);
/* Whether there is a section that begins with these letters. */
bool opc_elf_has_section(const opc_elf_file_t *file, const char *prefix);

#ifdef __cplusplus
}
#endif
#endif
