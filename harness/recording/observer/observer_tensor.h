// A tensor of the program, inspected without triggering code of its own.
#pragma once

#include <ATen/core/TensorBase.h>

#include <vector>

#include "recording/seen_tensor.h"

namespace at {
class Tensor;
}

namespace opc {

// Why a sample file cannot hold a defined tensor. Only after NONE may its sizes and storage be read.
opc_reason_t tensor_reason(const at::Tensor &tensor);

// Storages and TensorImpls that tensors of one call share.
struct CallTensors {
  std::vector<const void *> storages, impls;   // of all tensors of the call, in order, one each
  std::vector<const void *> shared, repeated;  // those that occur more than once
  void add(const at::Tensor &tensor);
};

// If values are copied from a GPU, `copy` holds them.
opc_seen_tensor_t tensor_seen(const at::Tensor &tensor, const CallTensors &all, at::Tensor *copy);

}  // namespace opc
