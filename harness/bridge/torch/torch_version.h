// Differences between the libtorch versions that the bridge supports. The rest of the bridge builds unchanged with all
// of them.
#ifndef OPC_BRIDGE_TORCH_TORCH_VERSION_H
#define OPC_BRIDGE_TORCH_TORCH_VERSION_H

#include <ATen/core/enum_tag.h>
#include <ATen/record_function.h>
#include <c10/core/Stream.h>
#include <torch/version.h>

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

#if OPC_TORCH_AT_LEAST(2, 9)
#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
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

// The cudaStream_t. Throws before 2.11.
inline uint64_t stream_handle_of(const c10::Stream &stream) {
#if OPC_TORCH_AT_LEAST(2, 11)
  return reinterpret_cast<uintptr_t>(stream.native_handle());
#else
  (void)stream;
  throw std::runtime_error("a libtorch before 2.11 does not give the handle of a stream");
#endif
}

// Bytes that the caching allocator has given out on the device. Throws before 2.9.
inline uint64_t allocated_bytes_on(const c10::Device &device) {
#if OPC_TORCH_AT_LEAST(2, 9)
  const auto stats = at::getDeviceAllocator(device.type())->getDeviceStats(device.index());
  const auto aggregate = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  return static_cast<uint64_t>(stats.allocated_bytes.at(aggregate).current);
#else
  (void)device;
  throw std::runtime_error("a libtorch before 2.9 does not count a device's memory");
#endif
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

#endif
