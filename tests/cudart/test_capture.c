/* Stream capture on the simulated device: what is captured is done by launches of the graph alone; what CUDA refuses
 * meanwhile is refused with its error, and ends the capture. Source: CUDA programming guide, "Prohibited and Unhandled
 * Operations"; runtime API, cudaThreadExchangeStreamCaptureMode. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "sim_test.h"

enum { BYTES = 4096 };
static const opc_launch_api_t *api;
static cudaStream_t stream, other, blocking; /* the first two do not wait for the legacy stream */
static cudaEvent_t event, second;
static unsigned char *memory, *pinned;
static int (*driver_capturing)(cudaStream_t, int *); /* cuStreamIsCapturing, which Triton links */

/* Both have a parameter for edges from CUDA 13 on. */
static cudaError_t capture_info(cudaStream_t asked, enum cudaStreamCaptureStatus *status, unsigned long long *id,
                                cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *count) {
#if CUDART_VERSION >= 13000
  return cudaStreamGetCaptureInfo(asked, status, id, graph, nodes, NULL, count);
#else
  return cudaStreamGetCaptureInfo(asked, status, id, graph, nodes, count);
#endif
}

static cudaError_t dependencies_of(cudaGraphNode_t node, cudaGraphNode_t *out, size_t *count) {
#if CUDART_VERSION >= 13000
  return cudaGraphNodeGetDependencies(node, out, NULL, count);
#else
  return cudaGraphNodeGetDependencies(node, out, count);
#endif
}

static enum cudaStreamCaptureStatus status_of(cudaStream_t asked) {
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusInvalidated;
  int driver_status = -1;
  assert_fine(cudaStreamIsCapturing(asked, &status));
  assert_int_equal(0, driver_capturing(asked, &driver_status));
  assert_int_equal(status, driver_status);
  return status;
}

static void begin_on(cudaStream_t on, enum cudaStreamCaptureMode mode) {
  assert_fine(cudaStreamBeginCapture(on, mode));
  assert_int_equal(cudaStreamCaptureStatusActive, status_of(on));
}
static void begin(void) { begin_on(stream, cudaStreamCaptureModeGlobal); }

/* Ends it; the graph has so many nodes. */
static void end_well(cudaStream_t on, size_t nodes) {
  cudaGraph_t graph = NULL;
  size_t count = 0;
  assert_fine(cudaStreamEndCapture(on, &graph));
  assert_int_equal(cudaStreamCaptureStatusNone, status_of(on));
  assert_fine(cudaGraphGetNodes(graph, NULL, &count));
  assert_int_equal(nodes, count);
  assert_fine(cudaGraphDestroy(graph));
}

/* It came to nothing, and the stream works again. */
static void end_lost(cudaStream_t on, cudaError_t code) {
  cudaGraph_t graph = (cudaGraph_t)(void *)&code;
  assert_cuda(code, cudaStreamEndCapture(on, &graph));
  assert_null(graph);
  assert_int_equal(cudaStreamCaptureStatusNone, status_of(on));
  assert_fine(cudaStreamSynchronize(on));
  (void)cudaGetLastError();
}

static void lost_by(cudaError_t expected, cudaError_t code) {
  assert_cuda(expected, code);
  assert_int_equal(cudaStreamCaptureStatusInvalidated, status_of(stream));
  assert_cuda(cudaErrorStreamCaptureInvalidated, cudaMemsetAsync(memory, 1, 16, stream));
  end_lost(stream, cudaErrorStreamCaptureInvalidated);
}

static void set(void *data) { *(int *)data = 7; }

static void called_back(cudaStream_t of, cudaError_t code, void *data) {
  (void)of, (void)code, (void)data;
  abort();
}

/* ---- graphs ---- */

static void test_replay(void **state) {
  (void)state;
  cudaGraph_t graph = NULL;
  cudaGraphExec_t exec = NULL;
  unsigned char back[16];
  int done = 0;
  assert_fine(cudaMemset(memory, 1, BYTES));
  memset(pinned, 2, BYTES);
  begin();
  assert_fine(cudaMemsetAsync(memory, 5, 16, stream));
  assert_fine(cudaMemcpyAsync(memory + 8, pinned, 8, cudaMemcpyHostToDevice, stream));
  assert_fine(cudaLaunchHostFunc(stream, set, &done));
  assert_fine(cudaStreamEndCapture(stream, &graph));
  /* Nothing has happened so far. */
  assert_fine(cudaMemcpy(back, memory, sizeof back, cudaMemcpyDeviceToHost));
  assert_int_equal(1, back[0]);
  assert_int_equal(0, done);
  assert_fine(cudaGraphInstantiate(&exec, graph, 0));
  assert_fine(cudaGraphDestroy(graph));
  memset(pinned, 3, BYTES); /* read when the graph is launched */
  assert_fine(cudaGraphLaunch(exec, other));
  assert_fine(cudaStreamSynchronize(other));
  assert_fine(cudaMemcpy(back, memory, sizeof back, cudaMemcpyDeviceToHost));
  assert_int_equal(5, back[0]);
  assert_int_equal(3, back[8]);
  assert_int_equal(7, done);
  /* A launch in a capture is a node. */
  begin();
  assert_fine(cudaGraphLaunch(exec, stream));
  end_well(stream, 1);
  assert_fine(cudaGraphExecDestroy(exec));
  assert_cuda(cudaErrorInvalidValue, cudaGraphLaunch(exec, other));
  assert_cuda(cudaErrorInvalidValue, cudaGraphDestroy(graph));
  assert_cuda(cudaErrorInvalidValue, cudaGraphInstantiate(&exec, graph, 0));
  (void)cudaGetLastError();
}

static void test_nodes(void **state) {
  (void)state;
  cudaGraph_t graph = NULL, during = NULL;
  cudaGraphNode_t nodes[4], before[2];
  enum cudaGraphNodeType type;
  enum cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  const cudaGraphNode_t *tips = NULL;
  size_t count = 4, few = 2;
  begin();
  assert_fine(cudaMemsetAsync(memory, 1, 16, stream));
  assert_fine(cudaMemcpyAsync(memory, pinned, 16, cudaMemcpyHostToDevice, stream));
  assert_fine(capture_info(stream, &status, &id, &during, &tips, &few));
  assert_true(id != 0 && tips != NULL);
  assert_int_equal(1, few);
  assert_fine(capture_info(other, &status, &id, NULL, NULL, NULL));
  assert_int_equal(cudaStreamCaptureStatusNone, status);
  assert_int_equal(0, id);
  assert_fine(cudaStreamEndCapture(stream, &graph));
  assert_ptr_equal(during, graph);
  assert_fine(cudaGraphGetNodes(graph, nodes, &count));
  assert_int_equal(2, count);
  assert_null(nodes[2]);
  assert_fine(cudaGraphNodeGetType(nodes[0], &type));
  assert_int_equal(cudaGraphNodeTypeMemset, type);
  few = 2;
  assert_fine(dependencies_of(nodes[1], before, &few));
  assert_int_equal(1, few);
  assert_ptr_equal(nodes[0], before[0]);
  assert_fine(cudaGraphDestroy(graph));
  assert_cuda(cudaErrorInvalidValue, cudaGraphNodeGetType(nodes[0], &type));
  assert_cuda(cudaErrorInvalidValue, cudaGraphGetNodes(graph, nodes, &count));
  (void)cudaGetLastError();
}

/* ---- streams and events ---- */

static void test_fork_and_join(void **state) {
  (void)state;
  begin();
  assert_fine(cudaMemsetAsync(memory, 1, 16, stream));
  assert_fine(cudaEventRecord(event, stream));
  assert_int_equal(cudaStreamCaptureStatusNone, status_of(other));
  assert_fine(cudaStreamWaitEvent(other, event, 0));
  assert_int_equal(cudaStreamCaptureStatusActive, status_of(other));
  assert_fine(cudaMemsetAsync(memory + 16, 1, 16, other));
  assert_fine(cudaEventRecord(second, other));
  assert_fine(cudaStreamWaitEvent(stream, second, 0));
  end_well(stream, 2);
  assert_int_equal(cudaStreamCaptureStatusNone, status_of(other));

  /* One that waits and does nothing has nothing that is not joined. */
  begin();
  assert_fine(cudaMemsetAsync(memory, 1, 16, stream));
  assert_fine(cudaEventRecord(event, stream));
  assert_fine(cudaStreamWaitEvent(other, event, 0));
  end_well(stream, 1);

  begin();
  assert_fine(cudaEventRecord(event, stream));
  assert_fine(cudaStreamWaitEvent(other, event, 0));
  assert_fine(cudaMemsetAsync(memory, 1, 16, other));
  cudaGraph_t graph;
  assert_cuda(cudaErrorStreamCaptureUnmatched, cudaStreamEndCapture(other, &graph));
  end_lost(stream, cudaErrorStreamCaptureInvalidated);

  begin();
  assert_fine(cudaEventRecord(event, stream));
  assert_fine(cudaStreamWaitEvent(other, event, 0));
  assert_fine(cudaMemsetAsync(memory, 1, 16, other));
  end_lost(stream, cudaErrorStreamCaptureUnjoined);
  assert_int_equal(cudaStreamCaptureStatusNone, status_of(other));
}

static void test_edges_across(void **state) {
  (void)state;
  cudaEvent_t fresh;
  /* Out of the capture: an event that was recorded before it. */
  assert_fine(cudaEventRecord(event, other));
  begin();
  lost_by(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(stream, event, 0));
  begin();
  assert_fine(cudaStreamWaitEvent(stream, event, cudaEventWaitExternal));
  assert_fine(cudaEventRecordWithFlags(second, stream, cudaEventRecordExternal));
  end_well(stream, 2);
  assert_fine(cudaEventCreate(&fresh));
  begin();
  assert_fine(cudaStreamWaitEvent(stream, fresh, 0)); /* was never recorded: it is over */
  end_well(stream, 0);
  assert_fine(cudaEventDestroy(fresh));
  /* From one capture to another. */
  begin();
  begin_on(other, cudaStreamCaptureModeGlobal);
  assert_fine(cudaEventRecord(event, other));
  lost_by(cudaErrorStreamCaptureMerge, cudaStreamWaitEvent(stream, event, 0));
  end_lost(other, cudaErrorStreamCaptureInvalidated);
  /* Into the legacy stream, which cannot take part. */
  begin();
  assert_fine(cudaEventRecord(event, stream));
  lost_by(cudaErrorStreamCaptureImplicit, cudaStreamWaitEvent(NULL, event, 0));
  /* Asked for: an event stands for work that is not done. */
  begin();
  assert_fine(cudaEventRecord(event, stream));
  lost_by(cudaErrorCapturedEvent, cudaEventQuery(event));
  begin();
  assert_fine(cudaEventRecord(event, stream));
  lost_by(cudaErrorCapturedEvent, cudaEventSynchronize(event));
  assert_cuda(cudaErrorCapturedEvent, cudaEventQuery(event)); /* afterwards too, until it is recorded again */
  assert_cuda(cudaErrorStreamCaptureIsolation, cudaStreamWaitEvent(other, event, 0));
  (void)cudaGetLastError();
  assert_fine(cudaEventRecord(event, stream));
  assert_fine(cudaEventQuery(event));
}

/* ---- what is refused ---- */

static void test_waiting(void **state) {
  (void)state;
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaStreamQuery(stream));
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize());
  begin();
  assert_fine(cudaSetDevice(1));
  assert_fine(cudaDeviceSynchronize()); /* nothing is captured on that one */
  assert_fine(cudaSetDevice(0));
  assert_fine(cudaStreamSynchronize(other));
  end_well(stream, 0);
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaStreamAddCallback(stream, called_back, NULL, 0));
  begin();
  lost_by(cudaErrorInvalidValue, cudaMemcpyAsync(memory, NULL, 16, cudaMemcpyHostToDevice, stream));
}

/* The legacy stream waits for blocking streams, and for no others. */
static void test_legacy(void **state) {
  (void)state;
  enum cudaStreamCaptureStatus status;
  int driver_status;
  unsigned char back[16] = {0};
  cudaGraph_t graph;
  begin();
  assert_int_equal(cudaStreamCaptureStatusNone, status_of(NULL));
  assert_fine(cudaMemsetAsync(memory, 9, 16, NULL)); /* is done now, and not by the graph */
  assert_fine(cudaMemcpy(back, memory, 16, cudaMemcpyDeviceToHost));
  assert_int_equal(9, back[0]);
  end_well(stream, 0);

  begin_on(blocking, cudaStreamCaptureModeRelaxed);
  assert_cuda(cudaErrorStreamCaptureImplicit, cudaStreamIsCapturing(NULL, &status));
  assert_int_equal(cudaErrorStreamCaptureImplicit, driver_capturing(NULL, &driver_status));
  assert_int_equal(cudaStreamCaptureStatusActive, status_of(blocking));
  assert_cuda(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(memory, 9, 16, NULL));
  end_lost(blocking, cudaErrorStreamCaptureInvalidated);
  begin_on(blocking, cudaStreamCaptureModeRelaxed);
  assert_cuda(cudaErrorStreamCaptureImplicit, cudaMemcpy(back, memory, 16, cudaMemcpyDeviceToHost));
  end_lost(blocking, cudaErrorStreamCaptureInvalidated);
  begin_on(cudaStreamPerThread, cudaStreamCaptureModeRelaxed);
  assert_cuda(cudaErrorStreamCaptureImplicit, cudaStreamSynchronize(cudaStreamLegacy));
  end_lost(cudaStreamPerThread, cudaErrorStreamCaptureInvalidated);

  assert_cuda(cudaErrorStreamCaptureUnsupported, cudaStreamBeginCapture(NULL, cudaStreamCaptureModeGlobal));
  assert_cuda(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
  begin();
  assert_cuda(cudaErrorIllegalState, cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  end_well(stream, 0);
  assert_cuda(cudaErrorInvalidValue, cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)3));
  (void)cudaGetLastError();
}

static void *allocate_there(void *out) {
  void *at = NULL;
  *(cudaError_t *)out = cudaMalloc(&at, 100);
  (void)cudaFree(at);
  return NULL;
}

static void *end_there(void *out) {
  cudaGraph_t graph;
  *(cudaError_t *)out = cudaStreamEndCapture(stream, &graph);
  return NULL;
}

static cudaError_t in_thread(void *(*function)(void *)) {
  pthread_t thread;
  cudaError_t code = cudaErrorUnknown;
  assert_int_equal(0, pthread_create(&thread, NULL, function, &code));
  assert_int_equal(0, pthread_join(thread, NULL));
  return code;
}

static void test_modes(void **state) {
  (void)state;
  static const struct {
    enum cudaStreamCaptureMode mode;
    cudaError_t here, there;
  } rows[] = {{cudaStreamCaptureModeGlobal, cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureUnsupported},
              {cudaStreamCaptureModeThreadLocal, cudaErrorStreamCaptureUnsupported, cudaSuccess},
              {cudaStreamCaptureModeRelaxed, cudaSuccess, cudaSuccess}};
  for (size_t i = 0; i < COUNT(rows); i++) {
    for (int there = 0; there < 2; there++) {
      const cudaError_t expected = there ? rows[i].there : rows[i].here;
      cudaError_t code = cudaErrorUnknown;
      begin_on(stream, rows[i].mode);
      if (there) code = in_thread(allocate_there);
      else (void)allocate_there(&code);
      assert_cuda(expected, code);
      if (expected == cudaSuccess) end_well(stream, 0);
      else end_lost(stream, cudaErrorStreamCaptureInvalidated);
    }
  }
  /* A thread may say for itself that it knows what it does. */
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaError_t code = cudaErrorUnknown;
  begin();
  assert_fine(cudaThreadExchangeStreamCaptureMode(&mode));
  assert_int_equal(cudaStreamCaptureModeGlobal, mode);
  (void)allocate_there(&code);
  assert_cuda(cudaSuccess, code);
  assert_fine(cudaThreadExchangeStreamCaptureMode(&mode));
  assert_cuda(cudaErrorStreamCaptureWrongThread, in_thread(end_there));
  end_well(stream, 0);
  begin_on(stream, cudaStreamCaptureModeRelaxed);
  assert_cuda(cudaSuccess, in_thread(end_there));
  assert_int_equal(cudaStreamCaptureStatusNone, status_of(stream));
}

static void test_unsafe(void **state) {
  (void)state;
  void *at = NULL;
  size_t pitch;
  static unsigned char pageable[BYTES];
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaMallocPitch(&at, &pitch, 10, 10));
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaMallocManaged(&at, 10, cudaMemAttachGlobal));
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaMallocHost(&at, 10));
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaHostRegister(pageable, sizeof pageable, 0));
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaFree(memory));
  assert_fine(cudaEventRecord(event, other));
  begin();
  lost_by(cudaErrorStreamCaptureUnsupported, cudaEventQuery(event));
  /* In the stream's order it is a part of the graph. */
  begin();
  assert_fine(cudaMallocAsync(&at, 100, stream));
  assert_fine(cudaFreeAsync(at, stream));
  end_well(stream, 2);
}

/* ---- the rest ---- */

static void test_log(void **state) {
  (void)state;
  cudaGraph_t graph;
  api->log_begin();
  begin();
  assert_fine(cudaMemsetAsync(memory, 1, 16, stream));
  assert_fine(cudaMemsetAsync(memory, 1, 16, other));
  assert_fine(cudaMemsetAsync(memory, 1, 16, NULL));
  assert_fine(cudaStreamEndCapture(stream, &graph));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(5, log.count);
  assert_string_equal("cudaStreamBeginCapture", log.calls[0].function);
  assert_int_equal(number(stream), log.calls[0].stream);
  assert_int_equal(cudaStreamCaptureModeGlobal, log.calls[0].value);
  assert_true(log.calls[1].captured);
  assert_false(log.calls[2].captured);
  assert_false(log.calls[3].captured);
  assert_string_equal("cudaStreamEndCapture", log.calls[4].function);
  assert_fine(cudaGraphDestroy(graph));
}

static void test_stream_destroyed(void **state) {
  (void)state;
  cudaStream_t gone;
  assert_fine(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking));
  begin_on(gone, cudaStreamCaptureModeGlobal);
  assert_fine(cudaStreamDestroy(gone));
  assert_fine(cudaDeviceSynchronize());
}

static int make(void **state) {
  (void)state;
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
         cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) != cudaSuccess ||
         cudaStreamCreate(&blocking) != cudaSuccess || cudaEventCreate(&event) != cudaSuccess ||
         cudaEventCreate(&second) != cudaSuccess || cudaMalloc((void **)&memory, BYTES) != cudaSuccess ||
         cudaMallocHost((void **)&pinned, BYTES) != cudaSuccess;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_replay),        cmocka_unit_test(test_nodes),
                                     cmocka_unit_test(test_fork_and_join), cmocka_unit_test(test_edges_across),
                                     cmocka_unit_test(test_waiting),       cmocka_unit_test(test_legacy),
                                     cmocka_unit_test(test_modes),         cmocka_unit_test(test_unsafe),
                                     cmocka_unit_test(test_log),           cmocka_unit_test(test_stream_destroyed)};
  api = opc_launch();
  if (!api) return 1; /* the wrappers are not preloaded */
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver) *(void **)&driver_capturing = dlsym(driver, "cuStreamIsCapturing");
  if (!driver_capturing) return 1;
  return cmocka_run_group_tests(tests, make, NULL);
}
