#include "cuda/state/cudart_table.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

enum { CALLS_MAX = 1 << 17, TEXT_BLOCK = 1 << 20, TEXT_MAX = 1 << 16, PAGES_KNOWN = 4096, TEXTS_KNOWN = 4096 };

atomic_bool opc_log_open;
static opc_cuda_call_t *calls;
static atomic_size_t call_count;
static atomic_uint writers, epoch, threads;

/* ---- strings ---- */

static char *text_new(const char *text, size_t size) {
  static char *block;
  static size_t left;
  if (size > left) {
    block = opc_reserve(TEXT_BLOCK, PROT_READ | PROT_WRITE);
    left = block ? TEXT_BLOCK : 0;
    if (!block) return NULL;
  }
  char *copy = block;
  memcpy(copy, text, size - 1);
  copy[size - 1] = '\0';
  block += size;
  left -= size;
  return copy;
}

const char *opc_log_intern(const char *text) {
  static const char *known[TEXTS_KNOWN];
  const size_t length = strnlen(text, TEXT_MAX - 1);
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  pthread_mutex_lock(&opc_lock_texts);
  const char **slot = &known[hash % TEXTS_KNOWN]; /* a collision only costs a second copy */
  if (!*slot || strncmp(*slot, text, TEXT_MAX - 1) != 0) *slot = text_new(text, length + 1);
  const char *found = *slot ? *slot : "";
  pthread_mutex_unlock(&opc_lock_texts);
  return found;
}

const char *opc_log_library(uint64_t address) {
  static struct {
    uint64_t page;
    const char *library;
  } known[PAGES_KNOWN];
  Dl_info info;
  const uint64_t page = address / OPC_PAGE;
  const size_t slot = page % PAGES_KNOWN;
  pthread_mutex_lock(&opc_lock_texts);
  const char *library = known[slot].page == page ? known[slot].library : NULL;
  pthread_mutex_unlock(&opc_lock_texts);
  if (library) return library;
  library = dladdr((void *)(uintptr_t)address, &info) != 0 && info.dli_fname ? opc_log_intern(info.dli_fname) : "";
  pthread_mutex_lock(&opc_lock_texts);
  known[slot].page = page;
  known[slot].library = library;
  pthread_mutex_unlock(&opc_lock_texts);
  return library;
}

/* ---- the log ---- */

unsigned opc_log_number(void) { return atomic_load_explicit(&epoch, memory_order_relaxed); }

void opc_log_reserve(void) { calls = opc_reserve(CALLS_MAX * sizeof *calls, PROT_READ | PROT_WRITE); }

void opc_log_begin(void) {
  atomic_store(&call_count, 0);
  opc_thread.epoch = atomic_fetch_add(&epoch, 1) + 1;
  opc_thread.number = 0;
  atomic_store(&threads, 1);
  if (!calls) return;
  atomic_store(&opc_log_open, true);
  atomic_store(&opc_watchful, true);
}

static void libraries_name(size_t count) {
  for (size_t i = 0; i < count; i++) calls[i].library = opc_log_library(calls[i].caller);
}

opc_cuda_log_t opc_log_end(void) {
  atomic_store(&opc_log_open, false);
  atomic_store(&opc_watchful, opc_runtime.simulated);
  while (atomic_load(&writers) != 0) sched_yield();
  const size_t asked = atomic_load(&call_count), count = asked < CALLS_MAX ? asked : CALLS_MAX;
  if (!calls) return (opc_cuda_log_t){.dropped = asked};
  libraries_name(count);
  return (opc_cuda_log_t){.calls = calls, .count = count, .dropped = asked - count};
}

/* In a forked child no other thread is left that could be writing. */
void opc_log_forked(void) { atomic_store(&writers, 0); }

bool opc_call_begin(opc_cuda_call_t *call, opc_cuda_kind_t kind, const char *function, void *caller) {
  if (kind == OPC_CUDA_UNCOVERED) opc_thread.torch_call.lacks = true;
  if (!atomic_load_explicit(&opc_log_open, memory_order_acquire)) return false;
  memset(call, 0, sizeof *call);
  call->kind = kind;
  call->function = function;
  call->caller = (uint64_t)(uintptr_t)caller;
  call->library = call->kernel = call->kernel_library = call->not_run = "";
  call->device = opc_device_now();
  call->stream_kind = OPC_CUDA_STREAM_UNKNOWN;
  call->stream_device = call->to.device = call->from.device = -1;
  return true;
}

void opc_call_end(const opc_cuda_call_t *call, int code) {
  atomic_fetch_add(&writers, 1);
  if (atomic_load(&opc_log_open)) {
    const unsigned now = atomic_load(&epoch);
    if (opc_thread.epoch != now) {
      opc_thread.epoch = now;
      opc_thread.number = atomic_fetch_add(&threads, 1);
    }
    const size_t i = atomic_fetch_add(&call_count, 1);
    if (i < CALLS_MAX) {
      calls[i] = *call;
      calls[i].code = opc_thread.torch_call.refused ? cudaSuccess : code; /* refused by us: CUDA does not */
      if ((call->kind == OPC_CUDA_LAUNCH || call->kind == OPC_CUDA_LIBRARY_WORK) && opc_runtime.simulated) {
        calls[i].ran = opc_thread.ran;
        calls[i].not_run = opc_thread.not_run ? opc_thread.not_run : "";
      }
      calls[i].thread = opc_thread.number;
    }
  }
  atomic_fetch_sub(&writers, 1);
}

size_t opc_log_count(void) { return atomic_load(&call_count); }

void opc_log_settle(size_t first, opc_cuda_ran_t ran, const char *not_run) {
  const size_t asked = atomic_load(&call_count), count = asked < CALLS_MAX ? asked : CALLS_MAX;
  if (!atomic_load(&opc_log_open) || opc_thread.epoch != atomic_load(&epoch)) return;
  for (size_t i = first; i < count; i++) {
    if (calls[i].thread != opc_thread.number || calls[i].ran != OPC_CUDA_REPLACED) continue;
    calls[i].ran = ran;
    calls[i].not_run = not_run;
  }
}
