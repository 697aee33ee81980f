// AOTInductor packages: each model becomes an operator, "package::NAME", whose kernel loads the package at its first
// call. So everything that works for operators (samples, children, crashes, reports) works for models.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKey.h>
#include <jansson.h>
#include <sys/stat.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/frontend/function_schema_parser.h>
#include <torch/custom_class.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "bridge/registry/registrations.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/torch_version.h"

namespace {

using Loader = torch::inductor::AOTIModelPackageLoader;

// The loader unpacks into /tmp/XXXXXX and removes that in its destructor, which does not run in a child that crashes.
bool unpack_here;

// A compiled model prints the reason for a failure to stderr, or libtorch keeps it; the exception says only that there
// was a failure. In a child, stderr is a file.
class FailureText {
 public:
  FailureText() : start_(size()) { opc::forget_exception(); }

  // If an operator that a model calls throws, the model continues with an empty output: only this text shows the
  // failure.
  static constexpr char kSwallowed[] = "Exception in aoti_torch: ";

  bool has_failure() const { return !opc::kept_exception().empty() || printed().find(kSwallowed) != std::string::npos; }

  // The reason for the failure, or all that was printed, on one line; "" if nothing was printed or stderr is not a
  // file.
  std::string reason() const {
    auto text = opc::kept_exception();
    if (text.empty()) text = printed_failure();
    text.erase(std::min(text.find("\nException raised from"), text.size()));  // libtorch's backtrace
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    for (auto &letter : text) letter = letter == '\n' ? ' ' : letter;
    return text;
  }

 private:
  static constexpr off_t kLongest = 1 << 16;

  std::string printed_failure() const {
    const auto text = printed();
    for (const std::string begin : {kSwallowed, "Error: "}) {
      const auto place = text.find(begin);
      if (place != std::string::npos) return text.substr(place + begin.size());
    }
    return text;
  }

  std::string printed() const {
    const auto end = size();
    if (start_ < 0 || end <= start_) return {};
    std::string text(static_cast<size_t>(std::min<off_t>(end - start_, kLongest)), '\0');
    const auto got = pread(STDERR_FILENO, text.data(), text.size(), start_);
    text.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return text;
  }

  static off_t size() {
    struct stat info = {};
    return fstat(STDERR_FILENO, &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : -1;
  }

  off_t start_;
};

std::unique_ptr<Loader> load(const std::string &path, const std::string &model) {
  unpack_here = true;
  try {
    auto loader = std::make_unique<Loader>(path, model);
    unpack_here = false;
    return loader;
  } catch (...) {
    unpack_here = false;
    throw;
  }
}

// Counts the tensors of a tree as written by torch.utils._pytree: [1, {"type": …, "children_spec": […]}].
size_t count_tensors(const json_t *spec) {
  const json_t *children = json_object_get(spec, "children_spec");
  size_t count = json_is_null(json_object_get(spec, "type")) ? 1 : 0;
  for (size_t i = 0; i < json_array_size(children); i++) count += count_tensors(json_array_get(children, i));
  return count;
}

size_t count_tensors(const std::string &text) {
  json_t *whole = json_loadb(text.data(), text.size(), 0, nullptr);
  const auto count = count_tensors(json_array_get(whole, 1));
  json_decref(whole);
  return count;
}

class PackageKernel : public c10::OperatorKernel {
 public:
  explicit PackageKernel(const opc_package_operator_t &package)
      : path_(package.path), model_(package.model), inputs_(package.inputs), outputs_(package.outputs) {}

  void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *stack) {
    const FailureText failure;
    std::vector<at::Tensor> outputs;
    try {
      if (loader_ == nullptr) loader_ = load(path_, model_).release();
      std::vector<at::Tensor> inputs;
      for (const auto &value : torch::jit::last(*stack, inputs_)) inputs.push_back(value.toTensor());
      outputs = loader_->run(inputs);
    } catch (const std::exception &) {
      const auto reason = failure.reason();
      if (reason.empty()) throw;
      TORCH_CHECK(false, reason);
    }
    TORCH_CHECK(!failure.has_failure(), failure.reason());
    TORCH_CHECK(outputs.size() == outputs_, "the model returns ", outputs.size(), " tensors, its package describes ",
                outputs_);
    torch::jit::drop(*stack, inputs_);
    for (auto &output : outputs) stack->emplace_back(std::move(output));
  }

 private:
  std::string path_, model_;
  size_t inputs_, outputs_;
  Loader *loader_ = nullptr;  // freed when the process ends: unloading code that has just run gains nothing
};

std::string schema_of(const opc_package_operator_t &package) {
  std::string text = std::string("package::") + package.model + "(";
  for (size_t i = 0; i < package.inputs; i++)
    text += std::string(i > 0 ? ", " : "") + "Tensor input" + std::to_string(i);
  text += package.outputs == 1 ? ") -> Tensor" : ") -> (";
  for (size_t i = 0; package.outputs != 1 && i < package.outputs; i++) text += i > 0 ? ", Tensor" : "Tensor";
  return package.outputs == 1 ? text : text + ")";
}

c10::DispatchKey key_of(const opc_package_operator_t &package) {
  if (package.inputs == 0) return c10::DispatchKey::CompositeImplicitAutograd;  // no tensor shows the device
  return std::strncmp(package.device, "cuda", 4) == 0 ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
}

}  // namespace

// Precedes libc's function in symbol lookup, because opcheck-worker exports its symbols. Replaces the template by one
// of the same length.
extern "C" char *mkdtemp(char *name) noexcept {
  using Function = char *(*)(char *);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "mkdtemp"));
  static constexpr char there[] = "/tmp/XXXXXX", here[] = "./pt2XXXXXX";
  static_assert(sizeof there == sizeof here);
  if (unpack_here && std::strcmp(name, there) == 0) std::memcpy(name, here, sizeof here);
  return next(name);
}

bool opc_bridge_has_class(const char *name) {
  try {
    return torch::getCustomClass(std::string("__torch__.torch.classes.") + name) != nullptr;
  } catch (const std::exception &) {
    return false;
  }
}

opc_status_t opc_bridge_package_try(const char *path, const char *model, size_t *out_inputs, size_t *out_outputs,
                                    opc_error_t *error) {
  const FailureText failure;
  const auto status = opc::guarded(error, [&] {
    const auto loader = load(path, model);
    const auto spec = loader->get_call_spec();
    *out_inputs = count_tensors(spec.at(0));
    *out_outputs = count_tensors(spec.at(1));
    return OPC_OK;
  });
  if (!status) return OPC_OK;
  const auto reason = failure.reason();
  const std::string text = error->message;
  return opc_error_set(error, OPC_ERR_LIBRARY, "%s%s%s", text.c_str(), reason.empty() ? "" : ": ", reason.c_str());
}

opc_status_t opc_bridge_package_define(const opc_package_operator_t *package, opc_error_t *error) {
  return opc::guarded(error, [&] {
    // Never destroyed: a destructor would deregister the operators.
    static auto *const registrations = new std::vector<c10::RegistrationHandleRAII>;
    auto &dispatcher = c10::Dispatcher::singleton();
    const opc::Attribution attribution(package->path);
    const auto schema = torch::jit::parseSchema(schema_of(*package));
    const auto name = schema.operator_name();
    const std::string debug = std::string("registered at ") + package->path;
    registrations->push_back(dispatcher.registerDef(schema, debug));
    auto kernel = c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<PackageKernel>(*package));
    registrations->push_back(
        dispatcher.registerImpl(name, key_of(*package), std::move(kernel), std::nullopt, nullptr, debug));
    return OPC_OK;
  });
}
