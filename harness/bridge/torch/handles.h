// The opaque types of bridge.h.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Storage.h>

#include <vector>

#include "bridge/api/bridge.h"

struct opc_storage {
  c10::Storage storage;
};

struct opc_tensor {
  at::Tensor tensor;
};

struct opc_object {
  c10::IValue value;
};

struct opc_op_handle {
  c10::OperatorHandle op;
  std::vector<c10::IValue> stack;  // kept between calls to reuse its memory; empty outside opc_op_call
};
