// What a kernel asks of symbolic sizes, noted while it runs.
#ifndef OPC_BRIDGE_SYMBOLIC_SYMBOLIC_RECORD_H
#define OPC_BRIDGE_SYMBOLIC_SYMBOLIC_RECORD_H

#include <ATen/record_function.h>

#include <string>

#include "bridge/api/bridge.h"

namespace opc {

// Notes into a struct for as long as it lives, on this thread. libtorch's own observers tell the operator
// under test from those that it calls.
class SymbolicRecord {
 public:
  SymbolicRecord(opc_symbolic_t *out, std::string operator_name);
  ~SymbolicRecord();
  SymbolicRecord(const SymbolicRecord &) = delete;
  SymbolicRecord &operator=(const SymbolicRecord &) = delete;

  // Where nothing records on this thread, nothing happens.
  static void note(opc_symbolic_kind_t kind, const std::string &text, int64_t value, int leaf);

 private:
  static std::unique_ptr<at::ObserverContext> entered(const at::RecordFunction &function);
  static void left(const at::RecordFunction &function, at::ObserverContext *context);

  opc_symbolic_t *out_;
  std::string operator_;
  int inner_ = 0;  // operators that the one under test is waiting for
  at::CallbackHandle handle_;
};

}  // namespace opc

#endif
