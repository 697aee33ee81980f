/* Shared by every file of the runtime: the mode, the thread's own state, and the locks. */
#include <sys/mman.h>

#include "cuda/state/cudart.h"

opc_runtime_t opc_runtime;
atomic_bool opc_watchful;
_Thread_local opc_thread_t opc_thread;

pthread_mutex_t opc_lock_addresses = PTHREAD_MUTEX_INITIALIZER, opc_lock_kernels = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t opc_lock_copies = PTHREAD_MUTEX_INITIALIZER, opc_lock_streams = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t opc_lock_jobs = PTHREAD_MUTEX_INITIALIZER, opc_lock_texts = PTHREAD_MUTEX_INITIALIZER,
                opc_lock_captures = PTHREAD_MUTEX_INITIALIZER, opc_lock_runs = PTHREAD_MUTEX_INITIALIZER;

void *opc_reserve(size_t bytes, int protection) {
  void *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? NULL : at;
}
