#include "bridge/torch/exceptions.h"

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <typeinfo>

#include "bridge/api/torch_texts.h"

namespace opc {
namespace {

std::string readable(const std::type_info *type) {
  if (type == nullptr) return "an unknown type";
  int failed = 0;
  std::unique_ptr<char, void (*)(void *)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, &failed),
                                               &std::free);
  return name ? name.get() : type->name();
}

bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// Nobody refuses arguments with one of these: a value was used that is not there.
bool is_unplanned(const std::exception &e) {
  return dynamic_cast<const std::bad_optional_access *>(&e) != nullptr ||
         dynamic_cast<const std::bad_function_call *>(&e) != nullptr || typeid(e) == typeid(std::bad_cast);
}

// The rest of the message of a missing kernel, from here on, says the same of every operator.
void cut_advice(std::string &text) {
  static const char *const begins[] = {" You may have run into this message",
                                       " This could be because the operator doesn't"};
  for (const char *begin : begins) text.resize(std::min(text.find(begin), text.size()));
}

opc_call_outcome_t torch_outcome(const std::string &text, bool not_implemented) {
  if (opc_torch_says(OPC_TORCH_FAKE_IN_PYTHON, text.c_str())) return OPC_CALL_FAKE_IN_PYTHON;
  // A fake kernel in Python can do nothing about it.
  if (opc_torch_says(OPC_TORCH_NOT_PYTHON_SIZES, text.c_str())) return OPC_CALL_UNCONVERTIBLE;
  if (opc_torch_says(OPC_TORCH_ALIASES_INPUT, text.c_str())) return OPC_CALL_RESULT_REFUSED;
  // NotImplementedError alone is not enough: AT_DISPATCH throws it for a dtype, which is an ordinary refusal.
  if (not_implemented && opc_torch_says(OPC_TORCH_NO_KERNEL, text.c_str())) return OPC_CALL_NO_KERNEL;
  if (opc_torch_says(OPC_TORCH_OUT_OF_MEMORY, text.c_str())) return OPC_CALL_OUT_OF_MEMORY;
  return opc_torch_says(OPC_TORCH_INTERNAL_ASSERT, text.c_str()) ? OPC_CALL_INTERNAL_ASSERT : OPC_CALL_REJECTED;
}

// The exception in pybind11's words: its type and text, then a line "At:", then the frames, the innermost first, each
// as "  FILE(LINE): FUNCTION". The first frame outside of torch and our own script is the place.
std::string words_of_pybind(const std::string &text) {
  const auto at = text.find("\n\nAt:\n");
  std::string message = text.substr(0, at);
  for (auto line = at == std::string::npos ? at : at + 6; line < text.size();) {
    const auto end = std::min(text.find('\n', line), text.size());
    const auto open = text.rfind('(', end), close = text.find("):", line);
    const std::string file = text.substr(line + 2, open > line + 2 && open < end ? open - line - 2 : 0);
    if (!file.empty() && file[0] != '<' && !contains(file, "-packages/torch/") && !contains(file, "/opcheck-c/host") &&
        close < end)
      return message.insert(std::min(message.find('\n'), message.size()),
                            " (at " + file + ":" + text.substr(open + 1, close - open - 1) + ")");
    line = end + 1;
  }
  return message;
}

// libtorch's python_error leaves the exception in Python's hands: with no text of its own where an operator threw, and
// as a copy where backward did. The next call of Python would fail with it.
std::string words_of(const std::exception &e) {
  const std::string type = readable(&typeid(e));
  char text[2048];
  if (interpreter.take_exception != nullptr && interpreter.take_exception(text, sizeof text)) return text;
  return type == "pybind11::error_already_set" ? words_of_pybind(e.what()) : type + ": " + e.what();
}

}  // namespace

opc_interpreter_hooks_t interpreter;

opc_call_outcome_t exception_outcome(std::string &out_text) {
  try {
    throw;
  } catch (const c10::OutOfMemoryError &e) {
    out_text = e.what_without_backtrace();
    return OPC_CALL_OUT_OF_MEMORY;
  } catch (const c10::NotImplementedError &e) {
    out_text = e.what_without_backtrace();
    cut_advice(out_text);
    return torch_outcome(out_text, true);
  } catch (const c10::Error &e) {
    out_text = e.what_without_backtrace();
    return torch_outcome(out_text, false);
  } catch (const Unconvertible &e) {
    out_text = e.what();
    return OPC_CALL_UNCONVERTIBLE;
  } catch (const Unprovided &e) {
    out_text = e.what();
    return OPC_CALL_NO_KERNEL;
  } catch (const std::bad_alloc &e) {
    out_text = std::string("std::bad_alloc: ") + e.what();
    return OPC_CALL_OUT_OF_MEMORY;
  } catch (const std::exception &e) {
    out_text = words_of(e);
    if (opc_torch_says(OPC_TORCH_TRITON_CANNOT, out_text.c_str())) {
      out_text = "Triton's kernel needs a GPU: " + out_text;
      return OPC_CALL_NO_KERNEL;
    }
    if (is_unplanned(e)) return OPC_CALL_INTERNAL_ASSERT;
    // The Autograd kernel of a custom_op is in Python, and what it calls may have no kernel for the CPU.
    return torch_outcome(out_text, contains(out_text, "NotImplementedError: "));
  } catch (abi::__forced_unwind &) {
    throw;
  } catch (...) {
    out_text =
        "an exception of type " + readable(abi::__cxa_current_exception_type()) + ", which is not a std::exception";
    return OPC_CALL_FOREIGN_EXCEPTION;
  }
}

std::string exception_text() {
  std::string text;
  (void)exception_outcome(text);
  return text;
}

opc_status_t exception_status(opc_error_t *error) {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
  } catch (const Unconvertible &e) {
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "%s", e.what());
  } catch (abi::__forced_unwind &) {
    throw;
  } catch (...) {
    return opc_error_set(error, OPC_ERR_TORCH, "%s", exception_text().c_str());
  }
}

}  // namespace opc

void opc_bridge_no_backtraces() {
  c10::SetStackTraceFetcher([]() -> std::string { return {}; });
}
