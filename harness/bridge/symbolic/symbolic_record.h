// Records what a kernel requests from symbolic sizes while it runs.
#pragma once

#include <ATen/record_function.h>
#include <c10/core/SymInt.h>

#include <string>

#include "bridge/api/bridge.h"

namespace opc {

// Records into a struct during its lifetime, on this thread. libtorch's observers distinguish the operator under test
// from operators that it calls. Without an operator, backward is recorded: what the autograd engine requests does not
// count.
class SymbolicRecord {
 public:
  explicit SymbolicRecord(opc_symbolic_t *out, std::string operator_name = "");
  ~SymbolicRecord();
  SymbolicRecord(const SymbolicRecord &) = delete;
  SymbolicRecord &operator=(const SymbolicRecord &) = delete;

  // Does nothing if there is no record on this thread.
  static void note(opc_symbolic_kind_t kind, const std::string &text, int64_t value, int argument);

 private:
  static std::unique_ptr<at::ObserverContext> entered(const at::RecordFunction &function);
  static void left(const at::RecordFunction &function, at::ObserverContext *context);

  opc_symbolic_t *out_;
  std::string operator_;
  int inner_ = 0;  // running operators that the operator under test has called
  at::CallbackHandle handle_;
};

// Symbols for sizes: expressions that know their number and record each request for it.

c10::SymInt symbol(const std::string &name, int64_t hint);
// The number behind a size, without recording the request.
int64_t hint_of(const c10::SymInt &size);

}  // namespace opc
