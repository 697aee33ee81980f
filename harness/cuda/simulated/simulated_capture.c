/* Stream capture on the simulated devices: which streams take part in which capture, which calls are refused meanwhile
 * and with which error, and which of them invalidate it. simulated_graph.c has the graph itself.
 *
 * Source: CUDA programming guide, "Creating a Graph Using Stream Capture" and "Prohibited and Unhandled Operations";
 * CUDA runtime API, stream management. */
#include <stdlib.h>

#include "cuda/simulated/simulated.h"

enum { CAPTURES_MAX = 64, MEMBERS_MAX = 1024, EDGES_MAX = 64 };

typedef struct capture {
  unsigned long long id; /* 0: none */
  cudaStream_t origin;
  const opc_thread_t *thread; /* the thread that began it */
  enum cudaStreamCaptureMode mode;
  bool invalid;
  opc_graph_t *graph;
} capture_t;

/* A stream that takes part in a capture. */
typedef struct member {
  cudaStream_t stream;
  const opc_thread_t *thread; /* owner, for the per-thread stream */
  int device;
  bool blocking;      /* the legacy stream waits for it */
  capture_t *capture; /* NULL: a free entry */
  opc_nodes_t last;   /* dependencies of the next node */
} member_t;

static capture_t captures[CAPTURES_MAX];
static member_t members[MEMBERS_MAX];
static atomic_size_t capture_count; /* active captures */
static pthread_mutex_t *const lock = &opc_lock_captures;

static bool simulated_capture_is_none(void) { return atomic_load_explicit(&capture_count, memory_order_acquire) == 0; }
static bool is_legacy(cudaStream_t stream) { return !stream || stream == cudaStreamLegacy; }
static cudaStream_t called_by(cudaStream_t given) { return opc_stream_default(given, opc_thread.per_thread); }
static bool is_usable(cudaStream_t stream) {
  int device;
  return opc_stream_usable(stream, &device);
}

/* ---- under the lock ---- */

static member_t *member_of(cudaStream_t stream) {
  const opc_thread_t *thread = stream == cudaStreamPerThread ? &opc_thread : NULL;
  for (size_t i = 0; i < MEMBERS_MAX; i++) {
    if (!members[i].capture || members[i].stream != stream || members[i].thread != thread) continue;
    if (!thread || members[i].device == opc_thread.device) return &members[i];
  }
  return NULL;
}

static member_t *member_add(cudaStream_t stream, int device, capture_t *capture) {
  opc_stream_t created;
  for (size_t i = 0; i < MEMBERS_MAX; i++) {
    if (members[i].capture) continue;
    members[i] = (member_t){.stream = stream,
                            .thread = stream == cudaStreamPerThread ? &opc_thread : NULL,
                            .device = device,
                            .capture = capture};
    members[i].blocking = !opc_stream_find(stream, &created) || (created.flags & cudaStreamNonBlocking) == 0;
    return &members[i];
  }
  return NULL;
}

static capture_t *capture_of_id(unsigned long long id) {
  for (size_t i = 0; id && i < CAPTURES_MAX; i++)
    if (captures[i].id == id) return &captures[i];
  return NULL;
}

/* An operation on the legacy stream would involve the blocking streams of its device. */
static bool legacy_waits(int device, bool spoil) {
  bool waits = false;
  for (size_t i = 0; i < MEMBERS_MAX; i++) {
    if (!members[i].capture || !members[i].blocking || members[i].device != device) continue;
    waits = true;
    members[i].capture->invalid |= spoil;
  }
  return waits;
}

/* The caller owns the graph. */
static void capture_end(capture_t *capture) {
  for (size_t i = 0; i < MEMBERS_MAX; i++) {
    if (members[i].capture != capture) continue;
    opc_nodes_clear(&members[i].last);
    members[i] = (member_t){0};
  }
  *capture = (capture_t){0};
  atomic_fetch_sub(&capture_count, 1);
}

static cudaError_t capture_lost(capture_t *capture, cudaError_t code) {
  capture->invalid = true;
  return code;
}

/* ---- work ---- */

static cudaError_t node_add(member_t *member, const opc_work_t *work) {
  if (member->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  opc_graph_node_t *node = opc_graph_add(member->capture->graph, work, &member->last);
  if (!node) return capture_lost(member->capture, cudaErrorMemoryAllocation);
  opc_nodes_clear(&member->last);
  return opc_nodes_add(&member->last, &(opc_nodes_t){.items = &node, .count = 1})
             ? cudaSuccess
             : capture_lost(member->capture, cudaErrorMemoryAllocation);
}

/* True: it must not run now, and *out_code says why. */
static bool work_taken(cudaStream_t stream, int device, const opc_work_t *work, cudaError_t *out_code) {
  bool taken = true;
  const cudaError_t refused = work->check ? work->check(work) : cudaSuccess;
  pthread_mutex_lock(lock);
  member_t *member = is_legacy(stream) ? NULL : member_of(stream);
  if (member && refused != cudaSuccess) *out_code = capture_lost(member->capture, refused);
  else if (member) *out_code = node_add(member, work);
  else if (is_legacy(stream) && legacy_waits(device, true)) *out_code = cudaErrorStreamCaptureImplicit;
  else taken = false;
  pthread_mutex_unlock(lock);
  return taken;
}

cudaError_t opc_stream_put(cudaStream_t given, const opc_work_t *work) {
  const cudaStream_t stream = called_by(given);
  cudaError_t code = cudaSuccess;
  int device;
  if (!opc_stream_usable(stream, &device)) return cudaErrorInvalidResourceHandle;
  if (!simulated_capture_is_none() && work_taken(stream, device, work, &code)) return code;
  return work->run ? work->run(work) : cudaSuccess;
}

/* ---- what is refused ---- */

cudaError_t opc_capture_asked(cudaStream_t given) {
  const cudaStream_t stream = called_by(given);
  cudaError_t code = cudaSuccess;
  int device;
  if (!opc_stream_usable(stream, &device)) return cudaErrorInvalidResourceHandle;
  if (simulated_capture_is_none()) return cudaSuccess;
  pthread_mutex_lock(lock);
  member_t *member = is_legacy(stream) ? NULL : member_of(stream);
  if (member && member->capture->invalid) code = cudaErrorStreamCaptureInvalidated;
  else if (member) code = capture_lost(member->capture, cudaErrorStreamCaptureUnsupported);
  else if (is_legacy(stream) && legacy_waits(device, true)) code = cudaErrorStreamCaptureImplicit;
  pthread_mutex_unlock(lock);
  return code;
}

cudaError_t opc_capture_asked_device(int device) {
  cudaError_t code = cudaSuccess;
  if (simulated_capture_is_none()) return cudaSuccess;
  pthread_mutex_lock(lock);
  for (size_t i = 0; i < MEMBERS_MAX; i++)
    if (members[i].capture && members[i].device == device)
      code = capture_lost(members[i].capture, cudaErrorStreamCaptureUnsupported);
  pthread_mutex_unlock(lock);
  return code;
}

/* The rule is documented for cudaThreadExchangeStreamCaptureMode. */
static bool is_forbidden_by(const capture_t *capture) {
  if (opc_thread.capture_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture->thread == &opc_thread) return capture->mode != cudaStreamCaptureModeRelaxed;
  return opc_thread.capture_mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;
}

cudaError_t opc_capture_unsafe(void) {
  cudaError_t code = cudaSuccess;
  if (simulated_capture_is_none()) return cudaSuccess;
  pthread_mutex_lock(lock);
  for (size_t i = 0; i < CAPTURES_MAX; i++)
    if (captures[i].id && is_forbidden_by(&captures[i]))
      code = capture_lost(&captures[i], cudaErrorStreamCaptureUnsupported);
  pthread_mutex_unlock(lock);
  return code;
}

/* ---- events ---- */

cudaError_t opc_capture_asked_event(const opc_captured_t *event) {
  if (!event->capture) return opc_capture_unsafe();
  pthread_mutex_lock(lock);
  capture_t *capture = capture_of_id(event->capture);
  if (capture) capture->invalid = true;
  pthread_mutex_unlock(lock);
  return cudaErrorCapturedEvent;
}

static cudaError_t record_in(member_t *member, opc_captured_t *event, bool external) {
  if (member->capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (external) return node_add(member, &(opc_work_t){.type = cudaGraphNodeTypeEventRecord});
  event->capture = member->capture->id;
  return opc_nodes_add(&event->nodes, &member->last) ? cudaSuccess
                                                     : capture_lost(member->capture, cudaErrorMemoryAllocation);
}

cudaError_t opc_capture_record(cudaStream_t given, opc_captured_t *event, bool external) {
  const cudaStream_t stream = called_by(given);
  cudaError_t code = cudaSuccess;
  int device;
  opc_nodes_clear(&event->nodes);
  event->capture = 0;
  if (simulated_capture_is_none()) return cudaSuccess;
  if (!opc_stream_usable(stream, &device)) return cudaErrorInvalidResourceHandle;
  pthread_mutex_lock(lock);
  member_t *member = is_legacy(stream) ? NULL : member_of(stream);
  if (member) code = record_in(member, event, external);
  else if (is_legacy(stream) && legacy_waits(device, true)) code = cudaErrorStreamCaptureImplicit;
  pthread_mutex_unlock(lock);
  return code;
}

/* The event belongs to a capture. `member`: the stream in its own capture; NULL: in none. */
static cudaError_t wait_for_captured(cudaStream_t stream, int device, member_t *member, const opc_captured_t *event) {
  capture_t *capture = capture_of_id(event->capture);
  if (!capture)
    return member ? capture_lost(member->capture, cudaErrorStreamCaptureIsolation)
                  : cudaErrorStreamCaptureIsolation; /* that capture has ended */
  if (capture->invalid || (member && member->capture->invalid)) return cudaErrorStreamCaptureInvalidated;
  if (is_legacy(stream)) return capture_lost(capture, cudaErrorStreamCaptureImplicit);
  if (member && member->capture != capture) {
    (void)capture_lost(member->capture, cudaErrorStreamCaptureMerge);
    return capture_lost(capture, cudaErrorStreamCaptureMerge);
  }
  if (!member) member = member_add(stream, device, capture);
  return member && opc_nodes_add(&member->last, &event->nodes) ? cudaSuccess
                                                               : capture_lost(capture, cudaErrorMemoryAllocation);
}

cudaError_t opc_capture_wait(cudaStream_t given, const opc_captured_t *event, bool external) {
  const cudaStream_t stream = called_by(given);
  cudaError_t code = cudaSuccess;
  int device;
  if (simulated_capture_is_none() && !event->capture) return cudaSuccess;
  if (!opc_stream_usable(stream, &device)) return cudaErrorInvalidResourceHandle;
  pthread_mutex_lock(lock);
  member_t *member = is_legacy(stream) ? NULL : member_of(stream);
  if (event->capture && !external) code = wait_for_captured(stream, device, member, event);
  else if (member && external) code = node_add(member, &(opc_work_t){.type = cudaGraphNodeTypeWaitEvent});
  else if (member)
    code = member->capture->invalid ? cudaErrorStreamCaptureInvalidated
                                    : capture_lost(member->capture, cudaErrorStreamCaptureIsolation);
  else if (is_legacy(stream) && legacy_waits(device, true)) code = cudaErrorStreamCaptureImplicit;
  pthread_mutex_unlock(lock);
  return code;
}

/* ---- the runtime's functions ---- */

cudaError_t opc_sim_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) {
  if (!mode || (unsigned)*mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  const enum cudaStreamCaptureMode before = opc_thread.capture_mode;
  opc_thread.capture_mode = *mode;
  *mode = before;
  return cudaSuccess;
}

static cudaError_t capture_begin(cudaStream_t stream, int device, enum cudaStreamCaptureMode mode) {
  static unsigned long long last_id;
  capture_t *capture = NULL;
  for (size_t i = 0; i < CAPTURES_MAX && !capture; i++)
    if (!captures[i].id) capture = &captures[i];
  opc_graph_t *graph = capture ? opc_graph_new() : NULL;
  if (!graph) return cudaErrorMemoryAllocation;
  *capture = (capture_t){.id = ++last_id, .origin = stream, .thread = &opc_thread, .mode = mode, .graph = graph};
  atomic_fetch_add(&capture_count, 1);
  if (member_add(stream, device, capture)) return cudaSuccess;
  capture_end(capture);
  opc_graph_free(graph);
  return cudaErrorMemoryAllocation;
}

cudaError_t opc_sim_cudaStreamBeginCapture(cudaStream_t given, enum cudaStreamCaptureMode mode) {
  const cudaStream_t stream = called_by(given);
  int device;
  if ((unsigned)mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  if (!opc_stream_usable(stream, &device)) return cudaErrorInvalidResourceHandle;
  if (is_legacy(stream)) return cudaErrorStreamCaptureUnsupported;
  atomic_store(&opc_simulated_captures, opc_sim_cudaStreamIsCapturing);
  pthread_mutex_lock(lock);
  const cudaError_t code = member_of(stream) ? cudaErrorIllegalState : capture_begin(stream, device, mode);
  pthread_mutex_unlock(lock);
  return code;
}

cudaError_t opc_sim_cudaStreamEndCapture(cudaStream_t given, cudaGraph_t *out) {
  const cudaStream_t stream = called_by(given);
  opc_graph_t *graph = NULL;
  cudaError_t code = cudaSuccess;
  if (!out) return cudaErrorInvalidValue;
  *out = NULL;
  if (!is_usable(stream)) return cudaErrorInvalidResourceHandle;
  pthread_mutex_lock(lock);
  const member_t *member = is_legacy(stream) ? NULL : member_of(stream);
  capture_t *capture = member ? member->capture : NULL;
  if (!capture) code = cudaErrorIllegalState;
  else if (capture->origin != stream) code = capture_lost(capture, cudaErrorStreamCaptureUnmatched);
  else if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != &opc_thread)
    code = cudaErrorStreamCaptureWrongThread;
  else {
    graph = capture->graph;
    if (capture->invalid) code = cudaErrorStreamCaptureInvalidated;
    else if (!opc_graph_leads_to(graph, &member->last)) code = cudaErrorStreamCaptureUnjoined;
    capture_end(capture);
  }
  if (graph && code == cudaSuccess) *out = (cudaGraph_t)(void *)graph;
  else if (graph) opc_graph_free(graph);
  pthread_mutex_unlock(lock);
  return code;
}

void opc_capture_stream_ends(cudaStream_t stream) {
  if (simulated_capture_is_none()) return;
  pthread_mutex_lock(lock);
  member_t *member = member_of(stream);
  capture_t *capture = member ? member->capture : NULL;
  if (capture && capture->origin == stream) { /* nothing can end it any more */
    opc_graph_free(capture->graph);
    capture_end(capture);
  } else if (member) { /* work that it added to the graph must be joined all the same */
    opc_nodes_clear(&member->last);
    *member = (member_t){0};
  }
  pthread_mutex_unlock(lock);
}

/* Called under the lock. NULL with cudaSuccess: the stream takes part in no capture. */
static cudaError_t member_look(cudaStream_t given, const member_t **out) {
  const cudaStream_t stream = called_by(given);
  int device;
  *out = NULL;
  if (!opc_stream_usable(stream, &device)) return cudaErrorInvalidResourceHandle;
  if (is_legacy(stream)) return legacy_waits(device, false) ? cudaErrorStreamCaptureImplicit : cudaSuccess;
  *out = member_of(stream);
  return cudaSuccess;
}

static enum cudaStreamCaptureStatus status_of(const member_t *member) {
  if (!member) return cudaStreamCaptureStatusNone;
  return member->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaError_t opc_sim_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *out) {
  return opc_capture_info(stream, out, NULL, NULL, NULL, NULL, NULL);
}

cudaError_t opc_capture_info(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                             cudaGraph_t *graph, const cudaGraphNode_t **nodes, const cudaGraphEdgeData **edges,
                             size_t *count) {
  static const cudaGraphEdgeData plain[EDGES_MAX]; /* all edges have this type */
  const member_t *member = NULL;
  if (!status || (edges && !nodes)) return cudaErrorInvalidValue;
  pthread_mutex_lock(lock);
  const cudaError_t code = member_look(stream, &member);
  *status = status_of(member);
  const bool active = *status == cudaStreamCaptureStatusActive;
  if (id) *id = active ? member->capture->id : 0;
  if (graph) *graph = active ? (cudaGraph_t)(void *)member->capture->graph : NULL;
  if (nodes) *nodes = active ? (const cudaGraphNode_t *)(void *)member->last.items : NULL;
  if (edges) *edges = active && member->last.count <= EDGES_MAX ? plain : NULL;
  if (count) *count = active ? member->last.count : 0;
  pthread_mutex_unlock(lock);
  return code;
}
