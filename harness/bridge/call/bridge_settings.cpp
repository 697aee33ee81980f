// Settings that libtorch and the C++ runtime keep for the process or the thread: reads and restores them.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <functional>
#include <ios>
#include <iostream>
#include <locale>
#include <new>

#include "bridge/torch/exceptions.h"

namespace {

// libtorch's warnings are legitimate, only direct printing by an operator is not. So the warnings are counted.
struct CountingHandler final : c10::WarningHandler {
  void process(const c10::Warning &warning) override {
    const auto &at = warning.source_location();
    const std::string text =
        "Warning: " + warning.msg() + " (" + at.function + " at " + at.file + ":" + std::to_string(at.line) + ")\n";
    printed += std::fwrite(text.data(), 1, text.size(), stderr);
  }
  size_t printed = 0;
};

// The format of a C++ stream. A format is not one number, so any format other than the first one seen counts as
// changed.
class StreamFormat {
 public:
  explicit StreamFormat(std::ostream &stream) : stream_(stream), buffer_(stream.rdbuf()), first_(nullptr) {
    first_.copyfmt(stream);
  }
  bool is_first() const {
    return stream_.rdbuf() == buffer_ && stream_.flags() == first_.flags() &&
           stream_.precision() == first_.precision() && stream_.fill() == first_.fill();
  }
  void put_back() {
    stream_.rdbuf(buffer_);
    stream_.copyfmt(first_);
  }

 private:
  std::ostream &stream_;
  std::streambuf *buffer_;
  std::ios first_;
};

struct Firsts {
  std::array<StreamFormat, 3> streams{StreamFormat(std::cout), StreamFormat(std::cerr), StreamFormat(std::clog)};
  std::locale locale;
};

Firsts &firsts() {
  static auto *instance = new Firsts;  // no destructor may run after those of the streams
  return *instance;
}

bool streams_are_first() {
  std::cout.flush();
  std::clog.flush();
  bool first = true;
  for (const auto &stream : firsts().streams) first = first && stream.is_first();
  return first;
}

template <class Change>
void autograd_change(Change &&change) {
  c10::AutogradState state = c10::AutogradState::get_tls_state();
  change(state);
  c10::AutogradState::set_tls_state(std::move(state));
}

int64_t keys_raw(c10::DispatchKeySet keys) { return static_cast<int64_t>(keys.raw_repr()); }
c10::DispatchKeySet keys_of(int64_t raw) { return {c10::DispatchKeySet::RAW, static_cast<uint64_t>(raw)}; }
c10::impl::LocalDispatchKeySet keys_local() { return c10::impl::tls_local_dispatch_key_set(); }

at::Context &context() { return at::globalContext(); }

void default_dtype_write(int64_t value) {
  c10::set_default_dtype(c10::scalarTypeToTypeMeta(static_cast<c10::ScalarType>(value)));
}

void included_write(int64_t value) {
  auto keys = keys_local();
  keys.included_ = keys_of(value);
  c10::impl::_force_tls_local_dispatch_key_set(keys);
}

void excluded_write(int64_t value) {
  auto keys = keys_local();
  keys.excluded_ = keys_of(value);
  c10::impl::_force_tls_local_dispatch_key_set(keys);
}

int64_t seed_read() {
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return static_cast<int64_t>(generator.current_seed());
}

void streams_write(int64_t) {
  for (auto &stream : firsts().streams) stream.put_back();
}

template <class Function>
int64_t address_of(Function *function) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(function));
}

template <class Function>
Function function_at(int64_t address) {
  return reinterpret_cast<Function>(static_cast<intptr_t>(address));
}

struct Setting {
  std::function<int64_t()> read;
  std::function<void(int64_t)> write;
};

// In the same order as opc_setting_t.
const std::array<Setting, OPC_SETTING_COUNT> settings{{
    {[] { return c10::AutogradState::get_tls_state().get_grad_mode(); },
     [](int64_t on) { autograd_change([&](auto &s) { s.set_grad_mode(on != 0); }); }},
    {[] { return c10::AutogradState::get_tls_state().get_inference_mode(); },
     [](int64_t on) { autograd_change([&](auto &s) { s.set_inference_mode(on != 0); }); }},
    {[] { return c10::AutogradState::get_tls_state().get_fw_grad_mode(); },
     [](int64_t on) { autograd_change([&](auto &s) { s.set_fw_grad_mode(on != 0); }); }},
    {[] { return at::autocast::is_autocast_enabled(at::kCPU); },
     [](int64_t on) { at::autocast::set_autocast_enabled(at::kCPU, on != 0); }},
    {[] { return at::autocast::is_autocast_enabled(at::kCUDA); },
     [](int64_t on) { at::autocast::set_autocast_enabled(at::kCUDA, on != 0); }},
    {[] { return static_cast<int64_t>(at::autocast::get_autocast_dtype(at::kCPU)); },
     [](int64_t dtype) { at::autocast::set_autocast_dtype(at::kCPU, static_cast<c10::ScalarType>(dtype)); }},
    {[] { return keys_raw(keys_local().included_); }, included_write},
    {[] { return keys_raw(keys_local().excluded_); }, excluded_write},
    {[] { return static_cast<int64_t>(c10::get_default_dtype_as_scalartype()); }, default_dtype_write},
    {[] { return at::get_num_threads(); }, [](int64_t count) { at::set_num_threads(static_cast<int>(count)); }},
    {[] { return context().deterministicAlgorithms(); },
     [](int64_t on) { context().setDeterministicAlgorithms(on != 0, context().deterministicAlgorithmsWarnOnly()); }},
    {[] { return context().deterministicAlgorithmsWarnOnly(); },
     [](int64_t on) { context().setDeterministicAlgorithms(context().deterministicAlgorithms(), on != 0); }},
    {[] { return context().deterministicFillUninitializedMemory(); },
     [](int64_t on) { context().setDeterministicFillUninitializedMemory(on != 0); }},
    {[] { return context().userEnabledMkldnn(); }, [](int64_t on) { context().setUserEnabledMkldnn(on != 0); }},
    {[] { return context().benchmarkCuDNN(); }, [](int64_t on) { context().setBenchmarkCuDNN(on != 0); }},
    {seed_read, [](int64_t seed) { opc_bridge_seed(static_cast<uint64_t>(seed)); }},
    {[] { return streams_are_first() ? 0 : 1; }, streams_write},
    {[] { return std::locale() == firsts().locale ? 0 : 1; }, [](int64_t) { std::locale::global(firsts().locale); }},
    {[] { return address_of(std::get_terminate()); },
     [](int64_t at) { std::set_terminate(function_at<std::terminate_handler>(at)); }},
    {[] { return address_of(std::get_new_handler()); },
     [](int64_t at) { std::set_new_handler(function_at<std::new_handler>(at)); }},
}};

}  // namespace

void opc_bridge_settings_read(int64_t out[OPC_SETTING_COUNT]) {
  for (size_t i = 0; i < settings.size(); i++) {
    out[i] = 0;
    (void)opc::guarded(nullptr, [&] {
      out[i] = settings[i].read();
      return OPC_OK;
    });
  }
}

void opc_bridge_settings_write(const int64_t wanted[OPC_SETTING_COUNT]) {
  for (size_t i = 0; i < settings.size(); i++) {
    (void)opc::guarded(nullptr, [&] {
      if (settings[i].read() != wanted[i]) settings[i].write(wanted[i]);
      return OPC_OK;
    });
  }
}

void opc_bridge_settings_other(const int64_t usual[OPC_SETTING_COUNT], int64_t out[OPC_SETTING_COUNT]) {
  std::copy_n(usual, OPC_SETTING_COUNT, out);
  out[OPC_SETTING_GRAD_MODE] = usual[OPC_SETTING_GRAD_MODE] == 0;
  out[OPC_SETTING_DEFAULT_DTYPE] = static_cast<int64_t>(
      usual[OPC_SETTING_DEFAULT_DTYPE] == static_cast<int64_t>(c10::kDouble) ? c10::kFloat : c10::kDouble);
  out[OPC_SETTING_THREADS] = usual[OPC_SETTING_THREADS] + 1;
  out[OPC_SETTING_DETERMINISTIC] = usual[OPC_SETTING_DETERMINISTIC] == 0;
  out[OPC_SETTING_DETERMINISTIC_WARN_ONLY] = 1;
}

const char *opc_bridge_dtype_name(int64_t scalar_type) {
  return c10::toString(static_cast<c10::ScalarType>(scalar_type));
}

void opc_bridge_keys_text(int64_t keys, char *out, size_t size) {
  std::string text;
  (void)opc::guarded(nullptr, [&] {
    for (const auto key : keys_of(keys)) text += (text.empty() ? "" : ", ") + std::string(c10::toString(key));
    return OPC_OK;
  });
  std::snprintf(out, size, "%s", text.c_str());
}

size_t opc_bridge_warnings_printed(void) {
  static auto *handler = new CountingHandler;
  if (c10::WarningUtils::get_warning_handler() != handler) c10::WarningUtils::set_warning_handler(handler);
  return handler->printed;
}
