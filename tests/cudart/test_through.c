/* Pass-through: each call goes to the runtime that is there, here one of the test's own (fake_cudart.c), and is
 * recorded. What it costs is said, and has a bound. */
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

#include "sim_test.h"

static const opc_launch_api_t *api;
extern unsigned launched[8]; /* fake_cudart.c */

static void test_forwarded(void **state) {
  (void)state;
  int count = 0;
  void *memory = NULL, *stream = NULL;
  char from[4] = "abc", to[4] = "";
  assert_int_equal(OPC_LAUNCH_THROUGH, api->mode);
  assert_fine(cudaGetDeviceCount(&count));
  assert_int_equal(4, count);
  assert_int_equal(4, api->device_count());
  assert_fine(cudaSetDevice(2));
  assert_int_equal(2, api->current_device());
  api->log_begin();
  assert_fine(cudaMalloc(&memory, 100));
  assert_fine(cudaStreamCreate((cudaStream_t *)&stream));
  assert_fine(cudaMemcpyAsync(memory, from, sizeof from, cudaMemcpyHostToDevice, stream));
  assert_fine(cudaMemcpyAsync(to, (char *)memory, sizeof to, cudaMemcpyDeviceToHost, NULL));
  assert_string_equal("abc", to);
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(4, log.count);
  const opc_cuda_call_t *copy = logged(&log, OPC_CUDA_COPY, 0);
  assert_int_equal(OPC_CUDA_DEVICE, copy->to.place);
  assert_int_equal(2, copy->to.device);
  assert_int_equal(OPC_CUDA_PAGEABLE, copy->from.place);
  assert_int_equal(OPC_CUDA_STREAM_CREATED, copy->stream_kind);
  assert_int_equal(2, copy->stream_device);
  assert_non_null(strstr(copy->library, "test_cudart_through"));
  opc_cuda_allocation_t alive[4];
  assert_int_equal(1, api->allocations(alive, COUNT(alive)));
  assert_int_equal(number(memory), alive[0].at.value);
  assert_fine(cudaFree(memory));
  assert_int_equal(0, api->allocations(alive, COUNT(alive)));
  assert_fine(cudaStreamDestroy(stream));
  assert_non_null(api->real("cudaMalloc"));
  assert_ptr_not_equal((void *)(uintptr_t)cudaMalloc, api->real("cudaMalloc"));
}

static void test_launches(void **state) {
  (void)state;
  static const char kernel;
  const dim3 grid = {1, 2, 3}, block = {4, 5, 6}, large = {2048, 1, 1};
  assert_fine(cudaLaunchKernel(&kernel, grid, block, NULL, 7, NULL));
  for (unsigned i = 0; i < 7; i++) assert_int_equal(i + 1, launched[i]);
  assert_int_equal(1, launched[7]);
  assert_cuda(cudaErrorInvalidConfiguration, cudaLaunchKernel(&kernel, grid, large, NULL, 7, NULL));
  assert_cuda(cudaErrorInvalidConfiguration, cudaGetLastError());
  /* One that is to fail does not reach it; the error stays until it is asked for. */
  api->fail_launch(1, cudaErrorLaunchOutOfResources);
  api->log_begin();
  assert_cuda(cudaErrorLaunchOutOfResources, cudaLaunchKernel(&kernel, grid, block, NULL, 7, NULL));
  const opc_cuda_log_t log = api->log_end();
  assert_true(logged(&log, OPC_CUDA_LAUNCH, 0)->injected);
  assert_false(logged(&log, OPC_CUDA_LAUNCH, 0)->parameters_known);
  assert_int_equal(2, launched[7]);
  assert_true(api->launch_failed());
  assert_fine(cudaSetDevice(0));
  assert_cuda(cudaErrorLaunchOutOfResources, cudaPeekAtLastError());
  assert_cuda(cudaErrorLaunchOutOfResources, cudaGetLastError());
  assert_cuda(cudaSuccess, cudaGetLastError());
  assert_fine(cudaLaunchKernel(&kernel, grid, block, NULL, 7, NULL));
}

static void test_stubs(void **state) {
  (void)state;
  cudaGraphNode_t node;
  cudaIpcMemHandle_t handle;
  const int code = (int)cudaGraphAddMemcpyNode1D(&node, NULL, NULL, 3, NULL, &node, 5, cudaMemcpyDefault);
  assert_int_equal(3 * 100 + 5 * 10 + cudaMemcpyDefault + 1, code);
  /* What this runtime does not have. */
  assert_cuda(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, NULL));
  assert_cuda(cudaErrorNotSupported, cudaMemset(NULL, 0, 1));
}

/* The real CUPTI, where the test is given it: it is not asked without a driver. */
static const char *cupti;
static void test_no_driver(void **state) {
  (void)state;
  if (dlopen("libcuda.so.1", RTLD_LAZY)) skip();
  if (cupti) assert_non_null(dlopen(cupti, RTLD_LAZY));
  const char *why = api->watch_untracked(NULL);
  assert_true(strcmp(why, "there is no CUDA driver (libcuda.so.1)") == 0 ||
              (!cupti && strstr(why, "is not there: install nvidia-cuda-cupti")) ||
              (CUDART_VERSION < 13000 && strstr(why, "from CUDA 13 on")));
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return (double)at.tv_sec * 1e9 + (double)at.tv_nsec;
}

typedef int copy_t(void *, const void *, size_t, int, void *);

static double copy_cost(copy_t *copy, int calls) {
  char from[8] = "", to[8];
  const double began = now();
  for (int i = 0; i < calls; i++) (void)copy(to, from, sizeof to, cudaMemcpyHostToHost, NULL);
  return (now() - began) / calls;
}

static void test_cost(void **state) {
  (void)state;
  enum { CALLS = 20000 };
  static const double most = 1000; /* the bound */
  copy_t *wrapped, *plain;
  cudaError_t (*covered)(void *, const void *, size_t, enum cudaMemcpyKind, cudaStream_t) = cudaMemcpyAsync;
  memcpy(&wrapped, &covered, sizeof wrapped);
  *(void **)&plain = api->real("cudaMemcpyAsync");
  const double bare = copy_cost(plain, CALLS), quiet = copy_cost(wrapped, CALLS);
  double noted = 0;
  for (int round = 0; round < 2; round++) { /* the first one gets the log's memory from the system */
    api->log_begin();
    noted = copy_cost(wrapped, CALLS);
    assert_int_equal(CALLS, api->log_end().count);
  }
  printf("cudaMemcpyAsync: %.0f ns, wrapped %.0f ns, in the log %.0f ns\n", bare, quiet, noted);
  assert_true(quiet - bare < most);
  assert_true(noted - bare < most);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forwarded), cmocka_unit_test(test_launches),
                                     cmocka_unit_test(test_stubs), cmocka_unit_test(test_cost),
                                     cmocka_unit_test(test_no_driver)};
  api = opc_launch();
  cupti = argc > 1 ? argv[1] : NULL;
  if (!api) return 1; /* the wrappers are not preloaded */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
