// Converts exceptions to statuses and outcomes: no exception crosses the bridge's C interface.
#pragma once

#include <cxxabi.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "bridge/api/bridge.h"

namespace opc {

// The harness cannot make a value; the text says why. Never caused by an operator.
struct Unconvertible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The operator called a stub function (stub_library.h): it cannot run here, whatever its arguments.
struct Unprovided : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// These three are for use inside a catch block.
std::string exception_text();  // without backtrace; prefixed with the type's name unless libtorch threw it
extern opc_interpreter_hooks_t interpreter;  // opc_bridge_set_interpreter; its functions may be null

opc_call_outcome_t exception_outcome(std::string &out_text);  // the outcome of a call of an operator
opc_status_t exception_status(opc_error_t *error);            // the status of the harness's own use of libtorch

// pthread_cancel and pthread_exit unwind with a special exception that must be rethrown, or the process ends.
template <typename Body>
opc_status_t guarded(opc_error_t *error, Body &&body) {
  try {
    return std::forward<Body>(body)();
  } catch (abi::__forced_unwind &) {
    throw;
  } catch (...) {
    return exception_status(error);
  }
}

template <typename Body>
opc_call_outcome_t guarded_call(std::string &message, Body &&body) {
  try {
    std::forward<Body>(body)();
    return OPC_CALL_RETURNED;
  } catch (abi::__forced_unwind &) {
    throw;
  } catch (...) {
    return exception_outcome(message);
  }
}

}  // namespace opc
