// On the simulated CUDA device: values of libtorch's operators, from its CPU kernels.
//
// A boxed kernel at a functionality below autograd sees each call that the operator under test makes. It lets
// libtorch's own CUDA kernel go first: its checks, its allocations, and its launches, copies and waits, which the
// checks of streams, captures and launches judge. If a launch did not run, the CPU kernel computes the call on copies
// of the inputs, and the results are written to the memory that the CUDA kernel returned. Where the host reads back
// what a kernel should have written (nonzero), that copy fails, and the results are new tensors. So they are where the
// CUDA kernel needs a library that does not work on the device.
//
// What cannot be computed like this stays as before: its launches are only recorded.
#include "bridge/api/replaced.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <exception>
#include <optional>

#include "bridge/replaced/host_copies.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/handles.h"
#include "cuda/log/launch.h"

namespace {

using opc::HostCopies;
using Values = std::vector<c10::IValue>;

// The only one between autograd and the backends that libtorch leaves to others.
constexpr auto kKey = c10::DispatchKey::Fake;

bool is_libtorchs(const c10::OperatorHandle &op) { return op.operator_name().name.rfind("aten::", 0) == 0; }

// The CUDA device of a call: of its device argument, or of its first tensor on one.
std::optional<c10::Device> device_of_call(const Values &arguments) {
  std::optional<c10::Device> found;
  for (const auto &value : arguments) {
    if (value.isDevice()) return value.toDevice();
    opc::with_tensors(value, [&](const at::Tensor &tensor) {
      if (!found && tensor.is_cuda()) found = tensor.device();
      return tensor;
    });
  }
  return found;
}

bool uses_cuda(const Values &arguments) {
  bool uses = false;
  for (const auto &value : arguments) {
    uses |= value.isDevice() && value.toDevice().is_cuda();
    opc::with_tensors(value, [&](const at::Tensor &tensor) {
      uses |= tensor.is_cuda();
      return tensor;
    });
  }
  return uses;
}

bool is_written(const c10::Argument &argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// "": the CPU may compute it.
std::string why_never(const c10::OperatorHandle &op) {
  bool random = op.hasTag(at::Tag::nondeterministic_seeded);
  for (const auto &argument : op.schema().arguments()) random |= argument.name() == "generator";
  return random ? "the CPU draws other random numbers" : "";
}

class Call {
 public:
  Call(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack)
      : op_(op),
        keys_(keys),
        stack_(stack),
        base_(stack->size() - op.schema().arguments().size()),
        arguments_(stack->begin() + static_cast<std::ptrdiff_t>(base_), stack->end()) {}

  void run() {
    if (!is_libtorchs(op_) || !uses_cuda(arguments_)) return op_.redispatchBoxed(keys_, stack_);
    const c10::impl::ExcludeDispatchKeyGuard once(kKey);
    why_ = why_never(op_);
    if (why_.empty()) take_written();
    if (!opc_launch()->call_begin(why_.empty())) return op_.redispatchBoxed(keys_, stack_);
    bool refused = false, lacks = false, replaced = false;
    std::exception_ptr thrown;
    try {
      op_.redispatchBoxed(keys_, stack_);
    } catch (abi::__forced_unwind &) {
      throw;
    } catch (...) {
      thrown = std::current_exception();
    }
    const bool open = opc_launch()->call_open(&refused, &lacks);
    if (thrown && !refused && !lacks) why_ = "it threw an exception";
    else if (!thrown && !open) why_.clear();
    else if (why_.empty()) why_ = compute(thrown != nullptr), replaced = why_.empty();
    end(replaced);
    if (thrown && refused && !why_.empty()) return run_again();
    if (thrown && !why_.empty()) std::rethrow_exception(thrown);
  }

 private:
  // Before the CUDA kernel copies something to them, or resizes them.
  void take_written() {
    const auto &expected = op_.schema().arguments();
    given_.resize(expected.size());
    (void)opc::guarded_call(why_, [&] {
      for (size_t i = 0; i < expected.size(); i++)
        if (is_written(expected[i])) given_[i] = on_host(arguments_[i]);
    });
  }

  c10::IValue on_host(const c10::IValue &value) {
    if (value.isDevice()) return c10::Device(c10::kCPU);
    return opc::with_tensors(value, [&](const at::Tensor &tensor) { return copies_.of(tensor); });
  }

  // "": the results are in place.
  std::string compute(bool threw) {
    std::string text;
    const at::AutoDispatchBelowADInplaceOrView below;
    const auto &expected = op_.schema().arguments();
    const auto outcome = opc::guarded_call(text, [&] {
      copies_.begin();
      if (!threw)
        for (size_t i = base_; i < stack_->size(); i++)
          opc::with_tensors((*stack_)[i], [&](const at::Tensor &tensor) {
            copies_.count(tensor);
            return tensor;
          });
      for (size_t i = 0; i < expected.size(); i++)
        if (!is_written(expected[i])) given_[i] = on_host(arguments_[i]);
      results_ = given_;
      op_.callBoxed(&results_);
      threw ? make_returns() : check_returns();
      write_arguments();
    });
    if (outcome == OPC_CALL_RETURNED) return "";
    return text.empty() ? "its CPU kernel failed" : text;
  }

  // Nothing is written before everything fits.
  void check_returns() {
    if (results_.size() != stack_->size() - base_) throw opc::Unconvertible("it returns something else");
    for (size_t i = 0; i < results_.size(); i++) {
      auto &value = (*stack_)[base_ + i];
      if (value.isTensor() || value.isTensorList()) pair_up(value, results_[i]);
      else value = results_[i];
    }
  }

  void pair_up(const c10::IValue &cuda, const c10::IValue &host) {
    Values from;
    opc::with_tensors(host, [&](const at::Tensor &tensor) {
      from.emplace_back(tensor);
      return tensor;
    });
    size_t next = 0;
    opc::with_tensors(cuda, [&](const at::Tensor &tensor) {
      if (next == from.size()) throw opc::Unconvertible("its CPU kernel returns other tensors");
      const auto source = from[next++].toTensor();
      if (!copies_.holds(tensor)) copies_.plan(tensor, source);  // else it is an argument, or a view of one
      return tensor;
    });
    if (next != from.size()) throw opc::Unconvertible("its CPU kernel returns other tensors");
  }

  void write_arguments() {
    const auto &expected = op_.schema().arguments();
    for (size_t i = 0; i < expected.size(); i++)
      if (is_written(expected[i])) {
        Values to;
        opc::with_tensors(arguments_[i], [&](const at::Tensor &tensor) {
          to.emplace_back(tensor);
          return tensor;
        });
        size_t next = 0;
        opc::with_tensors(given_[i], [&](const at::Tensor &tensor) {
          const auto target = to.at(next++).toTensor();
          if (target.is_cuda()) copies_.plan(target, tensor);
          return tensor;
        });
      }
    copies_.write();
  }

  // The CUDA kernel did not come to its end: its results are new tensors, or the arguments that it writes to.
  void make_returns() {
    const auto device = device_of_call(arguments_).value();
    Values made;
    for (size_t i = 0; i < results_.size(); i++) {
      const auto *alias = op_.schema().returns()[i].alias_info();
      if (alias != nullptr && !alias->isWrite()) throw opc::Unconvertible("it returns a view");
      if (alias != nullptr) made.push_back(argument_of(*alias));
      else if (!device.is_cuda()) made.push_back(results_[i]);
      else
        made.push_back(opc::with_tensors(results_[i], [&](const at::Tensor &tensor) {
          const auto fresh = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(device));
          copies_.plan(fresh, tensor);
          return fresh;
        }));
    }
    stack_->resize(base_);
    stack_->insert(stack_->end(), made.begin(), made.end());
  }

  const c10::IValue &argument_of(const c10::AliasInfo &alias) {
    const auto &expected = op_.schema().arguments();
    for (size_t i = 0; i < expected.size(); i++)
      if (is_written(expected[i]) && expected[i].alias_info()->beforeSets() == alias.beforeSets()) return arguments_[i];
    throw opc::Unconvertible("it returns a view");
  }

  // As if nothing could be computed, from the beginning: what the host reads is arbitrary.
  void run_again() {
    stack_->resize(base_);
    stack_->insert(stack_->end(), arguments_.begin(), arguments_.end());
    op_.redispatchBoxed(keys_, stack_);
  }

  void end(bool replaced) {
    const std::string text = "libtorch's kernels of " + op_.operator_name().name +
                             " have no PTX, and its CPU kernel does not replace them: " + why_;
    opc_launch()->call_end(replaced ? nullptr : text.c_str(), copies_.too_costly());
  }

  const c10::OperatorHandle &op_;
  c10::DispatchKeySet keys_;
  torch::jit::Stack *stack_;
  size_t base_;
  Values arguments_, given_, results_;
  HostCopies copies_;
  std::string why_;
};

void replace(const c10::OperatorHandle &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  Call(op, keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, kKey), stack).run();
}

}  // namespace

void opc_bridge_replace_kernels() {
  if (!opc_cuda_simulated() || opc::replacing_key != c10::DispatchKey::Undefined) return;
  auto &dispatcher = c10::Dispatcher::singleton();
  if (dispatcher.hasBackendFallbackForDispatchKey(kKey)) return;  // it is no longer left to others
  static auto *registered = new c10::RegistrationHandleRAII(
      dispatcher.registerFallback(kKey, c10::KernelFunction::makeFromBoxedFunction<&replace>(), "opcheck-c"));
  (void)registered;  // kept: to unregister it when the process ends, libtorch's destructors would have to run later
  opc::replacing_key = kKey;
}
