// Kernels launched in every manner, on the simulated device: what each comes to, and what the log knows of it. Built by
// nvcc, with the shared runtime.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <cooperative_groups.h>
#include <dlfcn.h>

#include "cuda/log/launch.h"

struct Packed {
  float *data;
  long sizes[3];
};
struct Large {
  char bytes[6000];
};

__constant__ float table[16];
__device__ int counter;
__managed__ int both = 3;

__global__ void plain(float *out, const float *in, int count, double factor) {
  int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = static_cast<float>(in[i] * factor) * table[i & 15];
}
template <typename T>
__global__ void packed(Packed packed, T value, char more) {
  packed.data[threadIdx.x] = static_cast<float>(value) + static_cast<float>(more);
  atomicAdd(&counter, 1);
}
__global__ void large(Large bytes, float *out) { out[0] = bytes.bytes[threadIdx.x]; }
__global__ void __launch_bounds__(128) bounded(float *out) { out[threadIdx.x] = 1; }
__global__ void __launch_bounds__(1024, 1) sharing(float *out) {
  extern __shared__ float dynamic[];
  __shared__ float fixed[1024];
  fixed[threadIdx.x] = dynamic[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = fixed[1023 - threadIdx.x] + dynamic[5];
  both = 1;
}
__global__ void nothing() {}
__global__ void adds(int more) {
  both += more;
  counter += more;
}
__global__ void adds_at(int *at, int more) { *at += more; }

static int failures;
static const opc_launch_api_t *api;

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      failures++;                                                         \
    }                                                                     \
  } while (0)
#define EXPECT_CODE(expected, call)                                                                    \
  do {                                                                                                 \
    const cudaError_t code = (call);                                                                   \
    if (code != (expected)) {                                                                          \
      std::printf("%s:%d: %s came to %s, not %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(code), \
                  cudaGetErrorName(expected));                                                         \
      failures++;                                                                                      \
    }                                                                                                  \
  } while (0)
// What a launch by <<<…>>> came to, as a program learns it.
#define EXPECT_LAUNCH(expected, ...)              \
  do {                                            \
    __VA_ARGS__;                                  \
    EXPECT_CODE(expected, cudaPeekAtLastError()); \
    EXPECT_CODE(expected, cudaGetLastError());    \
    EXPECT_CODE(cudaSuccess, cudaGetLastError()); \
  } while (0)

static const opc_cuda_call_t *launched(const opc_cuda_log_t &log, size_t nth) {
  for (size_t i = 0; i < log.count; i++)
    if (log.calls[i].kind == OPC_CUDA_LAUNCH && nth-- == 0) return &log.calls[i];
  std::printf("the log has too few launches\n");
  std::exit(1);
}

static void test_limits(float *out) {
  EXPECT_LAUNCH(cudaSuccess, (plain<<<2147483647, 1024>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaSuccess, (plain<<<dim3(1, 65535, 65535), dim3(1, 16, 64)>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<0, 256>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<1, 0>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<2147483648u, 1>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<dim3(1, 65536), 1>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<dim3(1, 1, 65536), 1>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<1, 2048>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<1, dim3(1, 1, 65)>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaErrorInvalidConfiguration, (plain<<<1, dim3(64, 32)>>>(out, out, 1, 1)));
  EXPECT_LAUNCH(cudaSuccess, (bounded<<<1, 128>>>(out)));
  EXPECT_LAUNCH(cudaErrorInvalidValue, (bounded<<<1, 129>>>(out)));
}

static void test_shared(float *out) {
  const int fixed = 4096, optin = 227 << 10;
  cudaFuncAttributes attributes;
  EXPECT_CODE(cudaSuccess, cudaFuncGetAttributes(&attributes, sharing));
  EXPECT(attributes.sharedSizeBytes == static_cast<size_t>(fixed));
  EXPECT(attributes.numRegs > 0 && attributes.numRegs <= 64);
  EXPECT(attributes.maxThreadsPerBlock == 1024);
  EXPECT(attributes.binaryVersion == 90);
  EXPECT_LAUNCH(cudaSuccess, (sharing<<<1, 1024, (48 << 10) - fixed>>>(out)));
  EXPECT_LAUNCH(cudaErrorInvalidValue, (sharing<<<1, 1024, (48 << 10) - fixed + 1>>>(out)));
  EXPECT_CODE(cudaErrorInvalidValue,
              cudaFuncSetAttribute(sharing, cudaFuncAttributeMaxDynamicSharedMemorySize, optin - fixed + 1));
  EXPECT_CODE(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_CODE(cudaSuccess, cudaFuncSetAttribute(sharing, cudaFuncAttributeMaxDynamicSharedMemorySize, optin - fixed));
  EXPECT_LAUNCH(cudaSuccess, (sharing<<<1, 1024, optin - fixed>>>(out)));
  EXPECT_CODE(cudaSuccess, cudaSetDevice(1));  // it was set on the other one
  EXPECT_LAUNCH(cudaErrorInvalidValue, (sharing<<<1, 1024, optin - fixed>>>(out)));
  EXPECT_CODE(cudaSuccess, cudaSetDevice(0));
}

static void test_other_launches(float *out, cudaStream_t stream) {
  int count = 3;
  double factor = 2;
  void *arguments[] = {&out, &out, &count, &factor};
  cudaKernel_t handle;
  cudaStream_t elsewhere;
  EXPECT_CODE(cudaSuccess, cudaLaunchKernel(plain, 1, 32, arguments, 0, stream));
  EXPECT_CODE(cudaErrorInvalidConfiguration, cudaLaunchKernel(plain, 0, 32, arguments, 0, stream));
  EXPECT_CODE(cudaErrorInvalidConfiguration, cudaGetLastError());
  EXPECT_CODE(cudaErrorInvalidDeviceFunction,
              cudaLaunchKernel(reinterpret_cast<const void *>(&failures), 1, 32, arguments, 0, stream));
  EXPECT_CODE(cudaErrorInvalidDeviceFunction, cudaGetLastError());
  EXPECT_CODE(cudaSuccess, cudaGetKernel(&handle, reinterpret_cast<const void *>(plain)));
  EXPECT_CODE(cudaSuccess, cudaLaunchKernel(reinterpret_cast<const void *>(handle), 1, 32, arguments, 0, stream));
  EXPECT_CODE(cudaSuccess, cudaLaunchCooperativeKernel(nothing, 132, 32, nullptr, 0, stream));
  EXPECT_CODE(cudaErrorCooperativeLaunchTooLarge,
              cudaLaunchCooperativeKernel(nothing, 1 << 20, 32, nullptr, 0, stream));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = 4, config.blockDim = 32, config.stream = stream, config.attrs = &attribute, config.numAttrs = 1;
  EXPECT_CODE(cudaSuccess, cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(nothing), nullptr));
  config.gridDim = 3;
  EXPECT_CODE(cudaErrorInvalidClusterSize,
              cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(nothing), nullptr));
  (void)cudaGetLastError();
  EXPECT_CODE(cudaSuccess, cudaSetDevice(1));
  EXPECT_CODE(cudaSuccess, cudaStreamCreate(&elsewhere));
  EXPECT_CODE(cudaSuccess, cudaSetDevice(0));
  EXPECT_LAUNCH(cudaErrorInvalidResourceHandle, (nothing<<<1, 1, 0, elsewhere>>>()));
  EXPECT_CODE(cudaSuccess, cudaStreamDestroy(elsewhere));
  EXPECT_LAUNCH(cudaErrorInvalidResourceHandle, (nothing<<<1, 1, 0, elsewhere>>>()));
}

static void test_log(float *out, cudaStream_t stream) {
  float host[4] = {};
  float *freed = nullptr;
  EXPECT_CODE(cudaSuccess, cudaMalloc(&freed, 64));
  EXPECT_CODE(cudaSuccess, cudaFree(freed));
  Packed structure{out + 4, {reinterpret_cast<long>(host), 2, 3}};
  api->log_begin();
  plain<<<dim3(2, 3, 4), dim3(32, 2), 128, stream>>>(out, host, 0x10000, 1);
  packed<long><<<1, 1>>>(structure, reinterpret_cast<long>(freed), 'c');
  large<<<1, 32>>>(Large{}, out);
  nothing<<<1, 1, 0, cudaStreamPerThread>>>();
  (void)cudaGetLastError();
  const opc_cuda_log_t log = api->log_end();
  const opc_cuda_call_t *call = launched(log, 0);
  EXPECT(std::strstr(call->kernel, "plain") != nullptr);
  EXPECT(std::strcmp(call->kernel_library, call->library) == 0 &&
         std::strstr(call->library, "test_cudart_launches") != nullptr);
  EXPECT(call->grid[0] == 2 && call->grid[1] == 3 && call->grid[2] == 4 && call->block[0] == 32 &&
         call->block[1] == 2 && call->block[2] == 1);
  EXPECT(call->shared == 128 && call->stream_kind == OPC_CUDA_STREAM_CREATED &&
         call->stream == reinterpret_cast<uint64_t>(stream));
  EXPECT(call->parameters_known && call->pointer_count == 2);
  EXPECT(call->pointers[0].place == OPC_CUDA_DEVICE && call->pointers[0].value == reinterpret_cast<uint64_t>(out) &&
         call->alone[0]);
  EXPECT(call->pointers[1].place == OPC_CUDA_PAGEABLE && call->pointers[1].value == reinterpret_cast<uint64_t>(host) &&
         call->alone[1]);
  call = launched(log, 1);
  EXPECT(call->parameters_known && call->pointer_count == 2 && call->stream_kind == OPC_CUDA_STREAM_LEGACY);
  EXPECT(call->pointers[0].value == reinterpret_cast<uint64_t>(out + 4) &&
         call->pointers[0].allocation == reinterpret_cast<uint64_t>(out) && !call->alone[0]);
  EXPECT(call->pointers[1].place == OPC_CUDA_FREED && call->alone[1]);
  call = launched(log, 2);
  EXPECT(call->parameters_known && call->pointer_count == 1 &&
         call->pointers[0].value == reinterpret_cast<uint64_t>(out));
  call = launched(log, 3);
  EXPECT(call->parameters_known && call->pointer_count == 0 && call->stream_kind == OPC_CUDA_STREAM_PER_THREAD);
  EXPECT(log.calls[log.count - 1].kind == OPC_CUDA_LAST_ERROR);
}

static void test_injection(float *out) {
  api->fail_launch(2, cudaErrorLaunchOutOfResources);
  EXPECT_LAUNCH(cudaSuccess, (bounded<<<1, 1>>>(out)));
  EXPECT(!api->launch_failed());
  api->log_begin();
  EXPECT_LAUNCH(cudaErrorLaunchOutOfResources, (bounded<<<1, 1>>>(out)));
  EXPECT_LAUNCH(cudaSuccess, (bounded<<<1, 1>>>(out)));
  const opc_cuda_log_t log = api->log_end();
  EXPECT(api->launch_failed());
  EXPECT(launched(log, 0)->injected && launched(log, 0)->code == cudaErrorLaunchOutOfResources);
  EXPECT(!launched(log, 1)->injected && launched(log, 1)->code == 0);
  api->fail_launch(1, cudaErrorNoKernelImageForDevice);
  api->fail_launch(0, 0);
  EXPECT_LAUNCH(cudaSuccess, (bounded<<<1, 1>>>(out)));
  EXPECT(!api->launch_failed());
}

static void test_variables() {
  float values[16], back[16] = {};
  void *address = nullptr;
  size_t bytes = 0;
  for (int i = 0; i < 16; i++) values[i] = static_cast<float>(i);
  EXPECT_CODE(cudaSuccess, cudaMemcpyToSymbol(table, values, sizeof values));
  EXPECT_CODE(cudaSuccess, cudaMemcpyFromSymbol(back, table, sizeof back));
  EXPECT(std::memcmp(values, back, sizeof back) == 0);
  EXPECT_CODE(cudaSuccess, cudaGetSymbolAddress(&address, table));
  EXPECT_CODE(cudaSuccess, cudaMemcpy(back, address, 4, cudaMemcpyDeviceToHost));
  EXPECT_CODE(cudaSuccess, cudaGetSymbolSize(&bytes, counter));
  EXPECT(bytes == sizeof counter);
  EXPECT_CODE(cudaErrorInvalidValue, cudaMemcpyToSymbol(table, values, sizeof values, 4));
  EXPECT_CODE(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, failures));
  (void)cudaGetLastError();
  both = 5;  // host code may
  EXPECT(both == 5);
}

// Host code, a kernel that names the variable, and one that is given its address.
static void test_managed() {
  void *address = nullptr;
  int count = -1;
  const int none = 0;
  EXPECT(both == 3);
  api->kernel_budget(UINT64_C(1) << 20);
  adds<<<1, 1>>>(4);
  EXPECT_CODE(cudaSuccess, cudaDeviceSynchronize());
  EXPECT(both == 7);
  both = 10;
  adds<<<1, 1>>>(5);
  adds_at<<<1, 1>>>(&both, 100);
  EXPECT_CODE(cudaSuccess, cudaDeviceSynchronize());
  EXPECT(both == 115);
  EXPECT_CODE(cudaSuccess, cudaGetSymbolAddress(&address, both));
  EXPECT(address == &both);
  EXPECT_CODE(cudaSuccess, cudaSetDevice(1));  // one memory for all devices
  adds<<<1, 1>>>(1);
  EXPECT_CODE(cudaSuccess, cudaDeviceSynchronize());
  EXPECT(both == 116);
  EXPECT_CODE(cudaSuccess, cudaSetDevice(0));
  EXPECT_CODE(cudaSuccess, cudaMemcpyToSymbol(counter, &none, sizeof none));
  EXPECT_CODE(cudaSuccess, cudaGetSymbolAddress(&address, counter));
  adds<<<1, 1>>>(2);
  adds_at<<<1, 1>>>(static_cast<int *>(address), 40);
  EXPECT_CODE(cudaSuccess, cudaMemcpyFromSymbol(&count, counter, sizeof count));
  EXPECT(count == 42);
}

// cuLaunchKernel with all parameters in one buffer.
static void test_buffer(float *out) {
  using Launch = int(cudaFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, cudaStream_t,
                     void **, void **);
  struct {
    float *out;
    const float *in;
    int count;
    double factor;
  } buffer = {out, out + 16, 3, 2};
  size_t size = sizeof buffer, too_small = sizeof buffer - 1;
  void *end = nullptr, *pointer_key = reinterpret_cast<void *>(1), *size_key = reinterpret_cast<void *>(2);
  void *extra[] = {pointer_key, &buffer, size_key, &size, end};
  void *small[] = {pointer_key, &buffer, size_key, &too_small, end}, *unsized[] = {pointer_key, &buffer, end};
  void *unknown[] = {reinterpret_cast<void *>(7), &buffer, end}, *empty[] = {end}, *arguments[] = {&out};
  cudaFunction_t function, without;
  float values[16], in[] = {1, 2, 3}, got[4] = {9, 9, 9, 9};
  for (float &value : values) value = 10;
  auto *launch = reinterpret_cast<Launch *>(dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
  if (!launch) launch = reinterpret_cast<Launch *>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel"));
  EXPECT_CODE(cudaSuccess, cudaMemcpyToSymbol(table, values, sizeof values));
  EXPECT_CODE(cudaSuccess, cudaMemcpy(out, got, sizeof got, cudaMemcpyHostToDevice));
  EXPECT_CODE(cudaSuccess, cudaMemcpy(out + 16, in, sizeof in, cudaMemcpyHostToDevice));
  EXPECT_CODE(cudaSuccess, cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(plain)));
  EXPECT_CODE(cudaSuccess, cudaGetFuncBySymbol(&without, reinterpret_cast<const void *>(nothing)));
  api->kernel_budget(UINT64_C(1) << 20);
  api->log_begin();
  EXPECT(launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra) == 0);
  const opc_cuda_log_t log = api->log_end();
  EXPECT(launched(log, 0)->ran == OPC_CUDA_RAN_EXACT && launched(log, 0)->pointer_count == 2);
  EXPECT_CODE(cudaSuccess, cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 20 && got[1] == 40 && got[2] == 60 && got[3] == 9);
  EXPECT(launch(without, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, empty) == 0);
  EXPECT(launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, small) == cudaErrorInvalidValue);
  EXPECT(launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, unsized) == cudaErrorInvalidValue);
  EXPECT(launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, unknown) == cudaErrorInvalidValue);
  EXPECT(launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, empty) == cudaErrorInvalidValue);
  EXPECT(launch(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, extra) == cudaErrorInvalidValue);
}

static void test_occupancy() {
  int blocks = 0, block = 0, grid = 0;
  EXPECT_CODE(cudaSuccess, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 1024, 0));
  EXPECT(blocks == 2);  // 2048 threads of a multiprocessor of sm_90
  EXPECT_CODE(cudaSuccess, cudaOccupancyMaxPotentialBlockSize(&grid, &block, plain, 0, 0));
  EXPECT(block > 0 && block <= 1024 && grid % 132 == 0);
}

// sm_75 runs neither the machine code for 9.0 nor PTX for it.
static int only_no_image() {
  EXPECT_LAUNCH(cudaErrorNoKernelImageForDevice, (nothing<<<1, 1>>>()));
  cudaFuncAttributes attributes;
  EXPECT_CODE(cudaErrorNoKernelImageForDevice, cudaFuncGetAttributes(&attributes, nothing));
  return failures == 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  float *out = nullptr;
  cudaStream_t stream;
  api = opc_launch();
  if (!api) return 1;  // the wrappers are not preloaded
  if (argc > 1 && std::strcmp(argv[1], "no-image") == 0) return only_no_image();
  EXPECT_CODE(cudaSuccess, cudaMalloc(&out, 4096));
  EXPECT_CODE(cudaSuccess, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  test_managed();
  test_buffer(out);
  test_limits(out);
  test_shared(out);
  test_other_launches(out, stream);
  test_log(out, stream);
  test_injection(out);
  test_variables();
  test_occupancy();
  if (failures == 0) std::printf("all launches are as they should be\n");
  return failures == 0 ? 0 : 1;
}
