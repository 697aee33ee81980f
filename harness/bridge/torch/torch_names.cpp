#include "bridge/torch/convert.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "bridge/torch/torch_version.h"

namespace opc {
namespace {

struct DtypeRow {
  opc_dtype_t dtype;
  c10::ScalarType type;
};
constexpr DtypeRow kDtypes[] = {
#define OPC_DTYPE(constant, name, scalar_type, bytes, kind, digits, encoding) \
  {OPC_DTYPE_##constant, c10::ScalarType::scalar_type},
#include "base/dtype.def"
#undef OPC_DTYPE
};

struct LayoutRow {
  const char *name;
  c10::Layout layout;
};
constexpr LayoutRow kLayouts[] = {
    {"strided", c10::Layout::Strided},      {"sparse_coo", c10::Layout::Sparse},
    {"sparse_csr", c10::Layout::SparseCsr}, {"sparse_csc", c10::Layout::SparseCsc},
    {"sparse_bsr", c10::Layout::SparseBsr}, {"sparse_bsc", c10::Layout::SparseBsc},
    {"mkldnn", c10::Layout::Mkldnn},        {"jagged", c10::Layout::Jagged},
};

struct MemoryFormatRow {
  const char *name;
  c10::MemoryFormat format;
};
constexpr MemoryFormatRow kMemoryFormats[] = {
    {"contiguous_format", c10::MemoryFormat::Contiguous}, {"contiguous", c10::MemoryFormat::Contiguous},
    {"preserve_format", c10::MemoryFormat::Preserve},     {"preserve", c10::MemoryFormat::Preserve},
    {"channels_last", c10::MemoryFormat::ChannelsLast},   {"channels_last_3d", c10::MemoryFormat::ChannelsLast3d},
};

}  // namespace

opc_dtype_t dtype_of(c10::ScalarType type) {
  for (const auto &row : kDtypes) {
    if (row.type == type && type != c10::ScalarType::Undefined) return row.dtype;
  }
  return OPC_DTYPE_OTHER;
}

std::optional<c10::ScalarType> scalar_type_of(opc_dtype_t dtype) {
  for (const auto &row : kDtypes) {
    if (row.dtype == dtype && row.type != c10::ScalarType::Undefined) return row.type;
  }
  return std::nullopt;
}

opc_device_t device_of(const c10::Device &device) {
  opc_device_t out = {OPC_DEVICE_OTHER, device.index()};
  if (device.is_cpu()) out.type = OPC_DEVICE_CPU;
  if (device.is_cuda()) out.type = OPC_DEVICE_CUDA;
  if (device.is_meta()) out.type = OPC_DEVICE_META;
  return out;
}

std::optional<c10::Device> torch_device_of(opc_device_t device) {
  const auto index = static_cast<c10::DeviceIndex>(device.index);
  switch (device.type) {
    case OPC_DEVICE_CPU:
      return c10::Device(c10::kCPU);
    case OPC_DEVICE_CUDA:
      return c10::Device(c10::kCUDA, index);
    case OPC_DEVICE_META:
      return c10::Device(c10::kMeta);
    case OPC_DEVICE_OTHER:
      break;
  }
  return std::nullopt;
}

const char *layout_name(c10::Layout layout) {
  for (const auto &row : kLayouts) {
    if (row.layout == layout) return row.name;
  }
  return "other";
}

std::optional<c10::Layout> layout_find(const std::string &name) {
  for (const auto &row : kLayouts) {
    if (name == row.name) return row.layout;
  }
  return std::nullopt;
}

std::optional<c10::MemoryFormat> memory_format_find(const std::string &name) {
  for (const auto &row : kMemoryFormats) {
    if (name == row.name) return row.format;
  }
  return std::nullopt;
}

c10::OperatorName operator_name_parse(const char *name) {
  const auto view = c10::OperatorNameView::parse(name);
  return {std::string(view.name), std::string(view.overload_name)};
}

char *copy_string(const std::string &text) {
  auto *copy = static_cast<char *>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace opc
