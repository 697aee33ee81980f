/* Created, live streams, for either mode. Every call that names a stream looks up its handle, without a lock. */
#include <sys/mman.h>

#include "cuda/state/cudart_table.h"

enum { STREAMS_MAX = 1 << 16 };

typedef struct slot {
  _Atomic uint64_t handle; /* 0: free; once set, it never changes */
  opc_stream_t stream;
} slot_t;
static slot_t *slots;
static size_t slot_count;

void opc_stream_reserve(void) { slots = opc_reserve(STREAMS_MAX * sizeof *slots, PROT_READ | PROT_WRITE); }

static slot_t *stream_table_slot_of(uint64_t handle, bool make) {
  size_t i = (size_t)((handle >> 4) * 0x9e3779b97f4a7c15u >> 48) % STREAMS_MAX;
  for (size_t tries = 0; slots && tries < STREAMS_MAX; tries++, i = (i + 1) % STREAMS_MAX) {
    const uint64_t there = atomic_load_explicit(&slots[i].handle, memory_order_acquire);
    if (there == handle) return &slots[i];
    if (there != 0) continue;
    if (!make || slot_count >= STREAMS_MAX / 2) return NULL;
    slot_count++;
    return &slots[i];
  }
  return NULL;
}

void opc_stream_add(cudaStream_t given, int device, unsigned flags, int priority) {
  static unsigned long long last_id = 16;
  const uint64_t handle = (uint64_t)(uintptr_t)given;
  if (handle == 0) return;
  pthread_mutex_lock(&opc_lock_streams);
  slot_t *slot = stream_table_slot_of(handle, true);
  if (slot) {
    slot->stream = (opc_stream_t){
        .handle = handle, .device = device, .live = true, .flags = flags, .priority = priority, .id = last_id++};
    atomic_store_explicit(&slot->handle, handle, memory_order_release);
  }
  pthread_mutex_unlock(&opc_lock_streams);
}

void opc_stream_end(cudaStream_t handle) {
  pthread_mutex_lock(&opc_lock_streams);
  slot_t *slot = stream_table_slot_of((uint64_t)(uintptr_t)handle, false);
  if (slot) slot->stream.live = false;
  pthread_mutex_unlock(&opc_lock_streams);
}

bool opc_stream_find(cudaStream_t handle, opc_stream_t *out) {
  const slot_t *slot = handle ? stream_table_slot_of((uint64_t)(uintptr_t)handle, false) : NULL;
  if (!slot || !slot->stream.live) return false;
  *out = slot->stream;
  return true;
}

bool opc_stream_usable(cudaStream_t stream, int *out_device) {
  opc_stream_t found;
  *out_device = opc_thread.device;
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return true;
  if (!opc_stream_find(stream, &found)) return false;
  *out_device = found.device;
  return true;
}

/* ---- captures ---- */

atomic_bool opc_capture_seen;
_Atomic(opc_captures_t *) opc_simulated_captures;

/* The legacy stream never captures, and querying it is an error that would stay with the thread. */
bool opc_stream_captures(cudaStream_t stream) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (!stream || stream == cudaStreamLegacy) return false;
  const cudaError_t code = opc_runtime.simulated ? atomic_load(&opc_simulated_captures)(stream, &status)
                                                 : opc_real.cudaStreamIsCapturing(stream, &status);
  return code == cudaSuccess && status == cudaStreamCaptureStatusActive;
}
