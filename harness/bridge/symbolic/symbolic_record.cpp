#include "bridge/symbolic/symbolic_record.h"

#include <ATen/core/jit_type.h>
#include <dlfcn.h>
#include <torch/csrc/autograd/engine.h>
#include <unwind.h>

#include <cstdio>
#include <cstring>
#include <exception>

namespace opc {
namespace {

thread_local SymbolicRecord *recording = nullptr;

const void *module_of(uint64_t address) {
  Dl_info info;
  return dladdr(reinterpret_cast<void *>(static_cast<uintptr_t>(address)), &info) != 0 ? info.dli_fbase : nullptr;
}

// The module of the autograd engine.
bool is_libtorch(uint64_t address) {
  static const void *const libtorch =
      module_of(reinterpret_cast<uintptr_t>(&torch::autograd::Engine::get_default_engine));
  return module_of(address) == libtorch;
}

// libtorch describes a tensor with its sizes where it hands a tuple to Python (from 2.15 on). No kernel asks then.
bool is_for_python(const opc_symbolic_event_t &event) {
  const auto create = static_cast<c10::TensorTypePtr (*)(const at::Tensor &)>(&c10::TensorType::create);
  for (uint32_t i = 0; i < event.frame_count; i++) {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(static_cast<uintptr_t>(event.frames[i])), &info) != 0 &&
        info.dli_saddr == reinterpret_cast<void *>(create))
      return true;
  }
  return false;
}

struct Walk {
  opc_symbolic_event_t *event;
  const void *own;  // the harness's module: its frames come first and last, and carry no information
};

_Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *argument) {
  auto *walk = static_cast<Walk *>(argument);
  auto *event = walk->event;
  const uint64_t address = _Unwind_GetIP(context);
  if (event->frame_count == OPC_SYMBOLIC_FRAMES || address == 0) return _URC_END_OF_STACK;
  if (module_of(address) == walk->own) return event->frame_count == 0 ? _URC_NO_REASON : _URC_END_OF_STACK;
  event->frames[event->frame_count] = event->frame_count == 0 ? address - 1 : address;
  event->frame_count++;
  return _URC_NO_REASON;
}

bool same_place(const opc_symbolic_event_t &left, const opc_symbolic_event_t &right) {
  if (left.kind != right.kind || left.argument != right.argument || left.frame_count != right.frame_count) return false;
  for (uint32_t i = 0; i < left.frame_count; i++) {
    if (left.frames[i] != right.frames[i]) return false;
  }
  return true;
}

bool is_known(const opc_symbolic_t *out, const opc_symbolic_event_t &event) {
  for (size_t i = 0; i < out->event_count; i++) {
    if (same_place(out->events[i], event)) return true;
  }
  return false;
}

// Its existence is the mark: libtorch hands it back when the operator ends.
struct Inner : at::ObserverContext {
  int exceptions = std::uncaught_exceptions();
};

}  // namespace

SymbolicRecord::SymbolicRecord(opc_symbolic_t *out, std::string operator_name)
    : out_(out), operator_(std::move(operator_name)) {
  handle_ = at::addThreadLocalCallback(
      at::RecordFunctionCallback(&SymbolicRecord::entered, &SymbolicRecord::left).scopes({at::RecordScope::FUNCTION}));
  recording = this;
}

SymbolicRecord::~SymbolicRecord() {
  recording = nullptr;
  at::removeCallback(handle_);
}

// The operator itself appears more than once if its autograd kernel calls it again. The engine's mark around each
// derivative is no operator.
std::unique_ptr<at::ObserverContext> SymbolicRecord::entered(const at::RecordFunction &function) {
  static constexpr char engine[] = "autograd::engine::";
  if (recording == nullptr || recording->operator_ == function.name()) return nullptr;
  if (std::strncmp(function.name(), engine, sizeof engine - 1) == 0) return nullptr;
  recording->inner_++;
  return std::make_unique<Inner>();
}

void SymbolicRecord::left(const at::RecordFunction &function, at::ObserverContext *context) {
  if (recording == nullptr || context == nullptr) return;
  recording->inner_--;
  auto *out = recording->out_;
  const bool threw = std::uncaught_exceptions() > static_cast<Inner *>(context)->exceptions;
  if (threw && out->inner_threw[0] == '\0')
    std::snprintf(out->inner_threw, sizeof out->inner_threw, "%s", function.name());
}

void SymbolicRecord::note(opc_symbolic_kind_t kind, const std::string &text, int64_t value, int argument) {
  static const void *const own = module_of(reinterpret_cast<uintptr_t>(&module_of));
  if (recording == nullptr) return;
  auto *out = recording->out_;
  if (recording->inner_ > 0) {
    out->inner_read = true;
    return;
  }
  if (out->event_count == OPC_SYMBOLIC_EVENTS) return;
  opc_symbolic_event_t event = {};
  event.kind = kind;
  event.argument = argument;
  event.value = value;
  std::snprintf(event.text, sizeof event.text, "%s", text.c_str());
  Walk walk = {&event, own};
  _Unwind_Backtrace(walk_frame, &walk);
  const bool backward = recording->operator_.empty();
  if (backward && event.frame_count > 0 && is_libtorch(event.frames[0])) return;
  if (is_for_python(event)) return;
  if (!is_known(out, event)) out->events[out->event_count++] = event;
}

}  // namespace opc
