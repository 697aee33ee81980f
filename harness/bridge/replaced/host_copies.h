// Copies of CUDA tensors in the host's memory, on the simulated CUDA device: the tensors of one storage share one copy.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <utility>
#include <vector>

namespace opc {

// Throws Unconvertible where a tensor cannot be copied.
class HostCopies {
 public:
  // The call is going to be computed.
  void begin();
  // A CPU tensor with the same sizes and strides over the copy. Any other tensor is returned as it is.
  at::Tensor of(const at::Tensor &tensor);
  // The storage of this tensor was copied.
  bool holds(const at::Tensor &tensor) const;
  // Its memory will be needed.
  void count(const at::Tensor &tensor);
  // `to`, on CUDA, shall get the values of `from`. It must have the same sizes and dtype.
  void plan(const at::Tensor &to, const at::Tensor &from);
  void write();
  bool too_costly() const { return too_costly_; }

 private:
  std::map<const c10::StorageImpl *, c10::Storage> storages_;
  std::vector<std::pair<at::Tensor, at::Tensor>> planned_;
  size_t bytes_ = 0;
  bool too_costly_ = false;
};

}  // namespace opc
