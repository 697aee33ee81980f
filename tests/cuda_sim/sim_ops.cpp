// Operators for what lies between the command line and the checks on the simulated device. None has a kernel of its
// own: they call libtorch's.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <cstdlib>
#include <vector>

namespace {

at::Tensor only_cuda(const at::Tensor &image, int64_t size) {
  TORCH_CHECK(image.dim() == 3, "image must be a 3-D tensor, got ", image.dim(), "-D");
  TORCH_CHECK(size >= 1 && size <= 64, "size must be between 1 and 64, got ", size);
  return at::empty({image.size(0), size}, image.options());
}

// Seen by whoever lists kernels as one for every device.
at::Tensor only_cuda_autograd(const at::Tensor &image, int64_t size) {
  const at::AutoDispatchBelowADInplaceOrView below;
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("sim::only_cuda", "")
                             .typed<at::Tensor(const at::Tensor &, int64_t)>();
  return op.call(image, size);
}

// Registered for every device, and made for one.
at::Tensor cuda_by_words(const at::Tensor &image, int64_t size) {
  TORCH_CHECK(image.is_cuda(), "image must be on CUDA");
  return only_cuda(image, size);
}

at::Tensor like(const at::Tensor &x) { return at::empty_like(x); }

at::Tensor wrong_device(const at::Tensor &x) { return at::empty(x.sizes(), x.options().device(at::kCPU)); }

// The sum is a kernel's work, which the CPU does.
at::Tensor reads_back(const at::Tensor &x) {
  TORCH_CHECK(x.abs().sum().item<double>() > 0, "x is all zero");
  return at::empty_like(x);
}

// What the host has written to the device is there.
at::Tensor reads_input(const at::Tensor &x) {
  TORCH_CHECK(x.flatten()[0].item<double>() == 3, "x does not begin with a three");
  return at::empty_like(x);
}

at::Tensor multiplies(const at::Tensor &x) { return at::mm(x, x); }

// The CPU would draw other numbers, so nothing is drawn.
at::Tensor reads_random(const at::Tensor &x) {
  TORCH_CHECK(at::rand_like(x).sum().item<double>() > 0, "the numbers are all zero");
  return at::empty_like(x);
}

// By a library with a runtime of its own, which finds no device, and there is no such kernel for the CPU.
at::Tensor convolves(const at::Tensor &x) {
  const auto image = x.view({1, 1, x.size(0), x.size(1)});
  const std::vector<int64_t> none{0, 0}, one{1, 1};
  return at::cudnn_convolution(image, at::ones({1, 1, 1, 1}, x.options()), none, one, one, 1, false, true, false)
      .view_as(x);
}

// Also by such a library, and the CPU has the kernel.
at::Tensor inverts(const at::Tensor &x) { return at::linalg_inv(x); }

at::Tensor made_on(int64_t size, std::optional<c10::Device> device) {
  const auto where = device.value_or(c10::Device(at::kCPU));
  TORCH_CHECK(where.is_cuda(), "made_on is for CUDA, and was given ", where);
  return at::empty({size}, at::TensorOptions().device(where));
}

at::Tensor starts_process(const at::Tensor &x) {
  TORCH_CHECK(std::system("test -z \"$LD_PRELOAD\"") == 0, "a process that an operator starts inherits LD_PRELOAD");
  return at::empty_like(x);
}

at::Tensor follows_pointer(const at::Tensor &x) {
  auto *data = static_cast<volatile float *>(x.data_ptr());
  data[0] = data[0] + 1;
  return at::empty_like(x);
}

at::Tensor crashes(const at::Tensor &x) {
  *static_cast<volatile int *>(nullptr) = 1;
  return x;
}

at::Tensor refuses(const at::Tensor &x) {
  TORCH_CHECK(x.dim() == 7, "x must have seven dimensions");
  return at::empty_like(x);
}

}  // namespace

TORCH_LIBRARY(sim, m) {
  m.def("only_cuda(Tensor image, int size) -> Tensor");
  m.def("cuda_by_words(Tensor image, int size) -> Tensor", &cuda_by_words);
  m.def("both(Tensor x) -> Tensor");
  m.def("only_cpu(Tensor x) -> Tensor");
  m.def("wrong_device(Tensor x) -> Tensor");
  m.def("reads_back(Tensor x) -> Tensor");
  m.def("reads_input(Tensor x) -> Tensor");
  m.def("multiplies(Tensor x) -> Tensor");
  m.def("reads_random(Tensor x) -> Tensor");
  m.def("convolves(Tensor x) -> Tensor");
  m.def("inverts(Tensor x) -> Tensor");
  m.def("inverts_unseen(Tensor x) -> Tensor");
  m.def("made_on(int size, *, Device? device=None) -> Tensor");
  m.def("starts_process(Tensor x) -> Tensor");
  m.def("follows_pointer(Tensor x) -> Tensor");
  m.def("crashes(Tensor x) -> Tensor");
  m.def("refuses(Tensor x) -> Tensor");
}

TORCH_LIBRARY_IMPL(sim, CPU, m) {
  m.impl("both", &like);
  m.impl("only_cpu", &like);
}

TORCH_LIBRARY_IMPL(sim, CUDA, m) {
  m.impl("only_cuda", &only_cuda);
  m.impl("both", &like);
  m.impl("wrong_device", &wrong_device);
  m.impl("reads_back", &reads_back);
  m.impl("reads_input", &reads_input);
  m.impl("multiplies", &multiplies);
  m.impl("reads_random", &reads_random);
  m.impl("convolves", &convolves);
  m.impl("inverts", &inverts);
  m.impl("inverts_unseen", &inverts);
  m.impl("starts_process", &starts_process);
  m.impl("follows_pointer", &follows_pointer);
  m.impl("crashes", &crashes);
  m.impl("refuses", &refuses);
}

TORCH_LIBRARY_IMPL(sim, Autograd, m) { m.impl("only_cuda", &only_cuda_autograd); }

TORCH_LIBRARY_IMPL(sim, CompositeExplicitAutograd, m) { m.impl("made_on", &made_on); }
