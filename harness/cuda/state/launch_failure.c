/* A launch that must fail: launch.h, fail_launch. */
#include "cuda/state/cudart.h"

static _Atomic uint64_t launches_left; /* 0: none */
static atomic_int launch_code;
static atomic_bool launch_has_failed;

void opc_injection_set(uint64_t nth, int code) {
  atomic_store(&launches_left, 0);
  atomic_store(&launch_has_failed, false);
  atomic_store(&launch_code, code);
  atomic_store(&launches_left, nth);
}

bool opc_injection_takes(cudaError_t *out_code) {
  uint64_t left = atomic_load_explicit(&launches_left, memory_order_relaxed);
  do {
    if (left == 0) return false;
  } while (!atomic_compare_exchange_weak(&launches_left, &left, left - 1));
  if (left != 1) return false;
  *out_code = (cudaError_t)atomic_load(&launch_code);
  atomic_store(&launch_has_failed, true);
  return true;
}

bool opc_injection_happened(void) { return atomic_load(&launch_has_failed); }
