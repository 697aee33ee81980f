/* The simulated device, as a program in C sees it. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim_test.h"

enum { BYTES = 1 << 20 };
static const opc_launch_api_t *api;

/* ---- devices ---- */

static void test_devices(void **state) {
  (void)state;
  struct cudaDeviceProp properties;
  opc_cuda_limits_t limits;
  int count = 0, device = -1, value = 0;
  assert_fine(cudaGetDeviceCount(&count));
  assert_int_equal(2, count);
  assert_fine(cudaSetDevice(1));
  assert_fine(cudaGetDevice(&device));
  assert_int_equal(1, device);
  assert_int_equal(1, api->current_device());
  assert_cuda(cudaErrorInvalidDevice, cudaSetDevice(2));
  assert_cuda(cudaErrorInvalidDevice, cudaGetLastError());
  assert_int_equal(1, api->current_device());
  assert_fine(cudaSetDevice(0));
  assert_fine(cudaGetDeviceProperties(&properties, 1));
  assert_int_equal(8, properties.major); /* sm_86, said by CMakeLists.txt */
  assert_int_equal(6, properties.minor);
  assert_int_equal(99 << 10, properties.sharedMemPerBlockOptin);
  assert_fine(cudaDeviceGetAttribute(&value, cudaDevAttrMaxGridDimY, 0));
  assert_int_equal(65535, value);
  assert_true(api->limits(0, &limits));
  assert_string_equal("sm_86", limits.architecture);
  assert_int_equal(2147483647, limits.grid[0]);
  assert_false(api->limits(2, &limits));
  assert_fine(cudaDeviceCanAccessPeer(&value, 0, 1));
  assert_int_equal(1, value);
  assert_fine(cudaDeviceEnablePeerAccess(1, 0));
  assert_cuda(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
  assert_cuda(cudaErrorPeerAccessAlreadyEnabled, cudaGetLastError());
}

/* ---- errors ---- */

static void *other_thread(void *out) {
  *(cudaError_t *)out = cudaPeekAtLastError();
  return NULL;
}

static void test_last_error(void **state) {
  (void)state;
  pthread_t thread;
  cudaError_t elsewhere = cudaErrorUnknown;
  assert_cuda(cudaErrorInvalidDevice, cudaSetDevice(-1));
  assert_fine(cudaSetDevice(0)); /* a success does not clear it */
  assert_cuda(cudaErrorInvalidDevice, cudaPeekAtLastError());
  assert_cuda(cudaErrorInvalidDevice, cudaPeekAtLastError());
  assert_int_equal(0, pthread_create(&thread, NULL, other_thread, &elsewhere));
  assert_int_equal(0, pthread_join(thread, NULL));
  assert_int_equal(cudaSuccess, elsewhere);
  assert_cuda(cudaErrorInvalidDevice, cudaGetLastError());
  assert_cuda(cudaSuccess, cudaGetLastError());
  assert_string_equal("cudaErrorInvalidConfiguration", cudaGetErrorName(cudaErrorInvalidConfiguration));
  assert_string_equal("invalid configuration argument", cudaGetErrorString(cudaErrorInvalidConfiguration));
  assert_string_equal("unrecognized error code", cudaGetErrorName((cudaError_t)1234));
}

static void test_not_covered(void **state) {
  (void)state;
  cudaIpcMemHandle_t handle;
  cudaGraph_t graph;
  cudaStream_t stream;
  assert_fine(cudaStreamCreate(&stream));
  api->log_begin();
  assert_cuda(cudaErrorNotSupported, cudaIpcGetMemHandle(&handle, NULL));
  assert_cuda(cudaErrorNotSupported,
              cudaStreamBeginCaptureToGraph(stream, NULL, NULL, NULL, 0, cudaStreamCaptureModeGlobal));
  assert_cuda(cudaErrorNotSupported, cudaGraphCreate(&graph, 0));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(3, log.count);
  assert_string_equal("cudaIpcGetMemHandle", logged(&log, OPC_CUDA_UNCOVERED, 0)->function);
  assert_string_equal("cudaStreamBeginCaptureToGraph", logged(&log, OPC_CUDA_UNCOVERED, 1)->function);
  assert_string_equal("cudaGraphCreate", logged(&log, OPC_CUDA_UNCOVERED, 2)->function);
  assert_non_null(strstr(log.calls[0].library, "test_cudart_simulated"));
  assert_cuda(cudaErrorNotSupported, cudaGetLastError());
  assert_fine(cudaStreamDestroy(stream));
}

/* ATen loads libcuda.so.1 by its name. */
static void test_driver(void **state) {
  (void)state;
  int (*count_devices)(int *), (*link_create)(unsigned, int *, void **, void **), count = 0;
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;
  enum cudaDriverEntryPointQueryResult status;
  cudaError_t (*entry_point)(const char *, void **, unsigned, unsigned long long,
                             enum cudaDriverEntryPointQueryResult *) = NULL;
  assert_non_null(library);
  *(void **)&count_devices = dlsym(library, "cuDeviceGetCount");
  *(void **)&link_create = dlsym(library, "cuLinkCreate_v2");
  assert_int_equal(0, count_devices(&count));
  assert_int_equal(2, count);
  api->log_begin();
  assert_int_equal(cudaErrorNotSupported, link_create(0, NULL, NULL, NULL));
  const opc_cuda_log_t log = api->log_end();
  assert_string_equal("cuLinkCreate_v2", logged(&log, OPC_CUDA_UNCOVERED, 0)->function);
  assert_non_null(strstr(log.calls[0].library, "test_cudart_simulated"));
  /* Runtimes before 12.5 have no such function; the simulated one does. */
  *(void **)&entry_point = dlsym(RTLD_DEFAULT, "cudaGetDriverEntryPointByVersion");
  assert_non_null(entry_point);
  assert_fine(entry_point("cuDeviceGetCount", &found, CUDART_VERSION, cudaEnableDefault, &status));
  assert_int_equal(cudaDriverEntryPointSuccess, status);
  assert_ptr_equal(*(void **)&count_devices, found);
}

/* Modules of the driver: what Triton's code launches its kernels with. The images are those of the unit tests; the
 * device is sm_86. */
typedef int module_load_t(void **, const char *);
typedef int module_unload_t(void *);
typedef int module_function_t(void **, void *, const char *);
typedef int launch_kernel_t(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t,
                            void **, void **);
typedef int function_get_t(int *, int, void *);
static module_load_t *module_load;
static module_unload_t *module_unload;
static module_function_t *module_function;
static launch_kernel_t *launch_kernel;
static function_get_t *function_get;

/* CUlaunchConfig, from cuda.h. */
typedef struct config {
  unsigned grid[3], block[3], shared;
  cudaStream_t stream;
  void *attributes;
  unsigned count;
} config_t;
typedef int launch_config_t(const config_t *, void *, void **, void **);
typedef int pointer_attribute_t(void *, int, uint64_t);
static launch_config_t *launch_config;
static pointer_attribute_t *pointer_attribute;

static int launch(void *function, unsigned threads, void **parameters) {
  return launch_kernel(function, 3, 2, 1, threads, 1, 1, 0, NULL, parameters, NULL);
}

static void find_modules(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  *(void **)&module_load = dlsym(library, "cuModuleLoad");
  *(void **)&module_unload = dlsym(library, "cuModuleUnload");
  *(void **)&module_function = dlsym(library, "cuModuleGetFunction");
  *(void **)&launch_kernel = dlsym(library, "cuLaunchKernel");
  *(void **)&launch_config = dlsym(library, "cuLaunchKernelEx");
  *(void **)&pointer_attribute = dlsym(library, "cuPointerGetAttribute");
  *(void **)&function_get = dlsym(library, "cuFuncGetAttribute");
}

static void test_modules(void **state) {
  (void)state;
  enum {
    INVALID_VALUE = 1,
    INVALID_IMAGE = 200,
    NO_BINARY = 209,
    FILE_NOT_FOUND = 301,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    MAX_THREADS = 0
  };
  void *module = NULL, *plain = NULL, *bounded = NULL, *none = NULL, *device = NULL;
  int count = 7, threads = 0;
  double factor = 2;
  find_modules();
  assert_fine(cudaMalloc(&device, BYTES));
  assert_int_equal(0, module_load(&module, OPC_TEST_KERNELS "/lz4.fatbin"));
  assert_int_equal(0, module_function(&plain, module, "plain"));
  assert_int_equal(0, module_function(&bounded, module, "bounded"));
  assert_int_equal(NOT_FOUND, module_function(&none, module, "absent"));
  assert_int_equal(0, function_get(&threads, MAX_THREADS, bounded));
  assert_int_equal(128, threads);

  api->log_begin();
  void *parameters[] = {&device, &device, &count, &factor};
  assert_int_equal(0, launch(plain, 256, parameters));
  assert_int_equal(INVALID_VALUE, launch(plain, 2048, parameters));
  assert_int_equal(INVALID_VALUE, launch(bounded, 256, parameters));
  api->fail_launch(1, cudaErrorLaunchOutOfResources);
  assert_int_equal(cudaErrorLaunchOutOfResources, launch(plain, 256, parameters));
  const opc_cuda_log_t log = api->log_end();
  assert_fine(cudaGetLastError()); /* the driver leaves it alone */
  const opc_cuda_call_t *first = logged(&log, OPC_CUDA_LAUNCH, 0);
  assert_string_equal("cuLaunchKernel", first->function);
  assert_string_equal("plain", first->kernel);
  assert_non_null(strstr(first->library, "test_cudart_simulated"));
  assert_non_null(strstr(first->kernel_library, "test_cudart_simulated"));
  assert_int_equal(3, first->grid[0]);
  assert_int_equal(256, first->block[0]);
  assert_true(first->parameters_known);
  assert_int_equal(2, first->pointer_count);
  assert_int_equal(number(device), first->pointers[0].value);
  assert_int_equal(cudaErrorInvalidConfiguration, logged(&log, OPC_CUDA_LAUNCH, 1)->code);
  assert_true(logged(&log, OPC_CUDA_LAUNCH, 3)->injected);

  api->log_begin();
  assert_int_equal(0, launch_config(&(config_t){.grid = {5, 1, 1}, .block = {64, 1, 1}}, plain, parameters, NULL));
  const opc_cuda_log_t configured = api->log_end();
  assert_string_equal("cuLaunchKernelEx", logged(&configured, OPC_CUDA_LAUNCH, 0)->function);
  assert_int_equal(5, logged(&configured, OPC_CUDA_LAUNCH, 0)->grid[0]);
  uint64_t address = 0;
  assert_int_equal(0, pointer_attribute(&address, 3 /* CU_POINTER_ATTRIBUTE_DEVICE_POINTER */, number(device)));
  assert_int_equal(number(device), address);
  assert_int_equal(INVALID_VALUE, pointer_attribute(&address, 3, number(&count)));

  assert_int_equal(0, module_unload(module));
  assert_int_equal(INVALID_HANDLE, launch(plain, 256, parameters));
  assert_int_equal(INVALID_HANDLE, module_unload(module));
  assert_int_equal(INVALID_HANDLE, module_function(&none, module, "plain"));
  assert_int_equal(NO_BINARY, module_load(&module, OPC_TEST_KERNELS "/default.fatbin"));
  assert_int_equal(INVALID_IMAGE, module_load(&module, OPC_TEST_KERNELS "/kernels.cu"));
  assert_int_equal(INVALID_IMAGE, module_load(&module, "/dev/null"));
  assert_int_equal(FILE_NOT_FOUND, module_load(&module, OPC_TEST_KERNELS "/absent.cubin"));
  assert_int_equal(0, module_load(&module, OPC_TEST_KERNELS "/ptx.fatbin"));
  assert_int_equal(0, module_unload(module));
  assert_fine(cudaFree(device));
}

/* A number of bytes may look like an address in memory that is only reserved; no pointer for a kernel lies there. */
static void test_reserved(void **state) {
  (void)state;
  void *module = NULL, *plain = NULL, *device = NULL;
  int count = 7;
  double factor = 2;
  find_modules();
  void *pages = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(MAP_FAILED, pages);
  void *parameters[] = {&device, &pages, &count, &factor};
  assert_fine(cudaMalloc(&device, BYTES));
  assert_int_equal(0, module_load(&module, OPC_TEST_KERNELS "/lz4.fatbin"));
  assert_int_equal(0, module_function(&plain, module, "plain"));
  api->log_begin();
  assert_int_equal(0, launch(plain, 256, parameters));
  assert_int_equal(0, mprotect(pages, 8192, PROT_READ));
  assert_int_equal(0, launch(plain, 256, parameters));
  assert_int_equal(0, munmap(pages, 8192));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(1, logged(&log, OPC_CUDA_LAUNCH, 0)->pointer_count);
  assert_int_equal(2, logged(&log, OPC_CUDA_LAUNCH, 1)->pointer_count);
  assert_int_equal(OPC_CUDA_PAGEABLE, logged(&log, OPC_CUDA_LAUNCH, 1)->pointers[1].place);
  assert_int_equal(0, module_unload(module));
  assert_fine(cudaFree(device));
}

/* ---- cuBLAS and cuFFT ---- */

enum {
  BLAS_NOT_INITIALIZED = 1,
  BLAS_EXECUTION_FAILED = 13,
  BLAS_NOT_SUPPORTED = 15,
  FFT_INVALID_PLAN = 1,
  POINTER_MODE_DEVICE = 1
};

typedef int call_handle_t(void *handle);
typedef int create_t(void **out);
typedef int set_stream_t(void *handle, cudaStream_t stream);
typedef int set_mode_t(void *handle, int mode);

/* As a library finds it that links cuBLAS. */
#define FIND(function, name)                         \
  do {                                               \
    *(void **)&function = dlsym(RTLD_DEFAULT, name); \
    assert_non_null(function);                       \
  } while (0)

static void test_blas(void **state) {
  (void)state;
  create_t *create;
  call_handle_t *gemm, *gemm_64, *dot, *factorise, *destroy;
  set_stream_t *set_stream;
  set_mode_t *set_mode;
  void *handle = NULL;
  cudaStream_t stream, gone;
  FIND(create, "cublasCreate_v2");
  FIND(gemm, "cublasDgemm_v2");
  FIND(gemm_64, "cublasDgemm_v2_64");
  FIND(dot, "cublasSdot_v2");
  FIND(factorise, "cublasSgetrfBatched");
  FIND(set_stream, "cublasSetStream_v2");
  FIND(set_mode, "cublasSetPointerMode_v2");
  FIND(destroy, "cublasDestroy_v2");
  assert_fine(cudaStreamCreate(&stream));
  assert_fine(cudaStreamCreate(&gone));
  assert_fine(cudaStreamDestroy(gone));
  assert_int_equal(BLAS_NOT_INITIALIZED, gemm(NULL));
  assert_int_equal(0, create(&handle));
  api->log_begin();
  assert_int_equal(0, gemm(handle)); /* no stream was set */
  assert_int_equal(0, set_stream(handle, stream));
  assert_int_equal(0, gemm_64(handle));
  assert_int_equal(BLAS_NOT_SUPPORTED, dot(handle)); /* the host waits for a number, which nobody computes */
  assert_int_equal(0, set_mode(handle, POINTER_MODE_DEVICE));
  assert_int_equal(0, dot(handle));
  assert_true(factorise(handle) != 0);
  assert_int_equal(0, set_stream(handle, gone));
  assert_int_equal(BLAS_EXECUTION_FAILED, gemm(handle));
  assert_int_equal(0, set_stream(handle, stream));
  assert_fine(cudaSetDevice(1));
  assert_int_equal(BLAS_EXECUTION_FAILED, gemm(handle)); /* the stream is the other device's */
  assert_fine(cudaSetDevice(0));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(OPC_CUDA_STREAM_LEGACY, logged(&log, OPC_CUDA_LIBRARY_WORK, 0)->stream_kind);
  assert_string_equal("cublasDgemm_v2_64", logged(&log, OPC_CUDA_LIBRARY_WORK, 1)->function);
  assert_int_equal((uintptr_t)stream, logged(&log, OPC_CUDA_LIBRARY_WORK, 1)->stream);
  assert_non_null(strstr(logged(&log, OPC_CUDA_LIBRARY_WORK, 1)->library, "test_cudart_simulated"));
  assert_string_equal("cublasSdot_v2", logged(&log, OPC_CUDA_UNCOVERED, 0)->function);
  assert_string_equal("cublasSdot_v2", logged(&log, OPC_CUDA_LIBRARY_WORK, 2)->function);
  assert_string_equal("cublasSgetrfBatched", logged(&log, OPC_CUDA_UNCOVERED, 1)->function);
  assert_int_equal(cudaErrorInvalidResourceHandle, logged(&log, OPC_CUDA_LIBRARY_WORK, 3)->code);
  assert_int_equal(cudaErrorInvalidResourceHandle, logged(&log, OPC_CUDA_LIBRARY_WORK, 4)->code);
  assert_fine(cudaGetLastError()); /* it is another runtime's error */
  assert_int_equal(0, destroy(handle));
  assert_fine(cudaStreamDestroy(stream));
}

/* A product in a capture is a node of its graph. */
static void test_blas_captured(void **state) {
  (void)state;
  create_t *create;
  call_handle_t *gemm, *destroy;
  set_stream_t *set_stream;
  void *handle = NULL;
  cudaStream_t stream;
  cudaGraph_t graph;
  size_t nodes = 0;
  FIND(create, "cublasCreate_v2");
  FIND(gemm, "cublasDgemm_v2");
  FIND(set_stream, "cublasSetStream_v2");
  FIND(destroy, "cublasDestroy_v2");
  assert_int_equal(0, create(&handle));
  assert_fine(cudaStreamCreate(&stream));
  assert_int_equal(0, set_stream(handle, stream));
  assert_fine(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  assert_int_equal(0, gemm(handle));
  assert_fine(cudaStreamEndCapture(stream, &graph));
  assert_fine(cudaGraphGetNodes(graph, NULL, &nodes));
  assert_int_equal(1, nodes);
  assert_fine(cudaGraphDestroy(graph));
  assert_fine(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  assert_int_equal(0, set_stream(handle, NULL));
  assert_int_equal(BLAS_EXECUTION_FAILED,
                   gemm(handle)); /* the legacy stream waits for the others, which a capture forbids */
  assert_cuda(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  (void)cudaGetLastError();
  assert_int_equal(0, destroy(handle));
  assert_fine(cudaStreamDestroy(stream));
}

static void test_fft(void **state) {
  (void)state;
  int (*create)(int *), (*make)(int, int, int, int, size_t *), (*exec)(int, void *, void *, int), (*destroy)(int),
      plan = 0;
  size_t bytes = 77;
  FIND(create, "cufftCreate");
  FIND(make, "cufftMakePlan1d");
  FIND(exec, "cufftExecC2C");
  FIND(destroy, "cufftDestroy");
  assert_int_equal(0, create(&plan));
  assert_int_equal(0, make(plan, 8, 0x29, 1, &bytes));
  assert_int_equal(0, bytes);
  api->log_begin();
  assert_int_equal(0, exec(plan, NULL, NULL, -1));
  const opc_cuda_log_t log = api->log_end();
  assert_string_equal("cufftExecC2C", logged(&log, OPC_CUDA_LIBRARY_WORK, 0)->function);
  assert_int_equal(0, destroy(plan));
  assert_int_equal(FFT_INVALID_PLAN, exec(plan, NULL, NULL, -1));
  assert_int_equal(FFT_INVALID_PLAN, destroy(plan));
}

/* ---- memory ---- */

static void test_contents(void **state) {
  (void)state;
  unsigned char *device = NULL, *second = NULL, *host = malloc(BYTES), *back = malloc(BYTES);
  for (int i = 0; i < BYTES; i++) host[i] = (unsigned char)(i * 7);
  assert_fine(cudaMalloc((void **)&device, BYTES));
  assert_fine(cudaSetDevice(1));
  assert_fine(cudaMalloc((void **)&second, BYTES));
  assert_fine(cudaSetDevice(0));
  assert_int_equal(0, number(device) % 512);
  assert_fine(cudaMemcpy(device, host, BYTES, cudaMemcpyHostToDevice));
  assert_fine(cudaMemcpyPeer(second, 1, device, 0, BYTES));
  assert_fine(cudaMemcpy(back, second, BYTES, cudaMemcpyDefault));
  assert_memory_equal(host, back, BYTES);
  assert_fine(cudaMemset(device + 3, 0x5a, 10000));
  assert_fine(cudaMemcpy2D(back, 100, device, 1000, 10, 4, cudaMemcpyDeviceToHost));
  assert_int_equal(host[2], back[2]);
  assert_int_equal(0x5a, back[3]);
  assert_int_equal(0x5a, back[309]);
  assert_fine(cudaMemset(device, 0, BYTES));
  assert_fine(cudaMemcpy(back, device, BYTES, cudaMemcpyDeviceToHost));
  for (int i = 0; i < BYTES; i++) assert_int_equal(0, back[i]);
  /* What CUDA refuses. */
  assert_cuda(cudaErrorInvalidValue, cudaMemcpy(device, host, BYTES + 1, cudaMemcpyHostToDevice));
  assert_cuda(cudaErrorInvalidValue, cudaMemcpy(host, back, 10, cudaMemcpyHostToDevice));
  assert_cuda(cudaErrorInvalidValue, cudaMemcpy(device, second, 10, cudaMemcpyDeviceToHost));
  assert_cuda(cudaErrorInvalidValue, cudaMemcpy(device, NULL, 10, cudaMemcpyHostToDevice));
  assert_cuda(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 10, (enum cudaMemcpyKind)9));
  assert_cuda(cudaErrorInvalidPitchValue, cudaMemcpy2D(back, 5, device, 1000, 10, 4, cudaMemcpyDeviceToHost));
  assert_cuda(cudaErrorInvalidValue, cudaMemset(host, 0, 10));
  assert_cuda(cudaErrorInvalidValue, cudaFree(device + 512));
  assert_fine(cudaFree(device));
  assert_cuda(cudaErrorInvalidValue, cudaFree(device));
  assert_cuda(cudaErrorInvalidValue, cudaMemcpy(back, device, 10, cudaMemcpyDeviceToHost));
  assert_fine(cudaFree(second));
  assert_fine(cudaFree(NULL));
  (void)cudaGetLastError();
  free(host);
  free(back);
}

static void test_copies_of_pages(void **state) {
  (void)state;
  /* Above the size where pages of zeros are not written: zeros overwrite what was there, at any offset. */
  enum { LARGE = 5 << 20, SHIFT = 129 };
  unsigned char *from = NULL, *to = NULL, *host = calloc(1, LARGE), *back = malloc(LARGE);
  assert_fine(cudaMalloc((void **)&from, LARGE));
  assert_fine(cudaMalloc((void **)&to, LARGE));
  host[0] = host[LARGE / 2] = host[LARGE - 1] = 77;
  for (int shift = 0; shift <= SHIFT; shift += SHIFT) {
    const size_t bytes = (size_t)(LARGE - shift);
    assert_fine(cudaMemset(to, 0xff, LARGE));
    assert_fine(cudaMemcpy(from, host, LARGE, cudaMemcpyHostToDevice));
    assert_fine(cudaMemcpy(to + shift, from, bytes, cudaMemcpyDeviceToDevice));
    assert_fine(cudaMemcpy(back, to, LARGE, cudaMemcpyDeviceToHost));
    assert_memory_equal(host, back + shift, bytes);
    for (int i = 0; i < shift; i++) assert_int_equal(0xff, back[i]);
    assert_fine(cudaMemset(to, 0xff, LARGE));
    assert_fine(cudaMemcpy(to + shift, host, bytes, cudaMemcpyHostToDevice));
    assert_fine(cudaMemcpy(back, to, LARGE, cudaMemcpyDeviceToHost));
    assert_memory_equal(host, back + shift, bytes);
  }
  assert_fine(cudaFree(from));
  assert_fine(cudaFree(to));
  free(host);
  free(back);
}

static void test_huge(void **state) {
  (void)state;
  const size_t bytes = ((1ull << 31) + 1) * 8;
  struct rusage before, after;
  unsigned char *a = NULL, *b = NULL, *none = NULL, byte = 1;
  size_t room = 0, total = 0;
  getrusage(RUSAGE_SELF, &before);
  assert_fine(cudaMalloc((void **)&a, bytes));
  assert_fine(cudaMalloc((void **)&b, bytes));
  assert_fine(cudaMemset(a, 0, bytes));
  assert_fine(cudaMemcpy(a + bytes - 1, &byte, 1, cudaMemcpyHostToDevice));
  assert_fine(cudaMemcpy(b, a, bytes, cudaMemcpyDeviceToDevice));
  byte = 0;
  assert_fine(cudaMemcpy(&byte, b + bytes - 1, 1, cudaMemcpyDeviceToHost));
  assert_int_equal(1, byte);
  getrusage(RUSAGE_SELF, &after);
  assert_true(after.ru_maxrss - before.ru_maxrss < 64 << 10);
  assert_fine(cudaMemGetInfo(&room, &total));
  assert_true(total - room >= 2 * bytes);
  assert_cuda(cudaErrorMemoryAllocation, cudaMalloc((void **)&none, total));
  assert_null(none);
  assert_cuda(cudaErrorMemoryAllocation, cudaGetLastError());
  assert_fine(cudaFree(a));
  assert_fine(cudaFree(b));
}

static void test_places(void **state) {
  (void)state;
  struct cudaPointerAttributes attributes;
  opc_cuda_address_t address;
  unsigned char *device = NULL, *managed = NULL, *pinned = NULL, *later = NULL;
  unsigned char *registered = aligned_alloc(4096, 8192);
  assert_fine(cudaSetDevice(1));
  assert_fine(cudaMalloc((void **)&device, 1000));
  assert_fine(cudaMallocManaged((void **)&managed, 1000, cudaMemAttachGlobal));
  assert_fine(cudaSetDevice(0));
  assert_fine(cudaHostAlloc((void **)&pinned, 1000, cudaHostAllocDefault));
  assert_fine(cudaHostRegister(registered, 8192, cudaHostRegisterDefault));
  assert_cuda(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(registered, 8192, cudaHostRegisterDefault));
  managed[0] = pinned[0] = registered[0] = 1; /* host code may */
  assert_fine(cudaPointerGetAttributes(&attributes, device + 999));
  assert_int_equal(cudaMemoryTypeDevice, attributes.type);
  assert_int_equal(1, attributes.device);
  assert_fine(cudaPointerGetAttributes(&attributes, managed));
  assert_int_equal(cudaMemoryTypeManaged, attributes.type);
  assert_fine(cudaPointerGetAttributes(&attributes, registered + 5000));
  assert_int_equal(cudaMemoryTypeHost, attributes.type);
  assert_fine(cudaPointerGetAttributes(&attributes, &attributes));
  assert_int_equal(cudaMemoryTypeUnregistered, attributes.type);

  api->log_begin();
  assert_fine(cudaMemcpyAsync(pinned, device, 100, cudaMemcpyDeviceToHost, NULL));
  assert_fine(cudaMemcpyAsync(&attributes, device, 8, cudaMemcpyDeviceToHost, NULL));
  assert_fine(cudaMemcpyAsync(registered, managed, 100, cudaMemcpyDefault, cudaStreamPerThread));
  assert_cuda(cudaErrorInvalidValue, cudaFreeHost(registered));
  assert_fine(cudaHostUnregister(registered));
  assert_cuda(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(registered));
  assert_fine(cudaFree(device));
  assert_fine(cudaMalloc((void **)&later, 1000)); /* another place: the freed one is known as such */
  assert_true(api->locate(number(device) + 10, &address));
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(OPC_CUDA_FREED, address.place);
  assert_int_equal(1, address.device);
  assert_false(api->locate(number(&log), &address));
  const opc_cuda_call_t *copy = logged(&log, OPC_CUDA_COPY, 0);
  assert_int_equal(OPC_CUDA_PINNED, copy->to.place);
  assert_int_equal(OPC_CUDA_DEVICE, copy->from.place);
  assert_int_equal(1, copy->from.device);
  assert_int_equal(number(device), copy->from.allocation);
  assert_int_equal(100, copy->bytes);
  assert_false(copy->synchronous);
  assert_int_equal(OPC_CUDA_STREAM_LEGACY, copy->stream_kind);
  copy = logged(&log, OPC_CUDA_COPY, 1);
  assert_int_equal(OPC_CUDA_PAGEABLE, copy->to.place);
  assert_true(copy->synchronous);
  copy = logged(&log, OPC_CUDA_COPY, 2);
  assert_int_equal(OPC_CUDA_PINNED, copy->to.place);
  assert_int_equal(OPC_CUDA_MANAGED, copy->from.place);
  assert_int_equal(OPC_CUDA_STREAM_PER_THREAD, copy->stream_kind);
  const opc_cuda_call_t *freed = logged(&log, OPC_CUDA_FREE, 0);
  assert_int_equal(OPC_CUDA_DEVICE, freed->to.place);
  assert_int_equal(1000, freed->bytes);
  const opc_cuda_call_t *made = logged(&log, OPC_CUDA_ALLOCATE, 0);
  assert_int_equal(number(later), made->to.value);
  assert_int_not_equal(number(later), number(device));

  opc_cuda_allocation_t alive[64];
  const size_t count = api->allocations(alive, COUNT(alive));
  size_t found = 0;
  for (size_t i = 0; i < count && i < COUNT(alive); i++)
    if (alive[i].at.value == number(later))
      found += alive[i].bytes == 1000 && strstr(alive[i].library, "test_cudart_simulated") != NULL;
  assert_int_equal(1, found);
  assert_fine(cudaFree(later));
  assert_fine(cudaFree(managed));
  assert_fine(cudaFreeHost(pinned));
  assert_int_equal(count - 3, api->allocations(NULL, 0));
  (void)cudaGetLastError();
  free(registered);
}

/* ---- host code that follows a device's address ---- */

static void fault(int signal, siginfo_t *info, void *context) {
  (void)context;
  if (!api->host_access(number(info->si_addr), 0x1234, true)) _exit(signal);
}

static void test_host_access(void **state) {
  (void)state;
  struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO}, before;
  volatile unsigned char *device = NULL;
  unsigned char back = 0;
  assert_fine(cudaMalloc((void **)(uintptr_t)&device, 8192));
  sigaction(SIGSEGV, &action, &before);
  for (int round = 0; round < 2; round++) { /* a log closes again what the one before opened */
    api->log_begin();
    device[5000] = (unsigned char)(42 + round);
    const opc_cuda_log_t log = api->log_end();
    const opc_cuda_call_t *access = logged(&log, OPC_CUDA_HOST_ACCESS, 0);
    assert_int_equal(number((void *)(uintptr_t)device) + 5000, access->to.value);
    assert_int_equal(OPC_CUDA_DEVICE, access->to.place);
    assert_int_equal(1, access->value);
    assert_int_equal(0x1234, access->caller);
  }
  sigaction(SIGSEGV, &before, NULL);
  assert_fine(cudaMemcpy(&back, (void *)(uintptr_t)(device + 5000), 1, cudaMemcpyDeviceToHost));
  assert_int_equal(43, back);
  assert_false(api->host_access(number(&back), 0, false));
  assert_fine(cudaFree((void *)(uintptr_t)device));
}

/* Without a handler it is the end of the process. */
static void test_host_access_faults(void **state) {
  (void)state;
  volatile unsigned char *device = NULL;
  int status = 0;
  assert_fine(cudaMalloc((void **)(uintptr_t)&device, 8192));
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    _exit(device[0]);
  }
  assert_int_equal(child, waitpid(child, &status, 0));
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
  assert_fine(cudaFree((void *)(uintptr_t)device));
}

static void test_fork(void **state) {
  (void)state;
  unsigned char *device = NULL, byte = 1, back = 0;
  int status = 0;
  assert_fine(cudaMalloc((void **)&device, 8192));
  assert_fine(cudaMemcpy(device, &byte, 1, cudaMemcpyHostToDevice));
  const pid_t child = fork();
  if (child == 0) {
    unsigned char *own = NULL, other = 9;
    api->log_begin();
    bool good = cudaMalloc((void **)&own, 4096) == cudaSuccess &&
                cudaMemcpy(&back, device, 1, cudaMemcpyDeviceToHost) == cudaSuccess && back == 1;
    good = good && cudaMemcpy(device, &other, 1, cudaMemcpyHostToDevice) == cudaSuccess;
    good = good && api->log_end().count == 3;
    _exit(good ? 0 : 1);
  }
  assert_int_equal(child, waitpid(child, &status, 0));
  assert_int_equal(0, status);
  assert_fine(cudaMemcpy(&back, device, 1, cudaMemcpyDeviceToHost));
  assert_int_equal(1, back); /* the child's write was its own */
  assert_fine(cudaFree(device));
}

/* ---- streams and events ---- */

static void record_call(void *data) { *(int *)data += 1; }

static void test_streams(void **state) {
  (void)state;
  cudaStream_t first, second;
  cudaEvent_t event, other, none;
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;
  float time = -1;
  int called = 0, priority = 0;
  api->log_begin();
  assert_fine(cudaStreamCreateWithPriority(&first, cudaStreamNonBlocking, -3));
  assert_fine(cudaSetDevice(1));
  assert_fine(cudaStreamCreate(&second));
  assert_fine(cudaEventCreate(&other));
  assert_fine(cudaSetDevice(0));
  assert_fine(cudaEventCreate(&event));
  assert_cuda(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&time, event, event));
  assert_fine(cudaEventRecord(event, first));
  assert_cuda(cudaErrorInvalidResourceHandle, cudaEventRecord(event, second)); /* of another device */
  assert_fine(cudaStreamWaitEvent(second, event, 0));
  assert_fine(cudaEventRecord(event, 0));
  assert_fine(cudaEventElapsedTime(&time, event, event));
  assert_true(time == 0);
  assert_fine(cudaEventQuery(event));
  assert_fine(cudaLaunchHostFunc(first, record_call, &called));
  assert_fine(cudaStreamSynchronize(first));
  assert_int_equal(1, called);
  assert_fine(cudaStreamIsCapturing(first, &status));
  assert_int_equal(cudaStreamCaptureStatusNone, status);
  assert_fine(cudaStreamGetPriority(first, &priority));
  assert_int_equal(-3, priority);
  assert_cuda(cudaErrorInvalidValue, cudaEventCreateWithFlags(&none, cudaEventInterprocess));
  assert_fine(cudaEventDestroy(event));
  assert_cuda(cudaErrorInvalidResourceHandle, cudaEventDestroy(event));
  assert_fine(cudaEventDestroy(other));
  assert_fine(cudaStreamDestroy(second));
  assert_cuda(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(second));
  const opc_cuda_log_t log = api->log_end();
  const opc_cuda_call_t *made = logged(&log, OPC_CUDA_STREAM_CREATE, 1);
  assert_int_equal(number(second), made->stream);
  assert_int_equal(1, made->stream_device);
  const opc_cuda_call_t *waits = logged(&log, OPC_CUDA_STREAM_WAIT, 0);
  assert_int_equal(number(second), waits->stream);
  assert_int_equal(OPC_CUDA_STREAM_CREATED, waits->stream_kind);
  assert_int_equal(number(event), waits->event);
  assert_int_equal(OPC_CUDA_STREAM_LEGACY, logged(&log, OPC_CUDA_EVENT_RECORD, 2)->stream_kind);
  assert_int_equal(cudaErrorInvalidResourceHandle, logged(&log, OPC_CUDA_EVENT_RECORD, 1)->code);
  assert_int_equal(OPC_CUDA_STREAM_UNKNOWN, logged(&log, OPC_CUDA_STREAM_SYNCHRONIZE, 1)->stream_kind);
  assert_string_equal("cudaLaunchHostFunc", logged(&log, OPC_CUDA_HOST_FUNCTION, 0)->function);
  assert_fine(cudaStreamDestroy(first));
  (void)cudaGetLastError();
}

/* ---- the log ---- */

static void *busy_thread(void *unused) {
  for (int i = 0; i < 20000; i++) (void)cudaPeekAtLastError();
  return unused;
}

static void test_log(void **state) {
  (void)state;
  enum { THREADS = 4, CALLS = 20000, ROUNDS = 3 };
  pthread_t threads[THREADS];
  for (int round = 0; round < ROUNDS; round++) {
    api->log_begin();
    assert_cuda(cudaSuccess, cudaPeekAtLastError());
    for (int i = 0; i < THREADS; i++) assert_int_equal(0, pthread_create(&threads[i], NULL, busy_thread, NULL));
    for (int i = 0; i < THREADS; i++) assert_int_equal(0, pthread_join(threads[i], NULL));
    const opc_cuda_log_t log = api->log_end();
    assert_int_equal(1 + THREADS * CALLS, log.count + log.dropped);
    assert_int_equal(0, log.dropped);
    size_t of_thread[THREADS + 1] = {0};
    for (size_t i = 0; i < log.count; i++) {
      assert_in_range(log.calls[i].thread, 0, THREADS);
      assert_int_equal(OPC_CUDA_PEEK_ERROR, log.calls[i].kind);
      of_thread[log.calls[i].thread]++;
    }
    assert_int_equal(1, of_thread[0]);
    for (int i = 1; i <= THREADS; i++) assert_int_equal(CALLS, of_thread[i]);
  }
  /* Nothing between two logs; and a full one says how much it left out. */
  (void)cudaPeekAtLastError();
  api->log_begin();
  assert_int_equal(0, api->log_end().count);
  api->log_begin();
  for (int i = 0; i < 200000; i++) (void)cudaPeekAtLastError();
  const opc_cuda_log_t full = api->log_end();
  assert_int_equal(200000, full.count + full.dropped);
  assert_true(full.dropped > 0);
}

/* ---- calls of libtorch's operators ---- */

/* A product, and whether its result can be copied to the host. */
static cudaError_t product_read(call_handle_t *gemm, void *handle, const void *result) {
  unsigned char out[8];
  assert_int_equal(0, gemm(handle));
  return cudaMemcpy(out, result, sizeof out, cudaMemcpyDeviceToHost);
}

static void test_torch_calls(void **state) {
  (void)state;
  create_t *create;
  call_handle_t *gemm, *factorise, *destroy;
  void *handle = NULL, *result;
  bool refused, lacks;
  opc_kernel_counts_t before, now;
  FIND(create, "cublasCreate_v2");
  FIND(gemm, "cublasDgemm_v2");
  FIND(factorise, "cublasSgetrfBatched");
  FIND(destroy, "cublasDestroy_v2");
  assert_int_equal(0, create(&handle));
  assert_fine(cudaMalloc(&result, 64));
  api->kernel_budget(1000);
  api->kernel_counts(&before);
  api->log_begin();
  /* The CPU computes it: the host cannot read it before, and nothing is missing after. */
  assert_true(api->call_begin(true));
  assert_false(api->call_begin(true)); /* one inside it belongs to it */
  assert_fine(cudaMemset(result, 1, 64));
  assert_false(api->call_open(&refused, &lacks));
  assert_cuda(cudaErrorNotSupported, product_read(gemm, handle, result));
  assert_true(api->call_open(&refused, &lacks));
  assert_true(refused && !lacks);
  assert_true(api->call_afford(600));
  assert_false(api->call_afford(600)); /* of 1000 */
  assert_true(api->call_afford(400));
  api->call_end(NULL, false);
  assert_fine(cudaGetLastError());
  api->kernel_counts(&now);
  assert_int_equal(before.replaced + 1, now.replaced);
  assert_int_equal(before.recorded, now.recorded);
  /* It needs what the device lacks. */
  assert_true(api->call_begin(true));
  assert_true(factorise(handle) != 0);
  assert_false(api->call_open(&refused, &lacks));
  assert_true(lacks && !refused);
  api->call_end("it has no kernel", false);
  /* Nothing of it would be computed: the host reads what is there, and from then on values are missing. */
  assert_true(api->call_begin(false));
  assert_fine(product_read(gemm, handle, result));
  assert_true(api->call_open(&refused, &lacks));
  assert_false(refused);
  api->call_end("a reason", true);
  assert_false(api->call_begin(true));
  api->kernel_counts(&now);
  assert_int_equal(before.replaced + 1, now.replaced);
  assert_int_equal(before.recorded + 1, now.recorded);
  assert_string_equal("a reason", now.not_run);
  assert_true(now.over_budget);
  const opc_cuda_log_t log = api->log_end();
  assert_int_equal(OPC_CUDA_REPLACED, logged(&log, OPC_CUDA_LIBRARY_WORK, 0)->ran);
  assert_int_equal(cudaSuccess, logged(&log, OPC_CUDA_COPY, 0)->code); /* CUDA does not refuse it */
  assert_int_equal(OPC_CUDA_RECORDED, logged(&log, OPC_CUDA_LIBRARY_WORK, 1)->ran);
  assert_string_equal("a reason", logged(&log, OPC_CUDA_LIBRARY_WORK, 1)->not_run);
  api->kernel_budget(1000);
  assert_int_equal(0, destroy(handle));
  assert_fine(cudaFree(result));
}

static void test_table(void **state) {
  (void)state;
  assert_int_equal(OPC_LAUNCH_SIMULATED, api->mode);
  assert_int_equal(CUDART_VERSION, api->runtime_version);
  assert_int_equal(2, api->device_count());
  assert_int_equal(0, api->synchronize());
  assert_null(api->real("cudaMalloc"));
  (void)cudaSetDevice(7);
  assert_int_equal(cudaErrorInvalidDevice, api->last_error());
  assert_int_equal(cudaSuccess, api->last_error());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_table),       cmocka_unit_test(test_devices),
      cmocka_unit_test(test_last_error),  cmocka_unit_test(test_not_covered),
      cmocka_unit_test(test_contents),    cmocka_unit_test(test_copies_of_pages),
      cmocka_unit_test(test_huge),        cmocka_unit_test(test_places),
      cmocka_unit_test(test_host_access), cmocka_unit_test(test_host_access_faults),
      cmocka_unit_test(test_fork),        cmocka_unit_test(test_streams),
      cmocka_unit_test(test_log),         cmocka_unit_test(test_driver),
      cmocka_unit_test(test_modules),     cmocka_unit_test(test_reserved),
      cmocka_unit_test(test_blas),        cmocka_unit_test(test_blas_captured),
      cmocka_unit_test(test_fft),         cmocka_unit_test(test_torch_calls),
  };
  api = opc_launch();
  if (!api) return 1; /* the wrappers are not preloaded */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
