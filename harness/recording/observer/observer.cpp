// The part of `opcheck-c record` that uses libtorch. A RecordFunction callback sees each call of an operator with its
// arguments, and writes down calls of a new class. The program that loads it knows nothing about it: no exception
// leaves it, and it calls no operator except to copy from a GPU.
//
// It is a separate library for each libtorch. It is built with NDEBUG, as libtorch is: without it at::RecordFunction
// has other members.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <cxxabi.h>

#include <cerrno>
#include <cfenv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "bridge/torch/torch_version.h"
#include "recording/observer/observer_call.h"

namespace opc {
namespace {

// A call in progress in this thread. A kernel for Autograd calls its operator again, one key further down: that is the
// same call.
class Active : public at::ObserverContext {
 public:
  Active(const opc_recorded_operator_t *op, uint64_t arguments) : op_(op), arguments_(arguments), outer_(innermost) {
    innermost = this;
  }
  ~Active() override {
    if (innermost == this) innermost = outer_;
  }
  static bool has(const opc_recorded_operator_t *op, uint64_t arguments) {
    for (const Active *active = innermost; active != nullptr; active = active->outer_) {
      if (active->op_ == op && active->arguments_ == arguments) return true;
    }
    return false;
  }

 private:
  static thread_local Active *innermost;
  const opc_recorded_operator_t *op_;
  uint64_t arguments_;
  Active *outer_;
};
thread_local Active *Active::innermost = nullptr;

// torch.compile and torch.export run a program with placeholder tensors.
bool is_tracing() {
  using c10::impl::TorchDispatchModeKey;
  using c10::impl::TorchDispatchModeTLS;
  return TorchDispatchModeTLS::get_mode(TorchDispatchModeKey::FAKE).has_value() ||
         TorchDispatchModeTLS::get_mode(TorchDispatchModeKey::PROXY).has_value() ||
         TorchDispatchModeTLS::get_mode(TorchDispatchModeKey::FUNCTIONAL).has_value();
}

// Statistics of NaN raise floating-point flags, and a signal if the program wants one.
class Quiet {
 public:
  Quiet() {
    std::feholdexcept(&floating_);
    opc_quiet_begin(&quiet_);
  }
  ~Quiet() {
    opc_quiet_end(&quiet_);
    std::fesetenv(&floating_);
  }
  Quiet(const Quiet &) = delete;
  Quiet &operator=(const Quiet &) = delete;

 private:
  opc_quiet_t quiet_;
  std::fenv_t floating_;
};

struct Text {
  opc_text_t text = {};
  ~Text() { opc_text_clear(&text); }
};

void write_down(opc_recorded_operator_t *op, uint64_t class_, const c10::FunctionSchema &schema,
                c10::ArrayRef<const c10::IValue> inputs) {
  const Quiet quiet;
  Text sample;
  opc_reason_t reason = OPC_REASON_TROUBLE;
  try {
    reason = write_call(schema, inputs, &sample.text);
  } catch (...) {  // out of memory, or libtorch refuses to describe a tensor
  }
  if (reason == OPC_REASON_NONE) opc_recorder_write(op, class_, &sample.text);
  else opc_recorder_leave(op, class_, reason);
}

bool is_operator(const char *name, const char *overload) {
  try {
    return c10::Dispatcher::singleton().findSchema({name, overload}).has_value();
  } catch (...) {
    return false;
  }
}

std::unique_ptr<at::ObserverContext> look_at(const at::RecordFunction &function) {
  const char *name = function.name();
  if (std::strncmp(name, "aten::", 6) == 0 && !aten_is_wanted()) return nullptr;
  const std::string overload = opc::overload_name_of(function);
  auto *op = opc_recorder_find(name, overload.c_str(), is_operator);
  if (op == nullptr) return nullptr;
  const auto inputs = function.inputs();
  CallClass seen;
  opc_reason_t reason = OPC_REASON_TROUBLE;
  try {
    reason = is_tracing() ? OPC_REASON_TRACING : classify(inputs, &seen);
  } catch (...) {  // a tensor that refuses the question
  }
  if (Active::has(op, seen.arguments)) return nullptr;
  auto active = std::make_unique<Active>(op, seen.arguments);
  opc_recorder_seen(op);
  if (reason != OPC_REASON_NONE) {
    opc_recorder_count(op, reason);
  } else if (opc_recorder_claim(op, seen.class_)) {
    const auto found = c10::Dispatcher::singleton().findSchema({name, overload});
    if (found && found->schema().arguments().size() == inputs.size())
      write_down(op, seen.class_, found->schema(), inputs);
    else opc_recorder_leave(op, seen.class_, OPC_REASON_TROUBLE);
  }
  return active;
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction &function) {
  const int error = errno;
  std::unique_ptr<at::ObserverContext> active;
  try {
    active = look_at(function);
  } catch (abi::__forced_unwind &) {
    throw;
  } catch (...) {  // the program continues as if it were not observed
  }
  errno = error;
  return active;
}

void on_end(const at::RecordFunction &, at::ObserverContext *) {}  // libtorch ends the context

}  // namespace
}  // namespace opc

extern "C" {
extern const char opc_observer_torch[];
const char opc_observer_torch[] = OPC_OBSERVER_TORCH_MINOR;

void opc_observer_start(const char *folder, char *why, size_t size);
void opc_observer_start(const char *folder, char *why, size_t size) {
  opc_error_t error = {};
  try {
    if (opc_recorder_start(folder, &error) != OPC_OK) {
      std::snprintf(why, size, "%s", error.message);
      return;
    }
    at::addGlobalCallback(
        at::RecordFunctionCallback(opc::on_start, opc::on_end).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  } catch (const std::exception &exception) {
    std::snprintf(why, size, "%s", exception.what());
  } catch (...) {
    std::snprintf(why, size, "libtorch did not take the observer");
  }
}
}
