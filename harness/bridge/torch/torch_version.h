// Differences between the libtorch versions that the bridge supports. The rest of the bridge builds unchanged with all
// of them.
#pragma once

#include <ATen/core/enum_tag.h>
#include <ATen/record_function.h>
#include <c10/core/Stream.h>
#include <dlfcn.h>
#include <torch/version.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>

#define OPC_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// New tags come in the middle of the enum: numbers differ between versions, so only names leave the bridge.
#if OPC_TORCH_AT_LEAST(2, 8)
#define OPC_TORCH_TAGS_2_8(X) X(cudagraph_unsafe) X(needs_contiguous_strides) X(needs_exact_strides)
#else
#define OPC_TORCH_TAGS_2_8(X)
#endif
#if OPC_TORCH_AT_LEAST(2, 10)
#define OPC_TORCH_TAGS_2_10(X) X(reduction)
#else
#define OPC_TORCH_TAGS_2_10(X)
#endif
#if OPC_TORCH_AT_LEAST(2, 11)
#define OPC_TORCH_TAGS_2_11(X) X(out_variant)
#else
#define OPC_TORCH_TAGS_2_11(X)
#endif
#if OPC_TORCH_AT_LEAST(2, 13)
#define OPC_TORCH_TAGS_2_13(X) X(inplace) X(out)
#else
#define OPC_TORCH_TAGS_2_13(X)
#endif

// The first version with this dtype is 2.7. In a table, its row is one of Undefined in a libtorch before that.
#if !OPC_TORCH_AT_LEAST(2, 7)
#define Float8_e8m0fnu Undefined
#endif

// For a virtual function that SymNodeImpl has from 2.8 on.
#if OPC_TORCH_AT_LEAST(2, 8)
#define OPC_TORCH_OVERRIDE_2_8 override
#else
#define OPC_TORCH_OVERRIDE_2_8
#endif

// 2.6 and 2.7 export the function, and their wheels lack its header.
#if OPC_TORCH_AT_LEAST(2, 8)
#include <caffe2/core/common.h>
#else
namespace caffe2 {
const std::map<std::string, std::string> &GetBuildOptions();
}
#endif

#include <c10/core/CachingDeviceAllocator.h>
#if OPC_TORCH_AT_LEAST(2, 9)
#include <ATen/Context.h>
#endif

#if OPC_TORCH_AT_LEAST(2, 13)
#include <torch/csrc/shim_exception_state.h>
#endif

#define OPC_TORCH_TAGS(X)       \
  X(core)                       \
  X(data_dependent_output)      \
  X(dynamic_output_shape)       \
  X(flexible_layout)            \
  X(generated)                  \
  X(inplace_view)               \
  X(maybe_aliasing_or_mutating) \
  X(needs_fixed_stride_order)   \
  X(nondeterministic_bitwise)   \
  X(nondeterministic_seeded)    \
  X(pointwise)                  \
  X(pt2_compliant_tag)          \
  X(view_copy)                  \
  OPC_TORCH_TAGS_2_8(X)         \
  OPC_TORCH_TAGS_2_10(X)        \
  OPC_TORCH_TAGS_2_11(X)        \
  OPC_TORCH_TAGS_2_13(X)

namespace opc {

// nullptr for a tag of a libtorch newer than this table.
inline const char *tag_name(at::Tag tag) {
  switch (tag) {
#define OPC_TORCH_TAG(name) \
  case at::Tag::name:       \
    return #name;
    OPC_TORCH_TAGS(OPC_TORCH_TAG)
#undef OPC_TORCH_TAG
  }
  return nullptr;
}

// The last exception in this thread that the C interface turned into an error code. Up to 2.12 libtorch prints it; from
// 2.13 on it keeps it.
#if OPC_TORCH_AT_LEAST(2, 13)
inline std::string kept_exception() { return torch::csrc::shim::details::get_torch_exception_what_without_backtrace(); }
inline void forget_exception() { torch::csrc::shim::details::set_torch_exception_what_without_backtrace({}); }
#else
inline std::string kept_exception() { return {}; }
inline void forget_exception() {}
#endif

// The overload's name of an observed operator; "" where the observed function is none.
inline std::string overload_name_of(const at::RecordFunction &function) {
#if OPC_TORCH_AT_LEAST(2, 7)
  return function.overload_name();
#else
  const auto name = function.operator_name();
  return name ? name->overload_name : std::string();
#endif
}

#if !OPC_TORCH_AT_LEAST(2, 11)
// Of libc10_cuda, whose headers need CUDA's: found by name in what the process has loaded.
inline void *of_c10_cuda(const char *mangled) {
  void *found = dlsym(RTLD_DEFAULT, mangled);
  if (found == nullptr) throw std::runtime_error(std::string("libc10_cuda is not loaded, or lacks ") + mangled);
  return found;
}
#endif

// The cudaStream_t of a CUDA stream.
inline uint64_t stream_handle_of(const c10::Stream &stream) {
#if OPC_TORCH_AT_LEAST(2, 11)
  return reinterpret_cast<uintptr_t>(stream.native_handle());
#else
  // c10::cuda::CUDAStream::stream() const; a CUDAStream is a Stream and nothing else.
  using stream_function = void *(const c10::Stream *);
  auto *const handle_of = reinterpret_cast<stream_function *>(of_c10_cuda("_ZNK3c104cuda10CUDAStream6streamEv"));
  return reinterpret_cast<uintptr_t>(handle_of(&stream));
#endif
}

// The constructor of at::cuda::CUDAGraph; keep_graph came with 2.8.
#if OPC_TORCH_AT_LEAST(2, 8)
constexpr const char *kCudaGraphConstructor = "_ZN2at4cuda9CUDAGraphC1Eb";
inline void make_cuda_graph(void *constructor, void *self) {
  reinterpret_cast<void (*)(void *, bool)>(constructor)(self, false);
}
#else
constexpr const char *kCudaGraphConstructor = "_ZN2at4cuda9CUDAGraphC1Ev";
inline void make_cuda_graph(void *constructor, void *self) { reinterpret_cast<void (*)(void *)>(constructor)(self); }
#endif

#if !OPC_TORCH_AT_LEAST(2, 9)
// The beginning of c10::cuda::CUDACachingAllocator::CUDAAllocator: as many virtual functions, in the order of its
// header, as precede the one that is called. A cudaStream_t is a pointer.
class CUDAAllocatorBeginning : public c10::Allocator {
 public:
  virtual void *raw_alloc(size_t) = 0;
  virtual void *raw_alloc_with_stream(size_t, void *) = 0;
  virtual void raw_delete(void *) = 0;
  virtual void init(int) = 0;
  virtual bool initialized() = 0;
  virtual double getMemoryFraction(c10::DeviceIndex) = 0;
  virtual void setMemoryFraction(double, c10::DeviceIndex) = 0;
  virtual void emptyCache() = 0;
  virtual void enable(bool) = 0;
  virtual bool isEnabled() const = 0;
  virtual void cacheInfo(c10::DeviceIndex, size_t *) = 0;
  virtual void *getBaseAllocation(void *, size_t *) = 0;
  virtual void recordStream(const c10::DataPtr &, c10::Stream) = 0;
  virtual c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) = 0;
};
#endif

// Bytes that the caching allocator has given out on a CUDA device.
inline uint64_t allocated_bytes_on(const c10::Device &device) {
#if OPC_TORCH_AT_LEAST(2, 9)
  auto *const allocator = at::getDeviceAllocator(device.type());
#else
  // c10::cuda::CUDACachingAllocator::allocator
  using allocators = std::atomic<CUDAAllocatorBeginning *>;
  auto *const allocator =
      static_cast<allocators *>(of_c10_cuda("_ZN3c104cuda20CUDACachingAllocator9allocatorE"))->load();
#endif
  const auto stats = allocator->getDeviceStats(device.index());
#if OPC_TORCH_AT_LEAST(2, 7)
  using c10::CachingAllocator::StatType;
#else
  using c10::CachingDeviceAllocator::StatType;
#endif
  const auto aggregate = static_cast<size_t>(StatType::AGGREGATE);
  return static_cast<uint64_t>(stats.allocated_bytes.at(aggregate).current);
}

}  // namespace opc

namespace opc {

// From 2.10 on, a tensor or storage that Python has seen keeps its wrapper, and the wrapper holds one reference to it.
// That one belongs to nobody, unless something else refers to the wrapper.
template <typename Impl>
size_t uses_without_wrapper(const Impl *impl, size_t uses) {
#if OPC_TORCH_AT_LEAST(2, 10)
  return impl->pyobj_slot()->has_unique_reference() ? uses - 1 : uses;
#else
  (void)impl;
  return uses;
#endif
}

}  // namespace opc
