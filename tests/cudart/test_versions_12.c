/* Functions of CUDA 12's runtime that exist in several versions: all of them work on the simulated device, with the
 * parameters and structures that the header of CUDA 12 gives them. */
#include <dlfcn.h>

#include "sim_test.h"

/* The header has this only as another name of cudaStreamGetCaptureInfo_v2. */
typedef cudaError_t first_capture_info_t(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *);

static void test_properties(void **state) {
  (void)state;
  struct {
    struct cudaDeviceProp is;
    unsigned char beyond[64];
  } got;
  memset(&got, 0x5a, sizeof got);
  assert_fine(cudaGetDeviceProperties(&got.is, 1));
  assert_int_equal(9, got.is.major);
  assert_int_equal(1024, got.is.maxThreadsPerBlock);
  assert_true(got.is.clockRate > 0 && got.is.memoryClockRate > 0);
  assert_int_equal(2, got.is.pciBusID);
  for (size_t i = 0; i < sizeof got.beyond; i++) assert_int_equal(0x5a, got.beyond[i]);
}

static void test_pointer_attributes(void **state) {
  (void)state;
  struct {
    struct cudaPointerAttributes is;
    unsigned char beyond[64];
  } got;
  void *memory = NULL;
  assert_int_equal(24, sizeof got.is); /* CUDA 13 added 64 bytes */
  assert_fine(cudaMalloc(&memory, 64));
  memset(&got, 0x5a, sizeof got);
  assert_fine(cudaPointerGetAttributes(&got.is, memory));
  assert_int_equal(cudaMemoryTypeDevice, got.is.type);
  assert_ptr_equal(memory, got.is.devicePointer);
  for (size_t i = 0; i < sizeof got.beyond; i++) assert_int_equal(0x5a, got.beyond[i]);
  assert_fine(cudaFree(memory));
}

static void test_capture_info(void **state) {
  (void)state;
  first_capture_info_t *first;
  cudaStream_t stream;
  enum cudaStreamCaptureStatus status;
  unsigned long long ids[3] = {0};
  cudaGraph_t graphs[3] = {0};
  const cudaGraphNode_t *nodes = NULL;
  const cudaGraphEdgeData *edges = NULL;
  size_t count = 0;
  void *memory = NULL;
  *(void **)&first = dlsym(RTLD_DEFAULT, "cudaStreamGetCaptureInfo");
  assert_non_null(first);
  assert_fine(cudaMalloc(&memory, 64));
  assert_fine(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  assert_fine(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  assert_fine(cudaMemsetAsync(memory, 1, 64, stream));
  assert_fine(first(stream, &status, &ids[0]));
  assert_int_equal(cudaStreamCaptureStatusActive, status);
  assert_fine(cudaStreamGetCaptureInfo(stream, &status, &ids[1], &graphs[1], &nodes, &count));
  assert_int_equal(1, count);
  assert_fine(cudaStreamGetCaptureInfo_v3(stream, &status, &ids[2], &graphs[2], &nodes, &edges, &count));
  assert_true(ids[0] != 0 && ids[0] == ids[1] && ids[1] == ids[2] && nodes && edges);
  assert_fine(cudaStreamEndCapture(stream, &graphs[0]));
  assert_true(graphs[0] == graphs[1] && graphs[1] == graphs[2]);

  cudaGraphNode_t node, before[1];
  cudaGraphEdgeData edge[1];
  count = 1;
  assert_fine(cudaGraphGetNodes(graphs[0], &node, &count));
  assert_fine(cudaGraphNodeGetDependencies(node, before, &count));
  assert_int_equal(0, count);
  count = 1;
  assert_fine(cudaGraphNodeGetDependencies_v2(node, before, edge, &count));
  assert_int_equal(0, count);
  assert_fine(cudaGraphDestroy(graphs[0]));
  assert_fine(cudaStreamDestroy(stream));
  assert_fine(cudaFree(memory));
}

static void test_managed_memory(void **state) {
  (void)state;
  const struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice, .id = 0};
  void *managed = NULL, *memory = NULL;
  assert_fine(cudaMallocManaged(&managed, 64, cudaMemAttachGlobal));
  assert_fine(cudaMalloc(&memory, 64));
  assert_fine(cudaMemAdvise(managed, 64, cudaMemAdviseSetReadMostly, 0));
  assert_fine(cudaMemAdvise_v2(managed, 64, cudaMemAdviseSetReadMostly, device));
  assert_fine(cudaMemPrefetchAsync(managed, 64, 0, NULL));
  assert_fine(cudaMemPrefetchAsync_v2(managed, 64, device, 0, NULL));
  assert_cuda(cudaErrorInvalidValue, cudaMemAdvise(memory, 64, cudaMemAdviseSetReadMostly, 0));
  (void)cudaGetLastError();
  assert_fine(cudaFree(managed));
  assert_fine(cudaFree(memory));
}

static void test_deprecated(void **state) {
  (void)state;
  const opc_launch_api_t *api = opc_launch();
  cudaEvent_t events[2];
  float milliseconds = -1;
  size_t limit = 0;
  /* Of CUDA 12.8: the runtime that this test is linked against may be older. */
  cudaError_t (*elapsed)(float *, cudaEvent_t, cudaEvent_t) = NULL;
  *(void **)&elapsed = dlsym(RTLD_DEFAULT, "cudaEventElapsedTime_v2");
  assert_non_null(elapsed);
  assert_non_null(api);
  api->log_begin();
  assert_fine(cudaThreadSynchronize());
  const opc_cuda_log_t log = api->log_end();
  const opc_cuda_call_t *call = logged(&log, OPC_CUDA_DEVICE_SYNCHRONIZE, 0);
  assert_true(call->synchronous);
  assert_fine(cudaThreadGetLimit(&limit, cudaLimitStackSize));
  assert_int_equal(1024, limit);
  for (size_t i = 0; i < COUNT(events); i++) {
    assert_fine(cudaEventCreate(&events[i]));
    assert_fine(cudaEventRecord(events[i], NULL));
  }
  assert_fine(elapsed(&milliseconds, events[0], events[1]));
  assert_true(milliseconds >= 0);
  for (size_t i = 0; i < COUNT(events); i++) assert_fine(cudaEventDestroy(events[i]));
}

/* What nvcc's stubs call for a <<<…>>>, in the order in which they do. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
static char kernel; /* nobody registered it, so that each launch fails */
static void stub(void) {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
  assert_fine(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
  (void)cudaLaunchKernel(&kernel, grid, block, NULL, shared, stream);
}

static void test_stubs(void **state) {
  (void)state;
  const opc_launch_api_t *api = opc_launch();
  const dim3 one = {1, 1, 1};
  for (int logged_first = 0; logged_first < 2; logged_first++) {
    if (logged_first) api->log_begin();
    assert_int_equal(0, __cudaPushCallConfiguration(one, one, 0, NULL));
    stub();
    if (!logged_first) api->log_begin();
    (void)cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL);
    const opc_cuda_log_t log = api->log_end();
    (void)cudaGetLastError();
    if (logged_first) assert_true(logged(&log, OPC_CUDA_LAUNCH, 0)->by_stub);
    assert_false(logged(&log, OPC_CUDA_LAUNCH, (size_t)logged_first)->by_stub);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_properties),   cmocka_unit_test(test_pointer_attributes),
      cmocka_unit_test(test_capture_info), cmocka_unit_test(test_managed_memory),
      cmocka_unit_test(test_deprecated),   cmocka_unit_test(test_stubs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
