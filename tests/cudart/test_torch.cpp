// The real libtorch_cuda on the simulated device: loaded once, used by forked children as the worker uses it. usage:
// test_cudart_torch <operator library>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <string>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "cuda/log/launch.h"

static int failures;
static const opc_launch_api_t *api;

#define EXPECT(condition)                                                 \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      failures++;                                                         \
    }                                                                     \
  } while (0)

static double cpu_now() {
  timespec at;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

static const opc_cuda_call_t *find(const opc_cuda_log_t &log, opc_cuda_kind_t kind, const char *library) {
  for (size_t i = 0; i < log.count; i++)
    if (log.calls[i].kind == kind && std::strstr(log.calls[i].library, library)) return &log.calls[i];
  return nullptr;
}

// What is copied there and back is there; what kernels write is not.
static void test_tensors(const at::Device &device) {
  const auto host = at::arange(15, at::kFloat).reshape({3, 5});
  const auto there = host.to(device);
  EXPECT(there.device() == device);
  EXPECT(at::equal(host, there.cpu()));
  EXPECT(there[1][2].item<float>() == 7);
  const auto zeros = at::zeros({1000, 1000}, there.options());
  EXPECT((zeros + there.sum()).sizes() == zeros.sizes());
  EXPECT(at::equal(host.t().contiguous(), there.cpu().t().contiguous()));
  (void)at::sort(there);
  (void)at::cumsum(there, 0);
  (void)at::randn({100}, there.options());
  (void)at::nonzero(zeros);
  EXPECT(api->last_error() == 0);
}

static void test_between_devices() {
  const auto host = at::arange(100, at::kLong);
  const auto first = host.to(at::Device("cuda:0")), second = first.to(at::Device("cuda:1"));
  EXPECT(second.device().index() == 1 && at::equal(host, second.cpu()));
  EXPECT(api->current_device() == 0);
}

static void test_huge() {
  const auto huge = at::empty({(1ll << 31) + 1}, at::device(at::kCUDA).dtype(at::kFloat));
  const auto copy = at::empty_like(huge).copy_(huge);
  EXPECT(copy.numel() == (1ll << 31) + 1);
}

// Products and transforms go through, and are noted in the stream that is current.
static void test_products() {
  const auto device = at::device(at::kCUDA);
  const auto one = at::ones({8, 8}, device), half = at::ones({8, 8}, device.dtype(at::kHalf)),
             batch = at::ones({2, 8, 8}, device), bias = at::ones({8}, device);
  const struct {
    std::string functions;  // one of them: libtorch 2.15 takes others for float
    std::function<at::Tensor()> call;
  } rows[] = {
      {"cublasSgemm_v2 cublasGemmEx", [&] { return at::mm(one, one); }},
      {"cublasGemmEx", [&] { return at::mm(half, half); }},
      {"cublasSgemmStridedBatched cublasGemmStridedBatchedEx", [&] { return at::bmm(batch, batch); }},
      {"cublasLtMatmul", [&] { return at::addmm(bias, one, one); }},
      {"cublasSgemv_v2", [&] { return at::mv(one, bias); }},
      {"cublasSdot_v2", [&] { return at::dot(bias, bias); }},
      {"cublasStrsmBatched", [&] { return at::linalg_solve_triangular(one, one, true); }},
      {"cufftXtExec", [&] { return at::fft_fft(one); }},
  };
  const c10::impl::VirtualGuardImpl streams(at::kCUDA);
  const c10::Stream aside = streams.getStreamFromGlobalPool(c10::Device(at::kCUDA, 0)),
                    before = streams.exchangeStream(aside);
  for (const auto &row : rows) {
    api->log_begin();
    const at::Tensor out = row.call();
    const opc_cuda_log_t log = api->log_end();
    const opc_cuda_call_t *work = find(log, OPC_CUDA_LIBRARY_WORK, "");
    EXPECT(out.defined() && work && work->stream_kind == OPC_CUDA_STREAM_CREATED &&
           work->stream == reinterpret_cast<uint64_t>(aside.native_handle()));
    const bool expected =
        work && (" " + row.functions + " ").find(" " + std::string(work->function) + " ") != std::string::npos;
    if (!expected) std::fprintf(stderr, "%s: %s\n", row.functions.c_str(), work ? work->function : "nothing");
    EXPECT(expected);
    for (size_t i = 0; i < log.count; i++) EXPECT(log.calls[i].kind != OPC_CUDA_UNCOVERED);
  }
  streams.exchangeStream(before);
}

// Others have a runtime of their own: each call that needs one is reported, not only the first.
static void test_kernel_libraries() {
  const auto square = at::ones({4, 4}, at::device(at::kCUDA));
  for (int round = 0; round < 2; round++) {
    bool thrown = false;
    api->log_begin();
    try {
      (void)at::linalg_inv(square);
    } catch (const std::exception &) {
      thrown = true;
    }
    const opc_cuda_log_t log = api->log_end();
    const opc_cuda_call_t *uncovered = find(log, OPC_CUDA_UNCOVERED, "libtorch_cuda");
    EXPECT(thrown && uncovered && std::strcmp(uncovered->function, "cusolverDnCreate") == 0);
  }
}

static void test_operator(const at::Device &device) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("my_ops::identity_conv_op", "");
  const auto input = at::rand({1, 3, 8, 8}).to(device);
  std::vector<c10::IValue> stack{input};
  api->log_begin();
  op.callBoxed(&stack);
  opc_cuda_log_t log = api->log_end();
  EXPECT(stack[0].toTensor().sizes() == input.sizes() && stack[0].toTensor().device() == device);
  const opc_cuda_call_t *launch = find(log, OPC_CUDA_LAUNCH, "libidentity_conv_ops.so");
  EXPECT(launch && launch->code == 0 && launch->device == device.index() && launch->parameters_known &&
         launch->pointer_count == 2);
  EXPECT(launch && launch->pointers[0].value == reinterpret_cast<uint64_t>(input.const_data_ptr()) &&
         launch->pointers[0].device == device.index());
  EXPECT(launch && std::strcmp(launch->kernel_library, launch->library) == 0);
  EXPECT(find(log, OPC_CUDA_LAST_ERROR, "libidentity_conv_ops.so"));
  for (size_t i = 0; i < log.count; i++) EXPECT(log.calls[i].kind != OPC_CUDA_UNCOVERED);

  bool thrown = false;
  stack = {input};
  api->fail_launch(1, 701);
  try {
    op.callBoxed(&stack);
  } catch (const std::exception &error) {
    thrown = std::strstr(error.what(), "too many resources requested for launch") != nullptr;
  }
  EXPECT(thrown && api->launch_failed() && api->last_error() == 0);
}

template <typename F>
static void in_child(const char *what, F function) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      function();
    } catch (const std::exception &error) {
      std::printf("%s: %.300s\n", what, error.what());
      failures++;
    }
    std::fflush(stdout);
    _exit(failures == 0 ? 0 : 1);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) {
    std::printf("%s: status %d\n", what, status);
    failures++;
  }
}

int main(int argc, char **argv) {
  if (argc != 2 || !(api = opc_launch())) return 1;
  const double began = cpu_now();
  if (!dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) {
    std::printf(
        "SKIP: libtorch_cuda.so cannot be loaded, which needs all of torch's NVIDIA packages (scripts/setup --full): "
        "%s\n",
        dlerror());
    return 0;
  }
  std::printf("libtorch_cuda.so: %.2f s of CPU time\n", cpu_now() - began);
  if (!dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL)) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  std::fflush(stdout);
  in_child("tensors of cuda:0", [] { test_tensors(at::Device("cuda:0")); });
  in_child("tensors of cuda:1", [] { test_tensors(at::Device("cuda:1")); });
  in_child("between devices", test_between_devices);
  in_child("2^31+1 elements", test_huge);
  in_child("products", test_products);
  in_child("libraries of kernels", test_kernel_libraries);
  in_child("the operator on cuda:0", [] { test_operator(at::Device("cuda:0")); });
  in_child("the operator on cuda:1", [] { test_operator(at::Device("cuda:1")); });
  test_operator(at::Device("cuda:1"));  // and in a process that then forks
  in_child("a child of one that has used it", [] { test_operator(at::Device("cuda:0")); });
  return failures == 0 ? 0 : 1;
}
