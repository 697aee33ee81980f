/* Where the loader would find a library that another one needs, and where else it lies when the loader would not.
 *
 * Ownership: the caller's structures. Threads, fork: no shared state. */
#ifndef OPC_INSPECT_LIBRARY_SEARCH_H
#define OPC_INSPECT_LIBRARY_SEARCH_H

#include <limits.h>

#include "inspect/elf_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_library_how {
  OPC_FOUND_NOWHERE = 0,
  OPC_FOUND_RPATH, /* these four: the loader finds it by itself */
  OPC_FOUND_LIBRARY_PATH,
  OPC_FOUND_RUNPATH,
  OPC_FOUND_SYSTEM,
  OPC_FOUND_BESIDE,  /* in the folder of the library that needs it */
  OPC_FOUND_PACKAGE, /* in another folder of the package that the library that needs it was installed with */
  OPC_FOUND_TORCH,   /* among libtorch's own */
  OPC_FOUND_CUDA     /* among the CUDA libraries that lie beside libtorch as packages of their own */
} opc_library_how_t;

typedef struct opc_library_place {
  opc_library_how_t how;
  char path[PATH_MAX]; /* "" when nowhere */
} opc_library_place_t;

/* torch_folder: libtorch's lib/; may be NULL. */
void opc_library_find(const opc_elf_file_t *needing, const char *name, const char *torch_folder,
                      opc_library_place_t *out);
/* In words: "by its RUNPATH". */
const char *opc_found_words(opc_library_how_t how);
static inline bool opc_found_by_loader(opc_library_how_t how) {
  return how >= OPC_FOUND_RPATH && how <= OPC_FOUND_SYSTEM;
}

/* Libraries of an accelerator (CUDA and its driver, ROCm, SYCL; libtorch's parts for them): not there on a machine
 * without one, where the rest of a library that needs them can be used all the same. */
bool opc_library_is_accelerator(const char *name);
/* libtorch_python and libpython: of no use without an interpreter. */
bool opc_library_is_python(const char *name);
/* libtorch's half for an accelerator, and libtorch.so, which holds nothing and draws it in: of no use without a device.
 */
bool opc_library_is_heavy(const char *name);
/* One of libtorch's own. */
bool opc_library_is_torch(const char *name);

#ifdef __cplusplus
}
#endif
#endif
