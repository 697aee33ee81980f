/* The mode of this runtime, which the environment sets before the first CUDA library is loaded; and data that fork must
 * not leave inconsistent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/state/cudart_table.h"

/* In lock order: each may be taken while earlier ones are held. */
static pthread_mutex_t *const locks[] = {&opc_lock_jobs,   &opc_lock_captures,  &opc_lock_runs,    &opc_lock_kernels,
                                         &opc_lock_copies, &opc_lock_addresses, &opc_lock_streams, &opc_lock_texts};
enum { LOCKS = sizeof locks / sizeof locks[0] };

static void fork_before(void) {
  for (size_t i = 0; i < LOCKS; i++) pthread_mutex_lock(locks[i]);
}
static void fork_after(void) {
  for (size_t i = LOCKS; i-- > 0;) pthread_mutex_unlock(locks[i]);
}
static void runtime_begin_fork_child(void) {
  opc_log_forked();
  fork_after();
}

typedef struct architecture {
  const char *name;
  int major, minor;
  uint32_t multiprocessors, shared_multiprocessor, shared_optin, threads, blocks, l2;
} architecture_t;

static const architecture_t architectures[] = {
#define OPC_ARCHITECTURE(name, major, minor, multiprocessors, shared, optin, threads, blocks, l2) \
  {name, major, minor, multiprocessors, shared, optin, threads, blocks, l2},
#include "cuda/image/architectures.def"
};

static const architecture_t *architecture_named(const char *name) {
  const architecture_t *usual = NULL;
  for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++) {
    if (name && strcmp(name, architectures[i].name) == 0) return &architectures[i];
    if (strcmp("sm_90", architectures[i].name) == 0) usual = &architectures[i];
  }
  if (name && name[0])
    fprintf(stderr, "opcheck-c: OPC_CUDA_ARCHITECTURE is %s, which cannot be simulated; it is sm_90 now\n", name);
  return usual;
}

static void device_set(const architecture_t *architecture) {
  opc_cuda_limits_t limits = {
      .major = architecture->major,
      .minor = architecture->minor,
      .grid = {2147483647u, 65535, 65535},
      .block = {1024, 1024, 64},
      .threads = 1024,
      .shared = 48u << 10,
      .shared_optin = architecture->shared_optin << 10,
  };
  snprintf(limits.architecture, sizeof limits.architecture, "%s", architecture->name);
  opc_runtime.limits = limits;
  opc_runtime.multiprocessors = architecture->multiprocessors;
  opc_runtime.shared_multiprocessor = architecture->shared_multiprocessor << 10;
  opc_runtime.threads_multiprocessor = architecture->threads;
  opc_runtime.blocks_multiprocessor = architecture->blocks;
  opc_runtime.l2_bytes = architecture->l2 << 20;
}

static void mode_read(void) {
  const char *mode = getenv("OPC_CUDA_MODE");
  opc_runtime.simulated = mode && strcmp(mode, "simulated") == 0;
  device_set(architecture_named(opc_runtime.simulated ? getenv("OPC_CUDA_ARCHITECTURE") : NULL));
  /* Address space is reserved now: a forked child may have less. */
  if (opc_runtime.simulated) opc_device_reserve();
  opc_range_reserve();
  opc_log_reserve();
  opc_stream_reserve();
  pthread_atfork(fork_before, fork_after, runtime_begin_fork_child);
  atomic_store(&opc_watchful, opc_runtime.simulated);
}

void opc_runtime_mode(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, mode_read);
}

static void begin_once(void) {
  opc_runtime_mode();
  if (!opc_runtime.simulated) {
    opc_real_fill();
    opc_real_special_fill();
  }
  __atomic_store_n(&opc_runtime.ready, true, __ATOMIC_RELEASE);
}

void opc_runtime_begin(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, begin_once);
}
