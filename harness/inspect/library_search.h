/* Where the loader would find a library that another one needs, and where else it is if the loader would not find it.
 *
 * Ownership: the caller's structures. Threads, fork: no shared state. */
#pragma once

#include <limits.h>

#include "inspect/elf_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_library_how {
  OPC_FOUND_NOWHERE = 0,
  OPC_FOUND_RPATH, /* this one and the next three: the loader finds it */
  OPC_FOUND_LIBRARY_PATH,
  OPC_FOUND_RUNPATH,
  OPC_FOUND_SYSTEM,
  OPC_FOUND_BESIDE,  /* in the folder of the library that needs it */
  OPC_FOUND_PACKAGE, /* in another folder of the needing library's package */
  OPC_FOUND_TORCH,   /* among libtorch's own libraries */
  OPC_FOUND_CUDA     /* among the CUDA libraries installed next to libtorch as separate packages */
} opc_library_how_t;

typedef struct opc_library_place {
  opc_library_how_t how;
  char path[PATH_MAX]; /* "" if found nowhere */
} opc_library_place_t;

/* torch_folder: libtorch's lib/; may be NULL. */
void opc_library_find(const opc_elf_file_t *needing, const char *name, const char *torch_folder,
                      opc_library_place_t *out);
/* Looks only in its RUNPATH, or where it has none in its RPATH, which auditwheel writes. */
void opc_library_find_by_own_path(const opc_elf_file_t *needing, const char *name, opc_library_place_t *out);
/* As text: "by its RUNPATH". */
const char *opc_found_words(opc_library_how_t how);
static inline bool opc_found_by_loader(opc_library_how_t how) {
  return how >= OPC_FOUND_RPATH && how <= OPC_FOUND_SYSTEM;
}

/* Accelerator libraries (CUDA and its driver, ROCm, SYCL; libtorch's parts for them). They are missing on a machine
 * without an accelerator, but the rest of a library that needs them still works. */
bool opc_library_is_accelerator(const char *name);
/* libtorch_python and libpython: useless without an interpreter. */
bool opc_library_is_python(const char *name);
/* libtorch's accelerator libraries, and libtorch.so, which is empty and only pulls them in: useless without a
 * device. */
bool opc_library_is_heavy(const char *name);
/* One of libtorch's own libraries. */
bool opc_library_is_torch(const char *name);

#ifdef __cplusplus
}
#endif
