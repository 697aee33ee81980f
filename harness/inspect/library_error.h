/* Why a library could not be loaded: a kind for reports, and a message in words that says what to do.
 *
 * Kinds: not_found, unreadable, not_elf, truncated, architecture, undefined_symbol, missing_dependency, abi,
 * initialiser_threw, initialiser_aborted, initialiser_exited, initialiser_hung, duplicate, schema, loader (the loader's
 * own words, none of the others). Ownership: plain structs. Threads: any. */
#ifndef OPC_INSPECT_LIBRARY_ERROR_H
#define OPC_INSPECT_LIBRARY_ERROR_H

#include <stdbool.h>

#include "base/status.h"
#include "inspect/package_hint.h"

typedef struct opc_library_error {
  char kind[32];
  char message[OPC_ERROR_MESSAGE_SIZE];
} opc_library_error_t;

void opc_library_error_set(opc_library_error_t *out, const char *kind, const char *format, ...) OPC_PRINTF(3, 4);

/* From dlerror's words (or the exception's, where dlopen threw). `torch` is the version that is loaded, "2.11.0". */
void opc_library_error_from_message(opc_library_error_t *out, const char *message, const char *torch);
/* From the end of the worker while the library loaded. terminate_text: what std::terminate was called for, "" when it
 * was not; output: what was printed last, may be "". */
void opc_library_error_from_death(opc_library_error_t *out, int wait_status, const char *terminate_text,
                                  const char *output);
void opc_library_error_from_hang(opc_library_error_t *out, double seconds);
/* Adds which torch the library's package asks for, where that is not the one that is loaded and may be what is wrong.
 */
void opc_library_error_add_package(opc_library_error_t *error, const opc_package_hint_t *package, const char *torch);

/* Looks at the file before any loader does. True: it may be loaded. elf_probe.c */
bool opc_elf_probe(const char *path, opc_library_error_t *out);

#endif
