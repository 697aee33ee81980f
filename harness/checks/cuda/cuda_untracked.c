#include "checks/cuda/cuda_watch.h"

#include <stdlib.h>
#include <string.h>

#include "checks/call/own_library.h"
#include "inspect/facts.h"

enum { NEEDS_DEPTH = 4 };

typedef struct library {
  const char *file;     /* of the operator */
  bool runtime, driver; /* runtime: has its own; driver: calls it */
  char text[512];
  struct library *next;
} library_t;

static void look_at_library(const char *file, int depth, library_t *out) {
  opc_elf_file_t *elf = NULL;
  if (opc_elf_open(file, &elf, NULL) != OPC_OK) return; /* no readable file: assume nothing */
  const bool runtime = opc_cuda_runtime_of(elf) == OPC_GPU_RUNTIME_STATIC;
  out->runtime = out->runtime || runtime;
  out->driver = out->driver || (!runtime && opc_cuda_driver_works(elf));
  for (size_t i = 0; i < elf->needed_count && depth < NEEDS_DEPTH; i++) {
    const char *own = opc_library_own_named(elf->needed[i]);
    if (own) look_at_library(own, depth + 1, out);
  }
  opc_elf_close(elf);
}

static library_t *known_library(const opc_operator_t *op) {
  static library_t *libraries;
  for (library_t *library = libraries; library; library = library->next)
    if (strcmp(library->file, op->library) == 0) return library;
  library_t *made = calloc(1, sizeof *made);
  char *file = made ? opc_string_copy(op->library) : NULL;
  if (!file) {
    free(made);
    return NULL;
  }
  made->file = file;
  look_at_library(file, 0, made);
  made->next = libraries;
  return libraries = made;
}

const char *opc_cuda_untracked(const opc_operator_t *op) {
  const opc_launch_api_t *launch = opc_launch();
  library_t *library = launch && op->library ? known_library(op) : NULL;
  if (!library || (!library->runtime && !library->driver)) return "";
  if (launch->mode == OPC_LAUNCH_SIMULATED) {
    if (!library->runtime)
      return ""; /* the log would name the driver's functions, which the simulated device does not have */
    return "its library links the CUDA runtime statically: its launches are not seen on the simulated device, and fail "
           "there. Link it with nvcc --cudart shared (CMake: "
           "CUDA_RUNTIME_LIBRARY Shared), or check it on a GPU";
  }
  const char *why = launch->watch_untracked(opc_library_is_own);
  if (!why[0]) return "";
  snprintf(library->text, sizeof library->text,
           "its library %s; calls of the driver and of static runtimes are not seen: %s",
           library->runtime ? "links the CUDA runtime statically" : "calls the CUDA driver", why);
  return library->text;
}
