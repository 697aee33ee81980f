// A tensor of the program, as far as it can be asked without waking anything of its own.
#ifndef OPC_RECORD_OBSERVER_OBSERVER_TENSOR_H
#define OPC_RECORD_OBSERVER_OBSERVER_TENSOR_H

#include <ATen/core/TensorBase.h>

#include <vector>

#include "record/seen_tensor.h"

namespace at {
class Tensor;
}

namespace opc {

// Why a defined tensor is nothing that a sample file can hold. Its sizes and storage may be asked for after NONE, and
// not before.
opc_reason_t tensor_reason(const at::Tensor &tensor);

// What the tensors of one call share.
struct CallTensors {
  std::vector<const void *> storages, impls;   // of all tensors of the call, in order, once for each
  std::vector<const void *> shared, repeated;  // those that come more than once
  void add(const at::Tensor &tensor);
};

// Where values are to be copied from a GPU, `copy` holds them.
opc_seen_tensor_t tensor_seen(const at::Tensor &tensor, const CallTensors &all, at::Tensor *copy);

}  // namespace opc

#endif
