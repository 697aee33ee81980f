// Loads libraries, and gives information about this libtorch.
#include <ATen/Parallel.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>

#include "bridge/registry/registrations.h"
#include "bridge/stub/stub_library.h"
#include "bridge/torch/exceptions.h"
#include "bridge/torch/torch_version.h"
#include "inspect/facts.h"
#include "inspect/library_search.h"

namespace {

const char *build_option(const char *name) {
  try {
    static const auto &options = caffe2::GetBuildOptions();
    const auto place = options.find(name);
    return place == options.end() ? "" : place->second.c_str();
  } catch (const std::exception &) {
    return "";
  }
}

// noexcept: an exception of a static initialiser could pass through dlopen, and the loader would then hold its lock
// forever. It must end this process (std::terminate, whose handler reports it) and must not be caught.
opc_status_t open_library(const char *path, opc_error_t *error) noexcept {
  if (dlopen(path, RTLD_NOW | RTLD_GLOBAL) != nullptr) return OPC_OK;
  const char *why = dlerror();
  return opc_error_set(error, OPC_ERR_LIBRARY, "%s", why != nullptr ? why : "dlopen failed without a word");
}

std::string demangled(const char *symbol) {
  int failed = 0;
  const std::unique_ptr<char, void (*)(void *)> name(abi::__cxa_demangle(symbol, nullptr, nullptr, &failed),
                                                     &std::free);
  return name ? name.get() : symbol;
}

// Thrown through the library's own frames: a stub function leaves none. A noexcept frame among them ends the process,
// with the same text.
[[noreturn]] void stub_called(const char *symbol, const char *library) {
  const std::string name = demangled(symbol);
  const bool python = opc_library_is_python(library) || opc_symbol_is_python(symbol);
  throw opc::Unprovided(python ? "this operator called " + name +
                                     ": it needs a Python interpreter, and there is none in this process"
                               : "this operator called " + name + " of " + library +
                                     "; a stub library replaces that library (--preload loads a real one)");
}

void (*terminate_report)(const char *text);

[[noreturn]] void terminate_handler() {
  char text[1024];
  opc_bridge_current_exception(text, sizeof text);
  if (terminate_report != nullptr) terminate_report(text);
  std::abort();
}

}  // namespace

const char *opc_bridge_torch_version(void) {
  const char *version = build_option("TORCH_VERSION");
  return *version != '\0' ? version : TORCH_VERSION;
}

const char *opc_bridge_cuda_version(void) { return build_option("CUDA_VERSION"); }

opc_status_t opc_bridge_load(const char *path, const char *for_library, opc_error_t *error) {
  return opc::guarded(error, [&]() -> opc_status_t {
    if (!opc::registrations_are_seen()) {
      return opc_error_set(
          error, OPC_ERR_TORCH,
          "libtorch's registrations do not pass through opcheck-worker: it was linked without exporting its symbols");
    }
    opc_stub_on_call(stub_called);
    const opc::Attribution attribution(for_library);
    return open_library(path, error);
  });
}

opc_status_t opc_bridge_attribute(const char *library, opc_status_t (*run)(const char *library, opc_error_t *error),
                                  opc_error_t *error) {
  return opc::guarded(error, [&] {
    const opc::Attribution attribution(library);
    return run(library, error);
  });
}

void opc_bridge_set_interpreter(const opc_interpreter_hooks_t *hooks) { opc::interpreter = *hooks; }

void opc_bridge_renew_threads(void) { at::set_num_threads(at::get_num_threads()); }

bool opc_bridge_has_interpreter(void) { return opc::interpreter.ask != nullptr; }

opc_status_t opc_bridge_ask_interpreter(const char *what, const char *word, opc_text_t *answer, opc_error_t *error) {
  static char text[8192];
  if (!opc_bridge_has_interpreter())
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "no Python interpreter hosts this process");
  if (!opc::interpreter.ask(what, word, text, sizeof text))
    return opc_error_set(error, OPC_ERR_TORCH, "host.py cannot answer \"%s\": %s", what, text);
  opc_text_add(answer, text);
  return OPC_OK;
}

void opc_bridge_collect_garbage(void) {
  if (opc::interpreter.collect_garbage != nullptr) opc::interpreter.collect_garbage();
}

opc_status_t opc_bridge_preload(const char *path, opc_error_t *error) {
  return opc::guarded(error, [&] {
    opc_stub_on_call(stub_called);
    return open_library(path, error);
  });
}

void opc_bridge_current_exception(char *out, size_t size) {
  if (size == 0) return;
  out[0] = '\0';
  if (const auto current = std::current_exception()) {
    try {
      std::rethrow_exception(current);
    } catch (abi::__forced_unwind &) {
      throw;
    } catch (...) {
      std::snprintf(out, size, "%s", opc::exception_text().c_str());
    }
  }
}

void opc_bridge_on_terminate(void (*report)(const char *text)) {
  terminate_report = report;
  std::set_terminate(terminate_handler);
}
