// Differences between the libtorch versions that the bridge supports. The rest of the bridge builds unchanged with all
// of them.
#ifndef OPC_BRIDGE_TORCH_TORCH_VERSION_H
#define OPC_BRIDGE_TORCH_TORCH_VERSION_H

#include <ATen/core/enum_tag.h>
#include <torch/version.h>

#include <string>

#define OPC_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

// 2.13 added two tags in the middle of the enum: numbers differ between versions, so only names leave the bridge.
#if OPC_TORCH_AT_LEAST(2, 13)
#define OPC_TORCH_TAGS_2_13(X) X(inplace) X(out)
#else
#define OPC_TORCH_TAGS_2_13(X)
#endif

#if OPC_TORCH_AT_LEAST(2, 13)
#include <torch/csrc/shim_exception_state.h>
#endif

#define OPC_TORCH_TAGS(X)       \
  X(core)                       \
  X(cudagraph_unsafe)           \
  X(data_dependent_output)      \
  X(dynamic_output_shape)       \
  X(flexible_layout)            \
  X(generated)                  \
  X(inplace_view)               \
  X(maybe_aliasing_or_mutating) \
  X(needs_contiguous_strides)   \
  X(needs_exact_strides)        \
  X(needs_fixed_stride_order)   \
  X(nondeterministic_bitwise)   \
  X(nondeterministic_seeded)    \
  X(out_variant)                \
  X(pointwise)                  \
  X(pt2_compliant_tag)          \
  X(reduction)                  \
  X(view_copy)                  \
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

}  // namespace opc

#endif
