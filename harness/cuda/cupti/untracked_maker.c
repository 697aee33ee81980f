/* Finds the caller of a CUDA function from the stack of CUPTI's callback: first libcupti and the driver, then the
 * runtime function, then its caller. */
#include <string.h>
#include <unwind.h>

#include "cuda/cupti/untracked.h"

#if !defined(__x86_64__)
#error "opc_maker_jumped reads the instructions of x86-64: add those of this architecture"
#endif

typedef struct walk {
  opc_maker_t *out;
  bool driver, below;
} walk_t;

/* Frames between a CUDA function and this code. */
static bool is_machinery(const char *library) {
  static const char *const names[] = {"libcuda.so.", "libcupti.so.", "libopcheck-cudart.so.", "libnvidia-"};
  const char *slash = strrchr(library, '/'), *name = slash ? slash + 1 : library;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
  return false;
}

static _Unwind_Reason_Code untracked_maker_see(struct _Unwind_Context *context, void *given) {
  walk_t *walk = given;
  const uint64_t at = (uint64_t)_Unwind_GetIP(context);
  if (at == 0) return _URC_END_OF_STACK;
  if (!walk->below && is_machinery(opc_log_library(at - 1))) return _URC_NO_REASON;
  if (!walk->below) {
    walk->below = true;
    walk->out->function = at - 1;
    if (!walk->driver) return _URC_NO_REASON;
  }
  walk->out->caller = at;
  return _URC_NORMAL_STOP;
}

bool opc_maker_find(bool driver, opc_maker_t *out) {
  walk_t walk = {.out = out, .driver = driver};
  *out = (opc_maker_t){0};
  _Unwind_Backtrace(untracked_maker_see, &walk);
  return out->caller != 0;
}

static uint64_t untracked_maker_target_of(uint64_t after) {
  int32_t distance;
  memcpy(&distance, (const void *)(uintptr_t)(after - sizeof distance), sizeof distance);
  return after + (uint64_t)(int64_t)distance;
}

bool opc_maker_jumped(const opc_maker_t *maker) {
  enum { CALL = 0xe8, JUMP = 0xe9, LENGTH = 5, FAR = 16 };
  const uint64_t entry = (uint64_t)(uintptr_t)_Unwind_FindEnclosingFunction((void *)(uintptr_t)maker->function);
  if (entry == 0 || *(const unsigned char *)(uintptr_t)(maker->caller - LENGTH) != CALL) return false;
  const uint64_t called = untracked_maker_target_of(maker->caller);
  if (called == entry || strcmp(opc_log_library(called), opc_log_library(maker->function)) != 0) return false;
  for (uint64_t at = called; at < called + FAR; at++)
    if (*(const unsigned char *)(uintptr_t)at == JUMP && untracked_maker_target_of(at + LENGTH) == entry) return true;
  return false;
}
